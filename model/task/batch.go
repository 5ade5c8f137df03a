package task

import (
	"sweep/model/kernel"
	"sweep/model/loss"
)

// Batch is a minibatch, cut into slices that are worked on side by side: the rows of
// a slice follow those of the one before it, and within it row t·B+b is step t of the
// b-th of its B sequences.
type Batch[F kernel.Float] struct {
	Steps, Size int              // time steps; sequences
	Carry       bool             // it goes on where the one before ended, state included
	X           kernel.Matrix[F] // [Size·Steps × inputs]; none where there are tokens
	Tokens      []int            // [Size·Steps]; none where there are numbers
	Targets     loss.Targets[F]  // of each output: one a sequence, or one a row of X

	shape Shape
	slice int // most sequences of a slice
}

// NewBatch returns room for minibatches of up to so many sequences, in slices of up
// to so many.
func NewBatch[F kernel.Float](shape Shape, sequences, slice int) *Batch[F] {
	b := &Batch[F]{shape: shape, slice: slice}
	rows, outputs := sequences*shape.Steps, shape.Rows(sequences, shape.Steps)
	if shape.Vocabulary > 0 {
		b.Tokens = make([]int, rows)
	} else {
		b.X.Data = make([]F, rows*shape.Inputs)
	}
	if shape.Classes {
		b.Targets.Classes = make([]int, outputs)
	} else {
		b.Targets.Values.Data = make([]F, outputs*shape.Outputs)
	}
	return b
}

// Reset makes it a minibatch of so many steps and sequences, to be filled.
func (b *Batch[F]) Reset(steps, size int, carry bool) {
	b.Steps, b.Size, b.Carry = steps, size, carry
	rows, outputs := size*steps, b.shape.Rows(size, steps)
	if b.Tokens != nil {
		b.Tokens = b.Tokens[:rows]
	} else {
		b.X = kernel.Dense(b.X.Data[:rows*b.shape.Inputs], rows, b.shape.Inputs)
	}
	if targets := &b.Targets; targets.Classes != nil {
		targets.Classes = targets.Classes[:outputs]
	} else {
		targets.Values = kernel.Dense(targets.Values.Data[:outputs*b.shape.Outputs], outputs, b.shape.Outputs)
	}
}

// Cut is the number of slices of a minibatch of so many sequences if none has more
// than most, and the size of each but the last. It depends on nothing else, so that
// results do not depend on who works on the slices.
func Cut(sequences, most int) (count, size int) {
	count = (sequences + most - 1) / most
	return count, (sequences + count - 1) / count
}

// rowsOf returns the row of a sequence's first step, and how far apart its steps are.
func (b *Batch[F]) rowsOf(sequence int) (first, apart int) {
	_, size := Cut(b.Size, b.slice)
	from := sequence / size * size
	return from*b.Steps + sequence - from, min(size, b.Size-from)
}
