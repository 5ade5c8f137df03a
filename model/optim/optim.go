// Package optim updates parameters from gradients: optimisers, groups of tensors
// with a rule and a rate of their own, a learning rate schedule and gradient clipping.
//
// Parameters and gradients are the two slices of a [weight.Arena], so each
// optimiser is one loop over a part of them. [New] makes those that the tensors of
// an arena ask for. A training step is
//
//	arena.ZeroGradients()
//	…                                              // forward, backward
//	norm := optim.Clip(set, arena.Gradients(), 1)  // optional
//	optimizer.Step(schedule.Rate(epoch))
//	matrix.Constrain(schedule.Rate(epoch))
package optim

import (
	"fmt"
	"math"

	"sweep/model/kernel"
)

// An Optimizer updates the parameters that it was made for.
type Optimizer[F kernel.Float] interface {
	// Step does one update with the given learning rate from the gradients as
	// they are. It does not change the gradients.
	Step(rate float64)

	// State returns what the optimiser remembers between steps. The slices are
	// its own: write into them, and SetSteps, to restore a checkpoint.
	State() State[F]

	// SetSteps sets the number of steps done, for a restored checkpoint.
	SetSteps(steps int)
}

// State is what an [Optimizer] remembers between steps.
type State[F kernel.Float] struct {
	Steps   int   // steps since the start
	Moments [][]F // running averages, each as long as the parameters it is of
}

// tensors are the slices that an optimiser works on.
type tensors[F kernel.Float] struct {
	set               *kernel.Set[F]
	values, gradients []F
	moments           [][]F
	steps             int
}

func newTensors[F kernel.Float](set *kernel.Set[F], values, gradients []F, moments int) tensors[F] {
	if len(values) != len(gradients) {
		panic("optim: parameters and gradients differ in length")
	}
	t := tensors[F]{set: set, values: values, gradients: gradients, moments: make([][]F, moments)}
	for i := range t.moments {
		t.moments[i] = kernel.Make[F](len(values))
	}
	return t
}

// State returns the moments and the number of steps.
func (t *tensors[F]) State() State[F] { return State[F]{Steps: t.steps, Moments: t.moments} }

// SetSteps sets the number of steps done.
func (t *tensors[F]) SetSteps(steps int) { t.steps = steps }

// Exponential is the learning rate schedule rate·decay^epoch.
type Exponential struct {
	Initial float64 // ρ, the rate of epoch 0
	Decay   float64 // α, the factor from one epoch to the next
}

// Rate returns the learning rate of an epoch, counted from 0.
func (e Exponential) Rate(epoch int) float64 { return e.Initial * math.Pow(e.Decay, float64(epoch)) }

// Clip returns the Euclidean norm of the gradients and, if it is above limit,
// scales them so that it becomes limit (Pascanu et al. 2013). A limit of 0
// means none. Gradients that are not all finite are left as they are: the norm
// tells.
func Clip[F kernel.Float](set *kernel.Set[F], gradients []F, limit float64) (norm float64) {
	norm = math.Sqrt(set.SumSquares(gradients))
	if limit > 0 && norm > limit && !math.IsInf(norm, 0) {
		set.Scale(gradients, F(limit/norm))
	}
	return norm
}

// checkFraction returns an error unless value is in [0, 1).
func checkFraction(name string, value float64) error {
	if !(value >= 0 && value < 1) {
		return fmt.Errorf("optim: %s %v: want a number from 0 up to, not including, 1", name, value)
	}
	return nil
}

// checkEpsilon returns an error unless value is positive and finite.
func checkEpsilon(value float64) error {
	if !(value > 0 && value <= math.MaxFloat32) {
		return fmt.Errorf("optim: epsilon %v: want a positive, finite number", value)
	}
	return nil
}
