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
	// Classes says that its figures are accuracies, of which there are ensembles.
	Classes bool
	// Has reports whether the collection has a row for it.
	Has func(*Collection) bool
	// Lay lays it out.
	Lay func(*Collection, Selection) *Table
}

// Kinds are the tables that there are.
var Kinds = []Kind{
	{"ucr", true, (*Collection).HasUCR, (*Collection).UCR},
	{"mnist", true, (*Collection).HasMNIST, (*Collection).MNIST},
	{"tasks", false, (*Collection).HasTasks, (*Collection).Tasks},
}

// HasTasks reports whether the collection has a row for the table of losses.
func (c *Collection) HasTasks() bool {
	for _, set := range c.sets {
		if set.lossOnly {
			return true
		}
	}
	return false
}

// Tasks lays out the losses of tasks that have no accuracy: a row a task and model,
// the smallest loss first, beside the loss of the best answer that needs no memory.
func (c *Collection) Tasks(by Selection) *Table {
	t := &Table{Title: "Tasks: test loss" + c.stands(by), Rules: map[int]bool{}, Columns: []Column{{Name: "task"}, {Name: "model"}, {Name: "test loss", Right: true},
		{Name: "without memory", Right: true}, {Name: "params", Right: true}, {Name: "replicates", Right: true}, {Name: "with"}}}
	rows := c.rows(by, func(name string) bool { return c.sets[name].lossOnly })
	slices.SortFunc(rows, func(a, b *tableRow) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.label, b.label))
	})
	varying := c.varying()
	for _, s := range rows {
		t.Rules[len(t.Rows)] = len(t.Rows) > 0
		names := models([]*tableRow{s})
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(lossOf(s, a), lossOf(s, b)) })
		for i, model := range names {
			t.Rows = append(t.Rows, s.lossRow(t, model, by, varying, i == 0))
		}
	}
	return t
}

// lossOf is a model's test loss, +Inf where it has none.
func lossOf(s *tableRow, model string) float64 {
	if f, ok := s.figures[model]; ok {
		return f.TestLoss
	}
	return math.Inf(1)
}

func (s *tableRow) lossRow(t *Table, model string, by Selection, varying []string, best bool) []Cell {
	name, baseline := s.name, ""
	if s.label != "" {
		name += ", " + s.label
	}
	if s.baseline > 0 {
		baseline = fmt.Sprintf("%.4g", s.baseline)
	}
	f, ok := s.figures[model]
	if !ok {
		return []Cell{{Text: name}, {Text: modelName(model)}, {Text: "diverged"}, {Text: baseline}, {}, {}, {}}
	}
	text := fmt.Sprintf("%.4g", f.TestLoss)
	record := Record{Dataset: s.name, Model: model, Selection: by, Figure: f, Length: s.facts.length}
	if !math.IsNaN(f.TestLossDeviation) {
		text += fmt.Sprintf("±%.2g", f.TestLossDeviation)
	}
	t.Records = append(t.Records, record)
	var with []string
	for _, parameter := range varying {
		if value, ok := f.Parameters[parameter]; ok {
			with = append(with, fmt.Sprintf("%s=%v", parameter, value))
		}
	}
	return []Cell{{Text: name}, {Text: modelName(model)}, {Text: text, Bold: best}, {Text: baseline},
		{Text: fmt.Sprint(f.Count)}, {Text: fmt.Sprint(f.Replicates)}, {Text: strings.Join(with, ", ")}}
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
