package network

import (
	"math"
	"runtime"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/task"
)

// sliced is how a [Network] works on minibatches: in slices side by side, each by a pass of its own
// through the whole network, loss included. How a minibatch is cut depends on its size alone, and
// the slices' gradients and scores are added in one order, so that results do not depend on the
// number of threads. A small minibatch is one slice. Where the output layer is wide all threads
// work on it slice after slice.
type sliced[F kernel.Float] struct {
	rows   int // most series in a slice
	passes []layer.Pass[F]
	pool   *pool

	products *pool // the threads that share products, see Room

	scores []loss.Score
	norms  []float64          // ‖∂L/∂h(0)‖² of each slice
	outs   []kernel.Matrix[F] // what each slice's Forward returned, or its gradient

	squares [][]float64 // ‖∂L/∂h(t)‖² of each slice; nil unless they are watched

	// What the slices hand from a minibatch of training, and of an evaluation, to the
	// next, where a task asks for it.
	trained, evaluated handover[F]

	// See [Network.Perturb]: the gradient of the inputs.
	direction kernel.Matrix[F]
	still     bool

	// The present minibatch.
	batch *task.Batch[F]
	step  int
	size  int // series of a slice
	due   int // outputs with a target

	// The work on a slice, made once so that a step allocates nothing. Where the output layer is
	// wide it comes between forward and backward, or after infer.
	train, validate, forward, backward, infer func(slice int)
}

