package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/statistics"
)

// Layout is a table as data: each row shows the trials that match it, each column a measure of them. The
// grid point of a cell is the best by the sweep file's select among those that match row and column.
type Layout struct {
	Title string
	// Label is the head of the first column.
	Label   string
	Rows    []LayoutRow
	Columns []LayoutColumn
}

// LayoutRow is a row of a Layout.
type LayoutRow struct {
	Label string
	// Where has the values of parameters that the row's trials have; of a list, one of them.
	Where map[string]any
	// Published has the published cells by the names of the columns.
	Published map[string]string
	// Note is a footnote, for instance why a published cell is no result.
	Note string
	// Rule draws a line before the row.
	Rule bool
}

// LayoutColumn is a column of a Layout, with a column of published cells after it if any row has one.
// Without Metric, Parameter, Count, Largest and Diverging the published cells stand alone, in a column that says so.
type LayoutColumn struct {
	Name string
	// Where are further conditions, for instance a length.
	Where map[string]any
	// Metric is a summary metric: mean ± standard deviation over replicates, times Scale (1 if it
	// is 0), with Digits after the point.
	Metric string
	Scale  float64
	Digits int
	// Parameter is a parameter of the grid point, Count the number of a network's parameters.
	Parameter string
	Count     bool
	// Largest is a parameter: its largest value at which the best grid point's Metric is below Below.
	Largest string
	Below   float64
	// Diverging is a parameter: its values with which trials diverged, and how many of how many.
	Diverging string
}

// measured reports whether the column shows results.
func (c *LayoutColumn) measured() bool {
	return c.Metric != "" || c.Parameter != "" || c.Count || c.Diverging != ""
}

// measure is a measured cell for programs.
type measure struct {
	value, deviation     any // numbers, nil if nothing was measured or all trials diverged
	replicates, diverged int
	point                *gridPoint // nil if there is none, or several are counted
}

// dataColumns are those of a Layout's table for programs: a row a measured cell.
var dataColumns = []string{"row", "column", "value", "deviation", "replicates", "diverged", "parameter_count",
	"published", "grid_point"}

// row is the cell as a row of Data.
func (m *measure) row(row, column, published string) ([]any, error) {
	if m.point == nil {
		return []any{row, column, m.value, m.deviation, m.replicates, m.diverged, nil, published, nil}, nil
	}
	point, err := m.point.parameters.Canonical()
	return []any{row, column, m.value, m.deviation, m.replicates, m.diverged, m.point.count(), published,
		string(point)}, err
}

// board has the trials of a Layout.
type board struct {
	layout *Layout
	reading
	// cells are those of rows by column.
	cells [][]*group
	any   bool
}

// Table lays out the completed trials of a frame, which are compared by choice, nil if none belongs in the table.
func (l *Layout) Table(ctx context.Context, f *frame.Frame, choice sweep.Select,
	description *sweep.Description) (*Table, error) {
	b := &board{layout: l, reading: reading{choice: choice, description: description}}
	for range l.Rows {
		cells := make([]*group, len(l.Columns))
		for i := range cells {
			cells[i] = &group{choice: choice}
		}
		b.cells = append(b.cells, cells)
	}
	for i := range l.Columns {
		if name := l.Columns[i].Metric; name != "" && !slices.Contains(b.metrics, name) {
			b.metrics = append(b.metrics, name)
		}
	}
	if err := b.read(ctx, f, b.add); err != nil || !b.any {
		return nil, err
	}
	return b.table()
}

// add adds a trial to the cells that its grid point matches.
func (b *board) add(p *gridPoint, t *trial, compared bool, _ map[string]float64) {
	if !compared {
		return
	}
	for i := range b.layout.Rows {
		if p.trials != nil || !matches(p.parameters, b.layout.Rows[i].Where) {
			continue
		}
		for j := range b.layout.Columns {
			column := &b.layout.Columns[j]
			if column.measured() && matches(p.parameters, column.Where) {
				b.cells[i][j].points = append(b.cells[i][j].points, p)
				b.any = true
			}
		}
	}
	p.trials = append(p.trials, t)
}

// matches reports whether parameters have some values.
func matches(parameters sweep.Parameters, where map[string]any) bool {
	for name, want := range where {
		value, has := parameters[name]
		list, several := want.([]any)
		if !several {
			list = []any{want}
		}
		if !has || !slices.ContainsFunc(list, func(one any) bool { return sweep.Equal(value, one) }) {
			return false
		}
	}
	return true
}

