package figure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// maxSteps bounds the places at which the mean of curves is taken.
const maxSteps = 600

// line is the mean of a group's curves, and a band around it where there are
// several.
type line struct {
	label              string
	group              string // label of the group whose best grid point this is; else the label
	x, mean, low, high []float64
	replicates         int
	// colour is the place of its colour.
	colour int
	// band is the opacity of the band.
	band float64
}

// curves draws a metric over the steps: for each group of the sweep file the mean
// of the best grid point's replicates, or of all trials where groups are named.
func (d *data) curves(ctx context.Context, results sweep.Reader, f *Figure, o Options) error {
	by, err := d.metric("")
	if err != nil {
		by = o.Metric
	}
	metric := cmp.Or(o.Metric, by)
	if err := d.check(o.GroupBy...); err != nil {
		return err
	}
	if err := d.checkOver(o.X); err != nil {
		return err
	}
	compared, err := d.valued(by)
	if err != nil {
		// Programs may log curves of what they do not sum up.
		compared = slices.DeleteFunc(slices.Clone(d.trials), func(t trial) bool { return t.diverged() })
		if len(compared) == 0 {
			return err
		}
	}
	var list []group
	groupOf := map[string]string{}
	if len(o.GroupBy) == 0 {
		list = d.bestPoints(compared, by, groupOf)
	} else {
		compared = d.once(compared, o.GroupBy...)
		list = d.groups(compared, o.GroupBy)
	}
	all := len(list)
	list = d.best(list, by, o.Groups)

	var lines []line
	var xs, ys []float64
	for _, g := range list {
		var drawn []points
		for _, t := range g.trials {
			list, err := pointsOf(ctx, results, d.frame.Trial(t.row), metric, o.X)
			if err != nil {
				return err
			}
			drawn = append(drawn, list...)
		}
		l := averaged(drawn, o.LogX, o.LogY)
		if len(l.x) == 0 {
			continue
		}
		l.label, l.group = g.label, cmp.Or(groupOf[g.label], g.label)
		lines = append(lines, l)
		xs, ys = append(xs, l.x...), append(append(ys, l.low...), l.high...)
	}
	if len(lines) == 0 {
		wanted := fmt.Sprintf("%q", metric)
		if o.X != "" {
			wanted += fmt.Sprintf(" with points of %q at the same steps", o.X)
		}
		return fmt.Errorf("%w: the trials have no curve %s: \"sweep curves SWEEP INDEX\" shows which they have: %w",
			ErrNothing, wanted, sweep.ErrNotFound)
	}
	// Labels stand in the order of the curves' ends; colours in that of the file.
	place := d.placeOf(compared, d.varying)
	slices.SortStableFunc(lines, func(a, b line) int { return place(a.label) - place(b.label) })
	for i := range lines {
		lines[i].colour = i
	}
	lying := d.references(o.References)
	for _, r := range lying {
		ys = append(ys, r.At)
	}

	x, y := newScale(d.overLabel(&o, metric), xs, o.LogX), newScale(cmp.Or(o.YLabel, d.metricLabel(metric)), ys, o.LogY)
	f.lines, f.logarithmic = lines, o.LogY
	f.draw = func(c draw.Canvas) { drawLines(c, x, y, lines, references(lying)) }
	if !o.panel {
		f.notes = append(f.notes, bandNote(lines, o.LogY))
	}
	if len(o.GroupBy) == 0 && len(list[0].trials) < len(compared) {
		f.note("Each line is the grid point with the best mean %s of its group.", words(by))
	}
	f.noteGroups(len(list), all)
	f.noteLeftOut(d, len(compared), words(by))
	return nil
}

// bestPoints returns the best grid point of each group of the sweep file; groupOf gets the groups' labels by those of
// the points.
func (d *data) bestPoints(trials []trial, by string, groupOf map[string]string) []group {
	list := d.groups(trials, d.grouping())
	at := map[int64]int{}
	for i := range list {
		for _, t := range list[i].trials {
			at[t.row] = i
		}
	}
	best := make([]group, len(list))
	points := d.groups(trials, d.varying)
	for _, point := range d.best(points, by, len(points)) {
		if i := at[point.trials[0].row]; best[i].trials == nil {
			groupOf[point.label], best[i] = list[i].label, point
		}
	}
	return slices.DeleteFunc(best, func(g group) bool { return g.trials == nil }) // after an error
}

