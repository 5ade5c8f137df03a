package coordinator

import (
	"context"
	"errors"
	"fmt"

	"sweep/coordinator/schedule"
	"sweep/sweep"
)

// bisect records events of which the store refuses some. It halves them until each refused event is
// alone and can be quarantined.
func (c *Coordinator) bisect(ctx context.Context, events []sweep.Event, problem error) error {
	if len(events) == 1 {
		return c.setAside(ctx, events[0], problem)
	}
	for _, half := range [][]sweep.Event{events[:len(events)/2], events[len(events)/2:]} {
		if err := c.record(ctx, half); err != nil {
			return err
		}
	}
	return nil
}

// setAside quarantines an event that the store refuses, and fails its trial with the reason.
func (c *Coordinator) setAside(ctx context.Context, guilty sweep.Event, problem error) error {
	// Record would recurse without end if the store refused this event, too. It comes
	// first: if the store accepts it, the store works.
	result := failure(guilty.TrialID, fmt.Errorf("the database refuses an event of its worker %.100q: %w",
		guilty.Worker, problem))
	if _, err := c.store.Record(ctx, []sweep.Event{result}); err != nil && !errors.Is(err, sweep.ErrRefused) {
		return err
	}
	c.log.Error("event quarantined: the database refuses it", "trial", guilty.TrialID, "kind", guilty.Kind, "worker",
		guilty.Worker, "error", problem)
	err := c.store.Quarantine(ctx, []sweep.Quarantined{{Event: guilty, Problem: problem.Error()}})
	if err != nil && !errors.Is(err, sweep.ErrRefused) { // if refused, only the log has it
		return fmt.Errorf("quarantining an event of trial %s: %w", guilty.TrialID, err)
	}
	c.options.Metrics.quarantined.Inc()
	c.facts.add(schedule.Heard{Trials: []sweep.TrialID{guilty.TrialID}})
	return nil
}

// suspicious is after how many failed attempts a batch is recorded event by event, although the store
// does not report that it refuses the data.
const suspicious = 4

// unavailable reports whether the error is the store's and not an event's. A nearly full disk accepts
// one event and not another.
func unavailable(err error) bool {
	return errors.As(err, new(*sweep.UnavailableError))
}

// isolate records a batch event by event, after the store has failed repeatedly for an unknown reason.
// If the store accepts some events, it quarantines the others; if it accepts none, the store is at
// fault. A single event is quarantined after twice as many attempts, if the store then accepts the
// failure of its trial.
func (c *Coordinator) isolate(ctx context.Context, events []sweep.Event, problem error, attempts int) error {
	if len(events) == 1 {
		if attempts < 2*suspicious {
			return problem
		}
		return c.setAside(ctx, events[0], problem)
	}
	var guilty []sweep.Event
	var last error
	for i := range events {
		if err := c.record(ctx, events[i:i+1]); err != nil {
			if ctx.Err() != nil || unavailable(err) || errors.Is(err, context.DeadlineExceeded) || len(guilty) == i &&
				i >= suspicious {
				return err
			}
			guilty, last = append(guilty, events[i]), err
		}
	}
	if len(guilty) == len(events) {
		return last
	}
	for _, e := range guilty {
		if err := c.setAside(ctx, e, last); err != nil {
			return err
		}
	}
	return nil
}
