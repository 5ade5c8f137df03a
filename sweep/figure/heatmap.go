package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// heatmap draws the mean of a metric over two parameters, each of whose values has
// a column or a row.
func (d *data) heatmap(f *Figure, o Options) error {
	metric, trials, err := d.scored(o.Metric)
	if err != nil {
		return err
	}
	x, y, err := d.twoParameters(trials, o)
	if err != nil {
		return err
	}
	trials = d.once(trials, x, y)
	columns, rows := valuesOf(trials, x), valuesOf(trials, y)
	cells := map[cell][]float64{}
	drawn := 0
	for _, t := range trials {
		vx, okX := t.parameter(x)
		vy, okY := t.parameter(y)
		if !okX || !okY {
			continue
		}
		at := cell{slices.Index(columns, valueText(vx)), slices.Index(rows, valueText(vy))}
		cells[at] = append(cells[at], t.metric(metric))
		drawn++
	}
	if drawn == 0 {
		return fmt.Errorf("%w: no trial has both %s and %s", ErrNothing, x, y)
	}
	means := map[cell]float64{}
	var all []float64
	fewest, most := math.MaxInt, 0
	for at, values := range cells {
		fewest, most = min(fewest, len(values)), max(most, len(values))
		means[at] = statistics.MomentsOf(values).Mean
		all = append(all, means[at])
	}
	low, high := extent(all)
	plot := &heatmapPlot{x: x, y: y, goal: d.goal(metric), columns: columns, rows: rows, means: means, all: all,
		extent: scale{low: low, high: high, log: o.LogY && low > 0}}
	f.draw = plot.draw
	f.note("%s, mean of %s a cell; brighter is better: the %s is the best.", d.metricLabel(metric),
		trialsText(fewest, most), goalWord(plot.goal))
	d.noteGoal(f, metric)
	if len(means) < len(columns)*len(rows) {
		f.note("A stroke: no trial there.")
	}
	f.noteLeftOut(d, drawn, words(x)+", "+words(y)+" or "+words(metric))
	return nil
}

// twoParameters returns those that a heat map is drawn over.
func (d *data) twoParameters(trials []trial, o Options) (x, y string, err error) {
	x, y = o.X, o.Y
	if x == "" {
		x = d.widest(trials, y)
	}
	if y == "" {
		y = d.widest(trials, x)
	}
	if x == "" || y == "" {
		return "", "", fmt.Errorf("%w: a heat map needs two parameters that vary; of these trials do: %v",
			ErrNothing, d.varying)
	}
	if err := d.check(x, y); err != nil {
		return "", "", err
	}
	if x == y {
		return "", "", wrong("a heat map of %s over itself", x)
	}
	return x, y, nil
}

// cell is a place in a heat map.
type cell struct{ column, row int }

// heatmapPlot is what a heat map is drawn from.
type heatmapPlot struct {
	x, y, goal    string
	columns, rows []string
	means         map[cell]float64
	// extent is from the smallest to the largest of all means.
	all    []float64
	extent scale
}

// share is where a mean lies between the smallest and the largest.
func (p *heatmapPlot) share(v float64) float64 {
	if p.extent.low == p.extent.high {
		return 0.5
	}
	return unit(p.extent, v)
}

// shade is the colour of a share: brighter is better, as in the dashboard.
func (p *heatmapPlot) shade(share float64) color.NRGBA {
	if p.goal != sweep.Maximize {
		share = 1 - share
	}
	return viridis(share)
}

