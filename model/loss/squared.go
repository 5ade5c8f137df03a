package loss

import "sweep/model/kernel"

// Squared is the mean of (ŷ - y)² over the elements of a row; y of a class is its
// one-hot row, or of a single output the class itself, 0 or 1.
type Squared[F kernel.Float] struct{}

func squared[F kernel.Float](output, target F) (loss float64, derivative F) {
	difference := output - target
	return float64(difference) * float64(difference), difference
}

// Score returns the mean square.
func (Squared[F]) Score(outputs kernel.Matrix[F], targets Targets[F]) Score {
	return elementwise(outputs, targets, 0, .5, squared[F])
}

// Gradient returns the mean square and writes its gradient.
func (Squared[F]) Gradient(outputs kernel.Matrix[F], targets Targets[F], of int) Score {
	return elementwise(outputs, targets, 2/F(of*outputs.Cols), .5, squared[F])
}

// Probabilities appends the outputs themselves, which are probabilities as far as they
// are like their targets.
func (Squared[F]) Probabilities(dst []float32, outputs []F) []float32 {
	return twoOrMore(dst, outputs, func(output F) float64 { return float64(output) })
}
