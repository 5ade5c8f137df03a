package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"sweep/sweep"
)

// TPE is the multivariate tree-structured Parzen estimator with the defaults of Optuna 5: the
// better trials and the others each have an estimator, and the next point is the best by the ratio
// of their densities among some that are drawn from the first. Trials that run count among the
// others. Parameters with conditions are chosen one by one, from the trials that have them.
//
// J. Bergstra et al., Algorithms for hyper-parameter optimization, NeurIPS 2011.
type TPE struct {
	space       *space
	generations Generations
	seed        uint64
	most        int64
}

const (
	// startTrials is how many trials must have ended before results count.
	startTrials = 10
	// candidates is how many points are drawn for each that is chosen.
	candidates = 24
)

// NewTPE returns the search over the axes of a sweep, which has Spec.Cap points. Spec.Random has
// its seed.
func NewTPE(spec *sweep.Spec, generations Generations) (*TPE, error) {
	switch {
	case spec.Random == nil || spec.Cap <= 0:
		return nil, sweep.ErrEndless
	case len(spec.Exclude) > 0:
		return nil, sweep.ErrExcluded
	case spec.Random.Replicated:
		return nil, errors.New("a search by results has no replicates: each point has one result")
	case generations.Batch < 1 || generations.Lag < 0:
		return nil, fmt.Errorf("generations of %d with a lag of %d: expected at least 1, and 0", generations.Batch,
			generations.Lag)
	}
	s, err := newSpace(spec)
	if err != nil {
		return nil, err
	}
	return &TPE{space: s, generations: generations, seed: uint64(spec.Random.Seed), most: spec.Cap}, nil
}

// tpeState are the coordinates of the points so far, by axis, null for absent parameters.
type tpeState struct {
	Points [][]*float64 `json:"points"`
}

// trial is a point with its result.
type trial struct {
	coordinates []*float64
	Observation
}

// Step returns whole generations, until they have want points or their results are missing.
func (t *TPE) Step(state json.RawMessage, observations []Observation, want int) (Decision, error) {
	var s tpeState
	if state != nil {
		if err := json.Unmarshal(state, &s); err != nil {
			return Decision{}, fmt.Errorf("state of the search: %w", err)
		}
	}
	trials := make([]trial, len(s.Points))
	for i, coordinates := range s.Points {
		trials[i] = trial{coordinates, Observation{Index: int64(i)}}
	}
	for _, o := range observations {
		if o.Index < 0 || o.Index >= int64(len(trials)) {
			return Decision{}, fmt.Errorf("a result of point %d, where the search has %d points", o.Index, len(trials))
		}
		if math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			o.Outcome = Failed
		}
		trials[o.Index].Observation = o
	}
	var points []sweep.Parameters
	for int64(len(trials)) < t.most && len(points) < want {
		needed := t.generations.needed(len(trials))
		if slices.ContainsFunc(trials[:needed], func(o trial) bool { return o.Outcome == Running }) {
			break
		}
		generation := (len(trials)/t.generations.Batch + 1) * t.generations.Batch
		for len(trials) < generation && int64(len(trials)) < t.most {
			coordinates, point := t.next(trials, needed)
			trials = append(trials, trial{coordinates, Observation{Index: int64(len(trials))}})
			s.Points, points = append(s.Points, coordinates), append(points, point)
		}
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		return Decision{}, err
	}
	return Decision{State: encoded, Points: points, Done: int64(len(trials)) >= t.most}, nil
}

// next chooses the point after some trials, of which the first ended ones count with their results.
func (t *TPE) next(trials []trial, ended int) ([]*float64, sweep.Parameters) {
	good, bad := split(trials, ended)
	index := uint64(len(trials))
	coordinates := make([]*float64, len(t.space.axes))
	point := sweep.Parameters{}
	choose := func(axes []int, name string) {
		random := t.random(index, name)
		var chosen []float64
		if ended < startTrials {
			for _, i := range axes {
				chosen = append(chosen, t.space.axes[i].uniform(random.Float64()))
			}
		} else {
			chosen = t.best(axes, good, bad, random)
		}
		for k, i := range axes {
			coordinates[i] = &chosen[k]
		}
	}
	if len(t.space.joint) > 0 {
		choose(t.space.joint, "")
	}
	for i := range t.space.axes {
		a := &t.space.axes[i]
		if a.conditional() {
			continue
		}
		if coordinates[i] == nil {
			coordinates[i] = new(a.uniform(0))
		}
		a.set(point, *coordinates[i])
	}
	for _, i := range t.space.separate {
		a := &t.space.axes[i]
		for k := range a.Parameters {
			if coordinates[i] == nil && a.present(point, k) {
				choose([]int{i}, a.Parameters[0].Name)
			}
		}
		if coordinates[i] != nil {
			a.set(point, *coordinates[i])
		}
	}
	return coordinates, point
}

// random is the generator of a point's axes.
func (t *TPE) random(index uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return rand.New(rand.NewPCG(h.Sum64()^t.seed, index))
}

// best returns the coordinates of some axes that are the best of the candidates.
func (t *TPE) best(axes []int, good, bad []trial, random *rand.Rand) (best []float64) {
	dimensions := make([]dimension, len(axes))
	for k, i := range axes {
		dimensions[k] = t.space.axes[i].dimension
	}
	better := newEstimator(dimensions, having(axes, good))
	others := newEstimator(dimensions, having(axes, bad))
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

// having returns the coordinates of the trials that have all the axes.
func having(axes []int, trials []trial) (rows [][]float64) {
	for _, t := range trials {
		row := make([]float64, 0, len(axes))
		for _, i := range axes {
			if t.coordinates[i] != nil {
				row = append(row, *t.coordinates[i])
			}
		}
		if len(row) == len(axes) {
			rows = append(rows, row)
		}
	}
	return rows
}

// split returns the better ones of the first ended trials, and all others, in order of index. What
// failed is worse than what completed, and what has not ended is among the others.
func split(trials []trial, ended int) (good, bad []trial) {
	order := slices.Clone(trials[:ended])
	slices.SortStableFunc(order, func(a, b trial) int {
		switch {
		case a.Outcome != b.Outcome:
			return int(a.Outcome) - int(b.Outcome)
		case a.Outcome != Completed || a.Value == b.Value:
			return 0
		case a.Value < b.Value:
			return -1
		}
		return 1
	})
	n := goodTrials(ended)
	good, bad = order[:n:n], append(order[n:], trials[ended:]...)
	byIndex := func(a, b trial) int { return int(a.Index - b.Index) }
	slices.SortFunc(good, byIndex)
	slices.SortFunc(bad, byIndex)
	return good, bad
}

// goodTrials is how many of n trials that have ended are the better ones.
func goodTrials(n int) int { return min((n+9)/10, 25) }
