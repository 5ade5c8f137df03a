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
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/wire"
)

// Store is what a coordinator needs of a database.
type Store interface {
	sweep.Reader
	sweep.Queue
	sweep.EventRecorder
	sweep.Reconciler
	sweep.Administrator
	Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error
}

// Options are the settings of a Coordinator.
type Options struct {
	// Store is required, and Wire for Run; the caller closes them after it. Without Wire
	// the other methods change the store only, and a running coordinator notices within
	// seconds.
	Store Store
	Wire  *wire.Wire
	// Artifacts is where workers store artifacts; without it they can only be listed.
	Artifacts *artifact.Store
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Cluster is the identity of the store, Term the number of this coordinator's lead. It
	// continues the work of earlier terms and does not touch that of later ones.
	Cluster sweep.Cluster
	Term    int64
	// Leads reports whether it is certain that no other coordinator leads. While it is
	// false nothing is dispatched. nil means always true.
	Leads func() bool
	// Slow says which server answers slowly, nil if none does; nil means always nil.
	Slow func() error
	// Adopt moves the broker's streams to this cluster if they belong to another.
	Adopt bool
	// Window is how many jobs wait for the workers of a pool, besides one or two for each
	// slot; DefaultWindow if 0, and up to windowGrowth times as many while trials are short. The
	// pool's queues share it by slots. It bounds the jobs at the broker, not how fast priority,
	// pause and cancel act.
	Window int
	// Page is how many trial rows are written at once; DefaultPage if 0.
	Page int
	// Lease is how long a trial without a job may send no event before it is requeued;
	// DefaultLease if 0.
	Lease time.Duration
	// Exclusive means that no worker of an earlier process is alive: Run first collects the
	// remaining events and then requeues every trial without a result.
	Exclusive bool
	// Fatal reports whether an error of the store ends Run, as a full disk on a user's
	// machine; nil means that none does, and Run retries.
	Fatal func(error) bool
	// Metrics counts and times the coordinator's work. New makes some if it is nil.
	Metrics *Metrics
}

// Defaults of Options.
const (
	DefaultWindow = 512
	DefaultPage   = 1000
	DefaultLease  = 35 * time.Second
)

// windowGrowth is how much larger than Options.Window a pool's window becomes while its trials are short.
const windowGrowth = 4

// Coordinator runs the sweeps of a store.
type Coordinator struct {
	options Options
	store   Store
	wire    *wire.Wire
	log     *slog.Logger
	waiters waiters
	ready   chan struct{}

	facts *facts
	// ended is closed when Run has ended.
	ended chan struct{}
	// plan changes in the scheduler's steps only. turn is full during a step and while
	// somebody else reads the plan.
	plan *schedule.State
	turn chan struct{}
	// changes ends, by endChanges, when Run is to end: what users change in the meantime is given up.
	changes    context.Context
	endChanges context.CancelFunc
	// prepared has the zero time for each pool whose artifact store is prepared, and the
	// time of the next attempt for each where that failed.
	prepared sync.Map
	// figures are those of the schedule's last step.
	figures atomic.Pointer[schedule.Figures]
	// pools are the known pools of sweeps, by id.
	pools   sync.Map
	workers workerList

	// setUp is locked while streams are created: two requests for one stream at the same
	// time can create a stream that stores nothing.
	setUp sync.Mutex
	// extending is locked while a sweep is extended.
	extending sync.Mutex
	// lost holds a token when the broker has lost a stream.
	lost chan struct{}
	// replaced holds a token when executions were replaced, and may be lost.
	replaced chan struct{}
	// received is when the collector last requested events and recorded all that waited.
	// It is a time.Time to be compared by the monotonic clock: the wall clock may be set
	// back.
	received atomic.Pointer[time.Time]
	// outages keep trials from advancing.
	outages outages
	// full has a fullStore for each pool whose artifact store was full.
	full sync.Map
	// lastAlive is when each loop last made progress, in Unix nanoseconds.
	lastAlive [len(loops)]atomic.Int64
}

// New returns a coordinator. Its methods work at once, but it dispatches and records nothing
// before Run.
func New(options Options) *Coordinator {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.Window = cmp.Or(options.Window, DefaultWindow)
	options.Page = cmp.Or(options.Page, DefaultPage)
	options.Lease = cmp.Or(options.Lease, DefaultLease)
	if options.Metrics == nil {
		options.Metrics = NewMetrics()
	}
	if options.Leads == nil {
		options.Leads = func() bool { return true }
	}
	if options.Slow == nil {
		options.Slow = func() error { return nil }
	}
	if options.Fatal == nil {
		options.Fatal = func(error) bool { return false }
	}
	c := &Coordinator{
		options: options,
		store:   options.Store,
		wire:    options.Wire,
		log:     options.Logger,
		ready:   make(chan struct{}),
		facts:   newFacts(),
		waiters: waiters{ended: map[string]chan struct{}{}},
		workers: newWorkerList(),
		outages: outages{log: options.Logger},
		ended:   make(chan struct{}),
		turn:    make(chan struct{}, 1),
		plan: schedule.New(schedule.Options{
			Window: int64(options.Window), MaxWindow: windowGrowth * int64(options.Window),
			Page: int64(options.Page), Exclusive: options.Exclusive,
			Heartbeat: wire.HeartbeatInterval, Silence: wire.HeartbeatTimeout,
		}),
		lost:     make(chan struct{}, 1),
		replaced: make(chan struct{}, 1),
	}
	c.changes, c.endChanges = context.WithCancel(context.Background())
	c.figures.Store(&schedule.Figures{})
	return c
}

