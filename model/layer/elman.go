package layer

import (
	"context"
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
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
	recurrent[F]
	matrix     weight.Matrix[F]
	options    ElmanOptions
	phi        phi[F]
	transition transition[F]
	path       Path // of transition

	m       *weight.View[F]  // [n_i × n]
	b       *weight.View[F]  // [n]
	project kernel.Packed[F] // M
}

// ElmanOptions are the choices of an [Elman] cell.
type ElmanOptions struct {
	Inputs     int               // n_i
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	FixedStart bool              // h(0) is 0 instead of trained
	Every      bool              // there is an output for every step, not for the last alone
	Path       Path              // how W is applied

	Start      weight.Start // of W; "" is the matrix's usual one
	InputScale float64      // s: M starts from N(0, s²/n_i)
}

// NewElman declares the tensors "M" [n_i × n] (that is, transposed: x M), "b"
// and "h0". The matrix has declared its own.
func NewElman[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F], options ElmanOptions) (*Elman[F], error) {
	n, err := squareSize(matrix)
	if err != nil {
		return nil, err
	}
	if err := checkActivation(options.Activation, options.Slope); err != nil {
		return nil, err
	}
	low, err := factorsOf(matrix, options.Path)
	if err != nil {
		return nil, err
	}
	base, err := newRecurrent(set, options.Inputs, n, 1, 2, options.Every)
	if err != nil {
		return nil, err
	}
	e := &Elman[F]{recurrent: base, matrix: matrix, options: options, phi: phi[F]{options.Activation, F(options.Slope)}}
	e.m, e.b = e.declare(arena, "M", options.Inputs, n), e.declare(arena, "b", 1, n)
	e.declareInitial(arena, "h0", options.FixedStart)
	if low != nil {
		e.path, e.transition = PathCompactWY, newCompactWY(set, low, e.phi)
	} else {
		e.path, e.transition = PathDense, newDenseTransition(set, matrix, e.phi)
	}
	return e, nil
}

// squareSize returns the size of a recurrent matrix.
func squareSize[F kernel.Float](matrix weight.Matrix[F]) (int, error) {
	rows, cols := matrix.Shape()
	if rows != cols {
		return 0, fmt.Errorf("layer: recurrent matrix of %d × %d: want a square one", rows, cols)
	}
	return rows, nil
}

// checkActivation returns an error unless there is such an activation.
func checkActivation(activation kernel.Activation, slope float64) error {
	if !(slope >= 0 && slope <= 1) {
		return fmt.Errorf("layer: slope %v of a leaky ReLU: want a number from 0 to 1", slope)
	}
	if activation > kernel.Tanh {
		return fmt.Errorf("layer: unknown activation %v", activation)
	}
	return nil
}

// Init sets the recurrent matrix to its start, M to N(0, s²/n_i), the rest to 0.
func (e *Elman[F]) Init(ctx context.Context, source *random.Source) error {
	if err := e.matrix.Init(ctx, e.options.Start, source); err != nil {
		return err
	}
	random.Gaussian(e.m.Value, e.options.InputScale/math.Sqrt(float64(e.inputs)), source)
	clear(e.b.Value)
	e.clearInitial()
	return nil
}

// Load forms and packs W, or its factors, and M.
func (e *Elman[F]) Load() {
	e.transition.load()
	e.set.PackBias(&e.project, e.m.Matrix(), e.b.Value)
}

// Join adds the gradients of the first passes.
func (e *Elman[F]) Join(used int) {
	e.join(used)
	e.transition.join(used)
}

// Constrain scales what has a length, see [weight.Matrix].
func (e *Elman[F]) Constrain(rate float64) { e.matrix.Constrain(rate) }

// SpectralMargin returns max |σ_i - 1| over the singular values of W as it was loaded
// last; see [weight.Margin].
func (e *Elman[F]) SpectralMargin(ctx context.Context) (float64, error) {
	return e.transition.margin(ctx)
}

// Path returns how W is applied: PathDense or PathCompactWY.
func (e *Elman[F]) Path() Path { return e.path }

// Cost counts W by the path that is taken.
func (e *Elman[F]) Cost(limits Limits) Cost {
	c := e.cost(limits, 1, e.size)
	if low, ok := e.matrix.(weight.LowRank[F]); ok && e.path == PathCompactWY {
		c.Weights = c.Inputs + float64(limits.Steps)*float64(2*e.size*low.Rank())
	}
	c.Minibatch = e.matrix.Flops()
	u := e.sized(limits)
	rows := u.chunkRows()
	transition := e.transition.footprint(limits.Batch, u.kept, rows)
	c.Shared = transition.Shared + int64(e.set.PackedSize(e.inputs, e.size, true))
	c.Pass += transition.Pass + int64(kernel.PaddedSize(rows+evaluatedRows(e.size, limits), e.size)+kernel.ScratchSize(e.inputs, rows))
	c.Fork += transition.Fork
	c.Inject = int64(e.set.PackedSize(e.size, e.inputs, false))
	return c
}

// elmanPass is a [Pass] of an [Elman] cell.
type elmanPass[F kernel.Float] struct {
	*unrolled[F]
	cell       *Elman[F]
	transition transitionPass[F]
	m, b       *weight.View[F]  // with the pass's gradients
	inject     kernel.Packed[F] // Mᵀ, packed if an input gradient is asked for
	evaluated  kernel.Matrix[F] // the states of some steps whose history is not kept
	deltas     kernel.Matrix[F] // ∂L/∂(W h + M x + b) of the steps of one chunk
	run        func(first, end int)
}

