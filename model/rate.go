package model

import (
	"math"

	"sweep/model/task"
)

// rate is the learning rate by step: ρ·α^⌊epoch/k⌋, or from ρ to 0 linearly or along half a
// cosine. It first rises linearly to ρ for some epochs; what falls to 0 begins after them. Where
// a task has no epochs the time between two validations is one.
type rate struct {
	initial, decay float64 // ρ, α
	every          int     // epochs k between decays
	schedule       string
	warmup         int // epochs
}

// Schedules other than the exponential one.
const (
	linearSchedule = "linear"
	cosineSchedule = "cosine"
)

// at returns the rate of a step, counted from 0.
func (r rate) at(step int, plan task.Schedule) float64 {
	warm := r.warmup * plan.Interval
	if step < warm {
		return r.initial * float64(step+1) / float64(warm)
	}
	switch r.schedule {
	case linearSchedule:
		return r.initial * float64(plan.Steps-step) / float64(plan.Steps-warm)
	case cosineSchedule:
		return r.initial * .5 * (1 + math.Cos(math.Pi*float64(step-warm)/float64(plan.Steps-warm)))
	}
	return r.initial * math.Pow(r.decay, float64(step/plan.Interval/r.every))
}