// placeOf returns the place of a label among those of groups of trials, last if it is none of them.
func (d *data) placeOf(trials []trial, by []string) func(label string) int {
	list := d.groups(trials, by)
	return func(label string) int {
		if i := slices.IndexFunc(list, func(g group) bool { return g.label == label }); i >= 0 {
			return i
		}
		return len(list)
	}
}

// bandNote says what lines and bands are.
func bandNote(lines []line, log bool) string {
	fewest, most := math.MaxInt, 0
	for _, l := range lines {
		fewest, most = min(fewest, l.replicates), max(most, l.replicates)
	}
	kind := "mean ± standard deviation"
	if log {
		kind = "geometric mean ×÷ standard deviation"
	}
	if most == 1 {
		return "One trial a line."
	}
	return fmt.Sprintf("Line and band: %s of %s.", kind, trialsText(fewest, most))
}

// trialsText is a number of trials, or the range of several.
func trialsText(fewest, most int) string {
	switch {
	case most == 1:
		return "one trial"
	case fewest == most:
		return fmt.Sprintf("%d trials", most)
	}
	return fmt.Sprintf("%d to %d trials", fewest, most)
}

// checkOver returns an error if curves cannot be drawn over x.
func (d *data) checkOver(x string) error {
	if description := d.descriptions[0]; x != "" && !description.Open && description.Metric(x) == nil {
		return wrong("x %q is no metric of trainer %s: curves are drawn over steps or over a metric such as seconds", x,
			description.Name)
	}
	return nil
}

// overLabel is the label of the x axis of curves. Steps are epochs of trials that have a parameter of that name,
// except in metrics of single steps, such as step_train_loss; others, such as those of generated tasks, count
// minibatches or what their program counts.
func (d *data) overLabel(o *Options, metric string) string {
	switch {
	case o.XLabel != "":
		return o.XLabel
	case o.X != "":
		return d.metricLabel(o.X)
	case strings.HasPrefix(metric, "step_") || slices.ContainsFunc(d.trials, func(t trial) bool {
		_, epochs := t.parameter("epochs")
		return !epochs
	}):
		return "step"
	}
	return "epoch"
}

// points are those of a curve.
type points struct{ xs, ys []float64 }

