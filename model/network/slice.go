package network

import (
	"runtime"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/task"
)

// sliced trains the slices of minibatches side by side, each by a pass of its own
// through the whole network, loss included. How a minibatch is cut depends on its
// size alone, and the slices' gradients and scores are added in one order, so that
// results do not depend on the number of threads. A small minibatch is one slice.
// Where the output layer is wide all threads work on it slice after slice.
type sliced[F kernel.Float] struct {
	layer  layer.Layer[F]
	head   *head[F] // nil unless the output layer is wide
	loss   loss.Loss[F]
	every  bool // there is an output for every step
	rows   int  // most series in a slice
	passes []layer.Pass[F]
	pool   *pool
	scores []loss.Score
	norms  []float64          // ‖∂L/∂h(0)‖² of each slice
	outs   []kernel.Matrix[F] // what each slice's Forward returned, or its gradient

	// What the slices hand from a minibatch of training, and of an evaluation, to the
	// next, where a task asks for it.
	trained, evaluated handover[F]

	// The work at hand.
	batch    *task.Batch[F]
	step     int
	size     int // series of a slice
	train    func(slice int)
	validate func(slice int)
	forward  func(slice int) // before a wide output layer, and the way back after it
	backward func(slice int)
	ahead    func(slice int)
	set      *kernel.Set[F]
}

// sliceRows is the most series of a slice: as many as a product needs to be fast, where large
// weights have to be read for each slice anew. Without recurrence a row is all that a series has,
// and more of them are due.
func (s *Spec) sliceRows() int {
	hidden := s.Options.Hidden
	switch {
	case s.System.FeedForward && hidden < 1024:
		return 128
	case hidden >= 1024:
		return 256
	case hidden >= 512:
		return 128
	}
	return 64
}

// newSliced makes the passes for minibatches within limits.
func newSliced[F kernel.Float](n *Network[F], limits layer.Limits, rows, threads int) *sliced[F] {
	s := &sliced[F]{set: n.set, layer: n.Stack, head: n.head, loss: n.Loss, rows: rows}
	_, s.every = n.Stack.Outputs()
	count := (limits.Batch + rows - 1) / rows
	limits.Batch = min(limits.Batch, rows)
	for range count {
		s.passes = append(s.passes, s.layer.NewPass(limits))
	}
	s.scores, s.norms, s.outs = make([]loss.Score, count), make([]float64, count), make([]kernel.Matrix[F], count)
	s.trained, s.evaluated = make(handover[F], count), make(handover[F], count)
	if s.head == nil {
		threads = min(threads, count)
	}
	s.pool = newPool(max(min(threads, runtime.GOMAXPROCS(0)), 1))
	s.train, s.validate = s.trainSlice, s.validateSlice
	s.forward, s.backward, s.ahead = s.forwardSlice, s.backwardSlice, s.aheadSlice
	if s.head != nil {
		outputs := limits.Batch
		if s.every {
			outputs *= limits.Steps
		}
		s.head.prepare(s.pool, count, outputs)
	}
	return s
}

// run does the work of each slice and returns their score.
func (s *sliced[F]) run(b *task.Batch[F], work func(slice int)) (total loss.Score, count int) {
	s.batch = b
	count, s.size = task.Cut(b.Size, s.rows)
	s.pool.run(count, work)
	for _, score := range s.scores[:count] {
		total.Add(score)
	}
	return total, count
}

// part is the input of a slice, and its targets.
func (s *sliced[F]) part(slice int) (layer.Input[F], loss.Targets[F]) {
	b := s.batch
	from := slice * s.size
	to := min(from+s.size, b.Size)
	in := layer.Input[F]{Steps: b.Steps, Batch: to - from, Place: layer.Place{Step: s.step, First: from, Batch: b.Size}}
	if b.Tokens != nil {
		in.Tokens = b.Tokens[from*b.Steps : to*b.Steps]
	} else {
		in.X = b.X.Slice(from*b.Steps, to*b.Steps)
	}
	if s.every {
		from, to = from*b.Steps, to*b.Steps
	}
	return in, b.Targets.Slice(from, to)
}

