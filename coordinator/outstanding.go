package coordinator

import (
	"context"
	"fmt"
	"time"

	"sweep/sweep"
)

// outstandingPage is how many trials are looked at together.
const outstandingPage = 1000

// outstanding calls visit for pages of the queued and running trials of active
// sweeps that have not been heard of since before. The window and the workers'
// slots bound their number, so that the cost does not grow with the sweeps.
func (c *Coordinator) outstanding(ctx context.Context, before time.Time, visit func(page []sweep.TrialID) error) error {
	var after *sweep.TrialID
	for {
		page, err := c.store.Unheard(ctx, before, after, outstandingPage)
		if err != nil {
			return fmt.Errorf("looking for queued and running trials: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		after = &sweep.TrialID{}
		*after = page[len(page)-1]
		if err := visit(page); err != nil {
			return err
		}
	}
}

// always is a time before which every trial was last heard of.
func always() time.Time { return time.Now().Add(24 * time.Hour) }

// byState tells the queued of the trials from the running ones.
func (c *Coordinator) byState(ctx context.Context, trials []sweep.TrialID) (queued, running []sweep.TrialID, err error) {
	for _, id := range trials {
		record, err := c.store.Trial(ctx, id)
		if err != nil {
			return nil, nil, fmt.Errorf("looking at trial %s: %w", id, err)
		}
		switch record.State {
		case sweep.Queued:
			queued = append(queued, id)
		case sweep.Running:
			running = append(running, id)
		}
	}
	return queued, running, nil
}

// outstandingOf returns the queued and the running trials of an active sweep.
func (c *Coordinator) outstandingOf(ctx context.Context, id string) (queued, running []sweep.TrialID, err error) {
	var own []sweep.TrialID
	err = c.outstanding(ctx, always(), func(page []sweep.TrialID) error {
		for _, trial := range page {
			if trial.Sweep == id {
				own = append(own, trial)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return c.byState(ctx, own)
}

// requeue puts trials back to pending.
func (c *Coordinator) requeue(ctx context.Context, trials []sweep.TrialID) error {
	if len(trials) == 0 {
		return nil
	}
	if _, err := c.store.Requeue(ctx, trials); err != nil {
		return fmt.Errorf("putting %d trials back: %w", len(trials), err)
	}
	return nil
}

// requeueAll puts every queued or running trial of an unfinished sweep back.
func (c *Coordinator) requeueAll(ctx context.Context) error {
	err := c.outstanding(ctx, always(), func(page []sweep.TrialID) error {
		return c.requeue(ctx, page)
	})
	if err != nil {
		return err
	}
	paused, err := c.store.Sweeps(ctx, sweep.SweepPaused)
	if err != nil {
		return fmt.Errorf("looking for paused sweeps: %w", err)
	}
	for _, record := range paused {
		var trials []sweep.TrialID
		query := sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Queued, sweep.Running}}
		err := c.store.Trials(ctx, query, func(t *sweep.TrialRecord) error {
			trials = append(trials, t.TrialID)
			return nil
		})
		if err != nil {
			return fmt.Errorf("looking for queued and running trials of sweep %s: %w", record.ID, err)
		}
		if err := c.requeue(ctx, trials); err != nil {
			return err
		}
	}
	return nil
}
