package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// HasMNIST reports whether the collection has a row for the MNIST table.
func (c *Collection) HasMNIST() bool { return c.has(isPixel) }

// MNIST lays out Table 2 of Zhang, Lei, Dhillon (2018), pixel-MNIST, with our
// figures beside the published ones, and permuted-MNIST after it, of which the
// paper has a figure but no table. Groups of one data set, as the depths of deep
// networks, are rows of one table.
func (c *Collection) MNIST(by Selection) *Table {
	t := &Table{Title: "MNIST: test accuracy in percent" + c.stands(by), Rules: map[int]bool{}, Columns: []Column{{Name: "data set"}, {Name: "model"}, {Name: "steps", Right: true},
		{Name: "hidden", Right: true}, {Name: "test accuracy", Right: true}, {Name: "params", Right: true},
		{Name: "published", Right: true}, {Name: "with hidden", Right: true}, {Name: "params", Right: true}, {Name: "by"}}}
	var all []*tableRow
	for _, set := range pixelSets {
		rows := c.rows(by, func(name string) bool { return name == set })
		if len(rows) == 0 {
			continue
		}
		slices.SortFunc(rows, func(a, b *tableRow) int {
			return cmp.Or(cmp.Compare(len(a.label), len(b.label)), strings.Compare(a.label, b.label)) // depths as numbers
		})
		all = append(all, rows...)
		t.Rules[len(t.Rows)] = len(t.Rows) > 0
		best := math.Inf(-1)
		for _, s := range rows {
			for _, f := range s.figures {
				best = max(best, f.Accuracy)
			}
		}
		shown := map[string]bool{}
		// add adds the rows of a model, one without figures if there are none.
		add := func(model string, p *publishedPixel) {
			shown[model] = true
			found := false
			for _, s := range rows {
				if s.models[model] {
					t.Rows = append(t.Rows, mnistRow(t, s, model, by, best, p))
					found = true
				}
			}
			if !found {
				t.Rows = append(t.Rows, mnistRow(t, &tableRow{setResults: rows[0].setResults}, model, by, best, p))
			}
		}
		if set == "mnist" {
			for _, p := range table2 {
				add(p.model, &p)
			}
		}
		for _, model := range models(rows) {
			if !shown[model] {
				add(model, nil)
			}
		}
	}
	c.explain(t, all, by)
	return t
}

func mnistRow(t *Table, s *tableRow, model string, by Selection, best float64, p *publishedPixel) []Cell {
	name := modelName(model)
	set := s.name
	if s.label != "" {
		set += ", " + s.label
	}
	cells := []Cell{{Text: set}, {}, {}, {}, {}, {}, {}, {}, {}, {}}
	record := Record{Dataset: s.name, Model: model, Selection: by, TrainSize: s.facts.train, TestSize: s.facts.test,
		Length: s.facts.length, Classes: s.facts.classes, Depth: s.facts.depth}
	if p != nil {
		name = p.name
		value := p.accuracy / 100
		record.Published = &value
		cells[6], cells[7] = Cell{Text: fmt.Sprintf("%.1f", p.accuracy)}, Cell{Text: p.hidden}
		cells[8], cells[9] = Cell{Text: p.count}, Cell{Text: p.source}
	}
	cells[1] = Cell{Text: name}
	f, ok := s.figures[model]
	if !ok {
		if s.models[model] {
			cells[4].Text = "diverged"
		}
		return cells
	}
	record.Figure, record.Accuracy = f, &f.Accuracy
	text := fmt.Sprintf("%.2f", 100*f.Accuracy)
	if !math.IsNaN(f.Deviation) {
		text += fmt.Sprintf("±%.2f", 100*f.Deviation)
		record.Deviation = &f.Deviation
	}
	cells[2] = Cell{Text: number(s.facts.length / max(inputSizeOf(f, s), 1))}
	cells[3] = Cell{Text: hiddenText(f, model)}
	cells[4] = Cell{Text: text, Bold: f.Accuracy == best}
	cells[5] = Cell{Text: fmt.Sprint(f.Count)}
	t.add(record)
	return cells
}

// inputSizeOf is the chosen point's input size: points of several may compete.
func inputSizeOf(f Figure, s *tableRow) int {
	if n, ok := f.Parameters["input_size"].(int64); ok && n > 0 {
		return int(n)
	}
	return s.facts.inputSize
}

func hiddenText(f Figure, model string) string {
	text := fmt.Sprint(f.Parameters["hidden"])
	switch model {
	case "spectral-rnn":
		text += fmt.Sprintf(" (m1 = %v, m2 = %v)", f.Parameters["m1"], f.Parameters["m2"])
	case "ornn":
		text += fmt.Sprintf(" (m = %v)", f.Parameters["m1"])
	}
	return strings.TrimSpace(text)
}
