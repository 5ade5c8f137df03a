package policy

import (
	"maps"
	"math"
	"slices"

	"sweep/sweep"
	"sweep/sweep/portable"
)

// space maps points of an estimator, a number for each axis, to parameters and back.
type space struct {
	axes []axis
	// joint are the axes that every point has, and that vary.
	joint []int
	// conditional are the parameters with conditions, each after those that its conditions name.
	conditional []conditional
}

// conditional is a parameter with its conditions.
type conditional struct {
	name            string
	axis, parameter int
	when            []sweep.Match
}

// axis is an axis of a sweep as an estimator has it: a list as choices, a range and a distribution as
// numbers. A normal distribution, which has no ends, is estimated over the share of draws below a value.
type axis struct {
	sweep.Axis
	dimension
	shares bool
	// texts are the canonical values of the choices, by parameter.
	texts [][]string
	// optional says that all parameters of the axis have conditions.
	optional bool
}

// leastShare is the smallest share of draws, and the distance of the largest one from 1.
const leastShare = 0x1p-53

// newSpace returns the space of a search whose replicates, if any, are the last axis.
func newSpace(spec *sweep.Spec, description *sweep.Description) *space {
	s, axes := &space{}, drawn(spec)
	conditions := map[string][]sweep.Match{}
	for _, c := range spec.Conditions {
		conditions[c.Parameter] = append(conditions[c.Parameter], c.When)
	}
	for i := range axes {
		a := axis{Axis: axes[i], optional: true}
		a.measure(description)
		for k, p := range a.Parameters {
			if when := conditions[p.Name]; when != nil {
				s.conditional = append(s.conditional, conditional{p.Name, i, k, when})
			} else {
				a.optional = false
			}
		}
		if !a.optional && a.varies() {
			s.joint = append(s.joint, i)
		}
		s.axes = append(s.axes, a)
	}
	s.order()
	return s
}

// replicatesOf is the number of trials of a point, which are next to each other: the last axis varies fastest.
func replicatesOf(spec *sweep.Spec) int64 {
	n := len(spec.Axes)
	if n == 0 || spec.Random != nil && !spec.Random.Replicated {
		return 1
	}
	last := &spec.Axes[n-1]
	if spec.Random != nil || len(last.Parameters) == 1 && last.Parameters[0].Name == sweep.SeedParameter {
		return last.Len()
	}
	return 1
}

// order sorts the conditional parameters. Their conditions form no circle, as NewGrid has checked.
func (s *space) order() {
	rest := s.conditional
	s.conditional = nil
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(c conditional) bool {
			return !slices.ContainsFunc(rest, func(other conditional) bool {
				return slices.ContainsFunc(c.when, func(when sweep.Match) bool {
					_, named := when[other.name]
					return named
				})
			})
		})
		next = max(next, 0)
		s.conditional = append(s.conditional, rest[next])
		rest = slices.Delete(slices.Clone(rest), next, next+1)
	}
}

// measure finds the dimension of an axis.
func (a *axis) measure(description *sweep.Description) {
	values := a.Parameters[0].Values
	d := values.Distribution
	switch {
	case len(a.Parameters) > 1 || d == nil && values.Range == nil:
		a.choices = int(a.Len())
		for _, p := range a.Parameters {
			a.texts = append(a.texts, canonicalValues(&p, description.Parameter(p.Name)))
		}
	case d == nil:
		first, _ := sweep.Number(values.At(0)) // a range has numbers
		last, _ := sweep.Number(values.At(values.Len() - 1))
		a.low, a.high = min(first, last), max(first, last)
		if values.Len() > 1 {
			a.step = (a.high - a.low) / float64(values.Len()-1)
		}
	case d.Kind == sweep.NormalDistribution || d.Kind == sweep.LogNormalDistribution:
		a.shares = true
		if d.High > 0 {
			a.high = 1
		}
	default:
		a.low, _ = sweep.Number(d.Quantile(leastShare))
		a.high, _ = sweep.Number(d.Quantile(1 - leastShare))
		a.step, a.log = d.Step, d.Kind != sweep.UniformDistribution
	}
}

// canonicalValues are the values of a parameter as resolved trials have them.
func canonicalValues(p *sweep.AxisParameter, schema *sweep.ParameterSchema) (texts []string) {
	for i := range p.Values.Len() {
		value := p.Values.At(i)
		if schema != nil {
			if coerced, err := schema.Coerce(value); err == nil { // else the trial fails
				value = coerced
			}
		}
		texts = append(texts, canonical(value))
	}
	return texts
}

// canonical is a value's text, "" if it has none. Equal numbers have equal texts.
func canonical(value any) string {
	text, _ := sweep.CanonicalJSON(value)
	return string(text)
}

// varies reports whether the axis has more than one value.
func (a *axis) varies() bool { return a.choices > 1 || a.high > a.low }

// value is a parameter's value at a coordinate of its axis.
func (a *axis) value(parameter int, coordinate float64) any {
	values := a.Parameters[parameter].Values
	d := values.Distribution
	switch {
	case !a.varies():
		return values.At(0)
	case a.choices > 0:
		return values.At(int64(coordinate))
	case a.shares:
		return d.Quantile(min(max(coordinate, leastShare), 1-leastShare))
	case d == nil:
		position := int64(math.Round((coordinate - a.low) / a.step))
		if values.Range.Step < 0 {
			position = values.Len() - 1 - position
		}
		return values.At(position)
	}
	return d.Rounded(coordinate)
}

// coordinate is where a point with some of the axis's parameters lies; false if it has none of the
// axis's values, as a trial whose point does not resolve.
func (a *axis) coordinate(point sweep.Parameters) (float64, bool) {
	if a.choices > 0 {
		own := make([]string, len(a.Parameters))
		found := false
		for k, p := range a.Parameters {
			if value, ok := point[p.Name]; ok {
				own[k], found = canonical(value), true
			}
		}
		for c := 0; found && c < a.choices; c++ {
			fits := true
			for k := range own {
				fits = fits && (own[k] == "" || own[k] == a.texts[k][c])
			}
			if fits {
				return float64(c), true
			}
		}
		return 0, false
	}
	x, ok := sweep.Number(point[a.Parameters[0].Name])
	if ok && a.shares {
		d := a.Parameters[0].Values.Distribution
		if d.Kind == sweep.LogNormalDistribution {
			x = portable.Log(max(x, math.SmallestNonzeroFloat64))
		}
		x = portable.Normal((x - d.Low) / d.High)
	}
	return min(max(x, a.low), a.high), ok
}

// decide gives a point its conditional parameters, where their conditions hold, and removes them
// elsewhere.
func (s *space) decide(point sweep.Parameters, value func(axis, parameter int) (any, bool)) {
	for _, c := range s.conditional {
		delete(point, c.name)
		if slices.ContainsFunc(c.when, func(when sweep.Match) bool { return !when.Fits(point) }) {
			continue
		}
		if v, ok := value(c.axis, c.parameter); ok {
			point[c.name] = v
		}
	}
}

// coordinates returns where a trial's parameters lie, by axis: NaN for those that the point did not have,
// whatever the trainer's defaults for them.
func (s *space) coordinates(resolved sweep.Parameters) []float64 {
	point := maps.Clone(resolved)
	s.decide(point, func(axis, parameter int) (any, bool) {
		v, ok := resolved[s.axes[axis].Parameters[parameter].Name]
		return v, ok
	})
	row := make([]float64, len(s.axes))
	for i := range s.axes {
		x, ok := s.axes[i].coordinate(point)
		if row[i] = x; !ok {
			row[i] = math.NaN()
		}
	}
	return row
}
