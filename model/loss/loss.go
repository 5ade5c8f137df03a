// Package loss holds the training losses: the score of rows of outputs against
// their targets, and its gradient in the place of the outputs.
package loss

import (
	"fmt"

	"sweep/model/kernel"
)

// Targets are what rows of outputs should be: a class each, or values.
type Targets[F kernel.Float] struct {
	Classes []int
	Values  kernel.Matrix[F] // [rows × outputs]; none where there are classes
}

// NoTarget is the class of a row that has no target, as those that pad sequences to one length:
// it counts in no loss and no accuracy and has no gradient.
const NoTarget = -1

// Count returns how many rows have targets.
func (t *Targets[F]) Count() (n int) {
	for _, class := range t.Classes {
		if class != NoTarget {
			n++
		}
	}
	return n + t.Values.Rows
}

// Slice returns the targets of the rows from, up to, not including, to.
func (t Targets[F]) Slice(from, to int) Targets[F] {
	if t.Classes != nil {
		return Targets[F]{Classes: t.Classes[from:to]}
	}
	return Targets[F]{Values: t.Values.Slice(from, to)}
}

// rows is the number of targets.
func (t *Targets[F]) rows() int {
	if t.Classes != nil {
		return len(t.Classes)
	}
	return t.Values.Rows
}

// Score is what rows come to.
type Score struct {
	Loss float64 // the sum over the rows
	// Correct is the number of rows whose largest output is their class's; where
	// there is one output, it tells two classes apart.
	Correct int
	Rows    int
	// Hits is, of the loss sigmoid against values, which are labels where they are 1, the number of
	// labels among each row's largest outputs, as many as Ranks says.
	Hits [len(Ranks)]int
}

// Ranks are the k of the precision at k.
var Ranks = [...]int{1, 3, maxRank}

const maxRank = 5

// Add adds the score of other rows.
func (s *Score) Add(other Score) {
	s.Loss += other.Loss
	s.Correct += other.Correct
	s.Rows += other.Rows
	for i, hits := range other.Hits {
		s.Hits[i] += hits
	}
}

// Mean returns the mean loss of a row.
func (s *Score) Mean() float64 { return s.Loss / float64(s.Rows) }

// Accuracy returns the share of rows that are correct.
func (s *Score) Accuracy() float64 { return float64(s.Correct) / float64(s.Rows) }

// Precision returns the mean over the rows of the share of labels among the k largest outputs, for each
// k of [Ranks].
func (s *Score) Precision() (at [len(Ranks)]float64) {
	for i, k := range Ranks {
		at[i] = float64(s.Hits[i]) / float64(k*s.Rows)
	}
	return at
}

// A Loss is a function of outputs and targets, row by row.
type Loss[F kernel.Float] interface {
	// Score returns what the rows come to.
	Score(outputs kernel.Matrix[F], targets Targets[F]) Score

	// Gradient is Score, and writes in the place of the outputs the gradient of the
	// mean over so many rows, of which these are some.
	Gradient(outputs kernel.Matrix[F], targets Targets[F], of int) Score

	// Probabilities appends what a row of outputs gives each class; a single output
	// tells two classes apart.
	Probabilities(dst []float32, outputs []F) []float32
}

// New returns the loss of that name: cross_entropy, mse or sigmoid.
func New[F kernel.Float](set *kernel.Set[F], name string) (Loss[F], error) {
	switch name {
	case "cross_entropy":
		return Softmax[F]{set}, nil
	case "mse":
		return elementwise[F]{at: squared[F], factor: 2, threshold: .5, probability: identity[F]}, nil
	case "sigmoid":
		return elementwise[F]{at: sigmoid[F], factor: 1, threshold: 0, probability: logistic[F], ranks: true}, nil
	}
	return nil, fmt.Errorf("loss %q: want cross_entropy, mse or sigmoid", name)
}

// check panics unless there is a target of fitting width for every row.
func check[F kernel.Float](outputs kernel.Matrix[F], targets *Targets[F]) {
	if targets.rows() != outputs.Rows || targets.Classes == nil && targets.Values.Cols != outputs.Cols {
		panic(fmt.Sprintf("loss: %d targets for outputs of %d × %d", targets.rows(), outputs.Rows, outputs.Cols))
	}
}

// largest is the lowest of the indices of the largest element.
func largest[F kernel.Float](row []F) int {
	best := 0
	for j, x := range row {
		if x > row[best] {
			best = j
		}
	}
	return best
}