// differentiate adds the gradients of all parameters and returns the score and
// ‖∂L/∂h(0)‖² over the minibatch, h(0) being the first layer's.
func (s *sliced[F]) differentiate(b *task.Batch[F], step int) (score loss.Score, norm float64) {
	s.step = step
	var count int
	if s.head == nil {
		score, count = s.run(b, s.train)
	} else {
		_, count = s.run(b, s.forward)
		for i := range count {
			_, targets := s.part(i)
			s.scores[i], s.outs[i] = s.head.differentiate(i, s.outs[i], targets, s.outputs())
		}
		score, _ = s.run(b, s.backward)
	}
	s.layer.Join(count)
	for _, n := range s.norms[:count] {
		norm += n
	}
	return score, norm
}

func (s *sliced[F]) trainSlice(i int) {
	in, targets := s.part(i)
	s.forwardPart(i, in)
	s.scores[i] = s.loss.Gradient(s.outs[i], targets, s.outputs())
	s.backwardSlice(i)
}

func (s *sliced[F]) forwardSlice(i int) {
	in, _ := s.part(i)
	s.forwardPart(i, in)
}

func (s *sliced[F]) forwardPart(i int, in layer.Input[F]) {
	var to layer.State[F]
	s.outs[i], to = s.passes[i].Forward(in, s.trained.from(i, s.batch.Carry), true)
	if s.batch.Carries() {
		s.trained.keep(i, to)
	}
}

func (s *sliced[F]) backwardSlice(i int) {
	s.norms[i] = 0
	if dfrom := s.passes[i].Backward(s.outs[i], nil, kernel.Matrix[F]{}); len(dfrom) > 0 {
		s.norms[i] = sumSquares(s.set, dfrom[0])
	}
}

// handover is the state that each slice hands from a minibatch to the next.
type handover[F kernel.Float] []layer.State[F]

// from returns the state that a slice starts from: nil for the start.
func (h handover[F]) from(slice int, carry bool) layer.State[F] {
	if !carry {
		return nil
	}
	return h[slice]
}

// keep keeps a state of a slice.
func (h handover[F]) keep(slice int, to layer.State[F]) {
	for i, m := range to {
		if len(h[slice]) <= i {
			h[slice] = append(h[slice], kernel.Matrix[F]{})
		}
		kept := &h[slice][i]
		if n := m.Rows * m.Cols; cap(kept.Data) < n {
			kept.Data = kernel.Make[F](n)
		}
		*kept = kernel.Dense(kept.Data[:m.Rows*m.Cols], m.Rows, m.Cols)
		for row := range m.Rows {
			copy(kept.Row(row), m.Row(row))
		}
	}
}

// outputs is the number of outputs of the minibatch at hand.
func (s *sliced[F]) outputs() int {
	if s.every {
		return s.batch.Size * s.batch.Steps
	}
	return s.batch.Size
}

// sumSquares is the sum of the squares of all elements.
func sumSquares[F kernel.Float](set *kernel.Set[F], m kernel.Matrix[F]) (sum float64) {
	if m.Stride == m.Cols {
		return set.SumSquares(m.Data[:m.Rows*m.Cols])
	}
	for row := range m.Rows {
		sum += set.SumSquares(m.Row(row))
	}
	return sum
}

// evaluate returns the score of a batch.
func (s *sliced[F]) evaluate(b *task.Batch[F]) (score loss.Score) {
	if s.head == nil {
		score, _ = s.run(b, s.validate)
		return score
	}
	_, count := s.run(b, s.ahead)
	for i := range count {
		_, targets := s.part(i)
		score.Add(s.head.score(s.outs[i], targets))
	}
	return score
}

// classify calls yield with the outputs of a batch, a slice after the other, and the
// classes that they are held to. There must be no head.
func (s *sliced[F]) classify(b *task.Batch[F], yield func(outputs kernel.Matrix[F], classes []int)) {
	_, count := s.run(b, s.ahead)
	for i := range count {
		_, targets := s.part(i)
		yield(s.outs[i], targets.Classes)
	}
}

func (s *sliced[F]) validateSlice(i int) {
	s.aheadSlice(i)
	_, targets := s.part(i)
	s.scores[i] = s.loss.Score(s.outs[i], targets)
}

func (s *sliced[F]) aheadSlice(i int) {
	in, _ := s.part(i)
	var to layer.State[F]
	s.outs[i], to = s.passes[i].Forward(in, s.evaluated.from(i, s.batch.Carry), false)
	if s.batch.Carries() {
		s.evaluated.keep(i, to)
	}
}
