package sweep

import (
	"cmp"
	"fmt"
)

// Race has the trials of a grid run replicate by replicate: one trial of each grid point, then the next. Points
// that can no longer be the best of their group by By have no further replicates: these trials are skipped.
// The seed is then the first axis. Package policy decides.
type Race struct {
	// By is the metric by which points are compared, Select's by default, and Goal Minimize or Maximize.
	By   string `json:"by,omitempty"`
	Goal string `json:"goal,omitempty"`
	// Confidence is 1 minus the level of the tests.
	Confidence float64 `json:"confidence"`
}

// DefaultConfidence is that of a race; MostRace bounds its trials, all of which are read for each replicate, and
// MostReplicates the replicates of a point: the time of an exact test grows with their cube.
const (
	DefaultConfidence = 0.95
	MostRace          = 100_000
	MostReplicates    = 200
)

// Filled fills in what Select and the trainer have.
func (r Race) Filled(s Select, d *Description) Race {
	s = s.Filled(d)
	if r.By = cmp.Or(r.By, s.By); r.By == s.By {
		r.Goal = cmp.Or(r.Goal, s.Goal)
	}
	if metric := d.Metric(r.By); metric != nil {
		r.Goal = cmp.Or(r.Goal, metric.Goal)
	}
	r.Goal = cmp.Or(r.Goal, Minimize)
	return r
}

// Replicates is how many replicates of a point the first test needs: with fewer Wilcoxon's test cannot reach
// its level.
func (r Race) Replicates() int {
	replicates := 0
	for p := 1.0; p > 1-r.Confidence; p /= 2 {
		replicates++
	}
	return replicates
}

// RaceError says why a sweep cannot have a race.
type RaceError struct{ Problem string }

// Error implements error.
func (e *RaceError) Error() string { return "race: " + e.Problem }

// checkRace refuses a race that is none.
func (g *Grid) checkRace(spec *Spec) error {
	refused := func(format string, arguments ...any) error {
		return &RaceError{fmt.Sprintf(format, arguments...)}
	}
	r := spec.Race
	seeds := int64(0)
	if len(spec.Axes) > 0 && spec.Axes[0].Parameters[0].Name == SeedParameter {
		seeds = spec.Axes[0].Len()
	}
	switch {
	case spec.Random != nil:
		return refused("needs method: grid; other methods choose points of their own")
	case spec.Cap > 0:
		return refused("all grid points run at first: remove run_cap")
	case !(r.Confidence >= 0.5 && r.Confidence < 1):
		return refused("confidence must be at least 0.5 and below 1, as in 0.95, not %g", r.Confidence)
	case seeds <= int64(r.Replicates()):
		return refused("it would skip nothing: with confidence %g points are compared after %d replicates, and each "+
			"has %d; set replicates to %d or more", r.Confidence, r.Replicates(), seeds, r.Replicates()+1)
	case g.axes[0].constrained || g.axes[0].conditional:
		return refused("each grid point needs the same replicates: remove seed from when and exclude")
	case seeds != g.axes[0].length:
		return refused("each replicate needs a seed of its own: remove equal values of seed")
	case seeds > MostReplicates:
		return refused("points have at most %d replicates, not %d", MostReplicates, seeds)
	case g.total > MostRace:
		return refused("it has at most %d trials, not %d", MostRace, g.total)
	}
	return nil
}
