package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// axis is a parameter across: where its values stand.
type axis struct {
	scale
	parameter string
	// names are the values that are no numbers, in the order of their first trials.
	names []string
}

// at is the place of a trial; false if there is none.
func (a *axis) at(t *trial) (float64, bool) {
	value, ok := t.parameter(a.parameter)
	if !ok {
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
		a := axis{parameter: name, names: names,
			scale: scale{label: words(name), low: -0.5, high: float64(len(names)) - 0.5}}
		for i, text := range names {
			a.marks = append(a.marks, plot.Tick{Value: float64(i), Label: text})
		}
		return a
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	log = numbers[0] > 0 && (log || spreadsOut(numbers))
	a := axis{parameter: name, scale: newScale(words(name), numbers, log)}
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
		n := len(d.groups(trials, []string{candidate}))
		if newAxis(trials, candidate, false).names == nil {
			n += 1000
		}
		if slices.ContainsFunc(trials, func(t trial) bool { return !t.has(candidate) }) {
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
	metric, trials, err := d.scored(o.Metric)
	if err != nil {
		return err
	}
	x, by, err := d.sliced(trials, o)
	if err != nil {
		return err
	}
	trials = d.once(trials, append([]string{x}, by...)...)
	across := newAxis(trials, x, o.LogX)
	if o.LogX && !across.log {
		return wrong("the parameter %s has values that have no logarithm", x)
	}
	drawn := slices.DeleteFunc(slices.Clone(trials), func(t trial) bool {
		_, placed := across.at(&t)
		return !placed || o.LogY && t.metric(metric) <= 0
	})
	if len(drawn) == 0 {
		return fmt.Errorf("%w: no trial has both %s and a place for its %s", ErrNothing, x, metric)
	}
	list := d.groups(drawn, by)
	all := len(list)
	place := d.placeOf(drawn, by)
	list = d.best(list, metric, o.Groups)
	slices.SortStableFunc(list, func(a, b group) int { return place(a.label) - place(b.label) })
	f.noteGroups(len(list), all)
	var values []float64
	var lines []line
	scattered := across.scattered(drawn)
	for i, g := range list {
		values = append(values, g.values(metric)...)
		lines = append(lines, g.over(&across, metric, o.LogY, scattered))
		lines[i].colour = i
	}
	y := newScale(d.metricLabel(metric), values, o.LogY)
	f.draw = func(c draw.Canvas) {
		drawLines(c, across.scale, y, lines, layer(func(c draw.Canvas, toX, toY func(float64) vg.Length) {
			for i, g := range list {
				dot := draw.GlyphStyle{Color: pale(groupColour(i), 0.45), Radius: 1.4, Shape: draw.CircleGlyph{}}
				for _, t := range g.trials {
					at, _ := across.at(&t)
					c.DrawGlyph(dot, vg.Point{X: toX(at), Y: toY(t.metric(metric))})
				}
			}
		}))
	}
	mean := "mean"
	if o.LogY {
		mean = "geometric mean"
	}
	if scattered {
		mean += fmt.Sprintf(" in each of %d equal parts of the axis", parts)
	}
	f.note("A dot each trial (%d); line: %s; band: smallest to largest over all other parameters and seeds.",
		len(drawn), mean)
	f.noteLeftOut(d, len(drawn), words(x)+" or "+words(metric))
	return nil
}

// parts is how many parts the axis of a parameter has whose values are drawn.
const parts = 8

// scattered reports whether most trials have a number of their own, as where the values are drawn: a
// line from each to the next would tell nothing.
func (a *axis) scattered(trials []trial) bool {
	return a.names == nil && len(trials) > 2*parts &&
		2*len(trials[0].of.groups(trials, []string{a.parameter})) > len(trials)
}

// over is the line of a group over an axis: at each place, or in each part of the axis, the mean of a metric and
// its range.
func (g group) over(across *axis, metric string, log, inParts bool) line {
	l := line{label: g.label, replicates: 2, band: 0.09}
	var places []group
	if inParts {
		byPart := make([]group, parts)
		for _, t := range g.trials {
			x, _ := across.at(&t)
			part := &byPart[min(int(unit(across.scale, x)*parts), parts-1)]
			part.trials = append(part.trials, t)
		}
		places = slices.DeleteFunc(byPart, func(part group) bool { return len(part.trials) == 0 })
	} else {
		places = g.trials[0].of.groups(g.trials, []string{across.parameter})
	}
	at := func(place group) float64 {
		xs := make([]float64, len(place.trials))
		for i := range place.trials {
			xs[i], _ = across.at(&place.trials[i])
		}
		if !inParts {
			return xs[0]
		}
		return middle(xs, across.log)
	}
	slices.SortStableFunc(places, func(a, b group) int { return cmp.Compare(at(a), at(b)) })
	for _, place := range places {
		values := place.values(metric)
		l.x, l.mean = append(l.x, at(place)), append(l.mean, middle(values, log))
		l.low, l.high = append(l.low, slices.Min(values)), append(l.high, slices.Max(values))
	}
	return l
}

// sliced returns the parameter of a slice, and those whose values part the groups.
func (d *data) sliced(trials []trial, o Options) (x string, by []string, err error) {
	if x = o.X; x == "" {
		x = d.widest(trials, "")
	}
	if x == "" {
		return "", nil, fmt.Errorf("%w: the trials differ in no parameter", ErrNothing)
	}
	if err := d.check(x); err != nil {
		return "", nil, err
	}
	by = o.GroupBy
	if len(by) == 0 {
		by = slices.DeleteFunc(slices.Clone(d.grouping()), func(name string) bool { return name == x })
		if len(by) == len(d.varying)-1 && len(by) > 0 && len(d.choice.Group) == 0 {
			by = nil // nothing says what to part by
		}
	}
	return x, by, d.check(by...)
}

// middle is the mean of values, the geometric one for a logarithmic axis.
func middle(values []float64, log bool) float64 {
	if !log {
		return statistics.MomentsOf(values).Mean
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	return math.Exp(statistics.MomentsOf(logs).Mean)
}

// goalWord is what the best value of a metric is.
func goalWord(goal string) string {
	if goal == sweep.Maximize {
		return "largest"
	}
	return "smallest"
}

// extent is the smallest and the largest of values.
func extent(values []float64) (low, high float64) { return slices.Min(values), slices.Max(values) }
