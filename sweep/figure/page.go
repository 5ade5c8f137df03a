package figure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sweep/sweep"
)

// Page is a figure of several panels, in rows.
type Page struct {
	Title string
	// Columns is how many panels a row has.
	Columns int
	// Width is that of the page, Height that of a row of panels, in centimetres; 0 means 18 and 6.5.
	Width, Height float64
	Panels        []Panel
	// Label, if not nil, writes the parts of labels: values of parameters, with their names before them if
	// they are no text.
	Label func(part string) string
	// Sparse leaves out panels without anything to draw.
	Sparse bool
	// Notes stand below, before those of the panels.
	Notes []string
}

// Panel is a figure of a page; its width and height mean nothing.
type Panel struct {
	Options
	// Each are parameters: there is a panel for each of their values in the sweep files, whose title has
	// the value in the place of {NAME}. Of several parameters, panels without anything to draw are left out.
	Each []string
}

// panels are the options of a page's panels, and whether each is left out if there is nothing to draw.
func (p *Page) panels(records []*sweep.SweepRecord) (list []Options, sparse []bool) {
	for _, panel := range p.Panels {
		own := []Options{panel.Options}
		for _, name := range panel.Each {
			var more []Options
			for _, o := range own {
				for _, value := range fileValues(records, name) {
					one := o
					one.Title = strings.ReplaceAll(o.Title, "{"+name+"}", p.write(valueText(value)))
					one.Where = append(slices.Clone(o.Where),
						sweep.TrialCondition{Name: sweep.ParameterKind.Of(name), Operator: "=", Value: value})
					more = append(more, one)
				}
			}
			own = more
		}
		for _, o := range own {
			list, sparse = append(list, o), append(sparse, p.Sparse || len(panel.Each) > 1)
		}
	}
	return list, sparse
}

// fileValues lists the values of a parameter in sweep files, in their order.
func fileValues(records []*sweep.SweepRecord, name string) (list []any) {
	for _, record := range records {
		for p := range record.AxisParameters() {
			for k := range p.Values.Len() {
				value := p.Values.At(k)
				if p.Name == name && !slices.ContainsFunc(list, func(v any) bool { return sweep.Equal(v, value) }) {
					list = append(list, value)
				}
			}
		}
	}
	return list
}

// DrawPage makes a figure of panels. A panel without anything to draw remains empty; if all do, the
// error is ErrNothing. A group has one colour in all panels.
func DrawPage(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord, p *Page) (*Figure, error) {
	options, sparse := p.panels(records)
	page := &Figure{width: vg.Length(cmp.Or(p.Width, 18)) * vg.Centimeter, title: p.Title, notes: slices.Clone(p.Notes)}
	var titles, labels []string
	var panels []*Figure
	var nothing error
	var notes panelNotes
	for i, o := range options {
		o.Width, o.Height = cmp.Or(p.Width, 18)/float64(max(p.Columns, 1)), cmp.Or(p.Height, 6.5)
		o.Groups, o.Top, o.panel = cmp.Or(o.Groups, 12), cmp.Or(o.Top, 10), true
		f, err := Draw(ctx, results, records, o)
		switch {
		case errors.Is(err, ErrNothing):
			if nothing = cmp.Or(nothing, err); sparse[i] {
				continue
			}
		case err != nil:
			return nil, fmt.Errorf("panel %q: %w", o.Title, err)
		default:
			var points string
			labels, points = p.label(f.lines, labels)
			notes.add(o.Title, f, points)
		}
		titles, panels = append(titles, o.Title), append(panels, f)
	}
	if len(notes.titles) == 0 {
		return nil, cmp.Or(nothing, fmt.Errorf("%w: the sweep files vary nothing of %s", ErrNothing, p.Title))
	}
	page.notes = append(page.notes, notes.sentences()...)
	columns := max(min(p.Columns, len(panels)), 1)
	rows := (len(panels) + columns - 1) / columns
	page.height = vg.Length(cmp.Or(p.Height, 6.5)*float64(rows)) * vg.Centimeter
	page.draw = func(c draw.Canvas) { drawPanels(c, titles, panels, columns, rows) }
	return page, nil
}

// label gives lines, in the page's words, the shortest names that tell them apart in their panel, and each name one
// colour. It returns all names so far, and what else the grid points of the lines are.
func (p *Page) label(lines []line, names []string) (all []string, points string) {
	parts := make([][]string, len(lines))
	for i := range lines {
		parts[i] = strings.Split(lines[i].group, ", ")
	}
	var list []string
	for i := range lines {
		name := shortest(parts, i)
		at := slices.Index(names, strings.Join(name, ", "))
		if at < 0 {
			at = len(names)
			names = append(names, strings.Join(name, ", "))
		}
		rest := slices.DeleteFunc(strings.Split(lines[i].label, ", "), func(part string) bool {
			return slices.Contains(name, part)
		})
		lines[i].colour, lines[i].label = at, p.write(names[at])
		if len(rest) > 0 {
			list = append(list, lines[i].label+" "+p.write(strings.Join(rest, ", ")))
		}
	}
	return names, strings.Join(list, "; ")
}

// shortest returns as many of the first parts of a label as no other label begins with; at least one.
func shortest(labels [][]string, i int) []string {
	for n := 1; n < len(labels[i]); n++ {
		if !slices.ContainsFunc(slices.Concat(labels[:i], labels[i+1:]), func(other []string) bool {
			return len(other) >= n && slices.Equal(other[:n], labels[i][:n])
		}) {
			return labels[i][:n]
		}
	}
	return labels[i]
}

// write is a label, whose parts are divided by commas, in the page's words.
func (p *Page) write(label string) string {
	if p.Label == nil {
		return label
	}
	parts := strings.Split(label, ", ")
	for i := range parts {
		parts[i] = p.Label(parts[i])
	}
	return strings.Join(parts, ", ")
}

// drawPanels draws panels under their titles; one without a figure remains empty.
func drawPanels(c draw.Canvas, titles []string, panels []*Figure, columns, rows int) {
	const gap = 10
	width := (c.Max.X - c.Min.X - vg.Length(columns-1)*gap) / vg.Length(columns)
	height := (c.Max.Y - c.Min.Y - vg.Length(rows-1)*gap) / vg.Length(rows)
	title := letters(labelSize, ink, text.XLeft, text.YTop)
	title.Font.Weight = font.WeightBold
	for i, f := range panels {
		left := c.Min.X + vg.Length(i%columns)*(width+gap)
		top := c.Max.Y - vg.Length(i/columns)*(height+gap)
		area := draw.Crop(c, left-c.Min.X, left+width-c.Max.X, top-height-c.Min.Y, top-c.Max.Y)
		write(area, title, vg.Point{X: area.Min.X, Y: area.Max.Y}, fit(title, titles[i], width))
		area = draw.Crop(area, 0, 0, 0, -1.6*labelSize)
		if f == nil {
			none := letters(tickSize, faint, text.XCenter, text.YCenter)
			write(area, none, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2},
				"no completed trial")
			continue
		}
		f.draw(area)
	}
}