func (p *heatmapPlot) draw(c draw.Canvas) {
	small := letters(tickSize, ink, text.XRight, text.YCenter)
	left := vg.Length(0)
	for _, name := range p.rows {
		left = max(left, small.Width(name))
	}
	left = min(left, (c.Max.X-c.Min.X)*0.3) + labelSize*1.6 + 6
	const bottom, right = 3.4 * labelSize, 52
	area := draw.Crop(c, left, -right, bottom, 0)
	width := (area.Max.X - area.Min.X) / vg.Length(len(p.columns))
	height := (area.Max.Y - area.Min.Y) / vg.Length(len(p.rows))
	p.drawCells(c, area, width, height)
	// Names, where there is room for all or for every k-th.
	every := int(math.Ceil(float64(1.2 * tickSize / height)))
	for row := 0; row < len(p.rows); row += max(every, 1) {
		write(c, small, vg.Point{X: area.Min.X - 4, Y: area.Min.Y + (vg.Length(row)+0.5)*height},
			fit(small, p.rows[row], left-labelSize*1.6-6))
	}
	below := letters(tickSize, ink, text.XCenter, text.YTop)
	widest := vg.Length(0)
	for _, name := range p.columns {
		widest = max(widest, below.Width(name))
	}
	every = int(math.Ceil(float64(min(widest+4, 60) / width)))
	for column := 0; column < len(p.columns); column += max(every, 1) {
		write(c, below, vg.Point{X: area.Min.X + (vg.Length(column)+0.5)*width, Y: area.Min.Y - 4},
			fit(below, p.columns[column], width*vg.Length(max(every, 1))))
	}
	title := letters(labelSize, ink, text.XCenter, text.YBottom)
	write(c, title, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: c.Min.Y}, words(p.x))
	title.Rotation, title.YAlign = math.Pi/2, text.YTop
	write(c, title, vg.Point{X: c.Min.X, Y: (area.Min.Y + area.Max.Y) / 2}, words(p.y))
	p.scaleBar(c, draw.Crop(area, area.Max.X-area.Min.X+10, 18, 0, 0))
}

func (p *heatmapPlot) drawCells(c, area draw.Canvas, width, height vg.Length) {
	for column := range p.columns {
		for row := range p.rows {
			corner := vg.Point{X: area.Min.X + vg.Length(column)*width, Y: area.Min.Y + vg.Length(row)*height}
			middle := vg.Point{X: corner.X + width/2, Y: corner.Y + height/2}
			mean, ok := p.means[cell{column, row}]
			if !ok {
				c.StrokeLine2(stroke(rule, 0.6), corner.X+width*0.3, corner.Y+height*0.3, corner.X+width*0.7,
					corner.Y+height*0.7)
				continue
			}
			fill := p.shade(p.share(mean))
			// Each cell reaches a little under the next, so that no seam shows.
			right, top := min(corner.X+width+0.4, area.Max.X), min(corner.Y+height+0.4, area.Max.Y)
			c.FillPolygon(fill, []vg.Point{corner, {X: right, Y: corner.Y}, {X: right, Y: top},
				{X: corner.X, Y: top}})
			number := letters(min(tickSize, height*0.7), inkOn(fill), text.XCenter, text.YCenter)
			if words := threeDigits(mean); number.Width(words) < width*0.95 && height > 5 {
				write(c, number, middle, words)
			}
		}
	}
}

// threeDigits is a number with three significant digits.
func threeDigits(v float64) string {
	return minus(strings.TrimSuffix(fmt.Sprintf("%#.3g", v), "."))
}

// valuesOf are the values of a parameter: numbers ascending, then names in the
// order of their first trials.
func valuesOf(trials []trial, name string) []string {
	numbers := map[string]float64{}
	var texts []string
	for _, g := range trials[0].of.groups(trials, []string{name}) {
		value, ok := g.trials[0].parameter(name)
		if !ok {
			continue
		}
		text := valueText(value)
		texts = append(texts, text)
		if numbers[text], ok = asNumber(value); !ok {
			numbers[text] = math.Inf(1)
		}
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	return texts
}

// scaleBar draws which colour stands for which value.
func (p *heatmapPlot) scaleBar(c, area draw.Canvas) {
	const width, pieces = 8, 64
	height := (area.Max.Y - area.Min.Y) / pieces
	for i := range pieces {
		y := area.Min.Y + vg.Length(i)*height
		// Each piece reaches into the next one, so that no seam shows.
		top := min(y+1.5*height, area.Max.Y)
		c.FillPolygon(p.shade((float64(i)+0.5)/pieces), []vg.Point{{X: area.Min.X, Y: y}, {X: area.Min.X + width, Y: y},
			{X: area.Min.X + width, Y: top}, {X: area.Min.X, Y: top}})
	}
	small := letters(tickSize, ink, text.XLeft, text.YCenter)
	s := newScale("", p.all, p.extent.log)
	for _, t := range s.Ticks(s.low, s.high) {
		at := p.share(t.Value)
		if t.Label == "" || at < -1e-9 || at > 1+1e-9 {
			continue
		}
		y := area.Min.Y + vg.Length(at)*(area.Max.Y-area.Min.Y)
		c.StrokeLine2(stroke(faint, 0.5), area.Min.X+width, y, area.Min.X+width+3, y)
		write(c, small, vg.Point{X: area.Min.X + width + 5, Y: y}, t.Label)
	}
}
