package local

import (
	"context"
	"slices"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// Deadline is when a run ends although trials are left.
type Deadline struct {
	At time.Time
	// Now is time.Now, and Context context.WithDeadline, but in tests.
	Now     func() time.Time
	Context func(parent context.Context, at time.Time) (context.Context, context.CancelFunc)
	// Estimator returns what estimates how long the trials of the sweep take.
	Estimator func(ctx context.Context, record *sweep.SweepRecord) (*progress.Estimator, error)
}

// chooser is a store of which the trials of one sweep are queued in the order that is best before a deadline. The
// others are withheld: what waits for a slot is chosen late, when it is known how long the trials before took.
type chooser struct {
	sweep.Store
	slots     int64
	at        time.Time
	now       func() time.Time
	estimator *progress.Estimator

	mu     sync.Mutex
	record *sweep.SweepRecord
	order  order
	// unwritten is how many points had no rows: those that get some may come before others.
	unwritten int64
	// chosen are the pending trials that may be queued, idle is since when none of them was although nothing
	// runs, the zero time if something does.
	chosen []candidate
	idle   time.Time
}

const (
	// queueTime is for how long the slots may have trials that wait in their queue, in seconds, and maxQueued how
	// many.
	queueTime = 2
	maxQueued = 512
	// pendingPage is how many pending trials are read at once.
	pendingPage = 500
	// longestIdle is after how long others are chosen, because no worker can run those that were.
	longestIdle = 10 * time.Second
)

// Backlog implements sweep.Queue.
func (c *chooser) Backlog(ctx context.Context, ids ...string) ([]sweep.Backlog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	backlogs, err := c.Store.Backlog(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for i := range backlogs {
		if b := &backlogs[i]; c.record != nil && b.Sweep == c.record.ID {
			if err := c.choose(ctx, b); err != nil {
				return nil, err
			}
		}
	}
	return backlogs, nil
}

// choose chooses further trials if the queue has room for them, and withholds all others.
func (c *chooser) choose(ctx context.Context, b *sweep.Backlog) error {
	var pending, queued, running int64
	for _, class := range b.Classes {
		pending, queued, running = pending+class.Pending, queued+class.Queued, running+class.Running
	}
	if b.Unwritten != c.unwritten {
		c.order, c.unwritten = order{}, b.Unwritten
	}
	if b.Grids != len(c.record.Grids) { // the sweep was extended
		record, err := c.Sweep(ctx, b.Sweep)
		if err != nil {
			return err
		}
		c.record = record
	}
	n := room(c.slots, queued+int64(len(c.chosen)), running, c.estimator.Mean())
	switch idle := queued+running == 0 && len(c.chosen) > 0; {
	case !idle:
		c.idle = time.Time{}
	case c.idle.IsZero():
		c.idle = c.now()
	case c.now().Sub(c.idle) >= longestIdle:
		c.idle, n = time.Time{}, max(n, int64(len(c.chosen)))
	}
	if n = min(n, pending-int64(len(c.chosen))); n > 0 {
		left := c.at.Sub(c.now()).Seconds()
		pending := func(from int64) ([]candidate, error) { return c.pending(ctx, from) }
		found, err := c.order.next(int(n), left, c.chosen, pending)
		if err != nil {
			return err
		}
		for _, chosen := range found {
			chosen.seconds = nil // it holds the page
			c.chosen = append(c.chosen, chosen)
		}
	}
	for i := range b.Classes {
		class := &b.Classes[i]
		class.Withheld = class.Pending
		for _, chosen := range c.chosen {
			if chosen.class == class.Class && class.Withheld > 0 {
				class.Withheld--
			}
		}
	}
	return nil
}

// room is how many further trials may be queued, of a mean length in seconds, 0 if that is not known: those for free
// slots and, where trials are short, so many that no slot waits for the next one. queued are those that wait. To choose
// one costs as much as to choose many.
func room(slots, queued, running int64, mean float64) int64 {
	ahead := int64(0)
	if mean > 0 {
		ahead = int64(min(float64(slots)*queueTime/mean, maxQueued))
	}
	if ahead-queued < ahead/4 {
		ahead = 0
	}
	return max(slots-queued-running, ahead-queued, 0)
}

// pending returns a page of pending trials from an index on.
func (c *chooser) pending(ctx context.Context, from int64) (page []candidate, err error) {
	trials, err := c.PendingTrials(ctx, c.record.ID, from, pendingPage)
	for i := range trials {
		t := &trials[i]
		page = append(page, candidate{index: t.Index, class: t.Class, replicate: c.replicate(t),
			seconds: func() float64 { return c.estimator.Of(ctx, t.Parameters).Seconds }})
	}
	return page, err
}

// replicate is which replicate of its point a trial is.
func (c *chooser) replicate(t *sweep.Trial) int {
	for i := range c.record.Grids {
		if g := &c.record.Grids[i]; t.Index >= g.First && t.Index < g.First+g.Points {
			return progress.Replicate(&g.Submission.Spec, t.Parameters)
		}
	}
	return 0
}

// TakePending implements sweep.Queue: it takes trials that were chosen, in the order of the choice.
func (c *chooser) TakePending(ctx context.Context, id string, class, limit int) ([]sweep.Trial, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record == nil || id != c.record.ID {
		return c.Store.TakePending(ctx, id, class, limit)
	}
	var indices []int64
	var rest []candidate
	for _, chosen := range c.chosen {
		if chosen.class == class && len(indices) < limit {
			indices = append(indices, chosen.index)
		} else {
			rest = append(rest, chosen)
		}
	}
	trials, err := c.TakeTrials(ctx, id, indices)
	if err != nil {
		return nil, err
	}
	c.chosen = rest
	slices.SortFunc(trials, func(a, b sweep.Trial) int {
		return slices.Index(indices, a.Index) - slices.Index(indices, b.Index)
	})
	for i := range trials {
		c.estimator.Begin(trials[i].TrialID, c.estimator.Of(ctx, trials[i].Parameters))
	}
	return trials, nil
}

// Record implements sweep.EventRecorder.
func (c *chooser) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	report, err := c.Store.Record(ctx, events)
	for i := range events {
		if e := &events[i]; err == nil && c.estimator != nil && e.Kind == sweep.EventResult && e.Result != nil {
			c.estimator.End(e.TrialID, e.Result)
		}
	}
	return report, err
}
