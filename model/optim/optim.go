// Package optim updates parameters from gradients: an optimiser whose tensors have a rule and a
// rate of their own, and gradient clipping.
//
// Parameters and gradients are the two slices of a [weight.Arena], so each rule is one loop over
// a part of them. A training step is
//
//	arena.ZeroGradients()
//	…                                              // forward, backward
//	norm := optim.Clip(set, arena.Gradients(), 1)  // optional
//	optimizer.Step(rate)                           // made by [New]
//	matrix.Constrain(rate)
package optim

import (
	"fmt"
	"math"

	"sweep/model/kernel"
)

// A rule moves the tensors that it was made for.
type rule[F kernel.Float] interface {
	// step does update t, counted from 1, with the given learning rate from the gradients as
	// they are. It does not change the gradients.
	step(rate float64, t int)

	// memory returns what the rule remembers between steps, each slice as long as the parameters
	// it is of. To write into them restores a checkpoint.
	memory() [][]F
}

// tensors are the slices that a rule works on.
type tensors[F kernel.Float] struct {
	set               *kernel.Set[F]
	values, gradients []F
	moments           [][]F
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

func (t *tensors[F]) memory() [][]F { return t.moments }

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
