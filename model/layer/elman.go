package layer

import (
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
	transition[F]
	operator operator[F]
}

// ElmanOptions are the choices of an [Elman] cell.
type ElmanOptions struct {
	CellOptions
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	Operator   OperatorKind      // how W is applied
	Start      weight.Start      // of W; "" is the matrix's usual one
}

// NewElman declares the tensors "M" [n_i × n] (that is, transposed: x M), "b"
// and "h0". The matrix has declared its own.
func NewElman[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F],
	options ElmanOptions) (*Elman[F], error) {
	base, err := newTransition(set, matrix, options.Start, options.CellOptions, options.Activation, options.Slope, 1, 2)
	if err != nil {
		return nil, err
	}
	e := &Elman[F]{transition: base}
	if e.operator, err = newOperator(set, matrix, nil, options.Operator); err != nil {
		return nil, err
	}
	e.form = e.operator
	e.input = e.declareProjection(arena, "M", "b", e.size)
	e.declareInitial(arena, "h0")
	return e, nil
}

// Cost counts W as it is applied.
func (e *Elman[F]) Cost(limits Limits) Cost {
	c, u := e.cost(limits, e.size)
	c.Pass += int64(kernel.PaddedSize(u.chunkRows()+evaluatedRows(e.size, limits), e.size))
	return c
}

// elmanPass is a [Pass] of an [Elman] cell.
type elmanPass[F kernel.Float] struct {
	*unrolled[F]
	cell      *Elman[F]
	operator  operatorPass[F]
	input     projectionPass[F]
	evaluated kernel.Matrix[F] // the states of some steps whose history is not retained
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
	p.operator = e.operator.pass(operatorRows{limits.Batch, p.retained, rows}, nil)
	return p
}

// evaluatedRows is the number of states that are worked on together where no
// history is retained: few enough for the first-level cache, but two steps at least.
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
			if c.watched != nil { // without φ', and in memory that is free until the first step
				p.transposed(c, t)
			}
			if all {
				delta.Fill(block(c.dout, t, batch))
			}
			p.operator.transpose(delta, p.later, p.slot, epilogue[F]{add: all, phi: p.cell.phi, out: out})
		}
		p.later, p.slot = delta, t-c.first
		p.operator.project(p.later, p.slot)
		if !all && t > c.first && c.watched == nil { // the rest of the chunk at once
			before := p.history.Slice(max(from-batch, 0), from+batch)
			p.operator.transposeSteps(deltas.Slice(0, (p.slot+1)*batch), history.Slice(batch, (t-c.first+1)*batch),
				before, batch, p.cell.phi)
			p.later, p.slot = block(deltas, 0, batch), 0
			break
		}
	}
	if c.first == 0 {
		p.operator.transpose(p.dstate[0], p.later, p.slot, epilogue[F]{})
		c.watch(p.set, p.dstate[0], 0)
	}
}

// transposed finds ∂L/∂h after step t for a watcher.
func (p *elmanPass[F]) transposed(c chunk[F], t int) {
	g := p.dstate[0]
	if c.dout.Data != nil {
		g.Fill(block(c.dout, t, c.batch))
	}
	p.operator.transpose(g, p.later, p.slot, epilogue[F]{add: c.dout.Data != nil})
	c.watch(p.set, g, t+1)
}

func (p *elmanPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	deltas := p.deltas.Slice(0, to-from)
	p.operator.accumulate(deltas, p.history.Slice(from, to), from, &p.scratch)
	p.input.accumulate(c, deltas, false)
}
