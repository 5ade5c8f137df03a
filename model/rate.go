package model

import (
	"math"

	"sweep/model/task"
)

// rate is the learning rate by step: ρ·α^⌊epoch/k⌋, or linear from ρ to 0. Where a
// task has no epochs the time between two validations is one.
type rate struct {
	initial, decay float64 // ρ, α
	every          int     // epochs k between decays
	linear         bool
}

// at returns the rate of a step, counted from 0.
func (r rate) at(step int, plan task.Schedule) float64 {
	if r.linear {
		return r.initial * float64(plan.Steps-step) / float64(plan.Steps)
	}
	return r.initial * math.Pow(r.decay, float64(step/plan.Interval/r.every))
}
