package coordinator

import (
	"context"
	"errors"
	"slices"

	"sweep/coordinator/schedule"
	"sweep/sweep"
)

// divide does something with all items, or, after an error, with halves of them, until those to which the error
// is due are alone. It returns them with the last of their errors. general reports whether an error is due to
// none of them; then, and if none at all succeeds, divide returns that error.
func divide[T any](items []T, do func([]T) error, general func(error) bool) (guilty []T, last, err error) {
	succeeded := false
	for parts := [][]T{items}; len(parts) > 0; {
		part := parts[0]
		parts = parts[1:]
		if len(part) == 0 {
			continue
		}
		switch err := do(part); {
		case err == nil:
			succeeded = true
		case general(err):
			return guilty, last, err
		case len(part) > 1:
			parts = slices.Insert(parts, 0, part[:len(part)/2], part[len(part)/2:])
		default:
			guilty, last = append(guilty, part[0]), err
			if len(guilty) > suspicious && !succeeded {
				return nil, nil, err
			}
		}
	}
	return guilty, last, nil
}

// general reports whether an error is due to the database, the lead or the end of Run, and not to what an action is
// about.
func (c *Coordinator) general(err error) bool {
	return c.final(err) || unavailable(err) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

// requeue makes trials pending again. The reconciler finds those again that the database refuses.
func (s *scheduler) requeue(ctx context.Context, a schedule.Requeue) error {
	var total int64
	add := func(n int64, err error) error {
		total += n
		return err
	}
	trials, problem, err := divide(a.Trials, func(part []sweep.TrialID) error {
		return add(s.store.Requeue(ctx, part))
	}, s.general)
	doing := "requeuing %d trials"
	if err == nil && len(a.Lost) > 0 {
		doing += " whose jobs were lost"
		var lost []sweep.Heard
		lost, problem, err = divide(a.Lost, func(part []sweep.Heard) error {
			return add(s.store.RequeueUnheard(ctx, part))
		}, s.general)
		trials = trialIDs(lost)
	}
	s.options.Metrics.requeued.Add(float64(total))
	if len(trials) > 0 {
		s.log.Error("trials are not requeued, the others are; retrying these later", "trials", len(trials),
			"first", trials[0], "error", problem)
	}
	return wrap(err, doing, len(a.Trials)+len(a.Lost))
}

// recordFailures records trials as failed that no worker has received.
func (s *scheduler) recordFailures(ctx context.Context, a schedule.Fail) error {
	trials, problem, err := divide(a.Failures, func(part []schedule.Failure) error {
		events := make([]sweep.Event, len(part))
		for i, f := range part {
			events[i] = failure(f.TrialID, f.Err)
		}
		_, err := s.store.Record(ctx, events)
		return err
	}, s.general)
	if len(trials) > 0 {
		s.log.Error("the failures of trials are not recorded, those of others are; retrying these later", "trials",
			len(trials), "first", trials[0].TrialID, "error", problem)
	}
	return wrap(err, "recording %d trials that are too large", len(a.Failures))
}

// settle returns the error of an action on a sweep if it must be tried again. Nothing is left to do for a sweep that
// was deleted. One whose actions keep failing, while it can be paused, is paused, so that the others go on.
func (s *scheduler) settle(ctx context.Context, id string, problem error) error {
	switch {
	case problem == nil:
		delete(s.failures, id)
		return nil
	case errors.Is(problem, sweep.ErrNotFound) && s.deleted(ctx, id):
		s.facts.add(schedule.Changed{})
		return nil
	case s.general(problem):
		return problem
	}
	if s.failures[id]++; s.failures[id] < 2*suspicious {
		return problem
	}
	if err := s.store.Suspend(ctx, id, "the coordinator cannot go on with it: "+problem.Error()); err != nil {
		return problem
	}
	delete(s.failures, id)
	s.log.Error("paused a sweep that the coordinator cannot go on with", "sweep", id, "error", problem)
	s.facts.add(schedule.Changed{})
	return nil
}

// deleted reports whether a sweep does not exist any more.
func (s *scheduler) deleted(ctx context.Context, id string) bool {
	_, err := s.store.Sweep(ctx, id)
	return errors.Is(err, sweep.ErrNotFound)
}
