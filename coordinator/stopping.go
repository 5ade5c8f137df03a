package coordinator

import (
	"context"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/policy"
)

// generation is what is written with trials that are stopped by the median.
type generation struct {
	metric string
	// rule is that of the generation; nil if its first trials are already written.
	rule *sweep.StopRule
	// left is how many of its trials are not written.
	left int64
}

// stopping returns by what the next trials of a grid are stopped, and how far the sweep is; nil while trials of earlier
// generations have not ended. Marks of later trials are never looked at, so the same trials stop on any number of
// slots.
func (s *scheduler) stopping(ctx context.Context, a *activeSweep, p policy.Policy, g *sweep.GridRecord,
	classes []sweep.ClassBacklog) (*generation, *schedule.Search, error) {
	wants, now := p.Wants(), p.Generation(g.Cursor)
	stops, progress := &generation{metric: wants.Metric, left: now.Left}, &schedule.Search{Generation: now.Number}
	if now.Before > 0 { // the page before was a part of it
		return stops, progress, nil
	}
	if unfinished(classes) {
		return nil, progress, nil
	}
	first := g.First + g.Cursor
	marks, err := s.store.Marks(ctx, a.record.ID, stops.metric, max(first-wants.Window, 0), first)
	if err != nil {
		return nil, progress, wrap(err, "reading what trials of sweep %s are stopped by", a.record.ID)
	}
	step, err := p.Step(ctx, policy.Observations{Written: g.Cursor, Marks: marks})
	stops.rule = step.Rule
	return stops, progress, err
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
	for _, p := range *watching {
		wants := p.Wants()
		switch {
		case len(wants.Bands) > 0:
			return &sweep.StopRule{Metric: wants.Metric, Goal: wants.Goal, Bands: wants.Bands}, nil
		case wants.Window > 0:
			return s.storedRule(ctx, a, index, index-p.Generation(index-g.First).Before)
		}
	}
	return nil, nil
}

// storedRule returns by what a trial is stopped whose generation begins with a trial.
func (s *scheduler) storedRule(ctx context.Context, a *activeSweep, index, first int64) (*sweep.StopRule, error) {
	if a.rule.StopRule == nil || a.rule.first != first {
		rule, err := s.store.StopRule(ctx, a.record.ID, first)
		if err != nil {
			return nil, wrap(err, "reading what stops trial %d of sweep %s", index, a.record.ID)
		}
		a.rule = stopRule{first, rule}
	}
	return a.rule.StopRule, nil
}
