// Package coordinator expands stored sweeps into trials, dispatches trials as jobs, and records
// the events of workers. Its main type is Coordinator:
//
//	c := coordinator.New(coordinator.Options{Store: store, Wire: w})
//	err := c.Run(ctx)
//
// Run has three loops. The scheduler writes trial rows from the grids, a page at a time, and keeps
// a bounded number of jobs in the queues of the workers that can run them; package schedule decides
// which. The collector records events in batches and acknowledges them after the commit; events
// that the store refuses go into quarantine. The reconciler compares store and broker: it requeues
// trials whose jobs were lost and removes jobs whose trials have ended.
//
// The store is the truth. The broker may lose all that it has, and any loop may be killed at any
// moment: each step is one transaction of the store, or harmless to repeat.
package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/wire"
)

// Options are what a Coordinator needs and may be told.
type Options struct {
	// Store and Wire are required; the caller closes them after Run. Without a
	// Wire there is no Run: what changes sweeps changes the store alone, and a
	// coordinator that runs sees it there within seconds.
	Store sweep.Store
	Wire  *wire.Wire
	// Artifacts is where workers put artifacts; without it they can be listed only.
	Artifacts *artifact.Store
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Cluster is the identity of the store, Term the number of this coordinator's
	// lead: what an earlier one left is taken over, a later one's is left alone.
	Cluster sweep.Cluster
	Term    int64
	// Leads reports whether certainly no other coordinator leads: while it does not,
	// nothing is dispatched. nil means that it always does.
	Leads func() bool
	// Adopt moves the broker's streams to this cluster if they are another's.
	Adopt bool
	// Window is how many jobs wait for the workers of a pool, shared among its queues
	// by slots, besides one or two for each slot; DefaultWindow if 0. It bounds what the
	// broker holds, not how fast priority, pause and cancel act.
	Window int
	// Page is how many trial rows are written at once; DefaultPage if 0.
	Page int
	// Lease is how long a trial whose job is lost may be unheard of before it
	// is queued again; DefaultLease if 0.
	Lease time.Duration
	// Exclusive says that no worker of an earlier process is alive: Run first
	// collects the events that are left, and every trial without a result goes
	// back to pending at once.
	Exclusive bool
	// Fatal tells the errors of the store that end Run, such as a full disk on a
	// user's machine; nil means none: a coordinator goes on trying.
	Fatal func(error) bool
	// Metrics, if not nil, measures what the coordinator does.
	Metrics *Metrics
}

// Defaults of Options.
const (
	DefaultWindow = 512
	DefaultPage   = 1000
	DefaultLease  = 35 * time.Second
)

// Coordinator runs the sweeps of a store.
type Coordinator struct {
	options Options
	store   sweep.Store
	wire    *wire.Wire
	log     *slog.Logger
	waiters waiters
	ready   chan struct{}

	facts    *facts
	commands chan command
	// ended is closed when Run has ended.
	ended chan struct{}
	// orders are the commands that the schedule was told of.
	pending pendingCommands
	// plan is the scheduler's from the moment it starts.
	plan *schedule.State
	// prepared are the pools whose artifacts have a place, with the zero time, and those
	// for which that failed, with the time of the next attempt.
	prepared sync.Map
	// unschedulable counts the trials of sweeps that no known worker of their pool can run.
	unschedulable atomic.Pointer[map[string]int64]
	// pools are the pools of sweeps that are known since the start, by id.
	pools   sync.Map
	workers workerList

	// setUp is held while streams are made: a server that is asked twice at a time
	// for the same one may make one that stores nothing.
	setUp sync.Mutex
	// lost holds a token when the broker has lost a stream.
	lost chan struct{}
	// replaced holds a token when executions were replaced that may be lost.
	replaced chan struct{}
	// received is when the collector last asked for events and got all that there
	// were; they are recorded. It is a time.Time and compared by the monotonic clock:
	// the wall clock may be set back.
	received atomic.Pointer[time.Time]
	// reserve is what the schedule says that workers have in reserve.
	reserve atomic.Int64
	// outages are what keeps trials from advancing, poolOutages what keeps those of one pool.
	outages, poolOutages outages
	// full has a fullStore for each pool whose artifacts had no room.
	full sync.Map
	// lastAlive are when each loop last moved.
	lastAlive [len(loops)]atomic.Int64
}

// New returns a coordinator. Its methods work at once, but nothing is
// dispatched or recorded before Run.
func New(options Options) *Coordinator {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.Window = cmp.Or(options.Window, DefaultWindow)
	options.Page = cmp.Or(options.Page, DefaultPage)
	options.Lease = cmp.Or(options.Lease, DefaultLease)
	if options.Leads == nil {
		options.Leads = func() bool { return true }
	}
	if options.Fatal == nil {
		options.Fatal = func(error) bool { return false }
	}
	return &Coordinator{
		options:  options,
		store:    options.Store,
		wire:     options.Wire,
		log:      options.Logger,
		ready:    make(chan struct{}),
		facts:    newFacts(),
		commands: make(chan command),
		ended:    make(chan struct{}),
		pending:  pendingCommands{list: map[int64]*pendingCommand{}},
		plan: schedule.New(schedule.Options{
			Window: options.Window, Page: options.Page, Exclusive: options.Exclusive,
			Heartbeat: wire.HeartbeatInterval, Silence: wire.HeartbeatTimeout,
		}),
		lost:     make(chan struct{}, 1),
		replaced: make(chan struct{}, 1),
	}
}