// pointsOf returns the curves of a trial's metric over the steps or, if x is not empty, over the values of the
// metric x at the same steps.
func pointsOf(ctx context.Context, results sweep.Reader, id sweep.TrialID, metric, x string) (list []points,
	err error) {
	curves, err := results.Curves(ctx, id, metric)
	if err != nil {
		return nil, err
	}
	at := map[int64]float64{}
	if x != "" {
		axis, err := results.Curves(ctx, id, x)
		if err != nil {
			return nil, err
		}
		for _, c := range axis {
			for i, step := range c.Steps {
				at[step] = float64(c.Values[i])
			}
		}
	}
	for _, c := range curves {
		var p points
		for i, step := range c.Steps {
			place, known := float64(step), true
			if x != "" {
				place, known = at[step]
			}
			if known {
				p.xs, p.ys = append(p.xs, place), append(p.ys, float64(c.Values[i]))
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// references returns horizontal lines with the places of those that lie at a metric's mean, without those whose
// metric no trial has.
func (d *data) references(list []Reference) (placed []Reference) {
	for _, r := range list {
		if r.Metric != "" {
			trials, err := d.valued(r.Metric)
			if err != nil {
				continue
			}
			r.At = group{trials: trials}.mean(r.Metric)
		}
		placed = append(placed, r)
	}
	return placed
}

// references draws horizontal lines with their labels, nil without any.
func references(list []Reference) plot.Plotter {
	if len(list) == 0 {
		return nil
	}
	return layer(func(c draw.Canvas, _, y func(float64) vg.Length) {
		style := letters(noteSize, faint, text.XLeft, text.YBottom)
		for _, r := range list {
			at := y(r.At)
			c.StrokeLine2(stroke(faint, 0.7, 4, 2), c.Min.X, at, c.Max.X, at)
			if at+noteSize > c.Max.Y { // no room above it
				at -= noteSize + 3
			}
			write(c, style, vg.Point{X: c.Min.X + 3, Y: at + 1}, fit(style, r.Label, c.Max.X-c.Min.X))
		}
	})
}

// averaged is the mean of curves and the standard deviation around it, at the steps
// that any of them has, of those curves that have begun and not ended there. Between
// the points of a curve lies a straight line. On a logarithmic axis logarithms are
// averaged; values that are not finite, or have no place there, are left out.
func averaged(curves []points, logX, log bool) line {
	var steps []float64
	var kept [][2][]float64
	for _, c := range curves {
		var xs, ys []float64
		for i, x := range c.xs {
			y := c.ys[i]
			if math.IsNaN(y) || math.IsInf(y, 0) || log && y <= 0 || logX && x <= 0 {
				continue
			}
			if log {
				y = math.Log(y)
			}
			xs, ys = append(xs, x), append(ys, y)
		}
		if len(xs) > 0 {
			kept = append(kept, [2][]float64{xs, ys})
			steps = append(steps, xs...)
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	if len(kept) > 1 && len(steps) > maxSteps {
		thinned := make([]float64, maxSteps)
		for i := range thinned {
			thinned[i] = steps[i*(len(steps)-1)/(maxSteps-1)]
		}
		steps = thinned
	}
	l := line{replicates: len(kept), band: 0.18}
	back := func(v float64) float64 { return v }
	if log {
		back = math.Exp
	}
	for _, x := range steps {
		var m statistics.Moments
		for _, k := range kept {
			if y, ok := between(k[0], k[1], x); ok {
				m.Add(y)
			}
		}
		spread := 0.0
		if m.N > 1 {
			spread = m.SD()
		}
		l.x, l.mean = append(l.x, x), append(l.mean, back(m.Mean))
		l.low, l.high = append(l.low, back(m.Mean-spread)), append(l.high, back(m.Mean+spread))
	}
	return l
}

// between is the value at x of the straight lines through points, if x lies
// between the first and the last.
func between(xs, ys []float64, x float64) (float64, bool) {
	i, found := slices.BinarySearch(xs, x)
	switch {
	case found:
		return ys[i], true
	case i == 0 || i == len(xs):
		return 0, false
	}
	at := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return ys[i-1] + float64(at*(ys[i]-ys[i-1])), true
}

// drawLines draws lines with their bands and, at their ends, their labels; and, if it is not nil,
// something below the lines.
func drawLines(c draw.Canvas, x, y scale, lines []line, below plot.Plotter) {
	style := letters(tickSize, ink, text.XLeft, text.YCenter)
	room := vg.Length(0)
	for _, l := range lines {
		room = max(room, style.Width(l.label))
	}
	room = min(room+14, (c.Max.X-c.Min.X)*0.42)
	p := axes(x, y)
	inner := p.DataCanvas(draw.Crop(c, 1.7*labelSize, -room, 0, 0))
	p.X.Tick.Marker = x.fitted(inner.Max.X-inner.Min.X, style)
	p.Add(grid(y))
	for _, l := range lines {
		p.Add(layer(func(c draw.Canvas, x, y func(float64) vg.Length) {
			if l.replicates < 2 {
				return
			}
			var outline []vg.Point
			for j := range l.x {
				outline = append(outline, vg.Point{X: x(l.x[j]), Y: y(l.high[j])})
			}
			for j := len(l.x) - 1; j >= 0; j-- {
				outline = append(outline, vg.Point{X: x(l.x[j]), Y: y(l.low[j])})
			}
			c.FillPolygon(pale(groupColour(l.colour), l.band), outline)
		}))
	}
	if below != nil {
		p.Add(below)
	}
	for _, l := range lines {
		p.Add(layer(func(c draw.Canvas, x, y func(float64) vg.Length) {
			var points []vg.Point
			for j := range l.x {
				points = append(points, vg.Point{X: x(l.x[j]), Y: y(l.mean[j])})
			}
			if len(points) == 1 {
				dot := draw.GlyphStyle{Color: groupColour(l.colour), Radius: 2, Shape: draw.CircleGlyph{}}
				c.DrawGlyph(dot, points[0])
				return
			}
			c.StrokeLines(stroke(groupColour(l.colour), 1.2, groupDashes(l.colour)...), points)
		}))
	}
	c, area := drawLabelled(c, p, y.label, room)
	labelEnds(c, p, area, lines, style)
}

// drawLabelled draws a plot that leaves some room at the right, with the label of the y axis beside it, or
// above it if the label is longer than the axis. It returns the canvas without that label, and the plot's.
func drawLabelled(c draw.Canvas, p *plot.Plot, label string, room vg.Length) (rest, area draw.Canvas) {
	title := letters(labelSize, ink, text.XCenter, text.YTop)
	if title.Width(label) > c.Max.Y-c.Min.Y {
		title.XAlign = text.XLeft
		write(c, title, vg.Point{X: c.Min.X, Y: c.Max.Y}, fit(title, label, c.Max.X-c.Min.X))
		c = draw.Crop(c, 0, 0, 0, -1.6*labelSize)
		area = draw.Crop(c, 0, -room, 0, 0)
		p.Draw(area)
		return c, area
	}
	area = draw.Crop(c, 1.7*labelSize, -room, 0, 0)
	p.Draw(area)
	title.Rotation = math.Pi / 2
	inner := p.DataCanvas(area)
	write(c, title, vg.Point{X: c.Min.X, Y: (inner.Min.Y + inner.Max.Y) / 2}, label)
	return c, area
}

// labelEnds writes each line's label beside its end, moved apart where they would
// overlap.
func labelEnds(c draw.Canvas, p *plot.Plot, area draw.Canvas, lines []line, style text.Style) {
	inner := p.DataCanvas(area)
	toX, toY := p.Transforms(&inner)
	type end struct {
		line int
		at   vg.Point
	}
	var ends []end
	for i, l := range lines {
		ends = append(ends, end{i, vg.Point{X: toX(l.x[len(l.x)-1]), Y: toY(l.mean[len(l.mean)-1])}})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at.Y, b.at.Y) })
	places := make([]vg.Length, len(ends))
	for i, e := range ends {
		places[i] = e.at.Y
	}
	spread(places, 1.25*style.Font.Size, inner.Min.Y, inner.Max.Y)
	right := inner.Max.X
	for i, e := range ends {
		if lines[e.line].label == "" {
			continue
		}
		colour := groupColour(lines[e.line].colour)
		c.StrokeLines(stroke(pale(colour, 0.7), 0.4),
			[]vg.Point{{X: e.at.X + 1, Y: e.at.Y}, {X: max(right, e.at.X+1), Y: places[i]},
				{X: right + 8, Y: places[i]}})
		style.Color = colour
		write(c, style, vg.Point{X: right + 10, Y: places[i]}, fit(style, lines[e.line].label, c.Max.X-right-10))
	}
}

// spread moves ascending places apart to a distance, each as little as it can be,
// within low and high as far as there is room.
func spread(places []vg.Length, distance, low, high vg.Length) {
	// Places that touch form blocks, which stand where their members' wishes are met
	// on the average.
	type block struct {
		sum   vg.Length // of wishes, each as seen from the block's first place
		n     int
		start vg.Length
	}
	var blocks []block
	settle := func(b *block) {
		b.start = b.sum / vg.Length(b.n)
		b.start = max(min(b.start, high-vg.Length(b.n-1)*distance), low)
	}
	for _, p := range places {
		b := block{sum: p, n: 1}
		settle(&b)
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.start+vg.Length(last.n)*distance <= b.start {
				break
			}
			b.sum = last.sum + b.sum - vg.Length(b.n)*vg.Length(last.n)*distance
			b.n += last.n
			blocks = blocks[:len(blocks)-1]
			settle(&b)
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for k := range b.n {
			places[i] = b.start + vg.Length(k)*distance
			i++
		}
	}
}
