package loss

import (
	"math"

	"sweep/model/kernel"
)

// Sigmoid is the cross entropy -y log s - (1-y) log(1-s) of s = sigmoid(ŷ), mean
// over the elements of a row; y of a class is its one-hot row, or of a single output the class itself, 0 or 1.
type Sigmoid[F kernel.Float] struct{}

// sigmoid computes log(1 + exp(ŷ)) - y ŷ, which is the same and does not overflow.
func sigmoid[F kernel.Float](output, target F) (loss float64, derivative F) {
	x, y := float64(output), float64(target)
	e := math.Exp(-math.Abs(x))
	s := 1 / (1 + e) // of |ŷ|
	if x < 0 {
		s = e / (1 + e)
	}
	return max(x, 0) + math.Log1p(e) - y*x, F(s - y)
}

// Score returns the cross entropy.
func (Sigmoid[F]) Score(outputs kernel.Matrix[F], targets Targets[F]) Score {
	return elementwise(outputs, targets, 0, 0, sigmoid[F])
}

// Gradient returns the cross entropy and writes its gradient.
func (Sigmoid[F]) Gradient(outputs kernel.Matrix[F], targets Targets[F], of int) Score {
	return elementwise(outputs, targets, 1/F(of*outputs.Cols), 0, sigmoid[F])
}

// Probabilities appends the sigmoid of each output.
func (Sigmoid[F]) Probabilities(dst []float32, outputs []F) []float32 {
	return twoOrMore(dst, outputs, func(output F) float64 { return 1 / (1 + math.Exp(-float64(output))) })
}
