package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
)

// axis is a parameter across: where its values stand.
type axis struct {
	scale
	// names are the values that are no numbers, in the order of their first trials.
	names []string
}

// at is the place of a value; false if there is none.
func (a *axis) at(value any, present bool) (float64, bool) {
	if !present {
		return 0, false
	}
	if a.names == nil {
		return asNumber(value)
	}
	i := slices.Index(a.names, valueText(value))
	return float64(i), i >= 0
}

// newAxis is the axis of a parameter: of numbers, logarithmic if that is wished or
// they spread over two decades, or of names.
func newAxis(trials []trial, name string, log bool) axis {
	var numbers []float64
	var names []string
	only := true
	for _, t := range trials {
		value, ok := t.parameter(name)
		if !ok {
			continue
		}
		if text := valueText(value); !slices.Contains(names, text) {
			names = append(names, text)
		}
		n, ok := asNumber(value)
		only = only && ok
		numbers = append(numbers, n)
	}
	if !only || len(numbers) == 0 {
		a := axis{names: names, scale: scale{label: words(name), low: -0.5, high: float64(len(names)) - 0.5}}
		for i, text := range names {
			a.marks = append(a.marks, plot.Tick{Value: float64(i), Label: text})
		}
		return a
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	log = numbers[0] > 0 && (log || spreadsOut(numbers))
	a := axis{scale: newScale(words(name), numbers, log)}
	const few, apart = 10, 0.06
	if len(numbers) <= few {
		last := math.Inf(-1)
		for _, n := range numbers {
			tick := plot.Tick{Value: n}
			if at := unit(a.scale, n); at-last >= apart {
				tick.Label, last = tickText(n), at
			}
			a.marks = append(a.marks, tick)
		}
	}
	return a
}

// spreadsOut reports whether ascending positive numbers lie more evenly on a
// logarithmic axis.
func spreadsOut(numbers []float64) bool {
	first, last := numbers[0], numbers[len(numbers)-1]
	if first <= 0 || last < 8*first {
		return false
	}
	uneven := func(of func(float64) float64) float64 {
		widest := 0.0
		for i := 1; i < len(numbers); i++ {
			widest = max(widest, of(numbers[i])-of(numbers[i-1]))
		}
		return widest / (of(last) - of(first))
	}
	return len(numbers) == 2 || uneven(math.Log) < uneven(func(v float64) float64 { return v })
}

// widest chooses the parameter with the most values among those that vary,
// numbers before names.
func (d *data) widest(trials []trial, besides string) string {
	name, most := "", math.MinInt
	for _, candidate := range d.varying {
		if candidate == besides {
			continue
		}
		a := newAxis(trials, candidate, false)
		n := 0
		for range groups(trials, []string{candidate}) {
			n++
		}
		if a.names == nil {
			n += 1000
		}
		if slices.ContainsFunc(trials, func(t trial) bool { _, ok := t.parameter(candidate); return !ok }) {
			n -= 10_000 // it would leave trials out
		}
		if n > most {
			name, most = candidate, n
		}
	}
	return name
}

// slice draws one parameter against a metric: every trial a dot, for each group the
// mean, and the range over everything else.
func (d *data) slice(f *Figure, o Options) error {
	metric, err := d.metric(o.Metric)
	if err != nil {
		return err
	}
	trials, err := d.valued(metric)
	if err != nil {
		return err
	}
	x, by, err := d.sliced(trials, o)
	if err != nil {
		return err
	}
	var values []float64
	across := newAxis(trials, x, o.LogX)
	if o.LogX && !across.log {
		return wrong("the parameter %s has values that have no logarithm", x)
	}
	var drawn []trial
	without := 0
	for _, t := range trials {
		value, ok := t.parameter(x)
		_, placed := across.at(value, ok)
		if !placed || o.LogY && t.metric(metric) <= 0 {
			without++
			continue
		}
		drawn = append(drawn, t)
		values = append(values, t.metric(metric))
	}
	if len(drawn) == 0 {
		return fmt.Errorf("%w: no trial has both %s and a place for its %s", ErrNothing, x, metric)
	}
	list := groups(drawn, by)
	best(list, metric, d.goal(metric))
	all := len(list)
	list = list[:min(all, o.Groups)]
	slices.SortStableFunc(list, func(a, b group) int {
		return placeOf(drawn, by, a.label) - placeOf(drawn, by, b.label)
	})
	if all > len(list) {
		f.notes = append(f.notes, fmt.Sprintf("The best %d of %d groups.", len(list), all))
		values = values[:0]
		for _, g := range list {
			values = append(values, g.values(metric)...)
		}
	}
	y := newScale(d.metricLabel(metric), values, o.LogY)
	var lines []line
	for _, g := range list {
		l := line{label: g.label, replicates: 2, band: 0.09}
		for _, place := range groups(g.trials, []string{x}) {
			at, _ := across.at(place.trials[0].value(x), true)
			values := place.values(metric)
			mean := middle(values, o.LogY)
			l.x, l.mean = append(l.x, at), append(l.mean, mean)
			l.low, l.high = append(l.low, slices.Min(values)), append(l.high, slices.Max(values))
		}
		lines = append(lines, sorted(l))
	}
	f.draw = func(c draw.Canvas) {
		drawLinesWith(c, across.scale, y, lines, layer(func(c draw.Canvas, toX, toY func(float64) vg.Length) {
			for i, g := range list {
				for _, t := range g.trials {
					at, _ := across.at(t.value(x), true)
					c.DrawGlyph(draw.GlyphStyle{Color: pale(groupColour(i), 0.45), Radius: 1.4,
						Shape: draw.CircleGlyph{}},
						vg.Point{X: toX(at), Y: toY(t.metric(metric))})
				}
			}
		}))
	}
	f.notes = append(f.notes, fmt.Sprintf("A dot each trial (%d); line: %s; band: smallest to largest over all other "+
		"parameters and seeds.", len(drawn), meanWord(o.LogY)))
	if note := d.leftOut(len(d.trials)-d.diverged-len(drawn), words(x)+" or "+words(metric)); note != "" {
		f.notes = append(f.notes, note)
	}
	return nil
}

// sliced returns the parameter of a slice, and those whose values part the groups.
func (d *data) sliced(trials []trial, o Options) (x string, by []string, err error) {
	x = o.X
	if x == "" {
		x = d.widest(trials, "")
	}
	if x == "" {
		return "", nil, fmt.Errorf("%w: the trials differ in no parameter", ErrNothing)
	}
	if err := d.parameter(x); err != nil {
		return "", nil, err
	}
	by = o.GroupBy
	if len(by) == 0 {
		by = slices.DeleteFunc(slices.Clone(d.grouping()), func(name string) bool { return name == x })
		if len(by) == len(d.varying)-1 && len(by) > 0 && len(d.choice.Group) == 0 {
			by = nil // nothing says what to part by
		}
	}
	for _, name := range by {
		if err := d.parameter(name); err != nil {
			return "", nil, err
		}
	}
	return x, by, nil
}

// middle is the mean of values, the geometric one for a logarithmic axis.
func middle(values []float64, log bool) float64 {
	if !log {
		mean, _ := meanAndSpread(values)
		return mean
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	mean, _ := meanAndSpread(logs)
	return math.Exp(mean)
}

func meanWord(log bool) string {
	if log {
		return "geometric mean"
	}
	return "mean"
}

// sorted orders the points of a line from left to right.
func sorted(l line) line {
	order := make([]int, len(l.x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if l.x[a] < l.x[b] {
			return -1
		}
		return 1
	})
	pick := func(values []float64) []float64 {
		all := make([]float64, len(values))
		for i, from := range order {
			all[i] = values[from]
		}
		return all
	}
	l.x, l.mean, l.low, l.high = pick(l.x), pick(l.mean), pick(l.low), pick(l.high)
	return l
}

// goalWord is what the best value of a metric is.
func goalWord(goal string) string {
	if goal == sweep.Maximize {
		return "largest"
	}
	return "smallest"
}

// extent is the smallest and the largest of values.
func extent(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}
