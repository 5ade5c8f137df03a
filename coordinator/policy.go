package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// decision is what policies decide: about the generation after so many trials of a grid, or about trials that run.
type decision struct {
	grid    int
	written int64
	// points are those of the generation, nil if it has those that are known beforehand. rule, if not nil, is by what
	// its trials are stopped.
	points []policy.Point
	rule   *sweep.StopRule
	stops  []sweep.Stop
	err    error
}

// turn says what comes before the next trials of a grid are written.
type turn struct {
	// progress is nil if they are not written in generations.
	progress *schedule.Generations
	// due says that their generation is to be decided about.
	due bool
	// left, if not 0, is how many trials are left of the generation, and marked the metric by which they are stopped.
	left   int64
	marked string
}

// turnOf returns what comes before the next trials of a grid are written.
func turnOf(policies []policy.Policy, g *sweep.GridRecord) (t turn) {
	for _, p := range policies {
		wants := p.Wants()
		if len(wants.Bands) > 0 {
			continue
		}
		now := p.Generation(g.Cursor)
		if t.progress == nil {
			t.progress = &schedule.Generations{Generation: now.Number, Grid: g.Ordinal, Written: g.Cursor}
		}
		t.due = t.due || now.Before == 0
		if wants.Window > 0 {
			t.left, t.marked = now.Left, wants.Metric
		}
	}
	return t
}

// unfinished reports whether written trials have not ended, or with failures that are not confirmed.
func unfinished(classes []sweep.ClassBacklog) bool {
	for _, class := range classes {
		if class.Pending+class.Queued+class.Running+class.Unconfirmed > 0 {
			return true
		}
	}
	return false
}

// choose has the policies of a sweep decide, beside the scheduler: the time that it takes grows with the trials. What
// they know are the trials in the database. If the coordinator is killed, its successor decides the same, or finds it
// stored.
func (s *scheduler) choose(ctx context.Context, a schedule.Choose) {
	active := s.active[a.Sweep]
	s.executors.working.Go(func() {
		chosen := schedule.Chosen{Sweep: a.Sweep, Running: a.Running}
		d := &decision{grid: a.Grid, written: a.Written}
		var decided bool
		switch {
		case a.Running:
			decided, d.err = s.compare(ctx, active, a.Sweep, d)
		case active != nil: // else it is asked for again
			decided, d.err = s.generation(ctx, active, d)
		}
		if decided || d.err != nil {
			chosen.Decision = d
		}
		s.facts.add(chosen)
	})
}

// generation decides about a generation, unless a trial before it has been retried meanwhile. Later trials are never
// looked at, so the decision does not depend on the number of slots.
func (s *scheduler) generation(ctx context.Context, a *activeSweep, d *decision) (decided bool, err error) {
	defer sweep.Catch(&err)
	id, first := a.record.ID, a.record.Grids[d.grid].First
	for _, p := range a.policies[d.grid] {
		wants, seen := p.Wants(), policy.Observations{Written: d.written}
		if len(wants.Bands) > 0 || p.Generation(d.written).Before > 0 {
			continue
		}
		if wants.Trials {
			var ended bool
			if seen.Trials, ended, err = s.ended(ctx, id, first, d.written, wants); err != nil || !ended {
				return false, wrap(err, "reading the results of sweep %s", id)
			}
		}
		if wants.Window > 0 {
			from := max(first+d.written-wants.Window, 0)
			seen.Observed, err = s.store.Observations(ctx, id, wants.Metric, false, from, first+d.written)
			if err != nil {
				return false, wrap(err, "reading what trials of sweep %s are stopped by", id)
			}
		}
		step, err := p.Step(ctx, seen)
		if err != nil {
			return false, stuck(ctx, err)
		}
		if wants.Trials && len(step.Next) == 0 {
			return false, &expansionError{fmt.Errorf("the search ends at trial %d, before those that were counted at "+
				"its submission; was it submitted by another version of the program?", d.written)}
		}
		if step.Next != nil {
			d.points = step.Next
		}
		if step.Rule != nil {
			d.rule = step.Rule
		}
	}
	return true, nil
}

