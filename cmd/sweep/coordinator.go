package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/coordinator/store"
	"sweep/model"
	"sweep/sweep"
	"sweep/sweep/wire"
)

const defaultLease = coordinator.DefaultLease

func newCoordinator(s *settings) *cobra.Command {
	var d daemon
	var adopt bool
	cmd := &cobra.Command{
		Use:     "coordinator",
		Short:   "Run the coordinator of a cluster",
		GroupID: "cluster",
		Long: `Run the coordinator of a cluster: it expands submitted sweeps, hands their trials to
workers through NATS, and records results in the database of --store (Postgres
for a cluster; its schema is created or brought up to date).

A database has an identity, which the streams of its cluster carry: a coordinator
with another database says which one the cluster belongs to, and ends. --adopt
moves the cluster to the new database for good: start one coordinator so, once,
while none of the old database runs.

Several may run: one is active, the others stand by and take over within five
seconds when it ends, hangs, or loses NATS or the database. NATS or a database
that is away is waited for, at the start and later. SIGTERM records what has
arrived and ends.

--ui serves the dashboard, to whoever has a token unless it is this machine's own
address: see "sweep ui" and "sweep token".

Exit codes: 0 stopped, 1 it cannot run, 2 wrong settings.`,
		Example: `  sweep coordinator --store postgres://sweep@db/sweep --nats nats://head:4222 --listen :8080
  sweep coordinator --store postgres://sweep@db/sweep --nats nats://head:4222 \
    --ui :7766 --ui-cert cert.pem --ui-key key.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.nats.Addresses == "" {
				return usageError(
					"coordinator: say where the NATS servers are by --nats, SWEEP_NATS or the settings file")
			}
			return s.runCoordinator(cmd, &d, adopt)
		},
	}
	d.addCoordinatorFlags(cmd.Flags())
	cmd.Flags().BoolVar(&adopt, "adopt", false, "move the cluster to this database: its streams at NATS belong to "+
		"another one's")
	return cmd
}

// daemonLogger logs what happens, unless a level was asked for.
func (s *settings) daemonLogger(cmd *cobra.Command) *slog.Logger {
	if s.origins["log-level"] == fromDefault {
		s.logLevel = logLevel(slog.LevelInfo)
	}
	return s.logger(cmd)
}

func (s *settings) runCoordinator(cmd *cobra.Command, d *daemon, adopt bool) error {
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
	l := &leadership{
		settings: s, log: log, wire: w, metrics: coordinator.NewMetrics(),
		options: coordinator.Options{Wire: w, Artifacts: artifacts, Logger: log, Lease: d.lease, Window: d.window,
			Adopt: adopt},
	}
	l.options.Metrics = l.metrics
	l.phase("starting")
	stop, err := d.serve(l.metrics.Handler(func() error { return errors.Join(connected(conn), l.ready()) }), log)
	if err != nil {
		return err
	}
	defer stop()
	return l.runWithUI(cmd.Context(), &d.dashboard)
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
	// unable is why this one could not lead when that was last checked.
	unable atomic.Pointer[inability]
}

// inability is why a coordinator cannot do a leader's work, and when it was found out.
type inability struct {
	err error
	at  time.Time
}

const (
	// stuckTime is how long a part of the coordinator may be at one thing before the
	// lead is left to another coordinator.
	stuckTime = time.Minute
	// inabilityTime is for how long an inability that is not found again counts.
	inabilityTime = 3 * time.Second
)

// check finds out whether this process can do a leader's work, and the highest term
// that the broker knows.
func (l *leadership) check(ctx context.Context) (term int64, err error) {
	if term, err = l.wire.Term(ctx); err == nil {
		if active := l.active.Load(); active != nil {
			err = active.Stuck(stuckTime)
		}
	}
	if err == nil {
		l.unable.Store(nil)
		return term, nil
	}
	if before := l.unable.Swap(&inability{err, time.Now()}); before == nil {
		l.log.Warn("cannot lead now: another coordinator may", "error", err)
	}
	return 0, err
}

func (l *leadership) phase(problem string) { l.problem.Store(&problem) }

func (l *leadership) ready() error {
	if problem := *l.problem.Load(); problem != "" {
		return errors.New(problem)
	}
	if unable := l.unable.Load(); unable != nil && time.Since(unable.at) < inabilityTime {
		return unable.err
	}
	if active := l.active.Load(); active != nil {
		return active.Outage()
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
		case errors.Is(err, sweep.ErrNewerSchema), errors.As(err, new(*wire.OtherClusterError)):
			return err // waiting would not help
		case errors.Is(err, sweep.ErrLed):
			l.phase("") // it takes over like any other that stands by
			if pause == firstPause {
				l.log.Info("standing by", "reason", err)
			}
			pause = 2 * firstPause
			continue
		case errors.As(err, new(*sweep.DeposedError)), errors.As(err, new(*wire.SupersededError)):
			l.log.Warn("lost the lead", "reason", err)
			pause = firstPause
			continue // it stands by
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
	address, err := l.settings.storeURL()
	if err != nil {
		return err
	}
	results, err := store.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }() // everything is committed by then
	leader, err := results.Lead(ctx, sweep.LeadOptions{Holder: holder("sweep coordinator"), Check: l.check,
		Waiting: func(holder string) {
			l.phase("")
			l.log.Info("standing by: another coordinator is active", "active", holder)
		}})
	if err != nil {
		return err
	}
	defer func() {
		resigning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if resignErr := leader.Resign(resigning); resignErr != nil {
			l.log.Debug("giving up the lead", "error", resignErr)
		}
	}()
	cluster, err := results.Cluster(ctx)
	if err != nil {
		return err
	}
	working()
	l.phase("")
	l.log.Info("leading: this coordinator is active", "cluster", cluster.ID, "term", leader.Term())
	if _, problem := results.(*store.Store).CheckReader(ctx); problem != nil {
		l.log.Warn("queries of users (\"sweep sql\") are refused", "reason", problem)
	}
	leading, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		select {
		case <-leader.Lost():
			cancel()
		case <-leading.Done():
		}
	})
	options := l.options
	options.Store, options.Cluster, options.Term, options.Leads = results, cluster, leader.Term(), leader.Holds
	c := coordinator.New(options)
	l.active.Store(c)
	defer l.active.Store(nil)
	watching.Go(func() { l.control(leading, leader, c, results) })
	err = c.Run(leading)
	if err == nil && ctx.Err() == nil {
		if err = leader.Problem(); !errors.As(err, new(*sweep.DeposedError)) {
			err = nil // the database is connected to anew
		}
	}
	return err
}

// controlPoll is how often a coordinator looks whether it leads yet.
const controlPoll = 100 * time.Millisecond

// control answers clients until ctx ends. While the lease does not hold they hear at
// once that nobody answers; what was begun goes on, since nothing is written after
// another coordinator has taken over.
func (l *leadership) control(ctx context.Context, leader sweep.Lead, c *coordinator.Coordinator, results sweep.Store) {
	var service *wire.Control
	defer func() {
		if service != nil {
			service.Close()
		}
	}()
	serving := false
	tick := time.NewTicker(controlPoll)
	defer tick.Stop()
	for ctx.Err() == nil {
		switch holds := leader.Holds(); {
		case holds && !serving:
			var err error
			lapsed := service != nil
			if lapsed {
				err = service.Resume()
			} else {
				service, err = l.wire.ServeControl(c, results, leader.Holds)
			}
			if err != nil {
				l.log.Debug("clients are not answered", "error", err)
				break
			}
			if serving = true; lapsed {
				l.log.Info("the lead's lease is renewed again")
			}
		case !holds && serving:
			l.log.Warn("the lead's lease has run out: another coordinator may lead", "reason", leader.Problem())
			service.Pause()
			serving = false
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// holder is what a process calls itself that leads a database.
func holder(what string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s on %s, process %d, version %s", what, host, os.Getpid(), model.Version)
}
