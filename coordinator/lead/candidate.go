// Package lead has one coordinator at a time work on a database: a Candidate waits for the
// lead, runs a coordinator while it has it, and stands by again when it has lost it.
//
//	c := lead.New(lead.Options{Connect: connect, Holder: "node1", Options: options})
//	err := c.Run(ctx)
//
// The lead is a lease in the database, which the store renews as long as the candidate can do
// a leader's work; see [sweep.Store].
package lead

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// Options are what a candidate is made of.
type Options struct {
	// Options are those of each coordinator, without what the lead brings: store, cluster,
	// term and lease.
	coordinator.Options
	// Connect opens the database.
	Connect func(ctx context.Context) (sweep.Store, error)
	// Began is called with a database that is now led.
	Began func(ctx context.Context, results sweep.Store)
	// Holder is what the process calls itself.
	Holder string
}

// Candidate is a coordinator that leads, or stands by.
type Candidate struct {
	Options
	// problem is why the coordinator is neither active nor stands by; it points to nil if it is.
	problem atomic.Pointer[error]
	// active is the coordinator while this one leads.
	active atomic.Pointer[coordinator.Coordinator]
	// unable is why this one could not lead when that was last checked.
	unable atomic.Pointer[inability]
	slow   slowness
	// stall is stallTime, but in tests.
	stall time.Duration
}

// New returns a candidate that does not run yet.
func New(options Options) *Candidate {
	c := &Candidate{Options: options, stall: stallTime}
	c.phase(errors.New("starting"))
	return c
}

// Active returns the coordinator, nil while this process does not lead.
func (c *Candidate) Active() *coordinator.Coordinator { return c.active.Load() }

// inability is why a coordinator cannot do a leader's work, and when it was found out.
type inability struct {
	err error
	at  time.Time
}

const (
	// stallTime is for how long a leader may fail with one error before it gives up the lead, stallPoll how often
	// that is checked, and stallPause how long the lead is left to others then.
	stallTime             = 30 * time.Second
	stallPoll, stallPause = time.Second, 2 * time.Second
	// stuckTime is how long a part of the coordinator may be at one thing before the
	// lead is left to another coordinator.
	stuckTime = time.Minute
	// inabilityTime is for how long an inability that is not found again counts.
	inabilityTime = 3 * time.Second
)

// check finds out whether this process can do a leader's work, and the highest term
// that the broker knows.
func (c *Candidate) check(ctx context.Context) (term int64, err error) {
	if term, err = c.Wire.Term(ctx); err == nil {
		if active := c.active.Load(); active != nil {
			err = active.Stuck(stuckTime)
		}
	}
	if err == nil {
		c.unable.Store(nil)
		return term, nil
	}
	if before := c.unable.Swap(&inability{err, time.Now()}); before == nil {
		c.Logger.Warn("cannot lead now; another coordinator may", "error", err)
	}
	return 0, err
}

func (c *Candidate) phase(problem error) { c.problem.Store(&problem) }

// Ready says why this process neither leads nor can stand by; nil if it does.
func (c *Candidate) Ready() error {
	if problem := *c.problem.Load(); problem != nil {
		return problem
	}
	if unable := c.unable.Load(); unable != nil && time.Since(unable.at) < inabilityTime {
		return unable.err
	}
	if active := c.active.Load(); active != nil {
		return active.Outage()
	}
	return nil
}

const (
	// firstPause and lastPause bound the pauses between attempts to reach the database, which
	// double each time.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	// resignTime bounds giving up the lead, which otherwise ends with its lease.
	resignTime = 3 * time.Second
)

// Run leads again and again until ctx ends.
func (c *Candidate) Run(ctx context.Context) error {
	pause := firstPause
	for ctx.Err() == nil {
		err := c.term(ctx, func() { pause = firstPause })
		switch {
		case ctx.Err() != nil || err == nil:
			continue
		case errors.Is(err, sweep.ErrNewerSchema), errors.As(err, new(*wire.OtherClusterError)):
			return err // waiting would not help
		case errors.As(err, new(*sweep.DeposedError)), errors.As(err, new(*wire.SupersededError)):
			c.Logger.Warn("lost the lead", "reason", err)
			pause = firstPause
			continue // it stands by
		}
		c.phase(err)
		if errors.As(err, new(*stallError)) {
			c.Logger.Error("gave up the lead, so that another coordinator, or this one anew, may succeed", "error", err)
			pause = stallPause
		} else if pause == firstPause {
			c.Logger.Warn("the database is unavailable; retrying", "error", err)
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
func (c *Candidate) term(ctx context.Context, working func()) (err error) {
	results, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }() // everything is committed by then
	leader, err := results.Lead(ctx, sweep.LeadOptions{Holder: c.Holder, Check: c.check,
		Waiting: func(holder string) {
			c.phase(nil)
			c.Logger.Info("standing by: another coordinator is active", "active", holder)
		}})
	if err != nil {
		return err
	}
	defer func() {
		resigning, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignTime)
		defer cancel()
		if resignErr := leader.Resign(resigning); resignErr != nil {
			c.Logger.Debug("releasing the lead", "error", resignErr)
		}
	}()
	cluster, err := results.Cluster(ctx)
	if err != nil {
		return err
	}
	working()
	c.phase(nil)
	c.Logger.Info("leading: this coordinator is active", "cluster", cluster.ID, "term", leader.Term())
	c.Began(ctx, results)
	leading, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	options := c.Options.Options
	options.Store, options.Cluster, options.Term, options.Leads = results, cluster, leader.Term(), leader.Holds
	options.Slow = c.slow.Slow
	led := coordinator.New(options)
	c.active.Store(led)
	defer c.active.Store(nil)
	watching.Go(func() { c.control(leading, leader, led, results) })
	var stall error
	watching.Go(func() {
		stall = c.untilLost(leading, leader, led)
		cancel()
	})
	err = led.Run(leading)
	cancel()
	watching.Wait()
	if err == nil && stall != nil {
		return stall
	}
	if err == nil && ctx.Err() == nil {
		if err = leader.Problem(); !errors.As(err, new(*sweep.DeposedError)) {
			err = nil // the database is connected to anew
		}
	}
	return err
}

// stallError is why a coordinator gave up the lead.
type stallError struct{ error }

// Unwrap returns the error with which the coordinator failed.
func (e *stallError) Unwrap() error { return e.error }

// untilLost waits until the lead is lost, or is to be given up because the coordinator fails; then it returns why.
func (c *Candidate) untilLost(ctx context.Context, leader sweep.Lead, led *coordinator.Coordinator) error {
	tick := time.NewTicker(stallPoll)
	defer tick.Stop()
	held := time.Now() // since when the lease has not run out
	for {
		select {
		case <-leader.Lost():
			return nil
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !leader.Holds() {
			held = time.Now()
		} else if err := led.Stalled(c.stall); err != nil && time.Since(held) > c.stall {
			return &stallError{err}
		}
	}
}
