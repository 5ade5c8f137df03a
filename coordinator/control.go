package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Submit stores a new sweep and returns its id and its number of points. The
// cost does not depend on their number: nothing is expanded yet.
func (c *Coordinator) Submit(ctx context.Context, submission *sweep.Submission) (id string, points int64, err error) {
	grid, err := open(submission)
	if err != nil {
		return "", 0, err
	}
	for {
		id = newID(time.Now())
		err := c.store.CreateSweep(ctx, id, submission, grid.Count())
		if errors.Is(err, sweep.ErrExists) {
			continue // two submissions in one second, and a chance of one in a million
		}
		if err != nil {
			return "", 0, fmt.Errorf("storing the sweep %s: %w", submission.Spec.Name, err)
		}
		c.log.Info("sweep submitted", "sweep", id, "name", submission.Spec.Name, "points", grid.Count())
		c.marks.markSweeps(submission.Spec.Pool)
		return id, grid.Count(), nil
	}
}

// Extend adds the points of a further submission to a sweep and returns their
// number. Points that the sweep has a result for are not run again.
func (c *Coordinator) Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error) {
	grid, err := open(submission)
	if err != nil {
		return 0, err
	}
	record, err := c.store.Sweep(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("extending sweep %s: %w", id, err)
	}
	if record.Trainer != submission.Spec.Trainer || record.Pool != submission.Spec.Pool {
		return 0, fmt.Errorf("extending sweep %s: it has trainer %s and pool %s, the extension %s and %s: submit it as a sweep of its own",
			record.ID, record.Trainer, record.Pool, submission.Spec.Trainer, submission.Spec.Pool)
	}
	added, err := c.store.AddGrid(ctx, record.ID, submission, grid.Count())
	if err != nil {
		return 0, fmt.Errorf("extending sweep %s: %w", record.ID, err)
	}
	c.log.Info("sweep extended", "sweep", record.ID, "points", added.Points)
	c.marks.markSweeps(record.Pool)
	return added.Points, nil
}

// open checks that a submission expands and that the wire can carry it.
func open(submission *sweep.Submission) (*sweep.Grid, error) {
	grid, err := sweep.NewGrid(&submission.Spec)
	if err != nil {
		return nil, fmt.Errorf("expanding the grid of %s: %w", submission.Spec.Name, err)
	}
	if err := wire.CheckToken("pool", submission.Spec.Pool); err != nil {
		return nil, err
	}
	if submission.Spec.Trainer == "" {
		return nil, fmt.Errorf("sweep %s names no trainer", submission.Spec.Name)
	}
	return grid, nil
}

// Pause keeps the waiting trials of an active sweep from starting; those that
// run go on to their results.
func (c *Coordinator) Pause(ctx context.Context, id string) error {
	return c.change(ctx, "pausing", id, func(record *sweep.SweepRecord) error {
		switch record.State {
		case sweep.SweepPaused:
			return nil
		case sweep.SweepActive:
		default:
			return fmt.Errorf("it is %s: only an active sweep can be paused", record.State)
		}
		waiting, running, err := c.outstandingOf(ctx, record.ID)
		if err != nil {
			return err
		}
		if err := c.store.SetSweepState(ctx, record.ID, sweep.SweepPaused); err != nil {
			return err
		}
		if err := c.requeue(ctx, waiting); err != nil {
			return err
		}
		if err := c.withdraw(ctx, record.ID, running); err != nil {
			return fmt.Errorf("it is paused, but its jobs were not withdrawn and may still start: %w", err)
		}
		return nil
	})
}

// Resume lets a paused sweep go on.
func (c *Coordinator) Resume(ctx context.Context, id string) error {
	return c.change(ctx, "resuming", id, func(record *sweep.SweepRecord) error {
		switch record.State {
		case sweep.SweepActive:
			return nil
		case sweep.SweepPaused:
			return c.store.SetSweepState(ctx, record.ID, sweep.SweepActive)
		case sweep.SweepCancelled:
			return errors.New("it is cancelled: retry it instead")
		default:
			return fmt.Errorf("it is %s: only a paused sweep can be resumed", record.State)
		}
	})
}

// Cancel ends a sweep: what waits never starts, what runs is stopped. It
// returns how many trials were queued or running.
func (c *Coordinator) Cancel(ctx context.Context, id string) (stopped int, err error) {
	err = c.change(ctx, "cancelling", id, func(record *sweep.SweepRecord) error {
		trials, err := c.store.CancelTrials(ctx, record.ID)
		if err != nil {
			return err
		}
		stopped = len(trials)
		c.waiters.notify(record.ID)
		if err := c.withdraw(ctx, record.ID, nil); err != nil {
			return fmt.Errorf("it is cancelled, but its jobs were not withdrawn; cancel it again: %w", err)
		}
		if c.wire == nil {
			return nil
		}
		return c.wire.Cancel(record.ID)
	})
	return stopped, err
}

// Retry puts the failed and cancelled trials of a sweep back and returns their
// number.
func (c *Coordinator) Retry(ctx context.Context, id string) (trials int64, err error) {
	err = c.change(ctx, "retrying", id, func(record *sweep.SweepRecord) error {
		trials, err = c.store.RetryTrials(ctx, record.ID)
		return err
	})
	return trials, err
}

// SetPriority changes a sweep's priority, also over what waits already.
func (c *Coordinator) SetPriority(ctx context.Context, id string, priority int) error {
	return c.change(ctx, "changing the priority of", id, func(record *sweep.SweepRecord) error {
		return c.store.SetSweepPriority(ctx, record.ID, priority)
	})
}

// change does something to a sweep while nothing is dispatched, and has the
// waiting jobs of its pool dealt out anew.
func (c *Coordinator) change(ctx context.Context, doing, id string, do func(*sweep.SweepRecord) error) error {
	if err := c.take(ctx); err != nil {
		return fmt.Errorf("%s sweep %s: %w", doing, id, err)
	}
	defer c.give()
	record, err := c.store.Sweep(ctx, id)
	if err != nil {
		return fmt.Errorf("%s sweep %s: %w", doing, id, err)
	}
	defer c.marks.markSweeps(record.Pool) // also after an error: part of it may be done
	if err := do(record); err != nil {
		return fmt.Errorf("%s sweep %s: %w", doing, record.ID, err)
	}
	c.log.Info("done: "+doing+" a sweep", "sweep", record.ID)
	return nil
}
