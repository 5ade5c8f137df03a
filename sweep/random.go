package sweep

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
)

// Random draws points instead of enumerating them. A draw depends on Seed, its number and the
// name of the parameter alone, not on other parameters or the number of points.
type Random struct {
	Seed int64 `json:"seed"`
	// Sobol has the points be those of a scrambled Sobol sequence, which cover the space more
	// evenly than independent ones. Each axis with more than one value is the next dimension: a
	// draw depends on that, too.
	Sobol bool `json:"sobol,omitempty"`
	// Bayes, if not nil, has results choose the points after the first ones: see Grid.Known.
	Bayes *Bayes `json:"bayes,omitempty"`
	// Replicated says that the last axis is not drawn: each draw is taken with all its values.
	Replicated bool `json:"replicated,omitempty"`
}

// Bayes has the points be chosen in generations, those of each by the results of all before it.
// Package policy chooses them.
type Bayes struct {
	// Batch is the number of points of a generation, each with all its replicates.
	Batch int64 `json:"batch"`
}

// Bounds and defaults of a search by results.
const (
	// BayesStart is how many points are drawn before results count, rounded up to generations.
	BayesStart = 10
	// DefaultBatch is the number of points of a generation.
	DefaultBatch = 16
	// MostBatch bounds the points of a generation, MostBayes the trials of a search: choosing a point takes
	// a time that grows with those before.
	MostBatch = 1000
	MostBayes = 10_000
	// MostChoices bounds the values of all lists and zipped parameters of a search by results, and mostProbabilities
	// what is estimated of them: one number for each at each point.
	MostChoices       = 100_000
	mostProbabilities = 20_000_000
)

// ErrEndless says that a search that draws its points has no end: Spec.Cap gives it one.
var ErrEndless = errors.New("a search that draws its points has no end by itself: run_cap says how many trials it " +
	"has, as in run_cap: 20")

// ErrExcluded says that a search that draws its points has exclusions.
var ErrExcluded = errors.New("leaves points out of a grid, and a search that draws its points has none: leave the " +
	"values out of their lists, or write method: grid")

// sampler draws the points of a random or Sobol search.
type sampler struct {
	seed uint64
	axes []sampledAxis
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
	// sobol is its dimension of a Sobol search; nil if draws are independent or all the same.
	sobol *directions
}

// varies reports whether draws of the axis can differ.
func (a *sampledAxis) varies() bool {
	return a.Parameters[0].Values.Distribution != nil || a.Len() > 1
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
	case spec.Race != nil:
		return nil, g.checkRace(spec)
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
		h := fnv.New64a()
		_, _ = h.Write([]byte(axis.Parameters[0].Name)) // a hash takes everything
		s.axes = append(s.axes, sampledAxis{Axis: axis, name: h.Sum64()})
	}
	if spec.Random.Replicated {
		s.replicates = s.axes[len(s.axes)-1].Len()
	}
	if spec.Random.Sobol {
		if err := s.placeDimensions(spec); err != nil {
			return nil, err
		}
	}
	g.random, g.count, g.total, g.product = s, spec.Cap, spec.Cap, spec.Cap
	g.known = spec.Cap
	if spec.Random.Bayes != nil {
		if err := s.checkBayes(spec); err != nil {
			return nil, err
		}
		batch := spec.Random.Bayes.Batch
		g.known = min(spec.Cap, (BayesStart+batch-1)/batch*batch*s.replicates)
	}
	return g, nil
}

// checkBayes checks what a search by results needs besides.
func (s *sampler) checkBayes(spec *Spec) error {
	if b := spec.Random.Bayes.Batch; b < 1 || b > MostBatch {
		return fmt.Errorf("a search by results with a batch of %d points: expected 1 to %d", b, MostBatch)
	}
	if spec.Cap > MostBayes {
		return fmt.Errorf("a search by results has at most %d trials, and run_cap is %d: lower it, or write method: "+
			"random", MostBayes, spec.Cap)
	}
	points, choices := (spec.Cap-1)/s.replicates+1, int64(0)
	for _, axis := range spec.Axes {
		if axis.Parameters[0].Values.List != nil || len(axis.Parameters) > 1 {
			choices += min(axis.Len(), MostChoices+1)
		}
		if choices > MostChoices || choices*points > mostProbabilities {
			return refused(axis.Parameters[0].Name, "its values, and those of other lists and zipped parameters, are "+
				"too many for a search by results with %d points: it estimates a probability of each for each point; "+
				"give a range, or write method: random", points)
		}
		for _, p := range axis.Parameters {
			if d := p.Values.Distribution; d != nil && d.logarithmic() && d.Step != 0 && !(d.least() > d.Step/2) {
				return refused(p.Name, "its smallest value is %v, and must be above q/2: a search by results is over "+
					"logarithms", d.least())
			}
		}
	}
	return nil
}

// placeDimensions gives each axis that is drawn and varies a dimension of the Sobol sequence, in
// order.
func (s *sampler) placeDimensions(spec *Spec) error {
	drawn := s.axes
	if spec.Random.Replicated {
		drawn = drawn[:len(drawn)-1]
	}
	var varying []*sampledAxis
	for i := range drawn {
		if drawn[i].varies() {
			varying = append(varying, &drawn[i])
		}
	}
	if len(varying) > SobolDimensions {
		return refused(varying[SobolDimensions].Parameters[0].Name, "is number %d of the parameters that vary, and a "+
			"Sobol search has at most %d: give some of them one value, or write method: random",
			SobolDimensions+1, SobolDimensions)
	}
	if spec.Cap > 1<<sobolBits {
		return ErrSobolPoints
	}
	dimensions, err := sobolDirections(len(varying))
	if err != nil {
		return err
	}
	for i, axis := range varying {
		axis.sobol = &dimensions[i]
	}
	return nil
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
		u := s.share(uint64(draw), axis)
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

// share returns a number above 0 and below 1: a coordinate of the Sobol point, or one that looks
// random.
func (s *sampler) share(draw uint64, axis *sampledAxis) float64 {
	key := mix(s.seed + golden)
	var h uint64
	if axis.sobol != nil {
		h = scramble(axis.sobol.at(draw), mix(axis.name^key))
	} else {
		h = mix(mix(axis.name+golden*(draw+1))^key) >> (64 - sobolBits)
	}
	return (float64(h) + 0.5) / (1 << sobolBits)
}

// golden is the increment of splitmix64's counter.
const golden = 0x9e3779b97f4a7c15

// mix is the finalizer of splitmix64 (G. L. Steele Jr., D. Lea, C. H. Flood, Fast
// splittable pseudorandom number generators, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
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
