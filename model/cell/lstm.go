package cell

import (
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// LSTM is the long short-term memory cell (Hochreiter and Schmidhuber 1997,
// with the forget gate of Gers et al. 2000) without peepholes:
//
//	i, f, o = sigmoid(U x(t) + W h(t-1) + b)    each with its own U, W, b
//	g       = tanh(U x(t) + W h(t-1) + b)       likewise
//	c(t)    = f ∘ c(t-1) + i ∘ g
//	h(t)    = o ∘ tanh(c(t))
//
// It has 4(n_i + n + 1)n parameters and 2n more for trained h(0) and c(0).
type LSTM[F kernel.Float] struct {
	layer[F]

	u  *weight.View[F] // [n_i × 4n], gates in columns in the order i, f, g, o
	w  *weight.View[F] // [n × 4n]
	b  *weight.View[F] // [4n]
	c0 *weight.View[F] // trained c(0); nil if it is fixed at 0

	project *kernel.Packed[F] // U
	ahead   *kernel.Packed[F] // W
	back    *kernel.Packed[F] // Wᵀ
	inject  kernel.Packed[F]  // Uᵀ, packed if an input gradient is asked for

	// Of the steps of a segment.
	gates kernel.Matrix[F] // [kept × 4n]: i, f, g, o
	cells kernel.Matrix[F] // c before the steps and after each
	run   func(start, end int)

	deltas kernel.Matrix[F] // the gradients of the gates' arguments in the steps of one chunk
	dcell  kernel.Matrix[F] // ∂L/∂c of one step, [B × n]

	// Of one step of Evaluate.
	stepGates, stepCell kernel.Matrix[F]
}

// LSTMOptions are the choices of an [LSTM] cell.
type LSTMOptions struct {
	Inputs     int  // n_i
	Size       int  // n
	FixedStart bool // h(0) and c(0) are 0 instead of trained
}

// NewLSTM declares the tensors "U" [n_i × 4n], "W" [n × 4n] and "b" [4n], gates
// in columns in the order i, f, g, o, and "h0" and "c0", and makes the cell's
// buffers.
func NewLSTM[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], limits Limits, options LSTMOptions) (*LSTM[F], error) {
	n := options.Size
	base, err := newLayer(set, options.Inputs, n, 4, 1, limits)
	if err != nil {
		return nil, err
	}
	l := &LSTM[F]{layer: base, project: new(kernel.Packed[F]), ahead: new(kernel.Packed[F]), back: new(kernel.Packed[F])}
	l.u = l.tensor(arena.Declare("U", options.Inputs, 4*n))
	l.w = l.tensor(arena.Declare("W", n, 4*n))
	l.b = l.tensor(arena.Declare("b", 1, 4*n))
	if !options.FixedStart {
		l.h0 = l.tensor(arena.Declare("h0", 1, n))
		l.c0 = l.tensor(arena.Declare("c0", 1, n))
	}
	l.makeBuffers()
	return l, nil
}

func (l *LSTM[F]) makeBuffers() {
	n, batch := l.size, l.limits.Batch
	l.gates, l.cells = newMatrix[F](l.kept, 4*n), l.carry()
	l.run = l.segmentForward
	l.deltas, l.dcell = newMatrix[F](l.chunkRows(), 4*n), newMatrix[F](batch, n)
	l.stepGates, l.stepCell = newMatrix[F](batch, 4*n), newMatrix[F](batch, n)
}

// Fork returns a layer for another part of the minibatch.
func (l *LSTM[F]) Fork() Recurrent[F] {
	f := &LSTM[F]{layer: l.fork(), project: l.project, ahead: l.ahead, back: l.back}
	f.u, f.w, f.b, f.h0, f.c0 = f.tensor(l.u), f.tensor(l.w), f.tensor(l.b), f.tensor(l.h0), f.tensor(l.c0)
	f.makeBuffers()
	l.forks = append(l.forks, &f.layer)
	return f
}

// Join adds the gradients of the first forks.
func (l *LSTM[F]) Join(used int) { l.join(used) }

var gatedStarts = []weight.Start{weight.StartGaussian, weight.StartOrthogonal}

// Start draws each gate's W from N(0, 1/n), or makes it orthogonal, and U from
// N(0, s²/n_i), sets the forget bias and the rest to 0.
func (l *LSTM[F]) Start(options StartOptions, random *weight.Random) error {
	if err := startGates(l.w, options.Weight, random); err != nil {
		return err
	}
	weight.Gaussian(l.u.Value, options.InputScale/math.Sqrt(float64(l.inputs)), random)
	clear(l.b.Value)
	forget := l.b.Value[l.size : 2*l.size]
	for i := range forget {
		forget[i] = F(options.ForgetBias)
	}
	if l.h0 != nil {
		clear(l.h0.Value)
		clear(l.c0.Value)
	}
	return nil
}

