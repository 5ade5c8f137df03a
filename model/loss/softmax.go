package loss

import (
	"iter"
	"math"

	"sweep/model/kernel"
)

// Softmax is the cross entropy between the softmax of a row and its class. Its
// targets are classes, [NoTarget] among them.
type Softmax[F kernel.Float] struct{ set *kernel.Set[F] }

// Score returns the cross entropy.
func (s Softmax[F]) Score(outputs kernel.Matrix[F], targets Targets[F]) (score Score) {
	for from, to := range due(targets.Classes) {
		loss, correct := s.set.SoftmaxCrossEntropy(kernel.Matrix[F]{}, outputs.Slice(from, to),
			targets.Classes[from:to], 0)
		score.Add(Score{Loss: loss, Correct: correct, Rows: to - from})
	}
	return score
}

// Gradient returns the cross entropy and writes its gradient.
func (s Softmax[F]) Gradient(outputs kernel.Matrix[F], targets Targets[F], of int) (score Score) {
	end := 0
	for from, to := range due(targets.Classes) {
		clearRows(outputs, end, from)
		rows := outputs.Slice(from, to)
		loss, correct := s.set.SoftmaxCrossEntropy(rows, rows, targets.Classes[from:to], 1/F(of))
		score.Add(Score{Loss: loss, Correct: correct, Rows: to - from})
		end = to
	}
	clearRows(outputs, end, outputs.Rows)
	return score
}

// due yields the runs of rows that have targets.
func due(classes []int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from := 0; from < len(classes); from++ {
			to := from
			for to < len(classes) && classes[to] != NoTarget {
				to++
			}
			if to > from && !yield(from, to) {
				return
			}
			from = to
		}
	}
}

func clearRows[F kernel.Float](m kernel.Matrix[F], from, to int) {
	for row := from; row < to; row++ {
		clear(m.Row(row))
	}
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
