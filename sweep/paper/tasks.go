package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep/report"
)

// Tasks lays out what is neither of the UCR archive nor MNIST: a row a task and model.
// The smallest loss is first, beside the loss of the best answer that needs no memory;
// of data sets without such a loss the largest accuracy.
func Tasks(c *report.Collection, by report.Selection) *report.Table {
	t := &report.Table{Title: "Tasks: test loss" + c.Selected(by), Rules: map[int]bool{},
		Columns: []report.Column{{Name: "task"}, {Name: "model"}, {Name: "test loss", Right: true},
			{Name: "without memory", Right: true}}}
	rows := c.Rows(by, isTask)
	accuracies := slices.ContainsFunc(rows, func(s *report.Row) bool { return !s.LossOnly })
	if accuracies {
		t.Title = "Tasks: test loss and accuracy" + c.Selected(by)
		t.Columns = append(t.Columns, report.Column{Name: "test accuracy", Right: true})
	}
	t.Columns = append(t.Columns, report.Column{Name: "params", Right: true},
		report.Column{Name: "replicates", Right: true}, report.Column{Name: "with"})
	slices.SortFunc(rows, func(a, b *report.Row) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Label, b.Label))
	})
	varying := c.Varying()
	for _, s := range rows {
		t.Rules[len(t.Rows)] = len(t.Rows) > 0
		names := c.Models(s)
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(order(s, a), order(s, b)) })
		for i, model := range names {
			t.Rows = append(t.Rows, taskRow(t, s, model, by, varying, i == 0, accuracies))
		}
	}
	c.Explain(t, rows, by)
	return t
}

// byLoss says that the models of a task are compared by their losses.
func byLoss(s *report.Row) bool { return s.LossOnly || s.Baseline > 0 }

// order is what a model's place among a task's goes by, the smallest first; +Inf where
// it has no figure.
func order(s *report.Row, model string) float64 {
	f, ok := s.Figures[model]
	switch {
	case !ok:
		return math.Inf(1)
	case byLoss(s):
		return f.TestLoss
	}
	return -f.Accuracy
}

func taskRow(t *report.Table, s *report.Row, model string, by report.Selection, varying []string,
	best, accuracies bool) []report.Cell {
	baseline := ""
	if s.Baseline > 0 {
		baseline = fmt.Sprintf("%.4g", s.Baseline)
	}
	cells := []report.Cell{{Text: s.Title()}, {Text: ModelName(model)}, {}, {Text: baseline}}
	if accuracies {
		cells = append(cells, report.Cell{})
	}
	f, ok := s.Figures[model]
	if !ok {
		cells[2].Text = "diverged"
		return append(cells, report.Cell{}, report.Cell{}, report.Cell{})
	}
	record := report.Record{Dataset: s.Name, Model: model, Selection: by, Figure: f,
		Facts: report.Facts{Length: s.Facts.Length}}
	if !s.NoLoss {
		text := fmt.Sprintf("%.4g", f.TestLoss)
		if !math.IsNaN(f.TestLossDeviation) {
			text += fmt.Sprintf("±%.2g", f.TestLossDeviation)
		}
		cells[2] = report.Cell{Text: text, Bold: best && byLoss(s)}
	}
	if !s.LossOnly {
		record.Accuracy = &f.Accuracy
		cells[4] = report.Cell{Text: accuracyText(f), Bold: best && !byLoss(s)}
	}
	t.Add(record)
	var with []string
	for _, parameter := range varying {
		if value, ok := f.Parameters[parameter]; ok {
			with = append(with, fmt.Sprintf("%s=%v", parameter, value))
		}
	}
	return append(cells, report.Cell{Text: fmt.Sprint(f.Count)}, report.Cell{Text: fmt.Sprint(f.Replicates)},
		report.Cell{Text: strings.Join(with, ", ")})
}
