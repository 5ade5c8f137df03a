package loss

import (
	"math"

	"sweep/model/kernel"
)

// Softmax is the cross entropy between the softmax of a row and its class. Its
// targets are classes.
type Softmax[F kernel.Float] struct{ set *kernel.Set[F] }

// Score returns the cross entropy.
func (s Softmax[F]) Score(outputs kernel.Matrix[F], targets Targets[F]) Score {
	loss, correct := s.set.SoftmaxCrossEntropy(kernel.Matrix[F]{}, outputs, targets.Classes, 0)
	return Score{Loss: loss, Correct: correct, Rows: outputs.Rows}
}

// Gradient returns the cross entropy and writes its gradient.
func (s Softmax[F]) Gradient(outputs kernel.Matrix[F], targets Targets[F], of int) Score {
	loss, correct := s.set.SoftmaxCrossEntropy(outputs, outputs, targets.Classes, 1/F(of))
	return Score{Loss: loss, Correct: correct, Rows: outputs.Rows}
}

// Probabilities appends the softmax of the outputs.
func (Softmax[F]) Probabilities(dst []float32, outputs []F) []float32 {
	top, sum := outputs[largest(outputs)], 0.
	for _, output := range outputs {
		sum += math.Exp(float64(output - top))
	}
	for _, output := range outputs {
		dst = append(dst, float32(math.Exp(float64(output-top))/sum))
	}
	return dst
}
