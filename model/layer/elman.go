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
	matrix   weight.Matrix[F]
	options  ElmanOptions
	phi      phi[F]
	operator operator[F]

	input projection[F] // M [n_i × n] and b
}

// ElmanOptions are the choices of an [Elman] cell.
type ElmanOptions struct {
	Inputs     int               // n_i
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	FixedStart bool              // h(0) is 0 instead of trained
	Every      bool              // there is an output for every step, not for the last alone
	Operator   OperatorKind      // how W is applied

	Start      weight.Start // of W; "" is the matrix's usual one
	InputScale float64      // s: M starts from N(0, s²/n_i)
}

// NewElman declares the tensors "M" [n_i × n] (that is, transposed: x M), "b"
// and "h0". The matrix has declared its own.
func NewElman[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F],
	options ElmanOptions) (*Elman[F], error) {
	n, err := squareSize(matrix)
	if err != nil {
		return nil, err
	}
	if err := checkActivation(options.Activation, options.Slope); err != nil {
		return nil, err
	}
	operator, err := newOperator(set, matrix, nil, options.Operator)
	if err != nil {
		return nil, err
	}
	base, err := newRecurrent(set, options.Inputs, n, 1, 2, options.Every)
	if err != nil {
		return nil, err
	}
	e := &Elman[F]{recurrent: base, matrix: matrix, options: options, phi: phi[F]{options.Activation, F(options.Slope)},
		operator: operator}
	e.input = e.declareProjection(arena, "M", "b", n)
	e.declareInitial(arena, "h0", options.FixedStart)
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

// Init sets the recurrent matrix to its start, M to N(0, s²/n_i), the rest to 0.
func (e *Elman[F]) Init(ctx context.Context, source *random.Source) error {
	if err := e.matrix.Init(ctx, e.options.Start, source); err != nil {
		return err
	}
	random.Gaussian(e.input.u.Value, e.options.InputScale/math.Sqrt(float64(e.inputs)), source)
	clear(e.input.b.Value)
	e.clearInitial()
	return nil
}

// Load forms and packs W, or its factors, and M.
func (e *Elman[F]) Load() {
	e.operator.load()
	e.input.load(e.set)
}

// Join adds the gradients of the first passes.
func (e *Elman[F]) Join(used int) {
	e.join(used)
	e.operator.join(used)
}

// Constrain scales what has a length, see [weight.Matrix].
func (e *Elman[F]) Constrain(rate float64) { e.matrix.Constrain(rate) }

// SpectralMargin returns max |σ_i - 1| over the singular values of W as it was loaded
// last; see [weight.Margin].
func (e *Elman[F]) SpectralMargin(ctx context.Context) (float64, error) {
	return e.operator.margin(ctx)
}

// Cost counts W as it is applied.
func (e *Elman[F]) Cost(limits Limits) Cost {
	c, u := e.cost(limits, 1, e.size), e.sized(limits)
	rows := u.chunkRows()
	w := e.operator.cost(operatorRows{limits.Batch, u.kept, rows})
	c.Weights = c.Inputs + float64(limits.Steps)*w.Weights
	c.Minibatch = e.matrix.Flops()
	c.Shared = w.Shared + int64(e.set.PackedSize(e.inputs, e.size, true))
	c.Pass += w.Pass + int64(kernel.PaddedSize(rows+evaluatedRows(e.size, limits), e.size)+
		kernel.ScratchSize(max(e.size, e.inputs), rows))
	c.Fork += w.Fork
	c.Inject = int64(e.set.PackedSize(e.size, e.inputs, false))
	return c
}

// elmanPass is a [Pass] of an [Elman] cell.
type elmanPass[F kernel.Float] struct {
	*unrolled[F]
	cell      *Elman[F]
	operator  operatorPass[F]
	input     projectionPass[F]
	evaluated kernel.Matrix[F] // the states of some steps whose history is not kept
	deltas    kernel.Matrix[F] // ∂L/∂(W h + M x + b) of the steps of one chunk
	later     kernel.Matrix[F] // that of the step after those that back has gone through
	slot      int              // its place in its chunk
}

// NewPass returns a pass for parts of minibatches.
func (e *Elman[F]) NewPass(limits Limits) Pass[F] {
	p := &elmanPass[F]{unrolled: e.newUnrolled(limits), cell: e}
	p.body, p.input = p, p.projection(&e.input)
	rows := p.chunkRows()
	p.deltas, p.evaluated = kernel.NewPadded[F](rows, e.size),
		kernel.NewPadded[F](evaluatedRows(e.size, limits), e.size)
	p.operator = e.operator.pass(operatorRows{limits.Batch, p.kept, rows}, nil)
	return p
}

// evaluatedRows is the number of states that are worked on together where no
// history is kept: few enough for the first-level cache, but two steps at least.
func evaluatedRows(n int, limits Limits) int {
	return max(2*limits.Batch, min(evaluatedValues/n, (limits.Steps+1)*limits.Batch))
}

func (p *elmanPass[F]) step(first, end int) {
	batch := p.in.Batch
	h, x := p.history.Slice(0, (end-first+1)*batch), p.in.X.Slice(first*batch, end*batch)
	p.operator.applySteps(h, x, &p.cell.input.packed, batch, p.cell.phi, true)
}

func (p *elmanPass[F]) evaluate(in Input[F]) {
	steps, batch, state := in.Steps, in.Batch, p.to[0]
	// A chunk's last state makes room for those of the next.
	stride := p.evaluated.Rows/batch - 1
	for first := 0; first < steps; first += stride {
		last := min(first+stride, steps)
		h := p.evaluated.Slice(0, (last-first+1)*batch)
		block(h, 0, batch).Fill(state)
		x := in.X.Slice(first*batch, last*batch)
		p.operator.applySteps(h, x, &p.cell.input.packed, batch, p.cell.phi, false)
		state.Fill(block(h, last-first, batch))
	}
}

// With δ(t) the gradient of the argument of φ at step t and g(t) the part of ∂L/∂h(t) that dout and
// dto hold,
//
//	δ(t) = (Wᵀ δ(t+1) + g(t)) ∘ φ'
//	∂L/∂W = Σ δ(t) h(t-1)ᵀ   ∂L/∂M = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//	∂L/∂h(0) = Wᵀ δ(1)
//
// where the sums run over steps and series.
func (p *elmanPass[F]) back(c chunk[F]) {
	batch, all := c.batch, c.dout.Data != nil
	from, to := c.rows()
	history, deltas := p.history.Slice(from, to+batch), p.deltas.Slice(0, to-from)
	for t := c.last - 1; t >= c.first; t-- {
		delta, out := block(deltas, t-c.first, batch), block(history, t-c.first+1, batch)
		if t == p.in.Steps-1 {
			p.operator.begin()
			p.cell.phi.derivative(p.set, delta, p.dstate[0], out)
		} else {
			if all {
				delta.Fill(block(c.dout, t, batch))
			}
			p.operator.transpose(delta, p.later, p.slot, epilogue[F]{add: all, phi: p.cell.phi, out: out})
		}
		p.later, p.slot = delta, t-c.first
		p.operator.project(p.later, p.slot)
		if !all && t > c.first { // the rest of the chunk at once
			before := p.history.Slice(max(from-batch, 0), from+batch)
			p.operator.transposeSteps(deltas.Slice(0, (p.slot+1)*batch), history.Slice(batch, (t-c.first+1)*batch),
				before, batch, p.cell.phi)
			p.later, p.slot = block(deltas, 0, batch), 0
			break
		}
	}
	if c.first == 0 {
		p.operator.transpose(p.dstate[0], p.later, p.slot, epilogue[F]{})
	}
}

func (p *elmanPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	deltas := p.deltas.Slice(0, to-from)
	p.operator.accumulate(deltas, p.history.Slice(from, to), from, &p.scratch)
	p.input.accumulate(c, deltas, false)
}
