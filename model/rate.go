package model

import (
	"sweep/model/optim"
	"sweep/model/task"
)

// rate is the learning rate by step: ρ·α^⌊epoch/k⌋, or linear from ρ to 0. Where a
// task has no epochs the time between two validations is one.
type rate struct {
	exponential optim.Exponential
	every       int // epochs between decays
	linear      bool
	plan        task.Schedule
}

func newRate(s *settings, plan task.Schedule) rate {
	return rate{
		exponential: optim.Exponential{Initial: s.lr, Decay: s.decay}, every: s.decayEvery,
		linear: s.schedule == "linear", plan: plan,
	}
}

// at returns the rate of a step, counted from 0.
func (r rate) at(step int) float64 {
	if r.linear {
		return r.exponential.Initial * float64(r.plan.Steps-step) / float64(r.plan.Steps)
	}
	return r.exponential.Rate(step / r.plan.Interval / r.every)
}
