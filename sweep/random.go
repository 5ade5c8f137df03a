package sweep

import (
	"errors"
	"fmt"
	"slices"

	"sweep/sweep/portable"
)

// Random draws points instead of enumerating them. A draw depends on Seed, its number and the
// name of the parameter alone, not on other parameters or the number of points, unless a policy has
// other draws.
type Random struct {
	Seed int64 `json:"seed"`
	// Replicated says that the last axis is not drawn: each draw is taken with all its values.
	Replicated bool `json:"replicated,omitempty"`
}

// ErrEndless says that a search that draws its points has no end: Spec.Cap gives it one.
var ErrEndless = errors.New("a search that draws its points has no end by itself: run_cap says how many trials it " +
	"has, as in run_cap: 20")

// ErrExcluded says that a search that draws its points has exclusions.
var ErrExcluded = errors.New("leaves points out of a grid, and a search that draws its points has none: leave the " +
	"values out of their lists, or write method: grid")

// sampler draws the points of a search.
type sampler struct {
	seed uint64
	axes []sampledAxis
	// share, if not nil, is where a draw of an axis lies: see Grid.Draw.
	share func(draw uint64, axis int) float64
	// order are the parameters with conditions, each after those that its own name.
	order      []string
	conditions map[string][]Match
	// replicates is the number of points of each draw: the length of the last axis if it is not
	// drawn, else 1.
	replicates int64
}

// sampledAxis is an axis with what stands for its name in a draw.
type sampledAxis struct {
	Axis
	name uint64
}

// newRandomGrid is NewGrid for a spec with Random.
func newRandomGrid(spec *Spec) (*Grid, error) {
	g := &Grid{}
	placements, err := g.checkAxes(spec.Axes)
	if err != nil {
		return nil, err
	}
	order, err := g.addConditions(spec.Conditions, placements)
	if err != nil {
		return nil, err
	}
	switch {
	case spec.Cap <= 0:
		return nil, ErrEndless
	case len(spec.Exclude) > 0:
		return nil, fmt.Errorf("exclude %w", ErrExcluded)
	case spec.Random.Replicated && len(spec.Axes[len(spec.Axes)-1].Parameters) > 1:
		return nil, refused(spec.Axes[len(spec.Axes)-1].Parameters[0].Name,
			"is zipped, and replicates vary one parameter")
	}
	s := &sampler{seed: uint64(spec.Random.Seed), order: order, conditions: map[string][]Match{}, replicates: 1}
	for _, c := range spec.Conditions {
		s.conditions[c.Parameter] = append(s.conditions[c.Parameter], c.When)
	}
	for _, axis := range spec.Axes {
		s.axes = append(s.axes, sampledAxis{Axis: axis, name: portable.Hash(axis.Parameters[0].Name)})
	}
	if spec.Random.Replicated {
		s.replicates = s.axes[len(s.axes)-1].Len()
	}
	g.random, g.count, g.total, g.product, g.known = s, spec.Cap, spec.Cap, spec.Cap, spec.Cap
	return g, nil
}

// Draw returns the grid of a random search whose draw lies elsewhere on an axis: above a share of all values, which is
// above 0 and below 1.
func (g *Grid) Draw(share func(draw uint64, axis int) float64) *Grid {
	drawn, sampler := *g, *g.random
	drawn.random, sampler.share = &sampler, share
	return &drawn
}

// at draws the point with the given index.
func (s *sampler) at(index int64) Parameters {
	point := make(Parameters, len(s.axes))
	draw, replicate := index/s.replicates, index%s.replicates
	for i := range s.axes {
		axis := &s.axes[i]
		if s.replicates > 1 && i == len(s.axes)-1 {
			point[axis.Parameters[0].Name] = axis.Parameters[0].Values.At(replicate)
			continue
		}
		u := s.independent(uint64(draw), axis)
		if s.share != nil {
			u = s.share(uint64(draw), i)
		}
		for _, p := range axis.Parameters {
			point[p.Name] = p.Values.Quantile(u)
		}
	}
	for _, name := range s.order {
		if slices.ContainsFunc(s.conditions[name], func(when Match) bool { return !when.Fits(point) }) {
			delete(point, name)
		}
	}
	return point
}

// independent returns a number above 0 and below 1 that looks random.
func (s *sampler) independent(draw uint64, axis *sampledAxis) float64 {
	key := portable.Mix(s.seed + portable.Golden)
	return portable.Share(portable.Mix(portable.Mix(axis.name+portable.Golden*(draw+1)) ^ key))
}

// Quantile returns the value for a draw of share u, 0 < u < 1: of the distribution, else of the
// list by its weights, else each value with equal probability.
func (v Values) Quantile(u float64) any {
	switch {
	case v.Distribution != nil:
		return v.Distribution.Quantile(u)
	case v.Weights != nil:
		var total float64
		for _, w := range v.Weights {
			total += w
		}
		last := 0
		for i, w := range v.Weights {
			if w <= 0 {
				continue
			}
			if last = i; u*total < w {
				break
			}
			u -= w / total
		}
		return v.List[last]
	}
	n := v.Len()
	return v.At(min(int64(u*float64(n)), n-1))
}

// checkWeights checks probabilities.
func (v Values) checkWeights(parameter string) error {
	if v.Weights == nil {
		return nil
	}
	var total float64
	for _, w := range v.Weights {
		if !(w >= 0 && w <= 1e300) {
			return refused(parameter, "a probability must not be negative, and %v is one", w)
		}
		total += w
	}
	if len(v.Weights) != len(v.List) || total <= 0 {
		return refused(parameter, "has %d values and %d probabilities: each value needs one, and not all may be 0",
			len(v.List), len(v.Weights))
	}
	return nil
}
