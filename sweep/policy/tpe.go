package policy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sweep/sweep"
	"sweep/sweep/portable"
)

var bayesKind = Kind{
	Name: "bayes", Key: MethodKey, Draws: true, Search: true, Compares: true,
	Doc:   "has the results so far choose the next batch of points",
	Batch: "how many points are chosen at a time, by the results of all points before them",
	New:   func() Settings { return &Bayes{Batch: DefaultBatch} },
	Alone: "a search by results (method: bayes) is a sweep of its own: submit the file as one; with a larger run_cap " +
		"it has the same first trials and reuses their results",
}

// Bayes has the points of a search be chosen in generations, those of each by the results of all before it.
type Bayes struct {
	defaults
	// Batch is the number of points of a generation, each with all its replicates.
	Batch int64 `json:"batch"`
}

// Bounds and defaults of a search by results.
const (
	// BayesStart is how many points are drawn before results count, rounded up to generations.
	BayesStart = 10
	// DefaultBatch is the number of points of a generation.
	DefaultBatch = 16
	// MaxBatch bounds the points of a generation, MaxBayes the trials of a search: choosing a point takes
	// a time that grows with those before.
	MaxBatch = 1000
	MaxBayes = 10_000
	// MaxChoices bounds the values of all lists and zipped parameters of a search by results, and maxProbabilities
	// what is estimated of them: one number for each at each point.
	MaxChoices       = 100_000
	maxProbabilities = 20_000_000
)

func (*Bayes) kind() *Kind { return &bayesKind }

func (b *Bayes) read(_ map[string]any, file *File) error {
	b.Batch = cmp.Or(file.Batch, b.Batch)
	known := file.Description != nil && file.selected(file.Spec.Select).By == ""
	if file.Spec.Select.By == "" && (known || file.Spec.Trainer == sweep.ScriptTrainer) {
		return bayesKind.refused("%s", bayesKind.NeedsMetric())
	}
	return nil
}

func (b *Bayes) chooses() string {
	return fmt.Sprintf("the others, %s at a time", sweep.CountText(b.Batch, "point"))
}

func (b *Bayes) check(*sweep.Spec) error {
	if b.Batch < 1 || b.Batch > MaxBatch {
		return bayesKind.refused("a batch of %d points: expected 1 to %d", b.Batch, MaxBatch)
	}
	return nil
}

// arrange has the points after the first generations be unknown.
func (b *Bayes) arrange(spec *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error) {
	if spec.Cap > MaxBayes {
		return nil, fmt.Errorf("a search by results has at most %d trials, and run_cap is %d: lower it, or write "+
			"method: random", MaxBayes, spec.Cap)
	}
	replicates := replicatesOf(spec)
	points, choices := (spec.Cap-1)/replicates+1, int64(0)
	for _, axis := range spec.Axes {
		if axis.Parameters[0].Values.List != nil || len(axis.Parameters) > 1 {
			choices += min(axis.Len(), MaxChoices+1)
		}
		if choices > MaxChoices || choices*points > maxProbabilities {
			return nil, parameterError(axis.Parameters[0].Name, "its values, and those of other lists and zipped "+
				"parameters, are too many for a search by results with %d points: it estimates a probability of each "+
				"for each point; give a range, or write method: random", points)
		}
		for _, p := range axis.Parameters {
			if d := p.Values.Distribution; d != nil && d.Logarithmic() && d.Step != 0 && !(d.Least() > d.Step/2) {
				return nil, parameterError(p.Name, "its smallest value is %v, and must be above q/2: a search by "+
					"results is over logarithms", d.Least())
			}
		}
	}
	known := min(spec.Cap, (BayesStart+b.Batch-1)/b.Batch*b.Batch*replicates)
	return grid.Arrange(grid.Count(), min(known, grid.Count()), grid.At), nil
}

func (b *Bayes) open(spec *sweep.Spec, description *sweep.Description, grid *sweep.Grid) (Policy, error) {
	t := &tpe{space: newSpace(spec, description), grid: grid, seed: uint64(spec.Random.Seed), batch: b.Batch,
		objective: b.objective(spec, description), replicates: replicatesOf(spec)}
	if spec.Random.Replicated {
		t.seeds = &spec.Axes[len(spec.Axes)-1].Parameters[0]
	}
	return t, nil
}

// tpe is the multivariate tree-structured Parzen estimator with the defaults of Optuna 5: the better
// points and the others each have an estimator, and the next point is the best by the ratio of their
// densities among some that are drawn from the first. Points of the same generation, which have no
// results yet, count among the others. The first points, and so many that a generation is full, are
// those of a random search. Parameters with conditions are chosen one by one, from the points that
// have them.
//
// J. Bergstra et al., Algorithms for hyper-parameter optimization, NeurIPS 2011; S. Watanabe,
// Tree-structured Parzen estimator: understanding its algorithm components, 2023.
type tpe struct {
	space     *space
	grid      *sweep.Grid
	seed      uint64
	batch     int64
	objective sweep.Select
	// seeds are the values of the last axis if each point is taken with all of them; replicates is how many.
	seeds      *sweep.AxisParameter
	replicates int64
}

// candidates is how many points are drawn for each that is chosen.
const candidates = 24

// Generation has a batch of points; the last one may have fewer.
func (t *tpe) Generation(written int64) Generation {
	return Generation{Number: (written + t.size() - 1) / t.size()}
}

// Wants takes trials that were stopped early with their last values.
func (t *tpe) Wants() Wants {
	return Wants{Metric: t.objective.By, Goal: t.objective.Goal, Trials: true, Stopped: true}
}

// size is the number of trials of a generation; the last one may have fewer.
func (t *tpe) size() int64 { return t.batch * t.replicates }

// observation is a point with its value.
type observation struct {
	index       int
	coordinates []float64
	value       float64
}

// Step returns the trials of the generation after some, which are all before it, in order of index,
// replicates next to each other. There is none after the last. The value of a point is the mean over its
// replicates; if one of them has none, the point is worse than all others.
func (t *tpe) Step(ctx context.Context, seen Observations) (step Step, err error) {
	from, trials := seen.Written, seen.Trials
	until := min(from+t.size(), t.grid.Count())
	var observations []observation
	replicates := int(t.replicates)
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
			return step, err
		}
		if index < t.grid.Known() {
			for i := index; i < min(index+int64(replicates), until); i++ {
				point, err := t.grid.At(i)
				if err != nil {
					return step, err
				}
				step.Next = append(step.Next, Point{Parameters: point})
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
			step.Next = append(step.Next, Point{Parameters: trial})
		}
	}
	return step, nil
}

// choose returns the point after some, of which the first ended ones count with their values.
func (t *tpe) choose(observations []observation, ended int) sweep.Parameters {
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
func (t *tpe) random(index int, name string) *rand.Rand {
	return rand.New(rand.NewPCG(portable.Hash(name)^t.seed, uint64(index)))
}

// best returns the coordinates of some axes that are the best of the candidates.
func (t *tpe) best(axes []int, good, bad []observation, random *rand.Rand) []float64 {
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
