// Package coordinator turns stored sweeps into trials, trials into jobs, and
// workers' events into recorded results. Its parts meet in the store, which is
// the truth; the broker only carries, and may lose everything it has:
//
//   - the expander writes trial rows from the sweeps' grids, a page at a time,
//     a little ahead of what is dispatched;
//   - the dispatcher keeps a bounded window of jobs waiting in each pool, chosen
//     by priority and then by fair share;
//   - the collector records events in batches and acknowledges them after the
//     commit;
//   - the reconciler puts trials back whose jobs were lost.
//
// The first two share one goroutine, the scheduler; each of the others has its
// own. At any moment any of them may be killed: every step is either one
// transaction of the store or harmless to repeat.
package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Options are what a Coordinator needs and may be told.
type Options struct {
	// Store and Wire are required; the caller closes them after Run. Without a
	// Wire there is no Run: what changes sweeps changes the store alone, and a
	// coordinator that runs sees it there within seconds.
	Store sweep.Store
	Wire  *wire.Wire
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Window is how many jobs wait in a pool at most, those that run apart;
	// DefaultWindow if 0. It bounds what the broker holds, not how fast
	// priority, pause and cancel act.
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
	marks   *marks
	waiters waiters
	ready   chan struct{}

	// turn holds a token while jobs are published, taken back or withdrawn, so
	// that nothing is published of a sweep that was just paused or cancelled.
	turn chan struct{}
	// lanes are the active sweeps by id, read at reloaded; held are, for each
	// pool, pending trials whose jobs the stream refused, and since when. They
	// belong to who has the turn.
	lanes    map[string]*lane
	reloaded time.Time
	held     map[string]map[sweep.TrialID]time.Time

	// lost holds a token when the broker has lost a stream.
	lost chan struct{}
	// received is when, in Unix nanoseconds, the collector last asked for events
	// and got all that there were; they are recorded.
	received atomic.Int64
	// problem is the reconciler's last error, or nil.
	problem atomic.Pointer[error]
}

// New returns a coordinator. Its methods work at once, but nothing is
// dispatched or recorded before Run.
func New(options Options) *Coordinator {
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.Window <= 0 {
		options.Window = DefaultWindow
	}
	if options.Page <= 0 {
		options.Page = DefaultPage
	}
	if options.Lease <= 0 {
		options.Lease = DefaultLease
	}
	if options.Fatal == nil {
		options.Fatal = func(error) bool { return false }
	}
	store := options.Store
	if options.Metrics != nil {
		store = &metered{Store: store, metrics: options.Metrics}
	}
	return &Coordinator{
		options: options,
		store:   store,
		wire:    options.Wire,
		log:     options.Logger,
		marks:   newMarks(),
		lanes:   map[string]*lane{},
		turn:    make(chan struct{}, 1),
		ready:   make(chan struct{}),
		held:    map[string]map[sweep.TrialID]time.Time{},
		lost:    make(chan struct{}, 1),
	}
}

// Run runs the sweeps until ctx ends, and then records what has arrived by
// then. It is called once, and waits for everything that it started. Neither a
// store nor a broker that fails ends it, now or at the start, unless
// Options.Fatal says so: then that error is returned.
func (c *Coordinator) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.options.Metrics != nil {
		defer c.options.Metrics.lead(c.wire, c.store)()
	}
	err := c.start(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
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

// Ready is closed when Run has prepared the broker and put back what earlier
// processes left: the time for an Exclusive coordinator's workers to start.
func (c *Coordinator) Ready() <-chan struct{} { return c.ready }

// Problem tells what kept the store and the broker from being compared the last
// time; nil if nothing did.
func (c *Coordinator) Problem() error {
	if problem := c.problem.Load(); problem != nil {
		return *problem
	}
	return nil
}

// start prepares the broker and, if no other process can have work of this
// store in hand, puts all of it back.
func (c *Coordinator) start(ctx context.Context) error {
	return c.persist(ctx, "starting", func(ctx context.Context) error {
		if err := c.setup(ctx); err != nil {
			return err
		}
		if !c.options.Exclusive {
			return nil
		}
		if err := c.collectRest(ctx); err != nil {
			return err
		}
		bound, cancel := context.WithTimeout(ctx, brokerWait)
		defer cancel()
		if err := c.wire.ResetJobs(bound); err != nil {
			return err
		}
		return c.requeueAll(ctx)
	})
}

// brokerWait bounds one conversation with the broker: a question that was on
// its way when the broker went away is never answered.
const brokerWait = 3 * time.Second

// setup creates the broker's streams, or brings them to their settings.
func (c *Coordinator) setup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, brokerWait)
	defer cancel()
	return c.wire.Setup(ctx)
}

// mend creates the streams if one is lost. Those that are there are left alone,
// as others are at work with them.
func (c *Coordinator) mend(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, brokerWait)
	defer cancel()
	_, err := c.wire.JobCount(bound)
	if err == nil {
		_, err = c.wire.EventCount(bound)
	}
	if wire.IsLost(err) {
		return c.setup(ctx)
	}
	return err
}

// persist does something again and again until it works, ctx ends (which is
// not an error) or the error is fatal.
func (c *Coordinator) persist(ctx context.Context, doing string, do func(context.Context) error) error {
	trouble := outage{log: c.log, doing: doing}
	for ctx.Err() == nil {
		err := do(ctx)
		if err == nil {
			trouble.over()
			return nil
		}
		if c.options.Fatal(err) {
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

// take waits for the turn to publish or take back jobs; give hands it on.
func (c *Coordinator) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Coordinator) give() { <-c.turn }
