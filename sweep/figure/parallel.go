package figure

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
)

// parallel draws each trial as a line over the parameters that vary, coloured by
// its metric: the best in front and in colour, the others pale behind.
func (d *data) parallel(f *Figure, o Options) error {
	metric, trials, err := d.scored(o.Metric)
	if err != nil {
		return err
	}
	if len(d.varying) == 0 {
		return fmt.Errorf("%w: the trials differ in no parameter", ErrNothing)
	}
	goal := sweep.Select{Goal: d.goal(metric)}
	ordered := slices.Clone(trials)
	slices.SortStableFunc(ordered, func(a, b trial) int { // the best last, so that it lies in front
		return compare(goal, b.metric(metric), a.metric(metric))
	})
	coloured := max(int(float64(len(ordered))*o.Top/100+0.5), 1)
	values := group{trials: ordered}.values(metric)
	lowest, highest := extent(values)
	result := axis{scale: newScale(words(metric), values, lowest > 0 && highest >= 100*lowest)}
	plot := &parallelPlot{result: result, metric: metric, goal: goal, trials: ordered, coloured: coloured}
	plot.low, plot.high = extent(values[len(values)-coloured:])
	for _, name := range d.varying {
		plot.axes = append(plot.axes, newAxis(trials, name, false))
		plot.absent = plot.absent || slices.ContainsFunc(trials, func(t trial) bool { return !t.has(name) })
	}
	f.draw = plot.draw
	f.note("%d trials, those with the %s %s in colour (%d), the best darkest.", len(ordered), goalWord(goal.Goal),
		words(metric), coloured)
	d.noteGoal(f, metric)
	if plot.absent {
		f.note("Below an axis: trials that do not have the parameter.")
	}
	f.noteLeftOut(d, len(trials), words(metric))
	return nil
}

// parallelSides is the room beside the first and the last axis.
const parallelSides = 44

// parallelPlot is what parallel coordinates are drawn from.
type parallelPlot struct {
	axes   []axis
	result axis
	metric string
	goal   sweep.Select
	// trials are in order, the best last; the last coloured of them are in colour, and low and
	// high the extent of their results.
	trials    []trial
	coloured  int
	low, high float64
	// absent says that some trials do not have all parameters.
	absent bool
}

// hue is where a result lies in the scale of colours.
func (p *parallelPlot) hue(v float64) float64 {
	if p.low == p.high {
		return 0.5
	}
	at := (v - p.low) / (p.high - p.low)
	if p.goal.Goal != sweep.Maximize {
		at = 1 - at
	}
	return 0.8 * (1 - at) // the best dark: it stands out on white
}

func (p *parallelPlot) draw(c draw.Canvas) {
	const headroom, below = 2.2 * labelSize, 20
	area := draw.Crop(c, parallelSides, -parallelSides, below, -headroom)
	n := len(p.axes) + 1
	across := func(i int) vg.Length {
		return area.Min.X + (area.Max.X-area.Min.X)*vg.Length(i)/vg.Length(n-1)
	}
	up := func(a *axis, v float64) vg.Length {
		return area.Min.Y + (area.Max.Y-area.Min.Y)*vg.Length(unit(a.scale, v))
	}
	floor := area.Min.Y - 12
	for i, t := range p.trials {
		var points []vg.Point
		for k := range p.axes {
			y := floor
			if at, ok := p.axes[k].at(&t); ok {
				y = up(&p.axes[k], at)
			}
			points = append(points, vg.Point{X: across(k), Y: y})
		}
		points = append(points, vg.Point{X: across(n - 1), Y: up(&p.result, t.metric(p.metric))})
		style := stroke(pale(rule, 0.8), 0.5)
		if i >= len(p.trials)-p.coloured {
			style = stroke(pale(viridis(p.hue(t.metric(p.metric))), 0.8), 0.9)
		}
		c.StrokeLines(style, points)
	}
	for i := range n {
		p.drawAxis(c, area, i, across(i), up)
	}
	if p.absent {
		small := letters(noteSize, faint, text.XRight, text.YCenter)
		write(c, small, vg.Point{X: area.Min.X - 5, Y: floor}, "absent")
		c.StrokeLine2(stroke(rule, 0.5, 2, 2), area.Min.X, floor, across(n-2), floor)
	}
}

// drawAxis draws the i-th axis at x, the result's behind those of the parameters.
func (p *parallelPlot) drawAxis(c, area draw.Canvas, i int, x vg.Length, up func(*axis, float64) vg.Length) {
	n := len(p.axes) + 1
	head := letters(labelSize, ink, text.XCenter, text.YBottom)
	room := (area.Max.X - area.Min.X) / vg.Length(n-1)
	a := &p.result
	if i < len(p.axes) {
		a = &p.axes[i]
	}
	c.StrokeLine2(stroke(faint, 0.7), x, area.Min.Y, x, area.Max.Y)
	title, at, width := head, x, room-4
	if i == n-1 && title.Width(a.label) > 2*parallelSides { // it leans inwards
		title.XAlign, at, width = text.XRight, c.Max.X, parallelSides+room*0.4
	}
	write(c, title, vg.Point{X: at, Y: area.Max.Y + 6}, fit(title, a.label, width))
	small := letters(tickSize, ink, text.XRight, text.YCenter)
	side := vg.Length(-5)
	if i == n-1 {
		small.XAlign, side = text.XLeft, 5
	}
	last := area.Min.Y - 100
	for _, t := range a.Ticks(a.low, a.high) {
		at := unit(a.scale, t.Value)
		y := up(a, t.Value)
		if at < -1e-9 || at > 1+1e-9 {
			continue
		}
		c.StrokeLine2(stroke(faint, 0.5), x-2, y, x+2, y)
		if t.Label == "" || y-last < 1.1*tickSize {
			continue
		}
		last = y
		label := fit(small, t.Label, max(room-12, 30))
		w := small.Width(label)
		left := x + side
		if i < n-1 {
			left -= w
		}
		c.FillPolygon(pale(inkOn(ink), 0.75), []vg.Point{{X: left - 1, Y: y - 4}, {X: left + w + 1, Y: y - 4},
			{X: left + w + 1, Y: y + 4}, {X: left - 1, Y: y + 4}})
		write(c, small, vg.Point{X: x + side, Y: y}, label)
	}
}
