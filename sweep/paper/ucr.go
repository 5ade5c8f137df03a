package paper

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/sweep/paper/archive"
	"sweep/sweep/report"
	"sweep/sweep/statistics"
)

// sortUCR sorts rows by what their groups have besides data set and model, then in the order of Table 4, others after
// them by name.
func sortUCR(rows []*report.Row) {
	place := func(s *report.Row) int {
		if i := slices.IndexFunc(table4, func(p publishedSet) bool { return p.folder == s.Name }); i >= 0 {
			return i
		}
		return len(table4)
	}
	slices.SortFunc(rows, func(a, b *report.Row) int {
		return cmp.Or(strings.Compare(a.Label, b.Label), place(a)-place(b), strings.Compare(a.Name, b.Name))
	})
}

// UCR lays out data sets of the UCR archive as Table 4 of Zhang, Lei, Dhillon (2018): a row a data
// set, and for each model our test accuracy and number of parameters beside the published ones. Means over the sound
// rows close it, and how far ours are from the published figures. Groups with further parameters, such as the rule by
// which the weights were kept, are blocks of rows, each with its means.
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

// inBlocks has the figures of rows without a label in the rows of their data sets that have one: a model without the
// parameters of the label is compared in each block.
func inBlocks(rows []*report.Row) []*report.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *report.Row) bool {
		if r.Label != "" {
			return false
		}
		taken := false
		for _, other := range rows {
			if other.Label != "" && other.Name == r.Name {
				maps.Copy(other.Figures, r.Figures)
				maps.Copy(other.Models, r.Models)
				taken = true
			}
		}
		return taken
	})
}

// labels are the labels of rows.
func labels(rows []*report.Row) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Label)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// layUCR lays out rows with the models that they have, and others.
func layUCR(c *report.Collection, by report.Selection, sets []*report.Row, others ...string) *report.Table {
	sets = inBlocks(sets)
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
	for _, label := range labels(sets) {
		t.Rules[len(t.Rows)] = len(t.Rows) > 0
		var sound []soundRow
		for _, s := range sets {
			if s.Label != label {
				continue
			}
			figures, row := ucrRow(t, s, names, by, marks)
			t.Rows = append(t.Rows, row)
			if p := published(s.Name); p.sound(s.Name) && len(figures) == len(names) {
				sound = append(sound, soundRow{p, figures})
			}
		}
		if len(sound) > 1 {
			t.Rules[len(t.Rows)] = true
			t.Rows = append(t.Rows, meanRows(sound, names, label)...)
		}
	}
	c.Explain(t, sets, by)
	return t
}

// soundRow is a row that the means are taken over.
type soundRow struct {
	published *publishedSet
	figures   []report.Figure // of the models in the order of the columns
}

// sound reports whether the published figures of a set can be compared with those of a data set.
func (p *publishedSet) sound(set string) bool {
	return p != nil && p.artefact == "" && set != archive.GeneratedCBF
}

// differs says what the paper describes otherwise than a data set is.
func (p *publishedSet) differs(f report.Facts) string {
	theirs := p.facts
	theirs.InputSize = f.InputSize // which the paper does not print
	if f.Train == 0 || f == theirs {
		return ""
	}
	return fmt.Sprintf("the paper has %s series, length %d, %d classes and depth %d", pair(theirs.Train, theirs.Test),
		theirs.Length, theirs.Classes, theirs.Depth)
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
	f, shown := s.Facts, s.Facts
	name, mark := s.Name, ""
	if p != nil {
		if s.Name == archive.GeneratedCBF {
			mark = marks.mark("drawn from the generator that made the archive's CBF; the published figures are CBF's")
		} else {
			name = p.name
			mark = marks.mark(p.note)
			if f.Train == 0 { // nothing was trained
				shown = p.facts
			}
		}
		mark += marks.mark(p.artefact) + marks.mark(p.differs(f))
	}
	if s.Label != "" {
		name += ", " + s.Label
	}
	cells = []report.Cell{{Text: name + mark}, {Text: pair(shown.Train, shown.Test)}, {Text: number(shown.Length)},
		{Text: number(shown.Classes)}, {Text: number(shown.Depth)}}
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

// meanRows average sound rows: the accuracies, and how far they are from the published ones.
func meanRows(sound []soundRow, names []string, label string) [][]report.Cell {
	name := fmt.Sprintf("mean of %d sound rows", len(sound))
	distanceName := "mean |ours − published|"
	if label != "" {
		name, distanceName = name+", "+label, distanceName+", "+label
	}
	means, distances := make([]report.Cell, 5), make([]report.Cell, 5)
	means[0].Text, distances[0].Text = name, distanceName
	best := math.Inf(-1)
	var ours []float64
	for i, model := range names {
		var mean, theirs, distance statistics.Moments
		for _, row := range sound {
			accuracy := row.figures[i].Accuracy
			mean.Add(accuracy)
			if published, _, ok := row.published.cell(model); ok {
				theirs.Add(published)
				distance.Add(math.Abs(accuracy - published))
			}
		}
		best = max(best, mean.Mean)
		ours = append(ours, mean.Mean)
		means = append(means, report.Cell{Text: fraction(mean.Mean)}, report.Cell{}, meanCell(theirs))
		distances = append(distances, meanCell(distance), report.Cell{}, report.Cell{})
	}
	for i, mean := range ours {
		means[5+3*i].Bold = mean == best
	}
	return [][]report.Cell{means, distances}
}

// meanCell is a mean, or nothing where there are no values.
func meanCell(m statistics.Moments) report.Cell {
	if m.N == 0 {
		return report.Cell{}
	}
	return report.Cell{Text: fraction(m.Mean)}
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
