package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/coordinator/store/postgres"
	"sweep/sweep"
	"sweep/sweep/wire"
)

const defaultLease = coordinator.DefaultLease

func newCoordinator(s *settings) *cobra.Command {
	var d daemon
	cmd := &cobra.Command{
		Use:     "coordinator",
		Short:   "Run the coordinator of a cluster",
		GroupID: "cluster",
		Long: `Run the coordinator of a cluster: it expands submitted sweeps, hands their trials to
workers through NATS, and records results in the database of --store (Postgres
for a cluster; its schema is created or brought up to date).

Several may run: one is active, the others stand by and take over within two
seconds. NATS or a database that is away is waited for, at the start and later.
SIGTERM records what has arrived and ends.

Exit codes: 0 stopped, 1 it cannot run, 2 wrong settings.`,
		Example: `  sweep coordinator --store postgres://sweep@db/sweep --nats nats://head:4222 --listen :8080`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.nats == "" {
				return usageError("coordinator: say where the NATS servers are by --nats, SWEEP_NATS or the settings file")
			}
			return s.runCoordinator(cmd, &d)
		},
	}
	d.addCoordinatorFlags(cmd.Flags())
	return cmd
}

// daemonLogger logs what happens, unless a level was asked for.
func (s *settings) daemonLogger(cmd *cobra.Command) (*slog.Logger, error) {
	if s.origins["log-level"] == fromDefault {
		s.logLevel = "info"
	}
	return s.logger(cmd)
}

func (s *settings) runCoordinator(cmd *cobra.Command, d *daemon) error {
	log, err := s.daemonLogger(cmd)
	if err != nil {
		return err
	}
	conn, err := wire.Connect(s.nats, "sweep coordinator", log)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer conn.Close()
	w, err := wire.New(conn, wire.Options{AckWait: d.ackWait, Replicas: d.replicas, Logger: log})
	if err != nil {
		return err
	}
	l := &leadership{
		settings: s, log: log, wire: w, metrics: coordinator.NewMetrics(),
		options: coordinator.Options{Wire: w, Logger: log, Lease: d.lease},
	}
	l.options.Metrics = l.metrics
	l.phase("starting")
	stop, err := serveHTTP(d.listen, l.metrics.Handler(func() error { return errors.Join(connected(conn), l.ready()) }), log)
	if err != nil {
		return err
	}
	defer stop()
	return l.run(cmd.Context())
}

// connected says why a daemon cannot reach NATS.
func connected(conn *nats.Conn) error {
	if conn.IsConnected() {
		return nil
	}
	return errors.New("NATS cannot be reached")
}

// leadership has the coordinator active while no other is.
type leadership struct {
	settings *settings
	log      *slog.Logger
	wire     *wire.Wire
	metrics  *coordinator.Metrics
	options  coordinator.Options
	// problem is why the coordinator is neither active nor stands by.
	problem atomic.Pointer[string]
	// active is the coordinator while this one leads.
	active atomic.Pointer[coordinator.Coordinator]
}

func (l *leadership) phase(problem string) { l.problem.Store(&problem) }

func (l *leadership) ready() error {
	if problem := *l.problem.Load(); problem != "" {
		return errors.New(problem)
	}
	if active := l.active.Load(); active != nil {
		return active.Problem()
	}
	return nil
}

// The pauses between attempts to reach the database, doubled each time.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// run leads again and again until ctx ends.
func (l *leadership) run(ctx context.Context) error {
	pause := firstPause
	for ctx.Err() == nil {
		err := l.term(ctx, func() { pause = firstPause })
		switch {
		case ctx.Err() != nil || err == nil:
			continue
		case errors.Is(err, sweep.ErrNewerSchema):
			return err // waiting would not help
		}
		l.phase(err.Error())
		if pause == firstPause {
			l.log.Warn("the database cannot be used; trying again until it can", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
	return nil
}

// term waits for the lead and runs a coordinator until the lead is lost or ctx
// ends. working is called when the database can be used.
func (l *leadership) term(ctx context.Context, working func()) (err error) {
	results, err := l.settings.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }() // everything is committed by then
	leader, err := l.lead(ctx, results)
	if err != nil {
		return err
	}
	defer func() {
		if resignErr := leader.resign(); resignErr != nil {
			l.log.Debug("giving up the lead", "error", resignErr)
		}
	}()
	working()
	l.phase("")
	l.log.Info("leading: this coordinator is active")
	leading, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		select {
		case <-leader.lost:
			cancel()
		case <-leading.Done():
		}
	})
	options := l.options
	options.Store = results
	c := coordinator.New(options)
	l.active.Store(c)
	defer l.active.Store(nil)
	stopControl, err := l.wire.ServeControl(c, results)
	if err != nil {
		return err
	}
	defer stopControl()
	err = c.Run(leading)
	if err == nil && ctx.Err() == nil {
		l.log.Warn("lost the lead: the session of the database ended")
	}
	return err
}

// lead is the hold on being the active coordinator.
type lead struct {
	lost   <-chan struct{}
	resign func() error
}

// lead waits for it.
func (l *leadership) lead(ctx context.Context, results sweep.Store) (*lead, error) {
	waiting := func() {
		l.phase("")
		l.log.Info("standing by: another coordinator is active")
	}
	if database, ok := results.(*postgres.Store); ok {
		leader, err := database.Lead(ctx, waiting)
		if err != nil {
			return nil, err
		}
		return &lead{leader.Lost(), func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return leader.Resign(ctx)
		}}, nil
	}
	home, err := l.settings.homeDir()
	if err != nil {
		return nil, err
	}
	for {
		release, err := lockHome(home)
		if err == nil {
			return &lead{resign: func() error { release(); return nil }}, nil
		}
		if waiting != nil {
			l.log.Debug("the lock is held", "error", err)
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock: %w", ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

// lockPoll is how often a coordinator that stands by asks for the lock of a
// local database.
const lockPoll = 500 * time.Millisecond
