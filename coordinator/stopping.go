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
func (s *scheduler) stopping(ctx context.Context, a *activeSweep, g *sweep.GridRecord,
	classes []sweep.ClassBacklog) (*generation, *schedule.Search, error) {
	spec := &g.Submission.Spec
	median := spec.Stopping.Median
	size := max(median.Generation(spec), 1)
	number := g.Cursor / size
	stops := &generation{metric: spec.Stopping.Metric, left: (number+1)*size - g.Cursor}
	progress := &schedule.Search{Generation: number}
	if g.Cursor%size != 0 { // the page before was a part of it
		return stops, progress, nil
	}
	if unfinished(classes) {
		return nil, progress, nil
	}
	first := g.First + g.Cursor
	marks, err := s.store.Marks(ctx, a.record.ID, stops.metric, max(first-sweep.MedianWindow, 0), first)
	if err != nil {
		return nil, progress, wrap(err, "reading what trials of sweep %s are stopped by", a.record.ID)
	}
	stops.rule = &sweep.StopRule{Metric: stops.metric, Goal: spec.Stopping.Goal, Generation: number + 1,
		Limits: policy.MedianLimits(median, marks)}
	return stops, progress, nil
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
	if g == nil || g.Submission.Spec.Stopping == nil {
		return nil, nil
	}
	spec := &g.Submission.Spec
	if h := spec.Stopping.Hyperband; h != nil {
		return &sweep.StopRule{Metric: spec.Stopping.Metric, Goal: spec.Stopping.Goal, Bands: h.Bands}, nil
	}
	size := max(spec.Stopping.Median.Generation(spec), 1)
	first := index - (index-g.First)%size
	if a.rule.StopRule == nil || a.rule.first != first {
		rule, err := s.store.StopRule(ctx, a.record.ID, first)
		if err != nil {
			return nil, wrap(err, "reading what stops trial %d of sweep %s", index, a.record.ID)
		}
		a.rule = stopRule{first, rule}
	}
	return a.rule.StopRule, nil
}
