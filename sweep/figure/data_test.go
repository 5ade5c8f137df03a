package figure

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// TestShare holds that a trial that keeps what differs has the parameters it had.
func TestShare(t *testing.T) {
	t.Parallel()
	all := []sweep.Parameters{
		{"model": "rnn", "lr": 0.1, "seed": int64(1), "layers": []any{int64(1), int64(2)}},
		{"model": "rnn", "lr": 0.1, "seed": int64(2), "layers": []any{int64(1), int64(2)}},
		{"model": "lstm", "lr": 0.1 + 1e-17, "seed": int64(1), "layers": []any{int64(1), int64(3)},
			"forget_bias": int64(1)},
		{"model": "lstm", "lr": int64(1)},
		{"lr": true, "seed": "1"},
		{},
	}
	for _, first := range all {
		for _, parameters := range all {
			one := trial{shared: first}
			one.share(parameters, func(s string) string { return s })
			for _, name := range []string{"model", "lr", "seed", "layers", "forget_bias", "none"} {
				want, has := parameters[name]
				if got, ok := one.parameter(name); ok != has || !reflect.DeepEqual(got, want) {
					t.Errorf("%s of %v, shared %v: %v %t", name, parameters, first, got, ok)
				}
			}
			if reflect.DeepEqual(first, parameters) && len(one.own)+len(one.missing) > 0 {
				t.Errorf("%v keeps %v of what it shares", parameters, one.own)
			}
		}
	}
}

// The x axis of curves is named by what their steps count.
func TestOverLabel(t *testing.T) {
	epochs := trial{own: map[string]any{"epochs": int64(10)}}
	steps := trial{own: map[string]any{"steps": int64(500)}}
	for _, c := range []struct {
		trials  []trial
		metric  string
		options Options
		want    string
	}{
		{[]trial{epochs, epochs}, "train_loss", Options{}, "epoch"},
		{[]trial{steps}, "train_loss", Options{}, "step"},
		{[]trial{epochs, steps}, "train_loss", Options{}, "step"},
		{[]trial{epochs}, "step_train_loss", Options{}, "step"},
		{[]trial{steps}, "train_loss", Options{XLabel: "minibatch"}, "minibatch"},
	} {
		d := data{trials: c.trials}
		if got := d.overLabel(&c.options, c.metric); got != c.want {
			t.Errorf("%s of %v: %s, want %s", c.metric, c.trials, got, c.want)
		}
	}
}

// The line of a slice over drawn values has a point for each part of the axis that has trials, between the smallest
// and the largest of them; over a grid one for each value.
func TestScattered(t *testing.T) {
	t.Parallel()
	var drawn, listed []trial
	for i := range 100 {
		metrics := []metricValue{{"loss", float64(i % 7)}}
		drawn = append(drawn, trial{own: map[string]any{"x": float64(i*i) / 1e4}, metrics: metrics})
		listed = append(listed, trial{own: map[string]any{"x": int64(i % 20)}, metrics: metrics})
	}
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
