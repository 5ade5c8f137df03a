package sweep

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Grid is the lazy expansion of a Spec. Its points are numbered from 0 in the
// order of the axes, the first varying slowest; only valid points have a
// number:
//
//   - A parameter with conditions is present where all of them hold. A
//     condition on an absent parameter does not hold.
//   - Points that agree in all present parameters are one point, at the place
//     of the first of them.
//   - A point that fits an exclusion is left out.
//
// Axes that no condition and no exclusion touches are never enumerated: they
// multiply. The others, the constrained axes, are enumerated once; a grid keeps
// four bytes for each of their valid combinations and nothing for a point. A
// Grid is immutable and safe for concurrent use.
type Grid struct {
	axes       []gridAxis
	conditions [][]rule // of each conditional parameter
	exclude    []rule
	// valid are the mixed-radix codes of the valid combinations of the constrained axes,
	// ascending; without any the empty combination.
	valid   []uint32
	product int64
	total   int64
	count   int64
	known   int64
	removed []Removal
	// random draws the points of a random search; nil for a grid.
	random *sampler
	// arranged, if not nil, has the points: see Arrange.
	arranged func(index int64) (Parameters, error)
	// omitted are the points of Spec.Omit, which have no numbers.
	omitted []omission
}

// Removal says at how many points conditions remove a parameter.
type Removal struct {
	Parameter string `json:"parameter"`
	// Points counts the points without the parameter, before Spec.Cap.
	Points int64 `json:"points"`
}

// Bounds on what NewGrid enumerates, so that it takes seconds and 40 MB at most:
// combinations of the constrained axes, and comparisons over all of them.
const (
	maxCombinations = 10_000_000
	maxComparisons  = 2_000_000_000
)

