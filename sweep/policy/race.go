package policy

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

var raceKind = Kind{
	Name: "race", Key: "race", Compares: true, SeedFirst: true,
	Doc: "Runs one replicate of all grid points, then the next, and skips further replicates of points that are no " +
		"longer likely to be the best of their group.",
	Keys: []Key{
		setting("by", MetricType, nil, "The metric by which grid points are compared; by default that of select."),
		setting("goal", GoalType, nil, "Whether a small or a large value is good; by default the goal of select or of "+
			"the metric."),
		{ParameterSchema: sweep.ParameterSchema{Name: "confidence", Type: sweep.NumberType, Minimum: at(0.5),
			Default: DefaultConfidence, Doc: "1 minus the level of the tests."}, Below: at(1)},
	},
	New:   func() Settings { return &Race{Confidence: DefaultConfidence} },
	Alone: "with race it is a sweep of its own: submit the file as one; it reuses the results of equal trials",
}

// Race has the trials of a grid run replicate by replicate: one trial of each grid point, then the next. Points
// that can no longer be the best of their group by By have no further replicates: these trials are skipped.
// The seed is then the first axis.
type Race struct {
	defaults
	// By is the metric by which points are compared, Select's by default, and Goal Minimize or Maximize.
	By   string `json:"by,omitempty"`
	Goal string `json:"goal,omitempty"`
	// Confidence is 1 minus the level of the tests.
	Confidence float64 `json:"confidence"`
}

// DefaultConfidence is that of a race; MaxRace bounds its trials, all of which are read for each replicate, and
// MaxReplicates the replicates of a point: the time of an exact test grows with their cube.
const (
	DefaultConfidence = 0.95
	MaxRace           = 100_000
	MaxReplicates     = 200
)

func (*Race) kind() *Kind { return &raceKind }

func (r *Race) read(values map[string]any, file *File) error {
	set(&r.By, values["by"])
	set(&r.Goal, values["goal"])
	set(&r.Confidence, values["confidence"])
	if !file.Replicates {
		return raceKind.refused("needs replicates, of which it skips those of points that cannot be the best, as in " +
			"replicates: 10")
	}
	by := cmp.Or(r.By, file.selected(file.Spec.Select).By)
	if by == "" && file.KnowsMetrics() {
		return raceKind.refused("needs the metric by which points are compared, as in race: {by: loss}")
	}
	return nil
}

func (*Race) chooses() string {
	return "which replicates run"
}

func (r *Race) check(spec *sweep.Spec) error {
	for _, p := range spec.Policies {
		if kind := byName(p.Kind); kind.Key == StopKey {
			return kind.refused("does not go with race, which compares trials that run to their ends: remove one of " +
				"them")
		}
	}
	return nil
}

// objective fills in what select and the trainer have.
func (r *Race) objective(spec *sweep.Spec, d *sweep.Description) sweep.Select {
	by, s := *r, spec.Select.Filled(d)
	if by.By = cmp.Or(r.By, s.By); by.By == s.By {
		by.Goal = cmp.Or(by.Goal, s.Goal)
	}
	if metric := d.Metric(by.By); metric != nil {
		by.Goal = cmp.Or(by.Goal, metric.Goal)
	}
	return sweep.Select{By: by.By, Goal: cmp.Or(by.Goal, sweep.Minimize)}
}

// replicates is how many replicates of a point the first test needs: with fewer Wilcoxon's test cannot reach its level.
func (r *Race) replicates() int {
	replicates := 0
	for p := 1.0; p > 1-r.Confidence; p /= 2 {
		replicates++
	}
	return replicates
}

// arrange leaves the points as they are, and refuses a race that is none.
func (r *Race) arrange(spec *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error) {
	refused := raceKind.refused
	seeds := int64(0)
	if len(spec.Axes) > 0 && spec.Axes[0].Parameters[0].Name == sweep.SeedParameter {
		seeds = spec.Axes[0].Len()
	}
	switch {
	case spec.Random != nil:
		return nil, refused("needs method: grid; other methods choose points of their own")
	case spec.Cap > 0:
		return nil, refused("all grid points run at first: remove run_cap")
	case !(r.Confidence >= 0.5 && r.Confidence < 1):
		return nil, refused("confidence must be at least 0.5 and below 1, as in 0.95, not %g", r.Confidence)
	case seeds <= int64(r.replicates()):
		return nil, refused("it would skip nothing: with confidence %g points are compared after %d replicates, and "+
			"each has %d; set replicates to %d or more", r.Confidence, r.replicates(), seeds, r.replicates()+1)
	case !grid.Free(0):
		return nil, refused("each grid point needs the same replicates: remove seed from when and exclude")
	case seeds != grid.Distinct(0):
		return nil, refused("each replicate needs a seed of its own: remove equal values of seed")
	case seeds > MaxReplicates:
		return nil, refused("points have at most %d replicates, not %d", MaxReplicates, seeds)
	case grid.Count() > MaxRace:
		return nil, refused("it has at most %d trials, not %d", MaxRace, grid.Count())
	}
	return grid, nil
}

