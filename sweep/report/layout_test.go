package report

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// layoutTrial is a trial with an accuracy and a validation loss.
func layoutTrial(model string, length int64, lr float64, seed int64, loss, accuracy float64) *sweep.TrialRecord {
	return &sweep.TrialRecord{
		Trial: sweep.Trial{Parameters: sweep.Parameters{"model": model, "length": length, "lr": lr, "seed": seed}},
		State: sweep.Completed,
		Result: &sweep.Result{State: sweep.Completed, Summary: map[string]float64{sweep.ParameterCountMetric: 7,
			"validation_loss": loss, "test_accuracy": accuracy, "test_loss": loss}},
	}
}

// listed are the trials of a sweep.
type listed struct {
	sweep.Reader
	trials []*sweep.TrialRecord
}

// Trials implements sweep.Reader.
func (l listed) Trials(_ context.Context, _ sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	for i, record := range l.trials {
		one := *record
		one.TrialID = sweep.TrialID{Sweep: "s", Index: int64(i)}
		if err := yield(&one); err != nil {
			return err
		}
	}
	return nil
}

// A cell has the best grid point among the trials of its row and column: mean and deviation over replicates, its
// parameters and their number; beside it the published one.
func TestLayout(t *testing.T) {
	layout := &Layout{
		Title: "T",
		Rows: []LayoutRow{
			{Label: "A", Where: map[string]any{"model": "a"}, Published: map[string]string{"accuracy": "97.7", "by": "me"}},
			{Label: "B", Where: map[string]any{"model": []any{"b", "c"}}, Note: "why"},
			{Label: "C", Where: map[string]any{"model": "none"}, Rule: true},
		},
		Columns: []LayoutColumn{
			{Name: "lr", Parameter: "lr"}, {Name: "parameters", Count: true},
			{Name: "accuracy", Metric: "test_accuracy", Scale: 100, Digits: 1, Where: map[string]any{"length": int64(5)}},
			{Name: "longest", Metric: "test_loss", Largest: "length", Below: .35},
			{Name: "diverged", Diverging: "length"}, {Name: "by"},
		},
	}
	description := &sweep.Description{Metrics: []sweep.MetricSchema{
		{Name: "test_accuracy", Goal: sweep.Maximize, Diverged: new(0.0)},
		{Name: "validation_loss", Goal: sweep.Minimize, Diverged: new(20.0)},
	}}
	lay := func(trials ...*sweep.TrialRecord) *Table {
		f, err := frame.Read(t.Context(), listed{trials: trials}, []*sweep.SweepRecord{{ID: "s"}}, sweep.TrialQuery{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // its files have no names
		table, err := layout.Table(t.Context(), f, sweep.Select{By: "validation_loss", Goal: sweep.Minimize}, description)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	if table := lay(); table != nil {
		t.Errorf("a table of nothing: %v", table)
	}
	lost := layoutTrial("b", 5, .1, 2, 0, 0)
	lost.Result.Diverged, lost.Result.Summary = true, nil
	failed := layoutTrial("a", 5, .3, 1, 0, 1)
	failed.State = sweep.Failed
	table := lay(
		layoutTrial("a", 5, .1, 1, .2, .5), layoutTrial("a", 5, .1, 2, .4, .7), // the best of those with both seeds
		layoutTrial("a", 5, .1, 2, .1, .1), // the same trial of another sweep
		layoutTrial("a", 5, .2, 1, .5, .9), layoutTrial("a", 5, .2, 2, .5, .9),
		layoutTrial("a", 9, .4, 1, .1, .9), // unfinished at its length
		layoutTrial("b", 5, .1, 1, .3, .8), lost, layoutTrial("c", 5, .1, 1, 9, .6), layoutTrial("c", 5, .1, 2, 9, .8),
		failed, layoutTrial("other", 5, .1, 1, 0, 1))
	var text, lines bytes.Buffer
	if err := table.Write(&text, "text", false); err != nil {
		t.Fatal(err)
	}
	const want = `T

model   lr  parameters   accuracy  published  longest    diverged  published by
───────────────────────────────────────────────────────────────────────────────
A      0.1           7  60.0±14.1       97.7        9       never  me
B *    0.1           7  70.0±14.1                none  5 (1 of 4)
───────────────────────────────────────────────────────────────────────────────
C

* why
Ours: mean ± standard deviation over replicates at the grid point with the smallest validation loss.
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
	if err := table.Write(&lines, "csv", false); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"row,column,value,deviation,replicates,diverged,parameter_count,published,grid_point",
		`A,longest,9,,1,0,7,,"{""length"":9,""lr"":0.4,""model"":""a""}"`,
		"C,accuracy,,,0,0,,,", "B,diverged,1,,4,1,,,",
	} {
		if !strings.Contains(lines.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, &lines)
		}
	}
}
