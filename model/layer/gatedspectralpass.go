package layer

import (
	"sweep/model/kernel"
	"sweep/model/weight"
)

// gatedSpectralPass is a [Pass] of a [GatedSpectral] cell. Q is Vᵀ h in rows, P is σ ∘ g ∘ Q.
type gatedSpectralPass[F kernel.Float] struct {
	*unrolled[F]
	cell     *GatedSpectral[F]
	input    projectionPass[F]
	gate     gatesPass[F]
	gradient weight.Sides[F]

	// Of the steps of a segment, [retained × n].
	turned, gates kernel.Matrix[F] // Q and g

	// Of the steps of one chunk: P, the gradients of Q and of the arguments of φ and of the gate,
	// and what the factors of U and V make of gradients and states.
	scaled, dturned, deltas, dgates kernel.Matrix[F]
	dinnerU, dinnerV                kernel.Matrix[F] // [chunk × m1] and [chunk × m2]
	innerU, innerV                  kernel.Matrix[F]

	// Of one step.
	stepTurned, stepGates, stepScaled kernel.Matrix[F]
	stepU, stepV                      kernel.Matrix[F]
}

// NewPass returns a pass for parts of minibatches.
func (g *GatedSpectral[F]) NewPass(limits Limits) Pass[F] {
	p := &gatedSpectralPass[F]{unrolled: g.newUnrolled(limits), cell: g}
	n := g.size
	m1, m2 := g.matrix.Reflectors()
	p.body, p.input, p.gate = p, p.projection(&g.input), p.unrolled.gates(&g.gate)
	p.gradient = weight.NewSides[F](n, m1, m2)
	for _, m := range []*kernel.Matrix[F]{&p.turned, &p.gates} {
		*m = kernel.NewPadded[F](p.retained, n)
	}
	rows := p.chunkRows()
	for _, m := range []*kernel.Matrix[F]{&p.scaled, &p.dturned, &p.deltas, &p.dgates} {
		*m = kernel.NewPadded[F](rows, n)
	}
	for _, m := range []*kernel.Matrix[F]{&p.stepTurned, &p.stepGates, &p.stepScaled} {
		*m = kernel.NewPadded[F](limits.Batch, n)
	}
	p.innerU, p.dinnerU, p.stepU = kernel.NewPadded[F](rows, m1), kernel.NewPadded[F](rows, m1),
		kernel.NewPadded[F](limits.Batch, m1)
	p.innerV, p.dinnerV, p.stepV = kernel.NewPadded[F](rows, m2), kernel.NewPadded[F](rows, m2),
		kernel.NewPadded[F](limits.Batch, m2)
	g.gated = append(g.gated, p)
	return p
}

func (p *gatedSpectralPass[F]) evaluate(in Input[F]) {
	batch, h := in.Batch, p.to[0]
	for t := range in.Steps {
		p.one(p.stepTurned.Slice(0, batch), p.stepGates.Slice(0, batch), block(in.X, t, batch), h, h)
	}
}

func (p *gatedSpectralPass[F]) step(first, end int) {
	batch := p.in.Batch
	for t := range end - first {
		p.one(block(p.turned, t, batch), block(p.gates, t, batch), block(p.in.X, first+t, batch),
			block(p.history, t, batch), block(p.history, t+1, batch))
	}
}

// one does one time step. next may be h.
func (p *gatedSpectralPass[F]) one(turned, gates, x, h, next kernel.Matrix[F]) {
	c, batch := p.cell, h.Rows
	p.set.MultiplySum(gates, kernel.Sum[F]{X: x, M: &c.gate.packed, A: h, B: c.gate.right})
	for i := range batch {
		p.set.Sigmoid(gates.Row(i), gates.Row(i))
	}
	inner := p.stepV.Slice(0, batch)
	p.set.Multiply(inner, h, &c.v.left)
	p.set.MultiplySum(turned, kernel.Sum[F]{A: inner, B: &c.v.rightT, H: h})

	scaled, inner := p.stepScaled.Slice(0, batch), p.stepU.Slice(0, batch)
	p.scale(scaled, turned, gates)
	p.set.Multiply(inner, scaled, &c.u.right)
	p.set.MultiplyActivate(next, kernel.Sum[F]{X: x, M: &c.input.packed, A: inner, B: &c.u.leftT, H: scaled},
		c.phi.activation, c.phi.slope)
}

