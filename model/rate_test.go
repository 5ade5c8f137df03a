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
		if got := (rate{initial: .03, schedule: "linear"}).at(step, plan); math.Abs(got-want) > 1e-17 {
			t.Errorf("linear: rate of step %d is %v, want %v", step, got, want)
		}
	}
	// Half a period of SGDR's cosine (Loshchilov and Hutter 2017, equation 5, with η_min = 0 and one run).
	for step, want := range map[int]float64{0: .03, 2: .03 * (1 + math.Sqrt(3)/2) / 2, 4: .03 * .75, 6: .015, 8: .03 * .25, 12: 0} {
		if got := (rate{initial: .03, schedule: "cosine"}).at(step, plan); math.Abs(got-want) > 1e-17 {
			t.Errorf("cosine: rate of step %d is %v, want %v", step, got, want)
		}
	}
	// Two epochs of two steps: by quarters up to ρ, from where the schedule begins.
	for schedule, falling := range map[string]map[int]float64{"exponential": {4: .02, 11: .02}, "linear": {4: .02, 8: .01, 12: 0},
		"cosine": {4: .02, 8: .01, 12: 0}} {
		r := rate{initial: .02, decay: 1, every: 1, schedule: schedule, warmup: 2}
		rising := map[int]float64{0: .005, 1: .01, 2: .015, 3: .02}
		for _, part := range []map[int]float64{rising, falling} {
			for step, want := range part {
				if got := r.at(step, plan); math.Abs(got-want) > 1e-17 {
					t.Errorf("%s with warm-up: rate of step %d is %v, want %v", schedule, step, got, want)
				}
			}
		}
	}
	if got := (rate{initial: .02, schedule: "cosine", warmup: 9}).at(11, plan); math.Abs(got-.02*12/18) > 1e-17 {
		t.Errorf("a warm-up longer than the trial: %v", got)
	}
}
