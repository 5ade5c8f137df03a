package model

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sweep/model/task"
	"sweep/sweep"
)

// An open-ended trial can be continued with more epochs or steps, from the state at its end. What is due
// there only because it ends is not part of that state: the points of some curves, which the longer trial
// drops, and the end of a last interval that is shorter than the others, before which the state is taken.

// end ends the interval that ends after this step, if one does, and keeps the state after the last step.
func (t *training) end(ctx context.Context) error {
	// The only interval of a task that counts steps may be cut to them.
	short := t.position()%t.plan.Interval != 0 || !t.plan.Epochs && t.plan.Steps <= t.plan.Interval
	if short {
		if err := t.keepState(); err != nil {
			return err
		}
	}
	if t.atInterval() && !t.diverged {
		if err := t.endInterval(ctx); err != nil {
			return err
		}
	}
	if !short {
		return t.keepState()
	}
	return nil
}

// keepState keeps the state after the last step, if that is asked for.
func (t *training) keepState() (err error) {
	if t.position() == t.plan.Steps && !t.diverged && t.s.openEnded &&
		slices.Contains(t.request.Artifacts, sweep.CheckpointArtifact) {
		t.kept, err = t.checkpoint()
	}
	return err
}

// endResumed ends the interval that a checkpoint left open, if this trial has one that ends there.
func (t *training) endResumed(ctx context.Context) error {
	if t.sum.Steps == 0 || !t.atInterval() {
		return t.keepState()
	}
	stream := t.streams[task.Train]
	stream.Seek(t.position() - 1)
	stream.Next(t.batch)
	return t.end(ctx)
}

// add adds a point at the end of an interval to a curve that may have points at some intervals only.
func (t *training) add(metric string, value float64) {
	t.curves.add(metric, t.mark(), value)
	if !t.s.openEnded || t.spacedBy(metric) == nil {
		return
	}
	c := t.spaced[metric]
	if c == nil {
		c = &sweep.Curve{Metric: metric}
		if t.spaced == nil {
			t.spaced = map[string]*sweep.Curve{}
		}
		t.spaced[metric] = c
	}
	c.Steps, c.Values = append(c.Steps, int64(t.mark())), append(c.Values, float32(value))
}

// spacedBy returns what says at which intervals a curve has points, nil if that does not depend on where
// the trial ends.
func (t *training) spacedBy(metric string) func(interval int) bool {
	switch {
	case metric == "spectral_margin":
		return t.marginDue
	case t.s.testEvery == 0 && (strings.HasPrefix(metric, "test_") || strings.HasSuffix(metric, "_gap") ||
		metric == "train_accuracy"):
		return t.testDue
	}
	return nil
}

// spacedCurves returns the points of the curves whose spacing depends on where the trial ends, by name.
func (t *training) spacedCurves() (curves []sweep.Curve) {
	for _, metric := range slices.Sorted(maps.Keys(t.spaced)) {
		curves = append(curves, *t.spaced[metric])
	}
	return curves
}

// respace takes over curves of a trial that may have ended elsewhere, without the points that this one
// does not have.
func (t *training) respace(curves []sweep.Curve) {
	for _, c := range curves {
		due := t.spacedBy(c.Metric)
		if due == nil {
			continue
		}
		own := &sweep.Curve{Metric: c.Metric}
		for i, mark := range c.Steps {
			interval := int(mark)
			if !t.plan.Epochs {
				interval = (interval + t.plan.Interval - 1) / t.plan.Interval
			}
			if due(interval) {
				own.Steps, own.Values = append(own.Steps, mark), append(own.Values, c.Values[i])
			}
		}
		if len(own.Steps) < len(c.Steps) {
			t.curves.recorder.Replace(*own)
		}
		if t.spaced == nil {
			t.spaced = map[string]*sweep.Curve{}
		}
		t.spaced[c.Metric] = own
	}
}
