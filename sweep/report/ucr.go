package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// pixelSets are the data sets of the MNIST table, which UCR leaves out.
var pixelSets = []string{"mnist", "permuted-mnist"}

// HasUCR reports whether the collection has a row for the UCR table.
func (c *Collection) HasUCR() bool { return c.has(isUCR) }

// has reports whether the collection has a data set of a table.
func (c *Collection) has(wanted func(set string) bool) bool {
	for name := range c.sets {
		if wanted(name) {
			return true
		}
	}
	return false
}

// ucrRows returns the rows in the order of Table 4, others after them by name.
func (c *Collection) ucrRows(by Selection) []*tableRow {
	rows := c.rows(by, isUCR)
	place := func(s *tableRow) int {
		for i := range table4 {
			if table4[i].folder == s.name {
				return i
			}
		}
		return len(table4)
	}
	slices.SortFunc(rows, func(a, b *tableRow) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a.name, b.name), strings.Compare(a.label, b.label))
	})
	return rows
}

// UCR lays out Table 4 of Zhang, Lei, Dhillon (2018): a row a data set, and for
// each model our test accuracy, the number of parameters and the published
// accuracy. Means over the sound rows close it.
func (c *Collection) UCR(by Selection) *Table {
	sets := c.ucrRows(by)
	names := models(sets)
	t := &Table{Title: "UCR: test accuracy" + c.stands(by), Rules: map[int]bool{}}
	t.Columns = []Column{{Name: "data set"}, {Name: "train/test", Right: true}, {Name: "length", Right: true},
		{Name: "classes", Right: true}, {Name: "depth", Right: true}}
	for _, model := range names {
		t.Columns = append(t.Columns, Column{Name: modelName(model), Right: true}, Column{Name: "(params)", Right: true},
			Column{Name: "published", Right: true})
	}
	marks := newMarks(t)
	var sound [][]Figure
	for _, s := range sets {
		figures, row := ucrRow(t, s, names, by, marks)
		t.Rows = append(t.Rows, row)
		if p := published(s.name); p != nil && s.label == "" && p.artefact == "" && s.name != generatedCBF && len(figures) == len(names) {
			sound = append(sound, figures)
		}
	}
	if len(sound) > 1 {
		t.Rules[len(t.Rows)] = true
		t.Rows = append(t.Rows, meanRow(sets, sound, names))
	}
	c.explain(t, sets, by)
	return t
}

// marks hands out footnote marks, one for each text.
type marks struct {
	table *Table
	known map[string]string
}

func newMarks(t *Table) *marks { return &marks{table: t, known: map[string]string{}} }

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
	m.table.Notes = append(m.table.Notes, Note{mark, text})
	return mark
}

// ucrRow lays out one data set and appends its records.
func ucrRow(t *Table, s *tableRow, names []string, by Selection, marks *marks) (figures []Figure, cells []Cell) {
	p := published(s.name)
	f := s.facts
	name, mark := s.name, ""
	if p != nil {
		if s.name == generatedCBF {
			mark = marks.mark("drawn from the generator that made the archive's CBF; the published figures are CBF's")
		} else {
			name = p.name
			mark = marks.mark(p.note)
		}
		mark += marks.mark(p.artefact)
	}
	if s.label != "" {
		name += ", " + s.label
	}
	cells = []Cell{{Text: name + mark}, {Text: pair(f.train, f.test)}, {Text: number(f.length)}, {Text: number(f.classes)}, {Text: number(f.depth)}}
	best := math.Inf(-1)
	all := s.figures
	for _, figure := range all {
		best = max(best, figure.Accuracy)
	}
	for _, model := range names {
		figure, ok := all[model]
		text, count := "", ""
		if ok {
			figures = append(figures, figure)
			text, count = accuracyText(figure), fmt.Sprintf("(%d)", figure.Count)
		}
		publishedText := ""
		record := Record{Dataset: name, Model: model, Selection: by, Figure: figure, Accuracy: &figure.Accuracy, TrainSize: f.train, TestSize: f.test,
			Length: f.length, Classes: f.classes, Depth: f.depth}
		if p != nil {
			if value, known := p.accuracy[model]; known {
				publishedText = fraction(value)
				record.Published = &value
				if p.artefact != "" {
					publishedText += marks.mark(p.artefact)
					record.Artefact = true
				}
			}
		}
		cells = append(cells, Cell{Text: text, Bold: ok && figure.Accuracy == best}, Cell{Text: count}, Cell{Text: publishedText})
		if ok {
			if !math.IsNaN(figure.Deviation) {
				record.Deviation = &figure.Deviation
			}
			t.add(record)
		}
	}
	return figures, cells
}

// meanRow averages the sound rows that have every model.
func meanRow(sets []*tableRow, sound [][]Figure, names []string) []Cell {
	cells := []Cell{{Text: fmt.Sprintf("mean of %d sound rows", len(sound))}, {}, {}, {}, {}}
	means := make([]float64, len(names))
	best := math.Inf(-1)
	for i := range names {
		column := make([]float64, len(sound))
		for j, figures := range sound {
			column[j] = figures[i].Accuracy
		}
		means[i] = stat.Mean(column, nil)
		best = max(best, means[i])
	}
	for i, model := range names {
		var theirs []float64
		for _, s := range sets {
			p := published(s.name)
			if p == nil || s.label != "" || p.artefact != "" || s.name == generatedCBF || !hasAll(s, names) {
				continue
			}
			if value, ok := p.accuracy[model]; ok {
				theirs = append(theirs, value)
			}
		}
		text := ""
		if len(theirs) > 0 {
			text = fraction(stat.Mean(theirs, nil))
		}
		cells = append(cells, Cell{Text: fraction(means[i]), Bold: means[i] == best}, Cell{}, Cell{Text: text})
	}
	return cells
}

func hasAll(s *tableRow, names []string) bool {
	for _, model := range names {
		if !s.models[model] {
			return false
		}
	}
	return true
}

// accuracyText prints an accuracy as the paper does, with its deviation.
func accuracyText(f Figure) string {
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
