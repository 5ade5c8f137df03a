package policy

import (
	"context"
	"fmt"
	"math"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// Race has a grid run replicate by replicate, and skips the replicates of points that can no longer be the
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
type Race struct {
	grid   *sweep.Grid
	race   sweep.Race
	groups sweep.Select
	points int64
}

// NewRace returns the race of a spec with Race. The description is that of its trainer.
func NewRace(spec *sweep.Spec, description *sweep.Description) (*Race, error) {
	grid, err := sweep.NewGrid(spec)
	if err != nil {
		return nil, err
	}
	if spec.Race == nil {
		return nil, fmt.Errorf("sweep %s has no race", spec.Name)
	}
	return &Race{grid: grid, race: spec.Race.Filled(spec.Select, description),
		groups: spec.Select.Filled(description), points: grid.Count() / spec.Axes[0].Len()}, nil
}

// Objective is the metric by which points are compared.
func (r *Race) Objective() sweep.Select { return sweep.Select{By: r.race.By, Goal: r.race.Goal} }

// Generation is the number of the generation after some trials, from 0: one has a replicate of all points.
func (r *Race) Generation(trials int64) int64 { return (trials + r.points - 1) / r.points }

// TakesStopped reports whether values of trials that were stopped early count.
func (r *Race) TakesStopped() bool { return false }

// Next returns the next replicate of all points after the trials of those before.
func (r *Race) Next(ctx context.Context, trials []Trial) ([]Point, error) {
	out, err := r.out(ctx, trials)
	if err != nil {
		return nil, err
	}
	var next []Point
	for i := int64(len(trials)); i < min(int64(len(trials))+r.points, r.grid.Count()); i++ {
		point, err := r.grid.At(i)
		if err != nil {
			return nil, err
		}
		next = append(next, Point{point, out[i%r.points]})
	}
	return next, nil
}

// out returns why each point is out, "" if it is not.
func (r *Race) out(ctx context.Context, trials []Trial) ([]string, error) {
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
	if done < r.race.Replicates() {
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
func (r *Race) test(members []int, values [][]float64, out []string) {
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
			r.race.By, r.shown(values[k]), len(values[k]), r.shown(values[best]), members[best], p)
	}
}

// shown writes the mean of a metric as trials report it.
func (r *Race) shown(values []float64) string {
	value := mean(values)
	switch {
	case math.IsInf(value, 0):
		return "not available in all"
	case r.race.Goal == sweep.Maximize:
		value = -value
	}
	return fmt.Sprintf("%.4g", value)
}

func mean(values []float64) (mean float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	return mean
}
