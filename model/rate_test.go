package model

import (
	"math"
	"testing"

	"sweep/model/task"
)

func TestRate(t *testing.T) {
	plan := task.Schedule{Steps: 12, Interval: 2}
	r := rate{initial: .01, decay: .5, every: 2}
	for step, want := range []float64{.01, .01, .01, .01, .005, .005, .005, .005, .0025, .0025, .0025, .0025} {
		if got := r.at(step, plan); math.Abs(got-want) > 1e-17 {
			t.Errorf("rate of step %d is %v, want %v", step, got, want)
		}
	}
	if got := (rate{initial: .003, decay: 1, every: 1}).at(1000, plan); got != .003 {
		t.Errorf("without decay the rate becomes %v", got)
	}
	for step, want := range map[int]float64{0: .03, 6: .015, 9: .0075, 12: 0} {
		if got := (rate{initial: .03, linear: true}).at(step, plan); math.Abs(got-want) > 1e-17 {
			t.Errorf("linear: rate of step %d is %v, want %v", step, got, want)
		}
	}
}
