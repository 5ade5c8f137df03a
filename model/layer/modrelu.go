package layer

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// ModReLU is the simple recurrent cell of complex numbers, uRNN with a unitary matrix (Arjovsky,
// Shah and Bengio 2016, eq. 8 and §4.2):
//
//	h(t) = modReLU(z)      z = W h(t-1) + M x(t)
//	modReLU(z) = z max(0, 1 + b / |z|)
//
// The state of n complex numbers is a row of 2n real ones, all real parts first; W is a real matrix
// of that size, and b has n elements. |z| is √(Re² z + Im² z + 1e-5), which has a derivative at 0.
type ModReLU[F kernel.Float] struct {
	transition[F]
	w complexOperator[F]
	b *weight.View[F] // [n]
}

// ModReLUOptions are the choices of a [ModReLU] cell.
type ModReLUOptions struct {
	CellOptions
	Operator OperatorKind // how W is applied
	Start    weight.Start // of W; "" is the matrix's usual one
}

// smallestModulus is added to the square of a modulus.
const smallestModulus = 1e-5

// NewModReLU declares the tensors "M" [n_i × 2n] (that is, transposed), "b" [n] and "h0" [2n]. The
// matrix, [2n × 2n], has declared its own.
func NewModReLU[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F],
	options ModReLUOptions) (*ModReLU[F], error) {
	base, err := newTransition(set, matrix, options.Start, options.CellOptions, kernel.Linear, 0, 2, 1)
	if err != nil {
		return nil, err
	}
	if base.size%2 != 0 {
		return nil, fmt.Errorf("layer: a state of %d numbers: want an even one, of real and imaginary parts", base.size)
	}
	m := &ModReLU[F]{transition: base}
	if m.w, err = newComplexOperator(set, matrix, options.Operator); err != nil {
		return nil, err
	}
	m.form = m.w
	m.input = m.declareUnbiased(arena, "M", m.size)
	m.b = m.declare(arena, "b", 1, m.size/2)
	m.declareInitial(arena, "h0")
	return m, nil
}

// Init sets W to its start, M to N(0, s²/n_i), the rest to 0.
func (m *ModReLU[F]) Init(ctx context.Context, source *random.Source) error {
	clear(m.b.Value)
	return m.transition.Init(ctx, source)
}

// Cost counts W.
func (m *ModReLU[F]) Cost(limits Limits) Cost {
	c, u := m.cost(limits, 2*m.size)
	c.Pass += int64(kernel.PaddedSize(u.retained+limits.Batch+u.chunkRows(), m.size))
	return c
}

// modReLUPass is a [Pass] of a [ModReLU] cell.
type modReLUPass[F kernel.Float] struct {
	*unrolled[F]
	cell   *ModReLU[F]
	w      complexPass[F]
	input  projectionPass[F]
	b      *weight.View[F]  // with the pass's gradient
	sums   kernel.Matrix[F] // z of the steps of a segment
	sum    kernel.Matrix[F] // of a step whose history is not retained
	deltas kernel.Matrix[F] // the gradients of z in the steps of one chunk
}

// NewPass returns a pass for parts of minibatches.
func (m *ModReLU[F]) NewPass(limits Limits) Pass[F] {
	p := &modReLUPass[F]{unrolled: m.newUnrolled(limits), cell: m, w: m.w.complexPass()}
	p.body, p.input, p.b = p, p.projection(&m.input), p.gradient(m.b)
	p.sums, p.sum = kernel.NewPadded[F](p.retained, m.size), kernel.NewPadded[F](limits.Batch, m.size)
	p.deltas = kernel.NewPadded[F](p.chunkRows(), m.size)
	return p
}

func (p *modReLUPass[F]) evaluate(in Input[F]) {
	for t := range in.Steps {
		p.one(p.sum.Slice(0, in.Batch), block(in.X, t, in.Batch), p.to[0], p.to[0])
	}
}

func (p *modReLUPass[F]) step(first, end int) {
	batch := p.in.Batch
	for t := range end - first {
		p.one(block(p.sums, t, batch), block(p.in.X, first+t, batch), block(p.history, t, batch),
			block(p.history, t+1, batch))
	}
}

// one does one time step. next may be h.
func (p *modReLUPass[F]) one(sum, x, h, next kernel.Matrix[F]) {
	p.w.sum(sum, h, x, &p.cell.input.packed)
	p.set.ModReLU(next, sum, p.b.Value, smallestModulus)
}

// With δ = ∂L/∂z of modReLU's backward pass ∂L/∂h(t-1) is Wᵀ δ + what dout holds.
func (p *modReLUPass[F]) back(c chunk[F]) {
	if c.last == p.in.Steps {
		p.w.begin()
	}
	batch, g := c.batch, p.dstate[0]
	for t := c.last - 1; t >= c.first; t-- {
		delta := block(p.deltas, t-c.first, batch)
		p.set.ModReLUBackward(delta, g, block(p.sums, t-c.segment, batch), p.b.Value, p.b.Gradient, smallestModulus)
		p.w.back(g, delta, block(p.history, t-c.segment, batch))
		c.addOutput(p.set, g, t)
	}
}

func (p *modReLUPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	deltas := p.deltas.Slice(0, to-from)
	p.w.accumulate(deltas, p.history.Slice(from, to), from, &p.scratch)
	p.input.accumulate(c, deltas, false)
}