// Load packs U and W.
func (l *LSTM[F]) Load() {
	l.set.PackBias(l.project, l.u.Matrix(), l.b.Value)
	l.set.Pack(l.ahead, l.w.Matrix())
	l.set.PackTransposed(l.back, l.w.Matrix())
}

// Forward runs the cell and returns h(T).
func (l *LSTM[F]) Forward(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F] {
	l.begin(x, steps, batch)
	broadcast(block(l.history, 0, batch), l.h0)
	broadcast(block(l.cells, 0, batch), l.c0)
	return block(l.history, l.forward(l.run), batch)
}

// segmentForward goes through the steps of a segment.
func (l *LSTM[F]) segmentForward(start, end int) {
	rows, batch := (end-start)*l.batch, l.batch
	l.set.LSTMForward(l.gates.Slice(0, rows), l.cells.Slice(0, rows+batch), l.history.Slice(0, rows+batch), batch,
		l.ahead, l.x.Slice(start*batch, end*batch), l.project)
}

// Evaluate runs the cell without keeping its history.
func (l *LSTM[F]) Evaluate(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F] {
	l.check(x, steps, batch)
	h, c := l.state.Slice(0, batch), l.stepCell.Slice(0, batch)
	broadcast(h, l.h0)
	broadcast(c, l.c0)
	l.set.LSTMForward(l.stepGates.Slice(0, batch), c, h, batch, l.ahead, x, l.project)
	return h
}

// Backward goes back through time; see [kernel.Set.LSTMBackward] for the gates.
// Their gradients δ, [4n], go on as
//
//	∂L/∂h(t-1) = Wᵀ δ(t) + g(t-1)
//	∂L/∂W = Σ δ(t) h(t-1)ᵀ   ∂L/∂U = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//
// where g(t) is the part of ∂L/∂h(t) that dh holds and the sums run over steps
// and series.
func (l *LSTM[F]) Backward(dh, dx kernel.Matrix[F]) {
	all := l.checkBackward(dh, dx)
	steps, batch := l.steps, l.batch
	if dx.Data != nil {
		l.set.PackTransposed(&l.inject, l.u.Matrix())
	}
	dcell, dstate := l.dcell.Slice(0, batch), l.startGradient.Slice(0, batch)
	clear(dcell.Data)
	fill(dstate, block(dh, dh.Rows/batch-1, batch))
	stride := l.stride(steps, batch)
	first := (steps - 1) / stride * stride
	segment := l.lastSegment()
	for last := steps; last > 0; first, last = first-stride, first {
		if first < segment {
			segment -= l.segment(steps, batch)
			l.again(segment, l.run)
		}
		for start, end := first, last; end > first; end = start {
			if all { // a step at a time
				start = end - 1
			}
			from, to := (start-segment)*batch, (end-segment)*batch
			l.set.LSTMBackward(l.deltas.Slice((start-first)*batch, (end-first)*batch), l.gates.Slice(from, to),
				l.cells.Slice(from, to+batch), l.history.Slice(from, to+batch), batch, l.back, dstate, dcell,
				memory(preceding(l.gates, from, batch)), memory(l.history.Slice(from, from+batch)))
			if all && start > 0 {
				add(l.set, dstate, block(dh, start-1, batch))
			}
		}
		from, to := (first-segment)*batch, (last-segment)*batch
		x, deltas := l.x.Slice(first*batch, last*batch), l.deltas.Slice(0, to-from)
		l.set.TransposedAdd(l.w.GradientMatrix(), l.history.Slice(from, to), deltas, &l.scratch)
		l.set.TransposedAdd(l.u.GradientMatrix(), x, deltas, &l.scratch)
		l.set.ColumnSumsAdd(l.b.Gradient, deltas)
		if dx.Data != nil {
			l.set.Multiply(dx.Slice(first*batch, last*batch), deltas, &l.inject)
		}
	}
	if l.h0 != nil {
		l.set.ColumnSumsAdd(l.h0.Gradient, dstate)
		l.set.ColumnSumsAdd(l.c0.Gradient, dcell)
	}
}

// startGates sets each n × n block of w, [n × kn], to the named start.
func startGates[F kernel.Float](w *weight.View[F], start weight.Start, random *weight.Random) error {
	n := w.Rows
	switch start {
	case "", weight.StartGaussian:
		weight.Gaussian(w.Value, 1/math.Sqrt(float64(n)), random)
	case weight.StartOrthogonal:
		for first := 0; first < w.Cols; first += n {
			q := weight.Orthogonal(n, random)
			for i := range n {
				for j := range n {
					w.Value[i*w.Cols+first+j] = F(q[i*n+j])
				}
			}
		}
	default:
		return &weight.StartError{Start: start, Known: gatedStarts}
	}
	return nil
}
