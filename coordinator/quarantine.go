package coordinator

import (
	"context"
	"errors"
	"fmt"

	"sweep/coordinator/schedule"
	"sweep/sweep"
)

// bisect records events of which the store refuses some: a half at a time, until
// the guilty ones stand alone and can be set aside.
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

// setAside puts an event that the store does not take into quarantine, and fails
// its trial with the reason.
func (c *Coordinator) setAside(ctx context.Context, guilty sweep.Event, problem error) error {
	// Not by record: a failure that is refused too would not end. It comes first: a
	// store that takes it is not what is wrong.
	result := failure(guilty.TrialID, fmt.Errorf("the database does not take what its worker %.100q reported: %w",
		guilty.Worker, problem))
	if _, err := c.store.Record(ctx, []sweep.Event{result}); err != nil && !errors.Is(err, sweep.ErrRefused) {
		return err
	}
	c.log.Error("an event was put into quarantine", "trial", guilty.TrialID, "kind", guilty.Kind, "worker",
		guilty.Worker, "error", problem)
	err := c.store.Quarantine(ctx, []sweep.Quarantined{{Event: guilty, Problem: problem.Error()}})
	if err != nil && !errors.Is(err, sweep.ErrRefused) { // then the log alone has it
		return fmt.Errorf("putting an event of trial %s into quarantine: %w", guilty.TrialID, err)
	}
	c.options.Metrics.quarantine()
	c.facts.add(schedule.Heard{Trials: []sweep.TrialID{guilty.TrialID}})
	return nil
}

// suspicious says after how many attempts a batch is recorded in parts, although
// the store does not say that it refuses the data.
const suspicious = 4

// unavailable reports whether the store is in trouble, for which no event is to blame:
// a disk that is nearly full takes one and not another.
func unavailable(err error) bool {
	var trouble *sweep.UnavailableError
	return errors.As(err, &trouble)
}

// isolate records a batch, which the store does not take for a reason that it
// does not tell, event by event. If it takes some, those that it does not take are
// guilty; if it takes none it is the store that is in trouble. One that is alone is
// guilty if the store takes its trial's failure after twice as many attempts.
func (c *Coordinator) isolate(ctx context.Context, events []sweep.Event, problem error, attempts int) error {
	if len(events) == 1 && attempts >= 2*suspicious {
		return c.setAside(ctx, events[0], problem)
	}
	if len(events) == 1 {
		return problem
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
