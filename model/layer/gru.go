package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// GRU is the gated recurrent unit (Cho et al. 2014), whose reset gate acts on
// the state before its product:
//
//	z    = sigmoid(U_z x(t) + W_z h(t-1) + b_z)
//	r    = sigmoid(U_r x(t) + W_r h(t-1) + b_r)
//	h̃    = tanh(U_h x(t) + W_h (r ∘ h(t-1)) + b_h)
//	h(t) = (1 - z) ∘ h(t-1) + z ∘ h̃
//
// It has 3(n_i + n + 1)n parameters and n more for a trained h(0).
type GRU[F kernel.Float] struct {
	recurrent[F]
	options         GRUOptions
	gate, candidate gates[F] // z and r; h̃
}

// GRUOptions are the choices of a [GRU] cell.
type GRUOptions struct {
	CellOptions
	Size  int          // n
	Start weight.Start // of the gates' W; "" is Gaussian
	Scale float64      // of that start; 0 is 1
}

// NewGRU declares the tensors "U_zr" [n_i × 2n], "W_zr" [n × 2n] and "b_zr"
// [2n], gates in columns in the order z, r, "U_h" [n_i × n], "W_h" [n × n],
// "b_h" and "h0".
func NewGRU[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options GRUOptions) (*GRU[F], error) {
	n := options.Size
	base, err := newRecurrent(set, options.CellOptions, n, 3, 1)
	if err != nil {
		return nil, err
	}
	g := &GRU[F]{recurrent: base, options: options}
	g.gate = g.declareGates(arena, "_zr", 2*n)
	g.candidate = g.declareGates(arena, "_h", n)
	g.declareInitial(arena, "h0")
	return g, nil
}

// Init draws each gate's W from N(0, 1/n), or makes it orthogonal, or all of them
// together, and U from N(0, s²/n_i), and sets the rest to 0.
func (g *GRU[F]) Init(ctx context.Context, source *random.Source) error {
	if err := g.initGates(ctx, g.options.Start, g.options.Scale, source, &g.gate, &g.candidate); err != nil {
		return err
	}
	g.clearInitial()
	return nil
}

// Load packs the weights.
func (g *GRU[F]) Load() {
	g.gate.load(g.set)
	g.candidate.load(g.set)
}

// Cost counts three gates.
func (g *GRU[F]) Cost(limits Limits) Cost {
	n := g.size
	c, u := g.cost(limits, 3, 5*n)
	g.addGates(&c, 2*n)
	g.addGates(&c, n)
	rows := u.retained + limits.Batch
	c.Pass += int64(kernel.PaddedSize(rows, 2*n) + 2*kernel.PaddedSize(rows, n))
	return c
}

// gruPass is a [Pass] of a [GRU] cell.
type gruPass[F kernel.Float] struct {
	*unrolled[F]
	cell            *GRU[F]
	gate, candidate gatesPass[F]

	// Of the steps of a segment.
	gates      kernel.Matrix[F] // [retained × 2n]: z, r; after Backward their arguments' gradients
	candidates kernel.Matrix[F] // [retained × n]: h̃; likewise
	resets     kernel.Matrix[F] // [retained × n]: r ∘ h(t-1), made by Backward

	// Of one step whose history is not retained; stepReset serves the others, too.
	stepGates, stepCandidate, stepReset kernel.Matrix[F]
}

// NewPass returns a pass for parts of minibatches.
func (g *GRU[F]) NewPass(limits Limits) Pass[F] {
	p := &gruPass[F]{unrolled: g.newUnrolled(limits), cell: g}
	n, batch := g.size, limits.Batch
	p.body, p.gate, p.candidate = p, p.unrolled.gates(&g.gate), p.unrolled.gates(&g.candidate)
	p.gates, p.candidates, p.resets = kernel.NewPadded[F](p.retained, 2*n), kernel.NewPadded[F](p.retained, n),
		kernel.NewPadded[F](p.retained, n)
	p.stepGates, p.stepCandidate, p.stepReset = kernel.NewPadded[F](batch, 2*n), kernel.NewPadded[F](batch, n),
		kernel.NewPadded[F](batch, n)
	return p
}

func (p *gruPass[F]) evaluate(in Input[F]) {
	batch, h := in.Batch, p.to[0]
	gates, candidate, reset := p.stepGates.Slice(0, batch), p.stepCandidate.Slice(0, batch), p.stepReset.Slice(0, batch)
	for t := range in.Steps {
		p.one(gates, candidate, reset, block(in.X, t, batch), h, h, kernel.Matrix[F]{}, kernel.Matrix[F]{})
	}
}

func (p *gruPass[F]) step(first, end int) {
	steps, batch := end-first, p.in.Batch
	h, x := p.history, p.in.X.Slice(first*batch, end*batch)
	reset := p.stepReset.Slice(0, batch)
	for t := range steps {
		p.one(block(p.gates, t, batch), block(p.candidates, t, batch), reset,
			block(x, t, batch), block(h, t, batch), block(h, t+1, batch),
			following(p.gates, (t+1)*batch, batch), following(p.candidates, (t+1)*batch, batch))
	}
}

// one does one time step. What it is given last is needed in the next one.
func (p *gruPass[F]) one(gates, candidate, reset, x, h, next, nextGates, nextCandidate kernel.Matrix[F]) {
	z, c := &p.cell.gate, &p.cell.candidate
	p.set.MultiplySum(gates, kernel.Sum[F]{X: x, M: &z.packed, A: h, B: z.right, Prefetch: memories(nextGates)})
	p.set.GRUGates(gates, h, reset)
	p.set.MultiplySum(candidate, kernel.Sum[F]{
		X: x, M: &c.packed, A: reset, B: c.right, Prefetch: memories(nextCandidate),
	})
	p.set.GRUBlend(gates, candidate, h, next)
}

// See [kernel.Set.GRUBlendBackward] and [kernel.Set.GRUGatesBackward] for the gates.
func (p *gruPass[F]) back(c chunk[F]) {
	batch, dstate := c.batch, p.dstate[0]
	for t := c.last - 1; t >= c.first; t-- {
		place := t - c.segment
		gates, candidate, reset := block(p.gates, place, batch), block(p.candidates, place, batch),
			block(p.resets, place, batch)
		before := block(p.history, place, batch)
		p.set.GRUBlendBackward(gates, candidate, before, dstate)
		p.set.MultiplySum(reset, kernel.Sum[F]{
			A: candidate, B: p.cell.candidate.left, Prefetch: memories(preceding(p.candidates, place*batch, batch)),
		})
		p.set.GRUGatesBackward(gates, before, reset, dstate)
		p.set.MultiplySum(dstate, kernel.Sum[F]{
			A: gates, B: p.cell.gate.left, H: dstate,
			Prefetch: memories(preceding(p.gates, place*batch, batch), preceding(p.resets, place*batch, batch)),
		})
		c.addOutput(p.set, dstate, t)
	}
}

func (p *gruPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	p.gate.accumulate(c, p.history.Slice(from, to), p.gates.Slice(from, to), false)
	p.candidate.accumulate(c, p.resets.Slice(from, to), p.candidates.Slice(from, to), true)
}
