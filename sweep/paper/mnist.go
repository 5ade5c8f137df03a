package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep/report"
)

// MNIST lays out Table 2 of Zhang, Lei, Dhillon (2018), pixel-MNIST, with our
// figures beside the published ones, and permuted-MNIST after it, of which the
// paper has a figure but no table. Groups of one data set, as the depths of deep
// networks, are rows of one table.
func MNIST(c *report.Collection, by report.Selection) *report.Table {
	t := &report.Table{Title: "MNIST: test accuracy in percent" + c.Selected(by), Rules: map[int]bool{},
		Columns: []report.Column{{Name: "data set"}, {Name: "model"}, {Name: "steps", Right: true},
			{Name: "hidden", Right: true}, {Name: "test accuracy", Right: true}, {Name: "params", Right: true},
			{Name: "published", Right: true}, {Name: "with hidden", Right: true}, {Name: "params", Right: true},
			{Name: "by"}}}
	var all []*report.Row
	for _, set := range pixelSets {
		rows := c.Rows(by, func(name string) bool { return name == set })
		if len(rows) == 0 {
			continue
		}
		slices.SortFunc(rows, func(a, b *report.Row) int {
			// depths as numbers
			return cmp.Or(cmp.Compare(len(a.Label), len(b.Label)), strings.Compare(a.Label, b.Label))
		})
		all = append(all, rows...)
		t.Rules[len(t.Rows)] = len(t.Rows) > 0
		best := math.Inf(-1)
		for _, s := range rows {
			for _, f := range s.Figures {
				best = max(best, f.Accuracy)
			}
		}
		shown := map[string]bool{}
		// add adds the rows of a model, one without figures if there are none.
		add := func(model string, p *publishedPixel) {
			shown[model] = true
			before := len(t.Rows)
			for _, s := range rows {
				if s.Models[model] {
					t.Rows = append(t.Rows, mnistRow(t, s, model, by, best, p))
				}
			}
			if len(t.Rows) == before {
				t.Rows = append(t.Rows, mnistRow(t, &report.Row{Set: rows[0].Set}, model, by, best, p))
			}
		}
		if set == "mnist" {
			for _, p := range table2 {
				add(p.model, &p)
			}
		}
		for _, model := range c.Models(rows...) {
			if !shown[model] {
				add(model, nil)
			}
		}
	}
	c.Explain(t, all, by)
	return t
}

func mnistRow(t *report.Table, s *report.Row, model string, by report.Selection, best float64,
	p *publishedPixel) []report.Cell {
	cells := []report.Cell{{Text: s.Title()}, {Text: ModelName(model)}, {}, {}, {}, {}, {}, {}, {}, {}}
	record := report.Record{Dataset: s.Name, Model: model, Selection: by, Facts: s.Facts}
	if p != nil {
		value := p.accuracy / 100
		record.Published = &value
		cells[1].Text, cells[6].Text, cells[7].Text = p.name, fmt.Sprintf("%.1f", p.accuracy), p.hidden
		cells[8].Text, cells[9].Text = p.count, p.source
	}
	f, ok := s.Figures[model]
	if !ok {
		if s.Models[model] {
			cells[4].Text = "diverged"
		}
		return cells
	}
	record.Figure, record.Accuracy = f, &f.Accuracy
	text := fmt.Sprintf("%.2f", 100*f.Accuracy)
	if !math.IsNaN(f.Deviation) {
		text += fmt.Sprintf("±%.2f", 100*f.Deviation)
	}
	cells[2].Text, cells[3].Text = number(s.Facts.Length/max(inputSizeOf(f, s), 1)), hiddenText(f, model)
	cells[4] = report.Cell{Text: text, Bold: f.Accuracy == best}
	cells[5].Text = fmt.Sprint(f.Count)
	t.Add(record)
	return cells
}

// inputSizeOf is the chosen point's input size: points of several may compete.
func inputSizeOf(f report.Figure, s *report.Row) int {
	if n, ok := f.Parameters["input_size"].(int64); ok && n > 0 {
		return int(n)
	}
	return s.Facts.InputSize
}

func hiddenText(f report.Figure, model string) string {
	text := fmt.Sprint(f.Parameters["hidden"])
	switch model {
	case "spectral-rnn":
		text += fmt.Sprintf(" (m1 = %v, m2 = %v)", f.Parameters["m1"], f.Parameters["m2"])
	case "ornn":
		text += fmt.Sprintf(" (m = %v)", f.Parameters["m1"])
	}
	return strings.TrimSpace(text)
}
