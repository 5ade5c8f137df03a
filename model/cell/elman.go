package cell

import (
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// Elman is the simple recurrent cell (equation 4 of Zhang, Lei and Dhillon
// 2018)
//
//	h(t) = φ(W h(t-1) + M x(t) + b)
//
// whose recurrent matrix W is any [weight.Matrix]: with a dense one it is the
// vanilla RNN, with reflectors oRNN, with an SVD Spectral-RNN.
type Elman[F kernel.Float] struct {
	layer[F]
	matrix     weight.Matrix[F]
	phi        phi[F]
	transition transition[F]
	path       Path            // of transition
	others     []transition[F] // of the forks

	m *weight.View[F] // [n_i × n]
	b *weight.View[F] // [n]

	project *kernel.Packed[F] // M
	inject  kernel.Packed[F]  // Mᵀ, packed if an input gradient is asked for

	evaluated kernel.Matrix[F] // the states of some steps of Evaluate

	deltas kernel.Matrix[F] // ∂L/∂(W h + M x + b) of the steps of one chunk
	run    func(start, end int)
}

// ElmanOptions are the choices of an [Elman] cell.
type ElmanOptions struct {
	Inputs     int               // n_i
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	FixedStart bool              // h(0) is 0 instead of trained
	Path       Path              // how W is applied
}

// A Path is a way to apply the recurrent matrix of an [Elman] cell at every
// time step. Paths differ in speed, and in rounding.
type Path string

// The paths.
const (
	// PathAuto, also "", chooses PathThin for a [weight.LowRank] of less than a
	// third of its size (n > 6m for two times m reflectors), where it is faster
	// by measurement, and PathFormed for all else. A rank counts as the next
	// multiple of 16, as products with fewer columns take no less time.
	PathAuto Path = "auto"
	// PathFormed forms W once a minibatch.
	PathFormed Path = "formed"
	// PathThin applies the factors of a [weight.LowRank] and never forms W.
	PathThin Path = "thin"
)

// NewElman declares the tensors "M" [n_i × n] (that is, transposed: x M), "b"
// and "h0" and makes the cell's buffers. The matrix has declared its own.
func NewElman[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F], limits Limits, options ElmanOptions) (*Elman[F], error) {
	n := matrix.Size()
	if !(options.Slope >= 0 && options.Slope <= 1) {
		return nil, fmt.Errorf("cell: slope %v of a leaky ReLU: want a number from 0 to 1", options.Slope)
	}
	if options.Activation > kernel.Tanh {
		return nil, fmt.Errorf("cell: unknown activation %v", options.Activation)
	}
	low, factored := matrix.(weight.LowRank[F])
	switch options.Path {
	case "", PathAuto:
		factored = factored && n > 3*((low.Rank()+15)/16*16)
	case PathFormed:
		factored = false
	case PathThin:
		if !factored {
			return nil, fmt.Errorf("cell: path %s: a weight without factors has to be formed", options.Path)
		}
	default:
		return nil, fmt.Errorf("cell: unknown path %q: want %s, %s or %s", string(options.Path), PathAuto, PathFormed, PathThin)
	}
	base, err := newLayer(set, options.Inputs, n, 1, 2, limits)
	if err != nil {
		return nil, err
	}
	e := &Elman[F]{
		layer:   base,
		matrix:  matrix,
		phi:     phi[F]{options.Activation, F(options.Slope)},
		project: new(kernel.Packed[F]),
	}
	e.m, e.b = e.tensor(arena.Declare("M", options.Inputs, n)), e.tensor(arena.Declare("b", 1, n))
	if !options.FixedStart {
		e.h0 = e.tensor(arena.Declare("h0", 1, n))
	}
	rows := e.chunkRows()
	e.deltas = newMatrix[F](rows, n)
	e.evaluated = newMatrix[F](evaluatedRows(n, limits), n)
	if factored {
		e.path, e.transition = PathThin, newThin(set, low, e.phi, limits.Batch, e.kept, rows)
	} else {
		e.path, e.transition = PathFormed, newFormed(set, matrix, e.phi)
	}
	e.run = e.segmentForward
	return e, nil
}

// Fork returns a layer for another part of the minibatch.
func (e *Elman[F]) Fork() Recurrent[F] {
	f := &Elman[F]{
		layer: e.fork(), matrix: e.matrix, phi: e.phi, path: e.path, project: e.project,
		deltas: newMatrix[F](e.deltas.Rows, e.size), evaluated: newMatrix[F](e.evaluated.Rows, e.size), transition: e.transition.fork(),
	}
	f.run = f.segmentForward
	f.m, f.b, f.h0 = f.tensor(e.m), f.tensor(e.b), f.tensor(e.h0)
	e.forks, e.others = append(e.forks, &f.layer), append(e.others, f.transition)
	return f
}

// Join adds the gradients of the first forks.
func (e *Elman[F]) Join(used int) {
	e.join(used)
	for _, t := range e.others[:used] {
		e.transition.join(t)
	}
	e.transition.pullback()
}

// Path returns how W is applied: PathFormed or PathThin.
func (e *Elman[F]) Path() Path { return e.path }

// evaluatedRows is the number of states that Evaluate works on together: few
// enough for the first-level cache, but two steps at least.
func evaluatedRows(n int, limits Limits) int {
	return max(2*limits.Batch, min(1<<13/n, (limits.Steps+1)*limits.Batch))
}

