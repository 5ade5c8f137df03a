package sweep

import (
	"math"
	"reflect"
	"testing"
)

func TestStopPosition(t *testing.T) {
	want := map[int]int64{0: 1, 1: 2, 31: 32, 32: 34, 33: 36, 47: 64, 48: 68, 63: 128, 64: 136, 79: 256, 95: 512}
	for i, position := range want {
		if got := StopPosition(i); got != position {
			t.Errorf("position %d is %d, want %d", i, got, position)
		}
	}
	for i := range 500 {
		before, next := StopPosition(i), StopPosition(i+1)
		if step := next - before; step < 1 || float64(step) > max(1, float64(before)/16) {
			t.Fatalf("position %d is %d, then %d", i, before, next)
		}
	}
}

// A trial stops at the first position at which its best value so far is worse than the limit, however its samples
// come in batches. Of other metrics the samples up to that step are kept.
func TestWatch(t *testing.T) {
	nan := float32(math.NaN())
	loss := Curve{Metric: "loss", Steps: []int64{10, 20, 25, 30, 40, 50}, Values: []float32{9, nan, 8, 8.5, 9.25, 1}}
	accuracy := Curve{Metric: "accuracy", Steps: []int64{5, 10, 15, 20, 25, 30, 35, 40, 45, 50},
		Values: []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	limits := func(values ...float64) []StopLimit {
		var all []StopLimit
		for i, v := range values {
			all = append(all, StopLimit{At: int64(i + 1), Value: v, Trials: 7})
		}
		return all
	}
	tests := []struct {
		name   string
		rule   StopRule
		kept   int64 // the last step
		reason string
		marks  []float32
	}{
		{"none", StopRule{}, 50, "", []float32{9, 8, 8.5, 9.25, 1}},
		{"ties go on", StopRule{Limits: limits(9, 8, 8, 8)}, 50, "", []float32{9, 8, 8.5, 9.25, 1}},
		{"first", StopRule{Limits: limits(8.9)}, 10,
			"stopped at value 1, step 10: loss 9 is above 8.9, the median of 7 trials before generation 3", []float32{9}},
		{"NaN is no value", StopRule{Limits: limits(9, 7.5)}, 25,
			"stopped at value 2, step 25: the best loss up to there, 8, is above 7.5, the median of 7 trials before " +
				"generation 3", []float32{9, 8}},
		{"positions without a limit", StopRule{Limits: limits(9, 8, 8, 7.25)[3:]}, 40,
			"stopped at value 4, step 40: the best loss up to there, 8, is above 7.25, the median of 7 trials before " +
				"generation 3", []float32{9, 8, 8.5, 9.25}},
		{"maximize", StopRule{Goal: Maximize, Limits: limits(9, 9, 9, 9.5)}, 40,
			"stopped at value 4, step 40: the best loss up to there, 9.25, is below 9.5, the median of 7 trials before " +
				"generation 3", []float32{9, 8, 8.5, 9.25}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.rule.Metric, test.rule.Generation, test.rule.Rule = "loss", 3, "the median"
			for size := int64(5); size <= 50; size += 5 { // a batch has the samples of so many steps
				w, r, reason := NewWatch(&test.rule), NewRecorder(100), ""
				for from := int64(0); from < 50 && reason == ""; from += size {
					var batch []Curve
					for _, c := range []Curve{accuracy, loss} {
						part := Curve{Metric: c.Metric}
						for i, step := range c.Steps {
							if step > from && step <= from+size {
								part.Steps, part.Values = append(part.Steps, step), append(part.Values, c.Values[i])
							}
						}
						batch = append(batch, part)
					}
					batch, reason = w.Cut(batch)
					r.Add(batch)
				}
				if reason != test.reason {
					t.Errorf("batches of %d steps: %q, want %q", size, reason, test.reason)
				}
				if !reflect.DeepEqual(w.Marks(), &Marks{Metric: "loss", Values: test.marks, Count: w.count, Best: &w.best}) {
					t.Errorf("batches of %d steps: marks %v, want %v", size, w.Marks(), test.marks)
				}
				for _, c := range r.Curves() {
					want := map[string]Curve{"loss": loss, "accuracy": accuracy}[c.Metric]
					n := len(c.Steps)
					if c.Steps[n-1] != test.kept || want.Steps[n-1] != test.kept {
						t.Errorf("batches of %d steps: %s up to step %d, want %d", size, c.Metric, c.Steps[n-1], test.kept)
					}
				}
			}
		})
	}
}

func TestWiden(t *testing.T) {
	for v, want := range map[float32]float64{0.1: 0.1, 7.5: 7.5, 1e-7: 1e-7, 16777216: 16777216} {
		if got := Widen(v); got != want {
			t.Errorf("%v becomes %v, want %v", v, got, want)
		}
	}
}
