package figure

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// table draws groups of trials with the number, mean, standard deviation and best
// of a metric, the best group first.
func (d *data) table(f *Figure, o Options) error {
	metric, trials, err := d.scored(o.Metric)
	if err != nil {
		return err
	}
	by := o.GroupBy
	if len(by) == 0 {
		by = d.varying
	}
	if err := d.check(by...); err != nil {
		return err
	}
	trials = d.once(trials, by...)
	list := d.groups(trials, by)
	all := len(list)
	list = d.best(list, metric, o.Groups)
	goal := d.goal(metric)
	header := make([]string, 0, len(by)+4)
	for _, name := range by {
		header = append(header, words(name))
	}
	header = append(header, "trials", "mean", "± sd", "best")
	var rows [][]string
	for _, g := range list {
		var row []string
		for _, name := range by {
			text := "–"
			if value, ok := g.trials[0].parameter(name); ok {
				text = valueText(value)
			}
			row = append(row, text)
		}
		m := g.moments(metric)
		best := m.Min
		if goal == sweep.Maximize {
			best = m.Max
		}
		mean, deviation := fmt.Sprintf("%.4g", m.Mean), "–"
		if m.N > 1 {
			mean, deviation, _ = strings.Cut(statistics.MeanText(m.Mean, m.SD()), " ± ")
		}
		for _, text := range []string{strconv.FormatInt(m.N, 10), mean, deviation, fmt.Sprintf("%.4g", best)} {
			row = append(row, strings.ReplaceAll(text, "-", "−"))
		}
		rows = append(rows, row)
	}
	if o.Height == 0 {
		f.height = vg.Length(len(rows)+2)*1.6*labelSize + 5*labelSize
	}
	f.draw = func(c draw.Canvas) { drawTable(c, header, rows, len(by)) }
	f.note("%s; the %s is the best.", d.metricLabel(metric), goalWord(goal))
	d.noteGoal(f, metric)
	f.noteGroups(len(list), all)
	f.noteLeftOut(d, len(trials), words(metric))
	return nil
}

// drawTable draws a table without vertical rules; the first names columns stand to
// the left, the numbers to the right.
func drawTable(c draw.Canvas, header []string, rows [][]string, names int) {
	height := min(vg.Length(1.75*labelSize), (c.Max.Y-c.Min.Y)/vg.Length(len(rows)+2))
	size := min(labelSize, height/1.3)
	plain := letters(size, ink, text.XLeft, text.YCenter)
	bold := plain
	bold.Font.Weight = font.WeightBold
	widths := make([]vg.Length, len(header))
	total := vg.Length(0)
	for i, name := range header {
		widths[i] = bold.Width(name)
		for _, row := range rows {
			widths[i] = max(widths[i], bold.Width(row[i]))
		}
		total += widths[i]
	}
	gap := 1.6 * size
	if room := c.Max.X - c.Min.X - gap*vg.Length(len(header)); total > room {
		for i := range widths {
			widths[i] *= room / total
		}
		total = room
	}
	right := c.Min.X + total + gap*vg.Length(len(header))
	y := c.Max.Y - height/2
	line := func(cells []string, style text.Style) {
		x := c.Min.X + gap/2
		for i, cell := range cells {
			style.XAlign = text.XLeft
			at := x
			if i >= names {
				style.XAlign, at = text.XRight, x+widths[i]
			}
			write(c, style, vg.Point{X: at, Y: y}, fit(style, cell, widths[i]+1))
			x += widths[i] + gap
		}
		y -= height
	}
	c.StrokeLine2(stroke(ink, 0.9), c.Min.X, c.Max.Y, right, c.Max.Y)
	line(header, bold)
	c.StrokeLine2(stroke(ink, 0.5), c.Min.X, y+height/2, right, y+height/2)
	for i, row := range rows {
		style := plain
		if i == 0 {
			style = bold
		}
		line(row, style)
	}
	c.StrokeLine2(stroke(ink, 0.9), c.Min.X, y+height/2, right, y+height/2)
}
