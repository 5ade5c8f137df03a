package policy

import (
	"fmt"
	"math"
	"slices"

	"sweep/sweep"
)

// space maps points of an estimator, one number for each axis, to parameters.
type space struct {
	axes []spaceAxis
	// joint are the axes that every point has, and that vary; separate those that conditions may
	// remove, each after those that its conditions name.
	joint, separate []int
}

// spaceAxis is an axis of a sweep as an estimator has it: a list as choices, a range and a
// distribution as numbers. Normal distributions, which have no ends, are estimated over the share
// of draws below a value.
type spaceAxis struct {
	sweep.Axis
	dimension
	shares bool
	// conditions are those of each parameter.
	conditions [][]sweep.Match
}

func newSpace(spec *sweep.Spec) (*space, error) {
	s := &space{}
	for _, axis := range spec.Axes {
		a := spaceAxis{Axis: axis, conditions: make([][]sweep.Match, len(axis.Parameters))}
		if err := a.measure(); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", axis.Parameters[0].Name, err)
		}
		for _, c := range spec.Conditions {
			for i, p := range axis.Parameters {
				if p.Name == c.Parameter {
					a.conditions[i] = append(a.conditions[i], c.When)
				}
			}
		}
		s.axes = append(s.axes, a)
	}
	s.order()
	return s, nil
}

// measure finds the dimension of an axis.
func (a *spaceAxis) measure() error {
	values := a.Parameters[0].Values
	d := values.Distribution
	switch {
	case len(a.Parameters) > 1 || d == nil && values.Range == nil:
		a.choices = int(a.Len())
	case d == nil:
		first, ok := sweep.Number(values.At(0))
		last, alsoOK := sweep.Number(values.At(values.Len() - 1))
		if !ok || !alsoOK {
			return fmt.Errorf("its range has values that are no numbers")
		}
		a.low, a.high = min(first, last), max(first, last)
		if values.Len() > 1 {
			a.step = (a.high - a.low) / float64(values.Len()-1)
		}
	case d.Kind == sweep.NormalDistribution || d.Kind == sweep.LogNormalDistribution:
		a.high, a.shares = 1, true
	default:
		const least = 0x1p-53
		low, _ := sweep.Number(d.Quantile(least))
		high, _ := sweep.Number(d.Quantile(1 - least))
		a.low, a.high, a.step, a.log = low, high, d.Step, d.Kind != sweep.UniformDistribution
		if a.log && !(a.low-a.step/2 > 0) {
			return fmt.Errorf("its smallest value, %v, must be above q/2, since the search is over logarithms", a.low)
		}
	}
	return nil
}

// conditional reports whether there are points without any parameter of the axis.
func (a *spaceAxis) conditional() bool {
	return !slices.ContainsFunc(a.conditions, func(own []sweep.Match) bool { return len(own) == 0 })
}

// varies reports whether the axis has more than one value.
func (a *spaceAxis) varies() bool { return a.choices > 1 || a.high > a.low }

// present reports whether a point has a parameter of the axis.
func (a *spaceAxis) present(point sweep.Parameters, parameter int) bool {
	return !slices.ContainsFunc(a.conditions[parameter], func(when sweep.Match) bool { return !when.Fits(point) })
}

// order fills joint and separate.
func (s *space) order() {
	decided := map[string]bool{}
	decide := func(a *spaceAxis) {
		for _, p := range a.Parameters {
			decided[p.Name] = true
		}
	}
	for i := range s.axes {
		if a := &s.axes[i]; !a.conditional() {
			decide(a)
			if a.varies() {
				s.joint = append(s.joint, i)
			}
		}
	}
	for range s.axes { // conditions form no circle: each round decides an axis, or none is left
		for i := range s.axes {
			a := &s.axes[i]
			ready := a.conditional() && !decided[a.Parameters[0].Name]
			for _, own := range a.conditions {
				for _, when := range own {
					for name := range when {
						ready = ready && decided[name]
					}
				}
			}
			if ready {
				decide(a)
				s.separate = append(s.separate, i)
			}
		}
	}
}

// uniform is the coordinate of an axis at a share u of its values.
func (a *spaceAxis) uniform(u float64) float64 {
	switch {
	case a.choices > 0:
		if w := a.Parameters[0].Values.Weights; w != nil {
			var total float64
			for _, weight := range w {
				total += weight
			}
			shares := make([]float64, len(w))
			for i := range w {
				shares[i] = w[i] / total
			}
			return float64(choose(shares, u))
		}
		return float64(min(int(u*float64(a.choices)), a.choices-1))
	case !a.varies():
		return a.low
	}
	low, high := a.bounds()
	return a.outer(low + u*(high-low))
}

// set gives a point the values of an axis at a coordinate.
func (a *spaceAxis) set(point sweep.Parameters, coordinate float64) {
	for i, p := range a.Parameters {
		if !a.present(point, i) {
			continue
		}
		d := p.Values.Distribution
		switch {
		case a.choices > 0:
			point[p.Name] = p.Values.At(int64(coordinate))
		case a.shares:
			const least = 0x1p-53
			point[p.Name] = d.Quantile(min(max(coordinate, least), 1-least))
		case d == nil:
			position := int64(0)
			if a.step > 0 {
				position = int64(math.Round((coordinate - a.low) / a.step))
			}
			if p.Values.Range.Step < 0 {
				position = p.Values.Len() - 1 - position
			}
			point[p.Name] = p.Values.At(position)
		case d.Integer:
			point[p.Name] = int64(math.Round(coordinate))
		default:
			point[p.Name] = coordinate
		}
	}
}
