package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep/paper/archive"
	"sweep/sweep/report"
	"sweep/sweep/statistics"
)

// sortUCR sorts rows in the order of Table 4, others after them by name.
func sortUCR(rows []*report.Row) {
	place := func(s *report.Row) int {
		if i := slices.IndexFunc(table4, func(p publishedSet) bool { return p.folder == s.Name }); i >= 0 {
			return i
		}
		return len(table4)
	}
	slices.SortFunc(rows, func(a, b *report.Row) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a.Name, b.Name), strings.Compare(a.Label, b.Label))
	})
}

// UCR lays out data sets of the UCR archive as Table 4 of Zhang, Lei, Dhillon (2018): a row a data
// set, and for each model our test accuracy and number of parameters beside the published ones.
// Means over the sound rows close it.
func UCR(c *report.Collection, by report.Selection) *report.Table {
	return layUCR(c, by, c.Rows(by, archive.Has))
}

// Table4 is UCR with all rows and models of the paper's table, those without results too.
func Table4(c *report.Collection, by report.Selection) *report.Table {
	rows := c.Rows(by, archive.Has)
	for i := range table4 {
		name := table4[i].folder
		if !slices.ContainsFunc(rows, func(r *report.Row) bool { return r.Name == name }) {
			rows = append(rows, &report.Row{Set: &report.Set{Name: name}})
		}
	}
	return layUCR(c, by, rows, table4Models...)
}

// layUCR lays out rows with the models that they have, and others.
func layUCR(c *report.Collection, by report.Selection, sets []*report.Row, others ...string) *report.Table {
	sortUCR(sets)
	more := &report.Row{Models: map[string]bool{}}
	for _, model := range others {
		more.Models[model] = true
	}
	names := c.Models(append(slices.Clone(sets), more)...)
	t := &report.Table{Title: "UCR: test accuracy" + c.Selected(by), Rules: map[int]bool{}}
	t.Columns = []report.Column{{Name: "data set"}, {Name: "train/test", Right: true}, {Name: "length", Right: true},
		{Name: "classes", Right: true}, {Name: "depth", Right: true}}
	for _, model := range names {
		t.Columns = append(t.Columns, report.Column{Name: ModelName(model), Right: true},
			report.Column{Name: "(params)", Right: true},
			report.Column{Name: "published", Right: true})
	}
	marks := &marks{table: t, known: map[string]string{}}
	var sound [][]report.Figure
	for _, s := range sets {
		figures, row := ucrRow(t, s, names, by, marks)
		t.Rows = append(t.Rows, row)
		if soundRow(s) != nil && len(figures) == len(names) {
			sound = append(sound, figures)
		}
	}
	if len(sound) > 1 {
		t.Rules[len(t.Rows)] = true
		t.Rows = append(t.Rows, meanRow(sets, sound, names))
	}
	c.Explain(t, sets, by)
	return t
}

// soundRow returns what is published of a row that the means are taken over, else nil.
func soundRow(s *report.Row) *publishedSet {
	if p := published(s.Name); p != nil && s.Label == "" && p.artefact == "" && s.Name != archive.GeneratedCBF {
		return p
	}
	return nil
}

// marks has the footnote marks of a table by their texts.
type marks struct {
	table *report.Table
	known map[string]string
}

func (m *marks) mark(text string) string {
	if text == "" {
		return ""
	}
	if mark, ok := m.known[text]; ok {
		return mark
	}
	symbols := []string{"*", "†", "‡", "§", "¶"}
	mark := fmt.Sprintf("[%d]", len(m.known)+1)
	if len(m.known) < len(symbols) {
		mark = symbols[len(m.known)]
	}
	m.known[text] = mark
	m.table.Notes = append(m.table.Notes, report.Note{Mark: mark, Text: text})
	return mark
}

// ucrRow lays out one data set and appends its records.
func ucrRow(t *report.Table, s *report.Row, names []string, by report.Selection,
	marks *marks) (figures []report.Figure, cells []report.Cell) {
	p := published(s.Name)
	f := s.Facts
	name, mark := s.Name, ""
	if p != nil {
		if s.Name == archive.GeneratedCBF {
			mark = marks.mark("drawn from the generator that made the archive's CBF; the published figures are CBF's")
		} else {
			name = p.name
			mark = marks.mark(p.note)
		}
		mark += marks.mark(p.artefact)
	}
	if s.Label != "" {
		name += ", " + s.Label
	}
	cells = []report.Cell{{Text: name + mark}, {Text: pair(f.Train, f.Test)}, {Text: number(f.Length)},
		{Text: number(f.Classes)}, {Text: number(f.Depth)}}
	best := math.Inf(-1)
	for _, figure := range s.Figures {
		best = max(best, figure.Accuracy)
	}
	for _, model := range names {
		figure, ok := s.Figures[model]
		record := report.Record{Dataset: name, Model: model, Selection: by, Figure: figure, Facts: f}
		text, count, publishedText := "", "", ""
		if ok {
			figures = append(figures, figure)
			text, count = accuracyText(figure), fmt.Sprintf("(%d)", figure.Count)
			record.Accuracy = &figure.Accuracy
		} else {
			record.Figure.Loss, record.Figure.TestLoss = math.NaN(), math.NaN()
		}
		accuracy, parameters, known := p.cell(model)
		if known {
			publishedText = fraction(accuracy)
			record.Published, record.PublishedCount = &accuracy, &parameters
			if p.artefact != "" {
				publishedText += marks.mark(p.artefact)
				record.Artefact = true
			}
			publishedText += fmt.Sprintf(" (%d)", parameters)
		}
		cells = append(cells, report.Cell{Text: text, Bold: ok && figure.Accuracy == best}, report.Cell{Text: count},
			report.Cell{Text: publishedText})
		if ok || known {
			t.Add(record)
		}
	}
	return figures, cells
}

// meanRow averages the sound rows that have every model.
func meanRow(sets []*report.Row, sound [][]report.Figure, names []string) []report.Cell {
	cells := []report.Cell{{Text: fmt.Sprintf("mean of %d sound rows", len(sound))}, {}, {}, {}, {}}
	means := make([]float64, len(names))
	best := math.Inf(-1)
	for i := range names {
		column := make([]float64, len(sound))
		for j, figures := range sound {
			column[j] = figures[i].Accuracy
		}
		means[i] = statistics.MomentsOf(column).Mean
		best = max(best, means[i])
	}
	for i, model := range names {
		var theirs []float64
		for _, s := range sets {
			p := soundRow(s)
			if p == nil || slices.ContainsFunc(names, func(model string) bool { return !s.Models[model] }) {
				continue
			}
			if value, _, ok := p.cell(model); ok {
				theirs = append(theirs, value)
			}
		}
		text := ""
		if len(theirs) > 0 {
			text = fraction(statistics.MomentsOf(theirs).Mean)
		}
		cells = append(cells, report.Cell{Text: fraction(means[i]), Bold: means[i] == best}, report.Cell{},
			report.Cell{Text: text})
	}
	return cells
}

// accuracyText prints an accuracy as the paper does, with its deviation.
func accuracyText(f report.Figure) string {
	if math.IsNaN(f.Deviation) {
		return fraction(f.Accuracy)
	}
	return fraction(f.Accuracy) + "±" + strings.TrimPrefix(fmt.Sprintf("%.3f", f.Deviation), "0")
}

func fraction(x float64) string { return fmt.Sprintf("%.3f", x) }

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func pair(a, b int) string {
	if a == 0 && b == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", a, b)
}