// NewPass returns a pass for parts of minibatches.
func (e *Elman[F]) NewPass(limits Limits) Pass[F] {
	p := &elmanPass[F]{unrolled: e.newUnrolled(limits), cell: e}
	p.m, p.b = p.gradient(e.m), p.gradient(e.b)
	rows := p.chunkRows()
	p.deltas, p.evaluated = kernel.NewPadded[F](rows, e.size), kernel.NewPadded[F](evaluatedRows(e.size, limits), e.size)
	p.transition = e.transition.pass(limits.Batch, p.kept, rows)
	p.run = p.segmentForward
	return p
}

// evaluatedRows is the number of states that are worked on together where no
// history is kept: few enough for the first-level cache, but two steps at least.
func evaluatedRows(n int, limits Limits) int {
	return max(2*limits.Batch, min(1<<13/n, (limits.Steps+1)*limits.Batch))
}

// Forward runs the cell.
func (p *elmanPass[F]) Forward(in Input[F], from State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	if keep || p.every {
		return p.forward(in, from, p.run)
	}
	return p.evaluate(in, from)
}

// segmentForward goes through the steps of a segment.
func (p *elmanPass[F]) segmentForward(first, end int) {
	batch := p.in.Batch
	h, x := p.history.Slice(0, (end-first+1)*batch), p.in.X.Slice(first*batch, end*batch)
	p.transition.forward(0, h, x, &p.cell.project, batch)
}

// evaluate runs the cell without keeping its history.
func (p *elmanPass[F]) evaluate(in Input[F], from State[F]) (out kernel.Matrix[F], to State[F]) {
	p.beginEvaluate(in, from)
	steps, batch, state := in.Steps, in.Batch, p.to[0]
	// A chunk's last state makes room for those of the next.
	stride := p.evaluated.Rows/batch - 1
	for first := 0; first < steps; first += stride {
		last := min(first+stride, steps)
		h := p.evaluated.Slice(0, (last-first+1)*batch)
		block(h, 0, batch).Fill(state)
		p.transition.forward(-1, h, in.X.Slice(first*batch, last*batch), &p.cell.project, batch)
		state.Fill(block(h, last-first, batch))
	}
	return state, p.to
}

// Backward goes back through time. With δ(t) the gradient of the argument of φ
// at step t and g(t) the part of ∂L/∂h(t) that dout and dto hold,
//
//	δ(t) = (Wᵀ δ(t+1) + g(t)) ∘ φ'
//	∂L/∂W = Σ δ(t) h(t-1)ᵀ   ∂L/∂M = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//	∂L/∂h(0) = Wᵀ δ(1)
//
// where the sums run over steps and series.
func (p *elmanPass[F]) Backward(dout kernel.Matrix[F], dto State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	all := p.beginBackward(dout, dto, dx)
	steps, batch := p.in.Steps, p.in.Batch
	if dx.Data != nil {
		p.set.PackTransposed(&p.inject, p.m.Matrix())
	}
	p.transition.reset()
	stride := p.stride(steps, batch)
	// The last chunk of the sequence is the odd one, so that a whole chunk's
	// last delta never overwrites the delta that it is made from.
	first := (steps - 1) / stride * stride
	var later kernel.Matrix[F] // δ of the step after
	slot := 0                  // its place in its chunk
	segment := p.lastSegment()
	for last := steps; last > 0; first, last = first-stride, first {
		if first < segment {
			segment -= p.segment(steps, batch)
			p.again(segment, p.run)
		}
		history := p.history.Slice((first-segment)*batch, (last-segment+1)*batch)
		deltas := p.deltas.Slice(0, (last-first)*batch)
		for t := last - 1; t >= first; t-- {
			delta, out := block(deltas, t-first, batch), block(history, t-first+1, batch)
			if t == steps-1 {
				p.cell.phi.derivative(p.set, delta, p.back[0], out)
			} else {
				if all {
					delta.Fill(block(dout, t, batch))
				}
				p.transition.backward(delta, slot, later, out, all)
			}
			later, slot = delta, t-first
			p.transition.settle(slot, later)
			if !all && t > first { // the rest of the chunk at once
				before := p.history.Slice(max(first-segment-1, 0)*batch, (first-segment+1)*batch)
				p.transition.backwardAll(deltas.Slice(0, (slot+1)*batch), history.Slice(batch, (t-first+1)*batch), before, batch)
				later, slot = block(deltas, 0, batch), 0
				break
			}
		}
		x := p.in.X.Slice(first*batch, last*batch)
		p.transition.accumulate(first-segment, last-segment, batch, deltas, history.Slice(0, (last-first)*batch))
		p.set.TransposedAdd(p.m.GradientMatrix(), x, deltas, &p.scratch)
		p.set.ColumnSumsAdd(p.b.Gradient, deltas)
		if dx.Data != nil {
			p.set.Multiply(dx.Slice(first*batch, last*batch), deltas, &p.inject)
		}
	}
	p.transition.toInitial(p.back[0], slot, later)
	return p.endBackward()
}
