package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/policy"
)

// search chooses the points of a search by results, a generation at a time, beside the scheduler: the
// time that it takes grows with the trials. What it knows are the trials in the database. If the
// coordinator is killed, its successor chooses the same points, or finds them written.
type search struct {
	policy policy.Policy
	// choosing means that chosen will have a choice. Only the scheduler's goroutine uses it.
	choosing bool
	chosen   chan choice
}

// choice are the points after the first from ones of a grid.
type choice struct {
	from   int64
	points []policy.Point
	err    error
}

// generation returns the next trials of a grid whose points results choose, and how far the search
// is. There are none yet if trials before them have not ended, by the classes of the sweep's backlog, or
// while they are being chosen.
func (s *scheduler) generation(ctx context.Context, a *activeSweep, ordinal int,
	classes []sweep.ClassBacklog) ([]policy.Point, *schedule.Search, error) {
	g, own := &a.record.Grids[ordinal], a.searches[ordinal]
	progress := &schedule.Search{Generation: own.policy.Generation(g.Cursor).Number}
	if own.choosing {
		select {
		case c := <-own.chosen:
			own.choosing = false
			if c.err != nil {
				return nil, progress, c.err
			}
			if c.from == g.Cursor {
				return c.points, progress, nil
			}
		default:
			progress.Choosing = true
			return nil, progress, nil
		}
	}
	if unfinished(classes) {
		return nil, progress, nil
	}
	id, first, from := a.record.ID, g.First, g.Cursor
	own.choosing, progress.Choosing = true, true
	s.executors.working.Go(func() {
		c := choice{from: from}
		c.points, c.err = s.choose(ctx, own, id, first, from)
		own.chosen <- c
		s.facts.add(schedule.Chosen{Sweep: id})
	})
	return nil, progress, nil
}

// choose returns the trials that follow the first from trials of a grid; none if one of these has been retried
// meanwhile.
func (s *scheduler) choose(ctx context.Context, own *search, id string, first,
	from int64) (points []policy.Point, err error) {
	defer sweep.Catch(&err)
	trials, wants := make([]policy.Trial, 0, from), own.policy.Wants()
	ended := true
	err = s.store.Rows(ctx, id, first, first+from, func(row *sweep.TrialRow) error {
		trial := policy.Trial{Value: math.NaN()}
		if row.State == sweep.Skipped {
			trial.Skipped = row.Skipped
		}
		if err := trial.Parameters.UnmarshalJSON(row.Parameters); err != nil {
			return &expansionError{fmt.Errorf("parameters of trial %d: %w", row.Index, err)}
		}
		ended = ended && row.State.Terminal()
		ran := row.State == sweep.Completed && !row.Diverged || row.State == sweep.Stopped && wants.Stopped
		if ran && len(row.Summary) > 0 {
			var summary map[string]*float64
			if err := json.Unmarshal(row.Summary, &summary); err != nil {
				return &expansionError{fmt.Errorf("summary of trial %d: %w", row.Index, err)}
			}
			if value := summary[wants.Metric]; value != nil && wants.Goal == sweep.Maximize {
				trial.Value = -*value
			} else if value != nil {
				trial.Value = *value
			}
		}
		trials = append(trials, trial)
		return nil
	})
	if err != nil || !ended {
		return nil, wrap(err, "reading the results of sweep %s", id)
	}
	step, err := own.policy.Step(ctx, policy.Observations{Trials: trials, Written: from})
	if err == nil && len(step.Next) == 0 {
		err = &expansionError{fmt.Errorf("the search ends at trial %d, before those that were counted at its "+
			"submission; was it submitted by another version of the program?", from)}
	}
	return step.Next, err
}