// Run runs the sweeps until ctx ends, and then records what has arrived by
// then. It is called once, and waits for everything that it started. Neither a
// store nor a broker that fails ends it, now or at the start, unless
// Options.Fatal says so: then that error is returned.
func (c *Coordinator) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer close(c.ended)
	if c.options.Metrics != nil {
		defer c.options.Metrics.lead(c)()
	}
	err := c.start(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	stopHeartbeats, err := c.wire.ServeHeartbeats(c.heartbeat)
	if err != nil {
		return err
	}
	defer stopHeartbeats()
	close(c.ready)
	parts := []func(context.Context) error{c.collect, c.schedule, c.reconcile}
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			if errs[i] = part(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// loops are the parts of Run, each of which moves all the time.
var loops = [...]string{"collector", "scheduler", "reconciler"}

// The indices of loops.
const (
	collecting = iota
	scheduling
	reconciling
)

// moves notes that a loop moves.
func (c *Coordinator) alive(loop int) { c.lastAlive[loop].Store(time.Now().UnixNano()) }

// Stuck says which of the loops of a coordinator that runs has not moved for longer
// than a time, nil if all have. One whose store or broker fails moves: it tries again.
func (c *Coordinator) Stuck(longer time.Duration) error {
	select {
	case <-c.ready:
	default: // they do not run yet
		return nil
	}
	for i, name := range loops {
		moved := c.lastAlive[i].Load()
		if moved == 0 {
			continue
		}
		if still := time.Since(time.Unix(0, moved)); still > longer {
			return fmt.Errorf("the %s has not moved for %v", name, still.Round(time.Second))
		}
	}
	return nil
}

// Ready is closed when Run has prepared the broker and put back what earlier
// processes left: the time for an Exclusive coordinator's workers to start.
func (c *Coordinator) Ready() <-chan struct{} { return c.ready }

// Problem tells what keeps trials from advancing, those of all pools or of one, else
// what they lose: that their artifacts have no room. It is nil if all is well.
func (c *Coordinator) Problem() error {
	if err := c.Outage(); err != nil {
		return err
	}
	if err := c.poolOutages.oldest(); err != nil {
		return err
	}
	return c.artifactProblem()
}

// Outage tells what keeps the trials of all pools from advancing: the last error of what
// has failed longest and is tried again; nil if nothing fails.
func (c *Coordinator) Outage() error { return c.outages.oldest() }

// start prepares the broker, and finds out what it holds. If no other process can
// have work of this store in hand, all of it is put back.
func (c *Coordinator) start(ctx context.Context) error {
	return c.persist(ctx, "starting", func(ctx context.Context) error {
		if err := c.setup(ctx); err != nil {
			return err
		}
		if !c.options.Exclusive {
			c.lose() // trials without a job go back at once: nobody else publishes one
			return c.adopt(ctx)
		}
		if err := c.collectRest(ctx); err != nil {
			return err
		}
		if err := c.wire.ResetJobs(ctx); err != nil {
			return err
		}
		return c.requeueAll(ctx)
	})
}

// adopt tells the schedule of the jobs that the broker holds. Of those that it does not
// list the schedule has no need to know: they cannot be published twice.
func (c *Coordinator) adopt(ctx context.Context) error {
	var queued []wire.QueuedJob
	if _, err := c.wire.QueuedJobs(ctx, func(q wire.QueuedJob) { queued = append(queued, q) }); err != nil {
		return err
	}
	ids := make([]sweep.TrialID, len(queued))
	for i := range queued {
		ids[i] = queued[i].TrialID
	}
	states, err := c.store.States(ctx, ids)
	if err != nil {
		return fmt.Errorf("looking at %d trials that have jobs: %w", len(ids), err)
	}
	for _, q := range queued {
		if states[q.TrialID] == sweep.Queued {
			c.facts.add(schedule.Adopted{Queue: schedule.Queue(q.Queue), Trials: []sweep.TrialID{q.TrialID}})
		}
	}
	return nil
}

// requeueAll puts every queued or running trial of an unfinished sweep back.
func (c *Coordinator) requeueAll(ctx context.Context) error {
	return c.outstanding(ctx, time.Now().Add(24*time.Hour), func(page []sweep.Heard) error {
		if _, err := c.store.RequeueUnheard(ctx, page); err != nil {
			return fmt.Errorf("putting %d trials back: %w", len(page), err)
		}
		return nil
	})
}

// setup creates the broker's stream of events, or brings it to its settings. Those
// of another cluster end Run.
func (c *Coordinator) setup(ctx context.Context) error {
	c.setUp.Lock()
	defer c.setUp.Unlock()
	return c.wire.Setup(ctx, c.options.Cluster, c.options.Adopt)
}

// persist does something again and again until it works, ctx ends (which is
// not an error) or the error is fatal.
func (c *Coordinator) persist(ctx context.Context, doing string, do func(context.Context) error) error {
	trouble := c.outage(doing)
	defer trouble.drop()
	for ctx.Err() == nil {
		c.alive(collecting)
		err := do(ctx)
		if err == nil {
			trouble.over()
			return nil
		}
		if c.final(err) {
			return err
		}
		if wire.IsLost(err) {
			c.lose()
		}
		if ctx.Err() == nil {
			wait(ctx, trouble.failed(err))
		}
	}
	return nil
}

// wait returns after a while, or when ctx ends.
func wait(ctx context.Context, while time.Duration) {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// final reports whether an error ends Run: one that the user's Options call fatal,
// streams of another cluster, or a coordinator of a later term.
func (c *Coordinator) final(err error) bool {
	other, superseded, deposed := (*wire.OtherClusterError)(nil), (*wire.SupersededError)(nil),
		(*sweep.DeposedError)(nil)
	return c.options.Fatal(err) || errors.As(err, &other) || errors.As(err, &superseded) || errors.As(err, &deposed)
}