// table lays out the table.
func (b *board) table() (*Table, error) {
	t := &Table{Title: b.layout.Title, Rules: map[int]bool{}, Data: &Data{Columns: dataColumns},
		Columns: []Column{{Name: cmp.Or(b.layout.Label, "model")}}}
	published := make([]bool, len(b.layout.Columns))
	for j := range b.layout.Columns {
		c := &b.layout.Columns[j]
		for i := range b.layout.Rows {
			_, has := b.layout.Rows[i].Published[c.Name]
			published[j] = published[j] || has
		}
		if c.measured() {
			t.Columns = append(t.Columns, Column{Name: c.Name, Right: true})
		}
		switch {
		case published[j] && c.measured():
			t.Columns = append(t.Columns, Column{Name: "published", Right: true})
		case published[j]:
			t.Columns = append(t.Columns, Column{Name: "published " + c.Name})
		}
	}
	shown := make([][]cellResult, len(b.layout.Rows))
	for i := range b.layout.Rows {
		for j := range b.layout.Columns {
			shown[i] = append(shown[i], b.result(i, j))
		}
	}
	b.embolden(shown)
	for i := range b.layout.Rows {
		row := &b.layout.Rows[i]
		label := row.Label
		if row.Note != "" {
			mark := footnoteMarks[len(t.Notes)%len(footnoteMarks)]
			t.Notes = append(t.Notes, Note{mark, row.Note})
			label += " " + mark
		}
		t.Rules[len(t.Rows)] = row.Rule
		cells := []Cell{{Text: label}}
		for j := range b.layout.Columns {
			c := &b.layout.Columns[j]
			if c.measured() {
				cells = append(cells, shown[i][j].Cell)
				line, err := shown[i][j].row(row.Label, c.Name, row.Published[c.Name])
				if err != nil {
					return nil, err
				}
				t.Data.Rows = append(t.Data.Rows, line)
			}
			if published[j] {
				cells = append(cells, Cell{Text: row.Published[c.Name]})
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	t.note("Ours: mean ± standard deviation over replicates at the grid point with the %s.", extreme(b.choice))
	return t, nil
}

// footnoteMarks are the marks of footnotes of rows.
var footnoteMarks = []string{"*", "†", "‡", "§", "¶", "‖"}

// cellResult is a measured cell, and what decides whether it is the best of its column.
type cellResult struct {
	Cell
	measure
	compared float64
}

// result is the measured cell of a row and column.
func (b *board) result(i, j int) cellResult {
	c := &b.layout.Columns[j]
	cell := b.cells[i][j]
	if c.Largest != "" {
		return b.largest(c, cell)
	}
	if c.Diverging != "" {
		return diverging(c, cell)
	}
	ranked := cell.ranked(cell.points)
	if !c.measured() || len(ranked) == 0 {
		return cellResult{compared: math.NaN()}
	}
	p := ranked[0].gridPoint
	r := cellResult{compared: math.NaN(), measure: p.measure()}
	switch {
	case c.Count:
		r.Text, r.value = fmt.Sprint(p.count()), p.count()
	case c.Parameter != "":
		if value, has := p.parameters[c.Parameter]; has {
			r.Text, r.value = fmt.Sprint(value), value
		}
	case r.diverged == r.replicates:
		r.Text = "diverged"
	default:
		m, scale := b.moments(p, c.Metric), cmp.Or(c.Scale, 1)
		if m.N == 0 {
			break
		}
		r.compared, r.value = m.Mean, m.Mean
		r.Text = fmt.Sprintf("%.*f", c.Digits, m.Mean*scale)
		if m.N > 1 {
			r.deviation = m.SD()
			r.Text += fmt.Sprintf("±%.*f", c.Digits, m.SD()*scale)
		}
		if r.diverged > 0 {
			r.Text += fmt.Sprintf(" (%d diverged)", r.diverged)
		}
	}
	return r
}

// measure is what a cell tells of the point besides a value.
func (p *gridPoint) measure() measure {
	m := measure{replicates: len(p.trials), point: p}
	for _, o := range p.trials {
		if o.diverged {
			m.diverged++
		}
	}
	return m
}

// count is the number of parameters of the point's network.
func (p *gridPoint) count() int64 { return p.trials[len(p.trials)-1].parameters }

// moments are those of a metric over a point's replicates.
func (b *board) moments(p *gridPoint, metric string) statistics.Moments {
	return momentsOf(p.trials, slices.Index(b.metrics, metric))
}

// largest is the cell of a column with Largest.
func (b *board) largest(c *LayoutColumn, cell *group) cellResult {
	r := cellResult{compared: math.NaN()}
	if len(cell.points) > 0 {
		r.Text = "none"
	}
	byValue := cell.by(c.Largest)
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		p := cell.ranked(byValue[value])[0]
		if m := b.moments(p.gridPoint, c.Metric); m.N > 0 && m.Mean < c.Below {
			r.measure, r.Text = p.measure(), fmt.Sprint(value)
			r.value = value
		}
	}
	return r
}

// diverging is the cell of a column with Diverging. Its value is the number of trials that diverged.
func diverging(c *LayoutColumn, cell *group) cellResult {
	r := cellResult{compared: math.NaN()}
	if len(cell.points) == 0 {
		return r
	}
	byValue := cell.by(c.Diverging)
	var texts []string
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		diverged, all := 0, 0
		for _, p := range byValue[value] {
			m := p.measure()
			diverged, all = diverged+m.diverged, all+m.replicates
		}
		if diverged > 0 {
			texts = append(texts, fmt.Sprintf("%v (%d of %d)", value, diverged, all))
		}
		r.diverged, r.replicates = r.diverged+diverged, r.replicates+all
	}
	r.value = int64(r.diverged)
	if r.Text = strings.Join(texts, ", "); r.diverged == 0 {
		r.Text = "never"
	}
	return r
}

// by are the points of the cell by the value of a parameter.
func (g *group) by(parameter string) map[float64][]*gridPoint {
	byValue := map[float64][]*gridPoint{}
	for _, p := range g.points {
		if value, is := sweep.Number(p.parameters[parameter]); is {
			byValue[value] = append(byValue[value], p)
		}
	}
	return byValue
}

// embolden marks the best cell of each column of a metric with a goal.
func (b *board) embolden(shown [][]cellResult) {
	for j := range b.layout.Columns {
		c := &b.layout.Columns[j]
		m := b.description.Metric(c.Metric)
		if m == nil || m.Goal == "" || c.Largest != "" {
			continue
		}
		best := -1
		for i := range shown {
			goal := sweep.Select{Goal: m.Goal}
			value := shown[i][j].compared
			if !math.IsNaN(value) && (best < 0 || goal.Better(value, shown[best][j].compared)) {
				best = i
			}
		}
		if best >= 0 {
			shown[best][j].Bold = true
		}
	}
}