// NewGrid checks spec and counts its points, at a cost that does not depend on unconstrained
// axes. Errors are ErrNoPoint, ErrTooManyPoints and ErrEndless, wrapped, and *ParameterError for
// bad parameters and conditions. With Spec.Random the points are draws and may repeat. Spec.Policies are not looked at:
// package policy has the grid with them.
func NewGrid(spec *Spec) (*Grid, error) {
	g, err := newGrid(spec)
	if err == nil && len(spec.Omit) > 0 {
		err = g.omit(spec.Omit)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

func newGrid(spec *Spec) (*Grid, error) {
	if spec.Random != nil {
		return newRandomGrid(spec)
	}
	g := &Grid{valid: []uint32{0}}
	placements, err := g.addAxes(spec.Axes)
	if err != nil {
		return nil, err
	}
	order, err := g.addConditions(spec.Conditions, placements)
	if err != nil {
		return nil, err
	}
	for _, m := range spec.Exclude {
		g.constrain(m, placements)
	}
	combinations, free, err := g.place()
	if err != nil {
		return nil, err
	}
	terms := g.bindAll(spec, placements, order)
	if err := g.enumerate(combinations, free, terms); err != nil {
		return nil, err
	}
	if g.total == 0 {
		return nil, fmt.Errorf("%w: exclude fits all %d combinations", ErrNoPoint, g.product)
	}
	g.count = g.total
	if spec.Cap > 0 {
		g.count = min(g.count, spec.Cap)
	}
	g.known = g.count
	return g, nil
}

// constrain marks the axes that a match names.
func (g *Grid) constrain(m Match, placements map[string]placement) {
	for name := range m {
		if at, ok := placements[name]; ok {
			g.axes[at.axis].constrained = true
		}
	}
}

// addConditions numbers the conditional parameters, each after those that its conditions name,
// and returns their names in that order.
func (g *Grid) addConditions(conditions []Condition, placements map[string]placement) ([]string, error) {
	needs := map[string][]string{}
	for _, c := range conditions {
		at, ok := placements[c.Parameter]
		if !ok {
			return nil, refused(c.Parameter, "has a condition but no values")
		}
		needs[c.Parameter] = append(needs[c.Parameter], c.When.Names()...)
		g.axes[at.axis].constrained, g.axes[at.axis].conditional = true, true
		g.constrain(c.When, placements)
	}
	var order, path []string
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(name string) error
	visit = func(name string) error {
		if _, conditional := needs[name]; !conditional || state[name] == done {
			return nil
		}
		path = append(path, name)
		if state[name] == open {
			for path[0] != name {
				path = path[1:]
			}
			return refused(name, "its condition depends on itself: %s", strings.Join(path, " → "))
		}
		state[name] = open
		for _, next := range needs[name] {
			if err := visit(next); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		order = append(order, name)
		return nil
	}
	for _, c := range conditions {
		if err := visit(c.Parameter); err != nil {
			return nil, err
		}
	}
	for i, name := range order {
		at := placements[name]
		g.axes[at.axis].parameters[at.parameter].condition = i
	}
	return order, nil
}

// place computes the place values, and the products of the lengths of the constrained and
// of the free axes.
func (g *Grid) place() (combinations, free int64, err error) {
	combinations, free = 1, 1
	var names []string
	for k := len(g.axes) - 1; k >= 0; k-- {
		a := &g.axes[k]
		a.free = free
		if !a.constrained {
			free *= a.length
			continue
		}
		names = append(names, a.parameters[0].Name)
		a.place = combinations
		if a.length > maxCombinations/combinations {
			slices.Sort(names)
			return 0, 0, fmt.Errorf("conditions and exclusions over %s have more than %d combinations to check: "+
				"name fewer parameters in them, or split the sweep", strings.Join(names, ", "), maxCombinations)
		}
		combinations *= a.length
	}
	return combinations, free, nil
}

// bindAll binds conditions and exclusions to the axes and returns the number of their terms.
func (g *Grid) bindAll(spec *Spec, placements map[string]placement, order []string) (terms int64) {
	b := binder{grid: g, placements: placements, digits: map[placement]map[string][]uint32{}}
	matches := map[string][]Match{}
	for _, c := range spec.Conditions {
		matches[c.Parameter] = append(matches[c.Parameter], c.When)
	}
	for _, name := range order {
		var rules []rule
		for _, m := range matches[name] {
			rules = append(rules, b.bind(m))
			terms += int64(len(m))
		}
		g.conditions = append(g.conditions, rules)
	}
	for _, m := range spec.Exclude {
		g.exclude = append(g.exclude, b.bind(m))
		terms += int64(len(m))
	}
	return terms
}

// decide fills present for the combination of digits.
func (g *Grid) decide(digits []int64, present []bool) {
	for i, rules := range g.conditions {
		present[i] = true
		for j := range rules {
			if !rules[j].holds(digits, present) {
				present[i] = false
				break
			}
		}
	}
}

// enumerate lists the valid combinations of the constrained axes, and counts.
func (g *Grid) enumerate(combinations, free, terms int64) error {
	var constrained []int
	for k := range g.axes {
		if g.axes[k].constrained {
			constrained = append(constrained, k)
		}
	}
	checker := newRepeats(g)
	if comparisons := terms + int64(len(checker.axes)) + 1; combinations > maxComparisons/comparisons {
		return fmt.Errorf("conditions and exclusions need more than %d comparisons, %d at each of %d combinations: "+
			"merge or remove some of them, or split the sweep", maxComparisons, comparisons, combinations)
	}
	absent := make([]int64, len(g.conditions))
	if len(constrained) > 0 || len(g.exclude) > 0 {
		g.valid = nil
		digits := make([]int64, len(g.axes))
		present := make([]bool, len(g.conditions))
		for code := range combinations {
			g.decide(digits, present)
			if !checker.repeated(digits, present) && !g.excluded(digits, present) {
				g.valid = append(g.valid, uint32(code))
				for i, there := range present {
					if !there {
						absent[i]++
					}
				}
			}
			for i := len(constrained) - 1; i >= 0; i-- {
				k := constrained[i]
				if digits[k]++; digits[k] < g.axes[k].length {
					break
				}
				digits[k] = 0
			}
		}
	}
	g.total = int64(len(g.valid)) * free
	for k := range g.axes {
		for _, p := range g.axes[k].parameters {
			if p.condition >= 0 && absent[p.condition] > 0 {
				g.removed = append(g.removed, Removal{p.Name, absent[p.condition] * free})
			}
		}
	}
	return nil
}

func (g *Grid) excluded(digits []int64, present []bool) bool {
	for i := range g.exclude {
		if g.exclude[i].holds(digits, present) {
			return true
		}
	}
	return false
}

// Count is the number of points.
func (g *Grid) Count() int64 { return g.count }

// Known is how many points do not depend on results: all, unless a policy chooses points. Then At and All have the
// others as if there were no results.
func (g *Grid) Known() int64 { return g.known }

// Arrange returns the grid with other points, count of them, of which the first known ones do not depend on results.
func (g *Grid) Arrange(count, known int64, at func(index int64) (Parameters, error)) *Grid {
	arranged := *g
	arranged.count, arranged.total, arranged.product, arranged.known = count, count, count, known
	arranged.arranged, arranged.omitted = at, nil
	return &arranged
}

// Distinct is how many different values an axis has.
func (g *Grid) Distinct(axis int) int64 { return g.axes[axis].length }

// Free reports whether neither conditions nor exclusions name an axis.
func (g *Grid) Free(axis int) bool { return !g.axes[axis].constrained }

// Product is the number of combinations of all values, before conditions,
// exclusions and Spec.Cap; of a random search the number of draws.
func (g *Grid) Product() int64 { return g.product }

// Removed lists the parameters that conditions remove somewhere, in file order.
func (g *Grid) Removed() []Removal { return slices.Clone(g.removed) }

// At computes the point with the given index, 0 ≤ index < Count, by a few binary searches.
func (g *Grid) At(index int64) (Parameters, error) {
	if index < 0 || index >= g.count {
		return nil, fmt.Errorf("point %d: the grid has the points 0 to %d: %w", index, g.count-1, ErrNotFound)
	}
	index = g.ordinal(index)
	switch {
	case g.arranged != nil:
		return g.arranged(index)
	case g.random != nil:
		return g.random.at(index), nil
	}
	var digitArray [32]int64
	var presentArray [32]bool
	digits := append(digitArray[:0], make([]int64, len(g.axes))...)
	present := append(presentArray[:0], make([]bool, len(g.conditions))...)
	parameters := 0
	// valid[low:high] are the combinations that agree with the digits so far.
	low, high := int64(0), int64(len(g.valid))
	for k := range g.axes {
		a := &g.axes[k]
		parameters += len(a.parameters)
		if !a.constrained {
			rest := (high - low) * a.free
			digits[k] = index / rest
			index %= rest
			continue
		}
		prefix := int64(g.valid[low+index/a.free]) / a.place
		digits[k] = prefix % a.length
		chosen := g.valid[low:high]
		from, _ := slices.BinarySearch(chosen, uint32(prefix*a.place))
		to, _ := slices.BinarySearch(chosen, uint32((prefix+1)*a.place))
		index -= int64(from) * a.free
		low, high = low+int64(from), low+int64(to)
	}
	g.decide(digits, present)
	point := make(Parameters, parameters)
	for k := range g.axes {
		a := &g.axes[k]
		position := a.position(digits[k])
		for _, p := range a.parameters {
			if p.condition < 0 || present[p.condition] {
				point[p.Name] = p.Values.At(position)
			}
		}
	}
	return point, nil
}

// All yields the points from index from on with their indices.
func (g *Grid) All(from int64) iter.Seq2[int64, Parameters] {
	return func(yield func(int64, Parameters) bool) {
		for index := max(from, 0); index < g.count; index++ {
			point, err := g.At(index)
			if err != nil || !yield(index, point) {
				return
			}
		}
	}
}