func (r *Race) open(spec *sweep.Spec, description *sweep.Description, grid *sweep.Grid) (Policy, error) {
	return &race{grid: grid, race: r, by: r.objective(spec, description), groups: spec.Select.Filled(description),
		points: grid.Count() / spec.Axes[0].Len()}, nil
}

// race has a grid run replicate by replicate, and skips the replicates of points that can no longer be the
// best of their group. Before each replicate, once there are enough for the tests, and for each group:
//
//   - Friedman's test over the replicates so far says whether the points that are left differ at all; two are
//     compared at once.
//   - If they do, each point is compared with the one of the smallest sum of ranks by Wilcoxon's
//     signed ranks, one-sided. Those that are worse are out.
//
// A trial without a value is worse than all others.
//
// M. Birattari, T. Stützle, L. Paquete and K. Varrentrapp, A racing algorithm for configuring
// metaheuristics, GECCO 2002 (which compares pairs by Conover's test).
type race struct {
	grid *sweep.Grid
	race *Race
	// by is what points are compared by, within groups.
	by, groups sweep.Select
	points     int64
}

// Generation has a replicate of all points.
func (r *race) Generation(written int64) Generation {
	return Generation{Number: (written + r.points - 1) / r.points}
}

func (r *race) Wants() Wants { return Wants{Metric: r.by.By, Goal: r.by.Goal, Trials: true} }

// Step returns the next replicate of all points after the trials of those before.
func (r *race) Step(ctx context.Context, seen Observations) (step Step, err error) {
	out, err := r.out(ctx, seen.Trials)
	if err != nil {
		return step, err
	}
	for i := seen.Written; i < min(seen.Written+r.points, r.grid.Count()); i++ {
		point, err := r.grid.At(i)
		if err != nil {
			return step, err
		}
		step.Next = append(step.Next, Point{point, out[i%r.points]})
	}
	return step, nil
}

// out returns why each point is out, "" if it is not.
func (r *race) out(ctx context.Context, trials []Trial) ([]string, error) {
	out := make([]string, r.points)
	done := len(trials) / int(r.points)
	groups := map[string][]int{}
	var order []string
	for i := range int(min(r.points, int64(len(trials)))) {
		for k := i; k < len(trials); k += int(r.points) {
			if trials[k].Skipped != "" && out[i] == "" {
				out[i] = trials[k].Skipped
			}
		}
		if out[i] != "" {
			continue
		}
		key := canonical(map[string]any(r.groups.GroupOf(trials[i].Parameters)))
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	if done < r.race.replicates() {
		return out, nil
	}
	for _, key := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		members := groups[key]
		values := make([][]float64, len(members))
		for replicate := range done {
			own := trials[replicate*int(r.points):]
			for k, i := range members {
				value := own[i].Value
				if math.IsNaN(value) {
					value = math.Inf(1)
				}
				values[k] = append(values[k], value)
			}
		}
		r.test(members, values, out)
	}
	return out, nil
}

// test sets why points of a group are out, by their values.
func (r *race) test(members []int, values [][]float64, out []string) {
	level := 1 - r.race.Confidence
	friedman := statistics.Friedman(values)
	if len(members) < 2 || len(members) > 2 && friedman.P > level {
		return
	}
	best := 0
	for k := range members {
		if friedman.Ranks[k] < friedman.Ranks[best] ||
			friedman.Ranks[k] == friedman.Ranks[best] && mean(values[k]) < mean(values[best]) {
			best = k
		}
	}
	for k, i := range members {
		if k == best {
			continue
		}
		p := statistics.Wilcoxon(values[k], values[best], statistics.Pratt).Greater
		if p > level {
			continue
		}
		out[i] = fmt.Sprintf("cannot win: %s is %s after %d replicates, and %s at trial %d (Wilcoxon, p = %.2g)",
			r.by.By, r.shown(values[k]), len(values[k]), r.shown(values[best]), members[best], p)
	}
}

// shown writes the mean of a metric as trials report it.
func (r *race) shown(values []float64) string {
	value := mean(values)
	switch {
	case math.IsInf(value, 0):
		return "not available in all"
	case r.by.Goal == sweep.Maximize:
		value = -value
	}
	return fmt.Sprintf("%.4g", value)
}

// mean is infinite if a value is; that of statistics.Moments is then none.
func mean(values []float64) (mean float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	return mean
}
