package figure

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// completed are the trials of a sweep that have these parameters, and a metric loss.
type completed struct {
	sweep.Reader
	all    []sweep.Parameters
	losses []float64 // some numbers if there are none
}

func (c completed) Trials(_ context.Context, _ sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	for i, parameters := range c.all {
		result := &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": float64(i % 7)}}
		if c.losses != nil {
			result.Summary["loss"] = c.losses[i]
		}
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: "s1", Index: int64(i)}, Parameters: parameters}
		err := yield(&sweep.TrialRecord{Trial: trial, State: sweep.Completed, Result: result})
		if err != nil {
			return err
		}
	}
	return nil
}

// dataOf has completed trials with these parameters.
func dataOf(t *testing.T, all ...sweep.Parameters) *data {
	t.Helper()
	d, err := read(t.Context(), completed{all: all}, []*sweep.SweepRecord{{ID: "s1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.frame.Close() }) // its files have no names
	return d
}

// A trial has the parameters that were stored.
func TestParameters(t *testing.T) {
	t.Parallel()
	all := []sweep.Parameters{
		{"model": "rnn", "lr": 0.1, "seed": int64(1), "layers": []any{int64(1), int64(2)}},
		{"model": "rnn", "lr": 0.1, "seed": int64(1 << 60), "layers": []any{int64(1), int64(2)}},
		{"model": "lstm", "lr": 0.1 + 1e-17, "seed": int64(1), "layers": []any{int64(1), int64(3)},
			"forget_bias": int64(1)},
		{"model": nil, "lr": int64(1)},
		{"lr": true, "seed": "1", "model": "null"},
		{},
	}
	for i, one := range dataOf(t, all...).trials {
		for _, name := range []string{"model", "lr", "seed", "layers", "forget_bias", "none"} {
			want, has := all[i][name]
			if got, ok := one.parameter(name); ok != has || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %v: %v %t", name, all[i], got, ok)
			}
		}
	}
}

// Trials of several sweeps are told apart by their sweeps' names, or IDs where two have one name.
func TestSweeps(t *testing.T) {
	t.Parallel()
	reader := completed{all: []sweep.Parameters{{"lr": 0.1}, {"lr": 0.2}}}
	records := []*sweep.SweepRecord{{ID: "s1", Name: "a"}, {ID: "s2", Name: "b"}, {ID: "s3", Name: "a"}}
	d, err := read(t.Context(), reader, records, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.frame.Close() }()
	var got []string
	for _, one := range d.groups(d.trials, []string{"lr", frame.SweepColumn}) {
		got = append(got, fmt.Sprint(one.label, " ", d.frame.Trial(one.trials[0].row)))
	}
	const want = "[lr 0.1, s1 s1/0 lr 0.2, s1 s1/1 lr 0.1, b s2/0 lr 0.2, b s2/1 lr 0.1, s3 s3/0 lr 0.2, s3 s3/1]"
	if fmt.Sprint(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A trial that several sweeps have counts once in a figure that does not tell sweeps apart.
func TestOnce(t *testing.T) {
	t.Parallel()
	reader := completed{all: []sweep.Parameters{{"x": 0.1, "seed": int64(1)}, {"x": 0.1, "seed": int64(2)},
		{"x": 0.2, "seed": int64(1)}, {"x": 0.2, "seed": "1"}}}
	records := []*sweep.SweepRecord{{ID: "s1", Name: "a", Trainer: "t"}, {ID: "s2", Name: "b", Trainer: "t"},
		{ID: "s3", Name: "c", Trainer: "other"}}
	for _, c := range []struct {
		o    Options
		left int
	}{
		{Options{Kind: "table", GroupBy: []string{"x"}}, 4},
		{Options{Kind: "table", GroupBy: []string{"x", frame.SweepColumn}}, 0},
		{Options{Kind: "heatmap", X: "x", Y: "seed"}, 4},
		{Options{Kind: "heatmap", X: "x", Y: frame.SweepColumn}, 0},
		{Options{Kind: "slice", X: "x", GroupBy: []string{"seed"}}, 4},
		{Options{Kind: "slice", X: "x", GroupBy: []string{frame.SweepColumn}}, 0},
		{Options{Kind: "parallel"}, 0},
	} {
		c.o.Metric, c.o.Groups, c.o.Top, c.o.Width = "loss", 8, 10, 14
		f, err := Draw(t.Context(), reader, records, c.o)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("Not drawn: %d that another sweep has too.", c.left)
		if got := strings.Join(f.notes, "\n"); strings.Contains(got, want) != (c.left > 0) ||
			strings.Contains(got, "Not drawn") != (c.left > 0) {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}

// A table has the digits that each group needs, as lists of groups have them.
func TestTableDigits(t *testing.T) {
	t.Parallel()
	reader := completed{all: []sweep.Parameters{{"x": int64(1)}, {"x": int64(1)}, {"x": int64(2)}, {"x": int64(2)},
		{"x": int64(3)}}, losses: []float64{.0141, .0143, 28750, 28751, -1e-5}}
	f, err := Draw(t.Context(), reader, []*sweep.SweepRecord{{ID: "s1"}},
		Options{Kind: "table", GroupBy: []string{"x"}, Metric: "loss", Groups: 8, Top: 10, Width: 14})
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := f.Write(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, match := range textElement.FindAllStringSubmatch(svg.String(), -1) {
		texts = append(texts, match[1])
	}
	const want = "3 1 −1e−05 – −1e−05 1 2 0.01420 0.00014 0.0141 2 2 28750.50 0.71 2.875e+04"
	if got := strings.Join(texts, " "); !strings.Contains(got, want) {
		t.Errorf("%s\nlacks %s", got, want)
	}
}

// The x axis of curves is named by what their steps count.
func TestOverLabel(t *testing.T) {
	epochs, steps := sweep.Parameters{"epochs": int64(10)}, sweep.Parameters{"steps": int64(500)}
	for _, c := range []struct {
		trials  []sweep.Parameters
		metric  string
		options Options
		want    string
	}{
		{[]sweep.Parameters{epochs, epochs}, "train_loss", Options{}, "epoch"},
		{[]sweep.Parameters{steps}, "train_loss", Options{}, "step"},
		{[]sweep.Parameters{epochs, steps}, "train_loss", Options{}, "step"},
		{[]sweep.Parameters{epochs}, "step_train_loss", Options{}, "step"},
		{[]sweep.Parameters{steps}, "train_loss", Options{XLabel: "minibatch"}, "minibatch"},
	} {
		d := dataOf(t, c.trials...)
		if got := d.overLabel(&c.options, c.metric); got != c.want {
			t.Errorf("%s of %v: %s, want %s", c.metric, c.trials, got, c.want)
		}
	}
}

// The line of a slice over drawn values has a point for each part of the axis that has trials, between the smallest
// and the largest of them; over a grid one for each value.
func TestScattered(t *testing.T) {
	t.Parallel()
	var many, few []sweep.Parameters
	for i := range 100 {
		many = append(many, sweep.Parameters{"x": float64(i*i) / 1e4})
		few = append(few, sweep.Parameters{"x": int64(i % 20)})
	}
	drawn, listed := dataOf(t, many...).trials, dataOf(t, few...).trials
	for _, c := range []struct {
		trials    []trial
		scattered bool
		points    int
	}{{drawn, true, parts}, {listed, false, 20}, {drawn[:16], false, 16}} {
		across := newAxis(c.trials, "x", false)
		if got := across.scattered(c.trials); got != c.scattered {
			t.Errorf("%d trials are scattered: %t", len(c.trials), got)
		}
		l := group{trials: c.trials}.over(&across, "loss", false, c.scattered)
		if len(l.x) != c.points {
			t.Errorf("%d trials: %d points, want %d", len(c.trials), len(l.x), c.points)
		}
		for i := range l.x {
			if l.low[i] > l.mean[i] || l.mean[i] > l.high[i] || i > 0 && l.x[i] <= l.x[i-1] {
				t.Errorf("point %d of %d trials: %v", i, len(c.trials), l)
			}
		}
	}
}
