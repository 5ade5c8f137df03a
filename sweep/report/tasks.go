package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
)

// Kind is one of the tables.
type Kind struct {
	// Name is what the command line calls it.
	Name string
	// Holds reports whether a data set or task has a row in it. Each is in one table.
	Holds func(set string) bool
	// Lay lays it out.
	Lay func(*Collection, Selection) *Table
}

// Has reports whether a collection has a row for the table.
func (k *Kind) Has(c *Collection) bool { return c.has(k.Holds) }

// Kinds are the tables that there are.
var Kinds = []Kind{
	{"ucr", isUCR, (*Collection).UCR},
	{"mnist", isPixel, (*Collection).MNIST},
	{"tasks", isTask, (*Collection).Tasks},
}

// HasTasks reports whether the collection has a row for the table of tasks.
func (c *Collection) HasTasks() bool { return c.has(isTask) }

// Tasks lays out what is neither of the UCR archive nor MNIST: a row a task and model.
// The smallest loss is first, beside the loss of the best answer that needs no memory;
// of data sets without such a loss the largest accuracy.
func (c *Collection) Tasks(by Selection) *Table {
	t := &Table{Title: "Tasks: test loss" + c.stands(by), Rules: map[int]bool{}, Columns: []Column{{Name: "task"}, {Name: "model"}, {Name: "test loss", Right: true},
		{Name: "without memory", Right: true}}}
	rows := c.rows(by, isTask)
	accuracies := slices.ContainsFunc(rows, func(s *tableRow) bool { return !s.lossOnly })
	if accuracies {
		t.Title = "Tasks: test loss and accuracy" + c.stands(by)
		t.Columns = append(t.Columns, Column{Name: "test accuracy", Right: true})
	}
	t.Columns = append(t.Columns, Column{Name: "params", Right: true}, Column{Name: "replicates", Right: true}, Column{Name: "with"})
	slices.SortFunc(rows, func(a, b *tableRow) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.label, b.label))
	})
	varying := c.varying()
	for _, s := range rows {
		t.Rules[len(t.Rows)] = len(t.Rows) > 0
		names := models([]*tableRow{s})
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(s.order(a), s.order(b)) })
		for i, model := range names {
			t.Rows = append(t.Rows, s.taskRow(t, model, by, varying, i == 0, accuracies))
		}
	}
	c.explain(t, rows, by)
	return t
}

// byLoss says that the models of a task are compared by their losses.
func (s *tableRow) byLoss() bool { return s.lossOnly || s.baseline > 0 }

// order is what a model's place among a task's goes by, the smallest first; +Inf where
// it has no figure.
func (s *tableRow) order(model string) float64 {
	f, ok := s.figures[model]
	switch {
	case !ok:
		return math.Inf(1)
	case s.byLoss():
		return f.TestLoss
	}
	return -f.Accuracy
}

func (s *tableRow) taskRow(t *Table, model string, by Selection, varying []string, best, accuracies bool) []Cell {
	name, baseline := s.name, ""
	if s.label != "" {
		name += ", " + s.label
	}
	if s.baseline > 0 {
		baseline = fmt.Sprintf("%.4g", s.baseline)
	}
	cells := []Cell{{Text: name}, {Text: modelName(model)}, {}, {Text: baseline}}
	if accuracies {
		cells = append(cells, Cell{})
	}
	f, ok := s.figures[model]
	if !ok {
		cells[2].Text = "diverged"
		return append(cells, Cell{}, Cell{}, Cell{})
	}
	record := Record{Dataset: s.name, Model: model, Selection: by, Figure: f, Length: s.facts.length}
	if !s.noLoss {
		text := fmt.Sprintf("%.4g", f.TestLoss)
		if !math.IsNaN(f.TestLossDeviation) {
			text += fmt.Sprintf("±%.2g", f.TestLossDeviation)
		}
		cells[2] = Cell{Text: text, Bold: best && s.byLoss()}
	}
	if !s.lossOnly {
		record.Accuracy = &f.Accuracy
		if !math.IsNaN(f.Deviation) {
			record.Deviation = &f.Deviation
		}
		cells[4] = Cell{Text: accuracyText(f), Bold: best && !s.byLoss()}
	}
	t.add(record)
	var with []string
	for _, parameter := range varying {
		if value, ok := f.Parameters[parameter]; ok {
			with = append(with, fmt.Sprintf("%s=%v", parameter, value))
		}
	}
	return append(cells, Cell{Text: fmt.Sprint(f.Count)}, Cell{Text: fmt.Sprint(f.Replicates)}, Cell{Text: strings.Join(with, ", ")})
}

// varying lists the parameters, other than the groups', that differ between points
// of one group.
func (c *Collection) varying() []string {
	var names []string
	for _, g := range c.contests {
		for _, p := range g.order[1:] {
			for name, value := range p.parameters {
				if name != sweep.SeedParameter && !slices.Contains(c.choice.Group, name) && !slices.Contains(names, name) && g.order[0].parameters[name] != value {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