// Start sets the recurrent matrix to its start, M to N(0, s²/n_i), the rest to 0.
func (e *Elman[F]) Start(options StartOptions, random *weight.Random) error {
	if err := e.matrix.Start(options.Weight, random); err != nil {
		return err
	}
	weight.Gaussian(e.m.Value, options.InputScale/math.Sqrt(float64(e.inputs)), random)
	clear(e.b.Value)
	if e.h0 != nil {
		clear(e.h0.Value)
	}
	return nil
}

// Load forms and packs W, or its factors, and M.
func (e *Elman[F]) Load() {
	e.transition.load()
	e.set.PackBias(e.project, e.m.Matrix(), e.b.Value)
}

// Forward runs the cell and returns h(T).
func (e *Elman[F]) Forward(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F] {
	e.begin(x, steps, batch)
	broadcast(block(e.history, 0, batch), e.h0)
	return block(e.history, e.forward(e.run), batch)
}

// segmentForward goes through the steps of a segment.
func (e *Elman[F]) segmentForward(start, end int) {
	batch := e.batch
	h, x := e.history.Slice(0, (end-start+1)*batch), e.x.Slice(start*batch, end*batch)
	e.transition.ahead(0, h, x, e.project, batch)
}

// Evaluate runs the cell without keeping its history.
func (e *Elman[F]) Evaluate(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F] {
	e.check(x, steps, batch)
	state := e.state.Slice(0, batch)
	broadcast(state, e.h0)
	// A chunk's last state makes room for those of the next.
	stride := e.evaluated.Rows/batch - 1
	for first := 0; first < steps; first += stride {
		last := min(first+stride, steps)
		h := e.evaluated.Slice(0, (last-first+1)*batch)
		fill(block(h, 0, batch), state)
		e.transition.ahead(-1, h, x.Slice(first*batch, last*batch), e.project, batch)
		fill(state, block(h, last-first, batch))
	}
	return state
}

// Backward goes back through time. With δ(t) the gradient of the argument of φ
// at step t and g(t) the part of ∂L/∂h(t) that dh holds,
//
//	δ(t) = (Wᵀ δ(t+1) + g(t)) ∘ φ'
//	∂L/∂W = Σ δ(t) h(t-1)ᵀ   ∂L/∂M = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//	∂L/∂h(0) = Wᵀ δ(1)
//
// where the sums run over steps and series.
func (e *Elman[F]) Backward(dh, dx kernel.Matrix[F]) {
	all := e.checkBackward(dh, dx)
	steps, batch := e.steps, e.batch
	if dx.Data != nil {
		e.set.PackTransposed(&e.inject, e.m.Matrix())
	}
	e.transition.reset()
	stride := e.stride(steps, batch)
	// The last chunk of the sequence is the odd one, so that a whole chunk's
	// last delta never overwrites the delta that it is made from.
	first := (steps - 1) / stride * stride
	var later kernel.Matrix[F] // δ of the step after
	slot := 0                  // its place in its chunk
	segment := e.lastSegment()
	for last := steps; last > 0; first, last = first-stride, first {
		if first < segment {
			segment -= e.segment(steps, batch)
			e.again(segment, e.run)
		}
		history := e.history.Slice((first-segment)*batch, (last-segment+1)*batch)
		deltas := e.deltas.Slice(0, (last-first)*batch)
		for t := last - 1; t >= first; t-- {
			delta, out := block(deltas, t-first, batch), block(history, t-first+1, batch)
			if t == steps-1 {
				e.derivative(delta, block(dh, dh.Rows/batch-1, batch), out)
			} else {
				if all {
					fill(delta, block(dh, t, batch))
				}
				e.transition.back(delta, slot, later, out, all)
			}
			later, slot = delta, t-first
			e.transition.settle(slot, later)
			if !all && t > first { // the rest of the chunk at once
				before := e.history.Slice(max(first-segment-1, 0)*batch, (first-segment+1)*batch)
				e.transition.backAll(deltas.Slice(0, (slot+1)*batch), history.Slice(batch, (t-first+1)*batch), before, batch)
				later, slot = block(deltas, 0, batch), 0
				break
			}
		}
		x := e.x.Slice(first*batch, last*batch)
		e.transition.accumulate(first-segment, last-segment, batch, deltas, history.Slice(0, (last-first)*batch))
		e.set.TransposedAdd(e.m.GradientMatrix(), x, deltas, &e.scratch)
		e.set.ColumnSumsAdd(e.b.Gradient, deltas)
		if dx.Data != nil {
			e.set.Multiply(dx.Slice(first*batch, last*batch), deltas, &e.inject)
		}
	}
	start := e.startGradient.Slice(0, batch)
	e.transition.start(start, slot, later)
	if e.h0 != nil {
		e.set.ColumnSumsAdd(e.h0.Gradient, start)
	}
	if e.single() {
		e.transition.pullback()
	}
}

// derivative is delta = gradient ∘ φ', where out = φ(·).
func (e *Elman[F]) derivative(delta, gradient, out kernel.Matrix[F]) {
	if n := delta.Cols; delta.Stride == n && gradient.Stride == n && out.Stride == n {
		n *= delta.Rows
		e.set.Derivative(delta.Data[:n], gradient.Data[:n], out.Data[:n], e.phi.activation, e.phi.slope)
		return
	}
	for i := range delta.Rows {
		e.set.Derivative(delta.Row(i), gradient.Row(i), out.Row(i), e.phi.activation, e.phi.slope)
	}
}
