package layer

import (
	"context"
	"math"

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
	gate, candidate gruPart[F] // z and r; h̃
}

// gruPart is the weights of one or two gates.
type gruPart[F kernel.Float] struct {
	projection[F]
	w           *weight.View[F]
	right, left kernel.Packed[F] // W, Wᵀ
}

// GRUOptions are the choices of a [GRU] cell.
type GRUOptions struct {
	Inputs     int  // n_i
	Size       int  // n
	FixedStart bool // h(0) is 0 instead of trained
	Every      bool // there is an output for every step, not for the last alone

	Start      weight.Start // of each gate's W; "" is Gaussian
	InputScale float64      // s: each U starts from N(0, s²/n_i)
}

// NewGRU declares the tensors "U_zr" [n_i × 2n], "W_zr" [n × 2n] and "b_zr"
// [2n], gates in columns in the order z, r, "U_h" [n_i × n], "W_h" [n × n],
// "b_h" and "h0".
func NewGRU[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options GRUOptions) (*GRU[F], error) {
	n := options.Size
	base, err := newRecurrent(set, options.Inputs, n, 3, 1, options.Every)
	if err != nil {
		return nil, err
	}
	g := &GRU[F]{recurrent: base, options: options}
	part := func(p *gruPart[F], name string, width int) {
		p.u = g.declare(arena, "U_"+name, options.Inputs, width)
		p.w = g.declare(arena, "W_"+name, n, width)
		p.b = g.declare(arena, "b_"+name, 1, width)
	}
	part(&g.gate, "zr", 2*n)
	part(&g.candidate, "h", n)
	g.declareInitial(arena, "h0", options.FixedStart)
	return g, nil
}

// Init draws each gate's W from N(0, 1/n), or makes it orthogonal, and U from
// N(0, s²/n_i), and sets the rest to 0.
func (g *GRU[F]) Init(ctx context.Context, source *random.Source) error {
	for _, p := range []*gruPart[F]{&g.gate, &g.candidate} {
		if err := startGates(ctx, g.set, p.w, g.options.Start, source); err != nil {
			return err
		}
		random.Gaussian(p.u.Value, g.options.InputScale/math.Sqrt(float64(g.inputs)), source)
		clear(p.b.Value)
	}
	g.clearInitial()
	return nil
}

// Load packs the weights.
func (g *GRU[F]) Load() {
	g.gate.load(g.set)
	g.candidate.load(g.set)
}

func (p *gruPart[F]) load(set *kernel.Set[F]) {
	p.projection.load(set)
	set.Pack(&p.right, p.w.Matrix())
	set.PackTransposed(&p.left, p.w.Matrix())
}

// Join adds the gradients of the first passes.
func (g *GRU[F]) Join(used int) { g.join(used) }

// Constrain does nothing: all parameters are free.
func (g *GRU[F]) Constrain(float64) {}

// Cost counts three gates.
func (g *GRU[F]) Cost(limits Limits) Cost {
	c := g.cost(limits, 3, 5*g.size)
	u, n := g.sized(limits), g.size
	for _, width := range []int{2 * n, n} { // of z and r, and of the candidate
		c.Shared += int64(g.set.PackedSize(g.inputs, width, true) + g.set.PackedSize(n, width, false) +
			g.set.PackedSize(width, n, false))
		c.Inject += int64(g.set.PackedSize(width, g.inputs, false))
	}
	rows := u.kept + limits.Batch
	c.Pass += int64(kernel.PaddedSize(rows, 2*n) + 2*kernel.PaddedSize(rows, n) +
		kernel.ScratchSize(max(n, g.inputs), u.chunkRows()))
	return c
}

// gruPass is a [Pass] of a [GRU] cell.
type gruPass[F kernel.Float] struct {
	*unrolled[F]
	cell            *GRU[F]
	gate, candidate gruGradients[F]

	// Of the steps of a segment.
	gates      kernel.Matrix[F] // [kept × 2n]: z, r; after Backward their arguments' gradients
	candidates kernel.Matrix[F] // [kept × n]: h̃; likewise
	resets     kernel.Matrix[F] // [kept × n]: r ∘ h(t-1), made by Backward

	// Of one step whose history is not kept; stepReset serves the others, too.
	stepGates, stepCandidate, stepReset kernel.Matrix[F]
}

// gruGradients are the weights of a [gruPart] with a pass's gradients.
type gruGradients[F kernel.Float] struct {
	projectionPass[F]
	w *weight.View[F]
}

// NewPass returns a pass for parts of minibatches.
func (g *GRU[F]) NewPass(limits Limits) Pass[F] {
	p := &gruPass[F]{unrolled: g.newUnrolled(limits), cell: g}
	n, batch := g.size, limits.Batch
	p.body = p
	p.gate = gruGradients[F]{p.projection(&g.gate.projection), p.gradient(g.gate.w)}
	p.candidate = gruGradients[F]{p.projection(&g.candidate.projection), p.gradient(g.candidate.w)}
	p.gates, p.candidates, p.resets = kernel.NewPadded[F](p.kept, 2*n), kernel.NewPadded[F](p.kept, n),
		kernel.NewPadded[F](p.kept, n)
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
	p.set.MultiplySum(gates, kernel.Sum[F]{X: x, M: &z.packed, A: h, B: &z.right, Prefetch: memories(nextGates)})
	p.set.GRUGates(gates, h, reset)
	p.set.MultiplySum(candidate, kernel.Sum[F]{
		X: x, M: &c.packed, A: reset, B: &c.right, Prefetch: memories(nextCandidate),
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
			A: candidate, B: &p.cell.candidate.left, Prefetch: memories(preceding(p.candidates, place*batch, batch)),
		})
		p.set.GRUGatesBackward(gates, before, reset, dstate)
		p.set.MultiplySum(dstate, kernel.Sum[F]{
			A: gates, B: &p.cell.gate.left, H: dstate,
			Prefetch: memories(preceding(p.gates, place*batch, batch), preceding(p.resets, place*batch, batch)),
		})
		c.addOutput(p.set, dstate, t)
	}
}

func (p *gruPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	gates, candidates := p.gates.Slice(from, to), p.candidates.Slice(from, to)
	p.set.TransposedAdd(p.gate.w.GradientMatrix(), p.history.Slice(from, to), gates, &p.scratch)
	p.gate.accumulate(c, gates, false)
	p.set.TransposedAdd(p.candidate.w.GradientMatrix(), p.resets.Slice(from, to), candidates, &p.scratch)
	p.candidate.accumulate(c, candidates, true)
}