// scale is P = σ ∘ g ∘ Q.
func (p *gatedSpectralPass[F]) scale(scaled, turned, gates kernel.Matrix[F]) {
	for i := range scaled.Rows {
		to, g, q := scaled.Row(i), gates.Row(i), turned.Row(i)
		for j, sigma := range p.cell.sides.Sigma {
			to[j] = sigma * q[j] * g[j]
		}
	}
}

// With δ(t) the gradient of φ's argument, those of P, of Q and of the gate's argument are
//
//	∂L/∂P = Uᵀ δ      ∂L/∂Q = σ ∘ g ∘ ∂L/∂P      γ = σ ∘ Q ∘ g ∘ (1 - g) ∘ ∂L/∂P
//	∂L/∂h(t-1) = V ∂L/∂Q + W_gᵀ γ + what dout holds
//	∂L/∂σ = Σ g ∘ Q ∘ ∂L/∂P
func (p *gatedSpectralPass[F]) back(c chunk[F]) {
	if c.last == p.in.Steps {
		clear(p.gradient.Sigma)
		for _, side := range []weight.Side[F]{p.gradient.U, p.gradient.V} {
			side.Left.Clear()
			side.Right.Clear()
		}
	}
	cell, batch, dstate := p.cell, c.batch, p.dstate[0]
	for t := c.last - 1; t >= c.first; t-- {
		place, at := t-c.segment, t-c.first
		delta, dturned, dgates := block(p.deltas, at, batch), block(p.dturned, at, batch), block(p.dgates, at, batch)
		inner := block(p.dinnerU, at, batch)
		cell.phi.derivative(p.set, delta, dstate, block(p.history, place+1, batch))
		p.set.Multiply(inner, delta, &cell.u.left)
		p.set.MultiplySum(dturned, kernel.Sum[F]{A: inner, B: &cell.u.rightT, H: delta})
		p.unscale(block(p.scaled, at, batch), dturned, dgates, block(p.turned, place, batch),
			block(p.gates, place, batch))

		inner = block(p.dinnerV, at, batch)
		p.set.Multiply(inner, dturned, &cell.v.right)
		p.set.MultiplySum(dstate, kernel.Sum[F]{A: inner, B: &cell.v.leftT, H: dturned})
		p.set.MultiplyAdd(dstate, dgates, cell.gate.left)
		c.addOutput(p.set, dstate, t)
	}
}

// unscale goes back over scale: the gradient of P becomes that of Q.
func (p *gatedSpectralPass[F]) unscale(scaled, gradient, dgates, turned, gates kernel.Matrix[F]) {
	for i := range scaled.Rows {
		to, d, dg, g, q := scaled.Row(i), gradient.Row(i), dgates.Row(i), gates.Row(i), turned.Row(i)
		dsigma := p.gradient.Sigma
		for j, sigma := range p.cell.sides.Sigma {
			gated := q[j] * g[j]
			change := d[j] * gated
			to[j] = sigma * gated
			dsigma[j] += change
			dg[j] = sigma * change * (1 - g[j])
			d[j] *= sigma * g[j]
		}
	}
}

func (p *gatedSpectralPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	rows := to - from
	h, scaled, dturned := p.history.Slice(from, to), p.scaled.Slice(0, rows), p.dturned.Slice(0, rows)
	deltas, dgates := p.deltas.Slice(0, rows), p.dgates.Slice(0, rows)
	inner := p.innerU.Slice(0, rows)
	p.set.Multiply(inner, scaled, &p.cell.u.right)
	p.set.TransposedAdd(p.gradient.U.Left, deltas, inner, &p.scratch)
	p.set.TransposedAdd(p.gradient.U.Right, scaled, p.dinnerU.Slice(0, rows), &p.scratch)
	inner = p.innerV.Slice(0, rows)
	p.set.Multiply(inner, h, &p.cell.v.left)
	p.set.TransposedAdd(p.gradient.V.Left, h, p.dinnerV.Slice(0, rows), &p.scratch)
	p.set.TransposedAdd(p.gradient.V.Right, dturned, inner, &p.scratch)
	p.input.accumulate(c, deltas, false)
	p.gate.accumulate(c, h, dgates, true)
}