// ended returns the first n trials of a grid, and whether all of them have ended.
func (s *scheduler) ended(ctx context.Context, id string, first, n int64,
	wants policy.Wants) (trials []policy.Trial, ended bool, err error) {
	trials, ended = make([]policy.Trial, 0, n), true
	err = s.store.Rows(ctx, id, first, first+n, func(row *sweep.TrialRow) error {
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
	return trials, ended, err
}

// compare decides which trials of a sweep that run are stopped. All its grids have the same rule.
func (s *scheduler) compare(ctx context.Context, a *activeSweep, id string, d *decision) (decided bool, err error) {
	defer sweep.Catch(&err)
	var record *sweep.SweepRecord
	if a != nil {
		record = a.record
	} else if record, err = s.store.Sweep(ctx, id); err != nil {
		return false, fmt.Errorf("reading sweep %s: %w", id, err)
	}
	policies, err := policy.Watching(&record.Grids[len(record.Grids)-1].Submission)
	if err != nil {
		return false, &expansionError{err}
	}
	if len(policies) == 0 || len(policies[0].Wants().Bands) == 0 {
		return false, nil
	}
	var seen policy.Observations
	metric := policies[0].Wants().Metric
	if seen.Observed, err = s.store.Observations(ctx, id, metric, true, 0, math.MaxInt64); err != nil {
		return false, err
	}
	step, err := policies[0].Step(ctx, seen)
	d.stops = step.Stops
	return len(d.stops) > 0, stuck(ctx, err)
}

// stuck returns the error of a policy that cannot go on: that of its sweep, unless ctx has ended.
func stuck(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &expansionError{err}
}

// stopTrials stores which trials are to stop, and tells the workers.
func (s *scheduler) stopTrials(ctx context.Context, a schedule.Stop) error {
	d := a.Decision.(*decision)
	if d.err != nil {
		return d.err
	}
	if err := s.store.AddStops(ctx, a.Sweep, d.stops); err != nil {
		return err
	}
	reasons := map[int64]wire.Halt{}
	for _, stop := range d.stops {
		reasons[stop.Index] = wire.Halt{Band: stop.Band, Reason: stop.Reason}
		s.log.Info("decided to stop a trial", "trial", stop.TrialID, "reason", stop.Reason)
	}
	if err := s.wire.Halt(a.Sweep, reasons); err != nil {
		s.log.Debug("workers are told by the answers to their heartbeats only", "sweep", a.Sweep, "error", err)
	}
	return nil
}

// observed are the sweeps with events by which trials that run are compared.
func observed(events []sweep.Event) (sweeps []string) {
	for i := range events {
		e := &events[i]
		if e.Marks != nil || e.Result != nil && e.Result.Marks != nil && len(e.Result.Marks.Bands) > 0 {
			sweeps = append(sweeps, e.Sweep)
		}
	}
	return sweeps
}

// stopRule is the rule of a generation, that of the trials from first on.
type stopRule struct {
	first int64
	*sweep.StopRule
}

// rule returns by what a trial is stopped early, nil if by nothing.
func (s *scheduler) rule(ctx context.Context, a *activeSweep, index int64) (*sweep.StopRule, error) {
	g := a.grid(index)
	if g == nil || len(g.Submission.Spec.Policies) == 0 {
		return nil, nil
	}
	watching := &a.watching[g.Ordinal]
	if *watching == nil {
		var err error
		if *watching, err = policy.Watching(&g.Submission); err != nil {
			return nil, &expansionError{err}
		}
	}
	if len(*watching) == 0 {
		return nil, nil
	}
	p := (*watching)[0] // a sweep has one policy of a key
	wants, now := p.Wants(), p.Generation(index-g.First)
	rule := &sweep.StopRule{Metric: wants.Metric, Goal: wants.Goal, Bands: wants.Bands, Best: wants.Best}
	if len(rule.Bands) > 0 {
		return rule, nil
	}
	if first := index - now.Before; a.rule.StopRule == nil || a.rule.first != first {
		var err error
		if rule.Rule, rule.Limits, err = s.store.StopLimits(ctx, a.record.ID, first); err != nil {
			return nil, wrap(err, "reading what stops trial %d of sweep %s", index, a.record.ID)
		}
		rule.Generation, a.rule = now.Number+1, stopRule{first, rule}
	}
	return a.rule.StopRule, nil
}
