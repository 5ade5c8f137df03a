package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/coordinator/lead"
	"sweep/coordinator/store"
	"sweep/model"
	"sweep/sweep"
	"sweep/sweep/paper/archive"
	"sweep/sweep/wire"
)

func newCoordinator(s *settings) *cobra.Command {
	var d daemon
	var adopt bool
	cmd := &cobra.Command{
		Use:   "coordinator",
		Short: "Run the coordinator of a cluster",
		Long: `It expands submitted sweeps, sends their trials to workers through NATS, and records
results in the database of --store (Postgres for a cluster), whose schema it creates
or updates.

The database and the streams of a cluster carry the same identity. With another
database, the coordinator names the one that the cluster belongs to, and exits. --adopt
moves the cluster to the new database permanently: start one coordinator with it, once,
while no coordinator of the old database is running.

You can run several coordinators: one is active and the others stand by. A standby
takes over within five seconds when the active one exits, hangs, or loses NATS or the
database, and within half a minute where the database answers slowly. If NATS or the
database is unavailable, at the start or later, the coordinator waits for it. On SIGTERM
it records the events that have arrived and exits.

--ui serves the dashboard. Reading needs a token, except on one of this machine's own
addresses: see "sweep ui" and "sweep token".

Exit codes: 0 stopped, 1 error, 2 invalid settings.`,
		Example: `  sweep coordinator --store postgres://sweep@db/sweep --nats nats://head:4222 --listen :8080
  sweep coordinator --store postgres://sweep@db/sweep --nats nats://head:4222 \
    --ui :7766 --ui-cert cert.pem --ui-key key.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.nats.Addresses == "" {
				return usageError(
					"coordinator: set the NATS servers with --nats, SWEEP_NATS or the settings file")
			}
			return s.runCoordinator(cmd, &d, adopt)
		},
	}
	d.addFlags(cmd.Flags())
	d.addCoordinatorFlags(cmd.Flags())
	cmd.Flags().BoolVar(&adopt, "adopt", false, "move the cluster to this database, although its NATS streams "+
		"belong to another one")
	return cmd
}

// daemonLogger logs at level info, unless the user sets another level.
func (s *settings) daemonLogger(cmd *cobra.Command) *slog.Logger {
	if s.origins["log-level"] == fromDefault {
		s.logLevel = logLevel(slog.LevelInfo)
	}
	return s.logger(cmd)
}

func (s *settings) runCoordinator(cmd *cobra.Command, d *daemon, adopt bool) error {
	collectLess()
	log := s.daemonLogger(cmd)
	conn, err := wire.Connect(s.access(wire.CoordinatorInbox), "sweep coordinator", log)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer conn.Close()
	w, err := wire.New(conn, wire.Options{AckWait: d.ackWait, Replicas: d.replicas, Domain: s.natsDomain, Logger: log})
	if err != nil {
		return err
	}
	artifacts, err := s.openArtifacts(w, log)
	if err != nil {
		return err
	}
	metrics := coordinator.NewMetrics()
	candidate := lead.New(lead.Options{
		Options: coordinator.Options{Wire: w, Artifacts: artifacts, Logger: log, Lease: d.lease, Window: d.window,
			Adopt: adopt, Metrics: metrics},
		Connect: s.connectStore, Holder: holder("sweep coordinator"),
		Began: func(ctx context.Context, results sweep.Store) {
			if _, problem := results.(*store.Store).CheckReader(ctx); problem != nil {
				log.Warn("queries of users (\"sweep sql\") are refused", "reason", problem)
			}
		},
	})
	stop, err := d.serve(metrics.Handler(func() error { return errors.Join(connected(conn), candidate.Ready()) }), log)
	if err != nil {
		return err
	}
	defer stop()
	return (&clusterUI{s, log, candidate}).run(cmd.Context(), &d.dashboard)
}

// connected says why a daemon cannot reach NATS.
func connected(conn *nats.Conn) error {
	if conn.IsConnected() {
		return nil
	}
	return errors.New("NATS cannot be reached")
}

// connectStore opens the database of the settings without bringing its schema up to date.
func (s *settings) connectStore(ctx context.Context) (sweep.Store, error) {
	address, err := s.storeURL()
	if err != nil {
		return nil, err
	}
	return store.Connect(ctx, address, archive.Views())
}

// holder is what a process calls itself that leads a database.
func holder(what string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s on %s, process %d, version %s", what, host, os.Getpid(), model.Version)
}
