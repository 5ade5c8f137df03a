package policy

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"sweep/sweep"
)

// TPE is the multivariate tree-structured Parzen estimator with the defaults of Optuna 5: the better
// points and the others each have an estimator, and the next point is the best by the ratio of their
// densities among some that are drawn from the first. Points of the same generation, which have no
// results yet, count among the others. The first points, and so many that a generation is full, are
// those of a random search. Parameters with conditions are chosen one by one, from the points that
// have them.
//
// J. Bergstra et al., Algorithms for hyper-parameter optimization, NeurIPS 2011; S. Watanabe,
// Tree-structured Parzen estimator: understanding its algorithm components, 2023.
type TPE struct {
	space     *space
	grid      *sweep.Grid
	seed      uint64
	batch     int64
	objective sweep.Select
	// seeds are the values of the last axis if each point is taken with all of them.
	seeds *sweep.AxisParameter
}

// candidates is how many points are drawn for each that is chosen.
const candidates = 24

// NewTPE returns the search of a spec with Random.Bayes. The description is that of its trainer.
func NewTPE(spec *sweep.Spec, description *sweep.Description) (*TPE, error) {
	grid, err := sweep.NewGrid(spec)
	if err != nil {
		return nil, err
	}
	if spec.Random == nil || spec.Random.Bayes == nil {
		return nil, fmt.Errorf("sweep %s has no search by results", spec.Name)
	}
	t := &TPE{space: newSpace(spec, description), grid: grid, seed: uint64(spec.Random.Seed),
		batch: spec.Random.Bayes.Batch, objective: spec.Select.Filled(description)}
	if spec.Random.Replicated {
		t.seeds = &spec.Axes[len(spec.Axes)-1].Parameters[0]
	}
	return t, nil
}

// replicates is the number of trials of a point.
func (t *TPE) replicates() int64 {
	if t.seeds == nil {
		return 1
	}
	return t.seeds.Values.Len()
}

// TakesStopped reports whether values of trials that were stopped early count: they do, as their last ones.
func (t *TPE) TakesStopped() bool { return true }

// Objective is the metric that is to be small or large.
func (t *TPE) Objective() sweep.Select { return t.objective }

// Generation is the number of the generation after some trials, from 0.
func (t *TPE) Generation(trials int64) int64 { return (trials + t.size() - 1) / t.size() }

// size is the number of trials of a generation; the last one may have fewer.
func (t *TPE) size() int64 { return t.batch * t.replicates() }

// Count is the number of trials.
func (t *TPE) Count() int64 { return t.grid.Count() }

// observation is a point with its value.
type observation struct {
	index       int
	coordinates []float64
	value       float64
}

// Next returns the trials of the generation after some, which are all before it, in order of index,
// replicates next to each other. There is none after the last. The value of a point is the mean over its
// replicates; if one of them has none, the point is worse than all others. The error is that of ctx.
func (t *TPE) Next(ctx context.Context, trials []Trial) (next []Point, err error) {
	from := int64(len(trials))
	until := min(from+t.size(), t.Count())
	var observations []observation
	replicates := int(t.replicates())
	for i := 0; i+replicates <= len(trials); i += replicates {
		o := observation{i / replicates, t.space.coordinates(trials[i].Parameters), 0}
		for _, trial := range trials[i : i+replicates] {
			o.value += trial.Value / float64(replicates)
		}
		observations = append(observations, o)
	}
	ended := len(observations)
	for index := from; index < until; index += int64(replicates) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if index < t.grid.Known() {
			for i := index; i < min(index+int64(replicates), until); i++ {
				point, err := t.grid.At(i)
				if err != nil {
					return nil, err
				}
				next = append(next, Point{Parameters: point})
			}
			continue
		}
		point := t.choose(observations, ended)
		observations = append(observations, observation{len(observations), t.space.coordinates(point), math.NaN()})
		for r := range min(int64(replicates), until-index) {
			trial := point.Clone()
			if t.seeds != nil {
				trial[t.seeds.Name] = t.seeds.Values.At(r)
			}
			next = append(next, Point{Parameters: trial})
		}
	}
	return next, nil
}

// choose returns the point after some, of which the first ended ones count with their values.
func (t *TPE) choose(observations []observation, ended int) sweep.Parameters {
	good, bad := split(observations, ended)
	s := t.space
	coordinates := make([]float64, len(s.axes))
	chosen := make([]bool, len(s.axes))
	choose := func(axes []int, name string) {
		random := t.random(len(observations), name)
		for k, x := range t.best(axes, good, bad, random) {
			coordinates[axes[k]], chosen[axes[k]] = x, true
		}
	}
	if len(s.joint) > 0 {
		choose(s.joint, "")
	}
	point := sweep.Parameters{}
	for i := range s.axes {
		for k, p := range s.axes[i].Parameters {
			if !s.axes[i].optional {
				point[p.Name] = s.axes[i].value(k, coordinates[i])
			}
		}
	}
	s.decide(point, func(i, parameter int) (any, bool) {
		a := &s.axes[i]
		if a.optional && a.varies() && !chosen[i] {
			choose([]int{i}, a.Parameters[0].Name)
		}
		return a.value(parameter, coordinates[i]), true
	})
	return point
}

// random is the generator of a point's axes.
func (t *TPE) random(index int, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return rand.New(rand.NewPCG(h.Sum64()^t.seed, uint64(index)))
}

// best returns the coordinates of some axes that are the best of the candidates.
func (t *TPE) best(axes []int, good, bad []observation, random *rand.Rand) []float64 {
	dimensions := make([]dimension, len(axes))
	for k, i := range axes {
		dimensions[k] = t.space.axes[i].dimension
	}
	better := newEstimator(dimensions, having(axes, good))
	others := newEstimator(dimensions, having(axes, bad))
	var best []float64
	largest := math.Inf(-1)
	for range candidates {
		point := better.sample(random)
		score := better.logDensity(point) - others.logDensity(point)
		if best == nil || score > largest {
			best, largest = point, score
		}
	}
	return best
}

// having returns the coordinates of the points that have all the axes.
func having(axes []int, observations []observation) (rows [][]float64) {
	for _, o := range observations {
		row := make([]float64, len(axes))
		for k, i := range axes {
			row[k] = o.coordinates[i]
		}
		if !slices.ContainsFunc(row, math.IsNaN) {
			rows = append(rows, row)
		}
	}
	return rows
}

// split returns the better ones of the first ended points, and all others, in order of index. Those
// without a value are the worst.
func split(observations []observation, ended int) (good, bad []observation) {
	order := slices.Clone(observations[:ended])
	slices.SortStableFunc(order, func(a, b observation) int {
		if math.IsNaN(a.value) || math.IsNaN(b.value) {
			return cmp.Compare(b.value, a.value) // NaN is below all numbers
		}
		return cmp.Compare(a.value, b.value)
	})
	n := goodPoints(ended)
	good, bad = order[:n:n], append(order[n:], observations[ended:]...)
	byIndex := func(a, b observation) int { return a.index - b.index }
	slices.SortFunc(good, byIndex)
	slices.SortFunc(bad, byIndex)
	return good, bad
}

// goodPoints is how many of n points that have ended are the better ones.
func goodPoints(n int) int { return min((n+9)/10, 25) }