// Run runs the sweeps until ctx ends, and then records the events that have arrived. It is called
// once, and waits for everything that it started. A failing store or broker does not end it, not
// even at the start, unless Options.Fatal is true for the error, which Run then returns.
func (c *Coordinator) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		c.turn <- struct{}{} // for good: no change runs any more
		close(c.ended)
	}()
	defer c.endChanges()
	defer context.AfterFunc(ctx, c.endChanges)()
	defer c.options.Metrics.lead(c)()
	if err := c.start(ctx); err != nil {
		if !c.final(err) { // ctx has ended
			return nil
		}
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
	c.removeRest(ctx)
	return errors.Join(errs...)
}

// removeRest removes the artifacts that are not kept of the trials that ended last.
func (c *Coordinator) removeRest(ctx context.Context) {
	if !c.options.Leads() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restWait)
	defer cancel()
	if err := c.removeDropped(ctx); err != nil {
		c.log.Info("some artifacts that are not kept remain for the next start", "error", err)
	}
}

// loops are the parts of Run. Each calls alive all the time.
var loops = [...]string{"collector", "scheduler", "reconciler"}

// The indices of loops.
const (
	collecting = iota
	scheduling
	reconciling
)

// alive notes that a loop makes progress.
func (c *Coordinator) alive(loop int) { c.lastAlive[loop].Store(time.Now().UnixNano()) }

// Stuck returns an error if a loop of a running coordinator has made no progress for longer than a
// time. Retrying after a failure of store or broker counts as progress.
func (c *Coordinator) Stuck(longer time.Duration) error {
	select {
	case <-c.ready:
	default: // the loops have not started
		return nil
	}
	for i, name := range loops {
		moved := c.lastAlive[i].Load()
		if still := time.Since(time.Unix(0, moved)); moved > 0 && still > longer {
			return fmt.Errorf("the %s has made no progress for %v", name, still.Round(time.Second))
		}
	}
	return nil
}

// Stalled returns the error with which the coordinator has failed for longer than a time, always for the same cause;
// nil if there is none. Another coordinator, or a new one on the same database, may succeed.
func (c *Coordinator) Stalled(longer time.Duration) error { return c.outages.stalled(longer) }

// Ready is closed when Run has prepared the broker and requeued the trials of earlier processes.
// Then the workers of an Exclusive coordinator may start.
func (c *Coordinator) Ready() <-chan struct{} { return c.ready }

// Problem returns what keeps trials from advancing, in all pools or in one, that an artifact store
// is full, or that the database or the broker is slow; nil if there is no problem.
func (c *Coordinator) Problem() error {
	return cmp.Or(c.Outage(), c.outages.oldest(true), c.artifactProblem(), c.options.Slow())
}

// Outage returns what keeps the trials of all pools from advancing: the latest error of the outage
// that has lasted longest; nil if there is none.
func (c *Coordinator) Outage() error { return c.outages.oldest(false) }

// start prepares the broker and adopts its jobs. An exclusive coordinator requeues all trials
// instead.
func (c *Coordinator) start(ctx context.Context) error {
	return c.persist(ctx, collecting, "starting", func() error {
		if err := c.setup(ctx); err != nil {
			return err
		}
		if !c.options.Exclusive {
			c.lose() // requeue trials without a job at once: nobody else publishes one
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

// adopt passes the jobs that the broker holds to the schedule. If the broker cannot list some, no
// harm is done: a job cannot be published twice.
func (c *Coordinator) adopt(ctx context.Context) error {
	queues := map[sweep.TrialID]wire.Queue{}
	if _, err := c.wire.QueuedJobs(ctx, func(q wire.QueuedJob) { queues[q.TrialID] = q.Queue }); err != nil {
		return err
	}
	states, err := c.store.States(ctx, slices.Collect(maps.Keys(queues)))
	if err != nil {
		return fmt.Errorf("reading the states of %d trials that have jobs: %w", len(queues), err)
	}
	for id, q := range queues {
		if states[id] == sweep.Queued {
			c.facts.add(schedule.Adopted{Queue: schedule.Queue(q), TrialID: id})
		}
	}
	return nil
}

// requeueAll requeues every queued or running trial of an unfinished sweep.
func (c *Coordinator) requeueAll(ctx context.Context) error {
	return c.outstanding(ctx, time.Now().Add(farAhead), func(page []sweep.Heard) error {
		_, err := c.store.RequeueUnheard(ctx, page)
		return wrap(err, "requeuing %d trials", len(page))
	})
}

// setup creates the broker's stream of events or updates its settings. Streams of another cluster end
// Run.
func (c *Coordinator) setup(ctx context.Context) error {
	c.setUp.Lock()
	defer c.setUp.Unlock()
	return c.wire.Setup(ctx, c.options.Cluster, c.options.Adopt)
}

// persist retries do, for one of loops, until it succeeds, ctx ends or the error is fatal.
func (c *Coordinator) persist(ctx context.Context, loop int, doing string, do func() error) error {
	for ctx.Err() == nil {
		c.alive(loop)
		err := do()
		if err == nil {
			c.outages.over(doing)
			return nil
		}
		if c.final(err) {
			return err
		}
		if wire.IsLost(err) {
			c.lose()
		}
		if ctx.Err() == nil {
			wait(ctx, c.outages.failed(doing, false, err))
		}
	}
	return ctx.Err()
}

// wait waits for a while, or until ctx ends.
func wait(ctx context.Context, while time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(while):
	}
}

// final reports whether an error ends Run: a fatal one by Options, streams of another cluster, a coordinator of a later
// term, or a database that is another one now.
func (c *Coordinator) final(err error) bool {
	return c.options.Fatal(err) || errors.As(err, new(*wire.OtherClusterError)) ||
		errors.As(err, new(*wire.SupersededError)) || errors.As(err, new(*sweep.DeposedError)) ||
		errors.Is(err, sweep.ErrReplaced)
}