// sliceRows is the most series of a slice: as many as a product needs to be fast, where large
// weights have to be read for each slice anew. Without recurrence a row is all that a series has,
// and more of them are due.
func (s *Spec) sliceRows() int {
	hidden := s.System.Width(s.Options.Hidden)
	if s.Top != nil {
		hidden = max(hidden, s.Top.Width(s.TopOptions.Hidden))
	}
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

// prepare makes the passes and the threads.
func (n *Network[F]) prepare(room Room) {
	if n.rows = room.Rows; n.rows == 0 {
		n.rows = n.spec.sliceRows()
	}
	limits := n.Limits(room.Batch, room.History)
	count := pieces(limits.Batch, n.rows)
	limits.Batch = min(limits.Batch, n.rows)
	for range count {
		n.passes = append(n.passes, n.Stack.NewPass(limits))
	}
	n.scores, n.norms, n.outs = make([]loss.Score, count), make([]float64, count), make([]kernel.Matrix[F], count)
	n.trained, n.evaluated = make(handover[F], count), make(handover[F], count)
	threads := max(min(room.Threads, runtime.GOMAXPROCS(0)), 1)
	if room.Products {
		n.products.start(threads)
		threads = 1
	}
	if n.head == nil {
		threads = min(threads, count)
	}
	n.pool = newPool(threads)
	if n.head != nil {
		n.head.prepare(n.pool, count, n.spec.Shape.Rows(limits.Batch, limits.Steps))
	}
	n.forward = func(i int) { n.forwardSlice(i, n.trained, true) }
	n.infer = func(i int) { n.forwardSlice(i, n.evaluated, false) }
	n.backward = n.backwardSlice
	n.train = func(i int) {
		targets := n.forwardSlice(i, n.trained, true)
		n.scores[i] = n.Loss.Gradient(n.outs[i], targets, n.due)
		n.backwardSlice(i)
	}
	n.validate = func(i int) {
		targets := n.forwardSlice(i, n.evaluated, false)
		n.scores[i] = n.Loss.Score(n.outs[i], targets)
	}
}

// run does the work on each slice and returns their score.
func (n *Network[F]) run(b *task.Batch[F], work func(slice int)) (total loss.Score, count int) {
	n.batch, n.due = b, n.spec.Shape.Rows(b.Size, b.Steps)
	if n.spec.Shape.Padded {
		n.due = b.Targets.Count()
	}
	count, n.size = task.Cut(b.Size, n.rows)
	n.pool.run(count, work)
	for _, score := range n.scores[:count] {
		total.Add(score)
	}
	return total, count
}

// part is the input of a slice, and its targets.
func (n *Network[F]) part(slice int) (layer.Input[F], loss.Targets[F]) {
	b := n.batch
	from := slice * n.size
	to := min(from+n.size, b.Size)
	in := layer.Input[F]{Steps: b.Steps, Batch: to - from, Still: n.still,
		Place: layer.Place{Step: n.step, First: from, Batch: b.Size}}
	if b.Tokens != nil {
		in.Tokens = b.Tokens[from*b.Steps : to*b.Steps]
	} else {
		in.X = b.X.Slice(from*b.Steps, to*b.Steps)
	}
	shape := &n.spec.Shape
	return in, b.Targets.Slice(shape.Rows(from, b.Steps), shape.Rows(to, b.Steps))
}

// Differentiate returns the score of a minibatch in the training step of that number, and the
// root mean square over its series of ‖∂L/∂h(0)‖, h(0) being the first layer's, and sets the
// gradients.
func (n *Network[F]) Differentiate(b *task.Batch[F], step int) (score loss.Score, gradient float64) {
	n.Form()
	n.Arena.ZeroGradients()
	n.step = step
	var count int
	if n.head == nil {
		score, count = n.run(b, n.train)
	} else {
		_, count = n.run(b, n.forward)
		for i := range count {
			_, targets := n.part(i)
			n.scores[i], n.outs[i] = n.head.differentiate(i, n.outs[i], targets, n.due)
		}
		score, _ = n.run(b, n.backward)
	}
	n.Stack.Join(count)
	sum := 0.0
	for _, square := range n.norms[:count] {
		sum += square
	}
	return score, math.Sqrt(sum * float64(b.Size))
}

// Watch has Differentiate find ‖∂L/∂h(t)‖ for every time step t; see [Network.Gradients].
func (n *Network[F]) Watch() {
	n.squares = make([][]float64, len(n.passes))
	for i, pass := range n.passes {
		n.squares[i] = make([]float64, n.spec.Shape.Steps)
		pass.(layer.Watcher).Watch(n.squares[i])
	}
}

// Gradients sets norms[t] to the root mean square over the series of the last minibatch of training of
// ‖∂L/∂h(t)‖, h(t) being the first recurrent layer's state before step t, as it was in
// Differentiate. It is due after [Network.Watch].
func (n *Network[F]) Gradients(norms []float64) {
	count, _ := task.Cut(n.batch.Size, n.rows)
	clear(norms[n.batch.Steps:]) // a shorter minibatch
	for t := range n.batch.Steps {
		sum := 0.0
		for _, squares := range n.squares[:count] {
			sum += squares[t]
		}
		norms[t] = math.Sqrt(sum * float64(n.batch.Size))
	}
}

// Evaluate returns the score of a batch.
func (n *Network[F]) Evaluate(b *task.Batch[F]) (score loss.Score) {
	n.Form()
	if n.head == nil {
		score, _ = n.run(b, n.validate)
		return score
	}
	_, count := n.run(b, n.infer)
	for i := range count {
		_, targets := n.part(i)
		score.Add(n.head.score(n.outs[i], targets))
	}
	return score
}

// Classify calls yield with the outputs of a batch, a slice after the other, and the classes that
// they are compared with, a row a sequence where a sequence has one target. The output layer must not be wide.
func (n *Network[F]) Classify(b *task.Batch[F], yield func(outputs kernel.Matrix[F], classes []int)) {
	n.Form()
	_, count := n.run(b, n.infer)
	for i := range count {
		in, targets := n.part(i)
		outputs, classes := n.outs[i], targets.Classes
		if n.spec.Shape.Single {
			outputs = kernel.Dense(make([]F, in.Batch*outputs.Cols), in.Batch, outputs.Cols)
			classes = make([]int, in.Batch)
			for row, class := range targets.Classes {
				if class != loss.NoTarget {
					copy(outputs.Row(row%in.Batch), n.outs[i].Row(row))
					classes[row%in.Batch] = class
				}
			}
		}
		yield(outputs, classes)
	}
}

// forwardSlice runs a slice through the layers below a wide output layer, or through all, and
// returns its targets. Where the minibatch continues the one before, the slice starts from the
// state that it left.
func (n *Network[F]) forwardSlice(i int, states handover[F], keep bool) loss.Targets[F] {
	in, targets := n.part(i)
	var from, to layer.State[F]
	if n.batch.Carry {
		from = states[i]
	}
	n.outs[i], to = n.passes[i].Forward(in, from, keep)
	if n.spec.Shape.Carries {
		states.set(i, to)
	}
	return targets
}

func (n *Network[F]) backwardSlice(i int) {
	n.norms[i] = 0
	var dx kernel.Matrix[F]
	if n.still {
		from, steps := i*n.size, n.batch.Steps
		dx = n.direction.Slice(from*steps, min(from+n.size, n.batch.Size)*steps)
	}
	if dfrom := n.passes[i].Backward(n.outs[i], nil, dx); len(dfrom) > 0 {
		n.norms[i] = sumSquares(n.set, dfrom[0])
	}
}

// handover is the state that each slice hands from a minibatch to the next.
type handover[F kernel.Float] []layer.State[F]

// set copies the state of a slice.
func (h handover[F]) set(slice int, state layer.State[F]) {
	for i, m := range state {
		if len(h[slice]) <= i {
			h[slice] = append(h[slice], kernel.Matrix[F]{})
		}
		own := &h[slice][i]
		if n := m.Rows * m.Cols; cap(own.Data) < n {
			own.Data = kernel.Make[F](n)
		}
		*own = kernel.Dense(own.Data[:m.Rows*m.Cols], m.Rows, m.Cols)
		own.Fill(m)
	}
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
