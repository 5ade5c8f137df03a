package layer

import (
	"context"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// ScalarGated is the simple recurrent cell with a weighted residual connection,
// FastRNN (Kusupati et al. 2019) with a dense U and SGORNN (equation 1 of its paper)
// with an orthogonal one:
//
//	h(t) = α φ(U h(t-1) + M x(t) + b) + β h(t-1)
//
// with α = sigmoid(α̂) and β = sigmoid(β̂), of which SGORNN takes min(β, 1 - 2α)
// (equation 3) in every forward pass, and 0 where that is negative: no parameter is ever
// projected. Where the bound holds β̂ has no gradient and α̂ has that of the bound, too;
// where β is 0 neither has a gradient from it.
type ScalarGated[F kernel.Float] struct {
	transition[F]
	options           ScalarGatedOptions
	u                 *dense[F] // the operator
	alphaHat, betaHat *weight.View[F]

	// At the last Load; a scalar for every unit.
	alpha, beta []F
	bounded     bool // β is 1 - 2α, or 0
	gated       []*scalarGatedPass[F]
}

// ScalarGatedOptions are the choices of a [ScalarGated] cell.
type ScalarGatedOptions struct {
	CellOptions
	Activation  kernel.Activation // φ
	Slope       float64           // of a leaky ReLU below 0, from 0 to 1
	Bound       bool              // β is at most 1 - 2α, and at least 0
	Start       weight.Start      // of U; "" is the matrix's usual one
	Alpha, Beta float64           // the starts of α̂ and β̂
}

// NewScalarGated declares the tensors "M" [n_i × n], "b", "alpha_hat", "beta_hat" and
// "h0". The matrix, which is square, has declared its own.
func NewScalarGated[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F],
	options ScalarGatedOptions) (*ScalarGated[F], error) {
	base, err := newTransition(set, matrix, options.Start, options.CellOptions, options.Activation, options.Slope, 2, 1)
	if err != nil {
		return nil, err
	}
	n := base.size
	s := &ScalarGated[F]{transition: base, options: options, u: newDense(set, matrix, nil), alpha: make([]F, n),
		beta: make([]F, n)}
	s.form = s.u
	s.input = s.declareProjection(arena, "M", "b", n)
	s.alphaHat, s.betaHat = arena.Declare("alpha_hat", 1, 1), arena.Declare("beta_hat", 1, 1)
	s.declareInitial(arena, "h0")
	return s, nil
}

// Init sets U to its start, M to N(0, s²/n_i), α̂ and β̂ to theirs, the rest to 0.
func (s *ScalarGated[F]) Init(ctx context.Context, source *random.Source) error {
	s.alphaHat.Value[0], s.betaHat.Value[0] = F(s.options.Alpha), F(s.options.Beta)
	return s.transition.Init(ctx, source)
}

// Gates returns α and β of the present parameters, and whether β is at a bound.
func (s *ScalarGated[F]) Gates() (alpha, beta float64, bounded bool) {
	alpha, beta = sigmoid(s.alphaHat.Value[0]), sigmoid(s.betaHat.Value[0])
	if s.options.Bound && beta > 1-2*alpha {
		return alpha, max(1-2*alpha, 0), true
	}
	return alpha, beta, false
}

func sigmoid[F kernel.Float](x F) float64 { return 1 / (1 + math.Exp(-float64(x))) }

// Load forms and packs U and M and computes the gates.
func (s *ScalarGated[F]) Load() {
	s.transition.Load()
	alpha, beta, bounded := s.Gates()
	for i := range s.alpha {
		s.alpha[i], s.beta[i] = F(alpha), F(beta)
	}
	s.bounded = bounded
}

// Join adds the gradients of the first passes, those of the gates through
// ∂α/∂α̂ = α(1-α), likewise β, and ∂β/∂α = -2 at the upper bound.
func (s *ScalarGated[F]) Join(used int) {
	s.transition.Join(used)
	dalpha, dbeta := 0.0, 0.0
	for _, p := range s.gated[:used] {
		for i := range p.dalpha {
			dalpha += float64(p.dalpha[i])
			dbeta += float64(p.dbeta[i])
		}
	}
	alpha, beta := float64(s.alpha[0]), float64(s.beta[0])
	switch {
	case !s.bounded:
		s.betaHat.Gradient[0] += F(dbeta * beta * (1 - beta))
	case beta > 0:
		dalpha -= 2 * dbeta
	}
	s.alphaHat.Gradient[0] += F(dalpha * alpha * (1 - alpha))
}

// Cost counts U.
func (s *ScalarGated[F]) Cost(limits Limits) Cost {
	n := s.size
	c, u := s.cost(limits, 2*n)
	c.Shared += int64(2 * n)
	c.Pass += int64(2*n + kernel.PaddedSize(u.retained+2*limits.Batch+u.chunkRows(), n))
	return c
}

// scalarGatedPass is a [Pass] of a [ScalarGated] cell.
type scalarGatedPass[F kernel.Float] struct {
	*unrolled[F]
	cell          *ScalarGated[F]
	u             operatorPass[F]
	input         projectionPass[F]
	dalpha, dbeta []F // ∂L/∂α and ∂L/∂β, by units

	activations kernel.Matrix[F] // φ(·) of the steps of a segment
	activation  kernel.Matrix[F] // of a step whose history is not retained
	spare       kernel.Matrix[F] // the state after it
	deltas      kernel.Matrix[F] // the gradients of φ's argument in the steps of one chunk
}

// NewPass returns a pass for parts of minibatches.
func (s *ScalarGated[F]) NewPass(limits Limits) Pass[F] {
	p := &scalarGatedPass[F]{unrolled: s.newUnrolled(limits), cell: s, u: s.u.pass(operatorRows{}, nil),
		dalpha: make([]F, s.size), dbeta: make([]F, s.size)}
	p.body, p.input = p, p.projection(&s.input)
	p.activations, p.activation, p.spare = kernel.NewPadded[F](p.retained, s.size),
		kernel.NewPadded[F](limits.Batch, s.size), kernel.NewPadded[F](limits.Batch, s.size)
	p.deltas = kernel.NewPadded[F](p.chunkRows(), s.size)
	s.gated = append(s.gated, p)
	return p
}

func (p *scalarGatedPass[F]) evaluate(in Input[F]) {
	activation := p.activation.Slice(0, in.Batch)
	for t := range in.Steps {
		next := p.spare.Slice(0, in.Batch)
		p.one(activation, block(in.X, t, in.Batch), p.to[0], next, [2][]F{})
		p.to[0], p.state[0], p.spare = next, p.spare, p.state[0]
	}
}

func (p *scalarGatedPass[F]) step(first, end int) {
	batch := p.in.Batch
	x := p.in.X.Slice(first*batch, end*batch)
	for t := range end - first {
		p.one(block(p.activations, t, batch), block(x, t, batch), block(p.history, t, batch),
			block(p.history, t+1, batch),
			memories(following(p.activations, (t+1)*batch, batch), following(p.history, (t+2)*batch, batch)))
	}
}

// one does one time step. What it is given last is needed in the next one.
func (p *scalarGatedPass[F]) one(activation, x, h, next kernel.Matrix[F], needed [2][]F) {
	c := p.cell
	sum := kernel.Sum[F]{X: x, M: &c.input.packed, A: h, B: &c.u.right, Prefetch: needed}
	p.set.MultiplyGate(activation, sum, c.phi.activation, c.phi.slope, next, h, c.alpha[0], c.beta[0])
}

// With g(t) = ∂L/∂h(t), f(t) the output of φ and δ(t) the gradient of its argument,
//
//	δ(t) = α g(t) ∘ φ'      g(t-1) = Uᵀ δ(t) + β g(t) + what dout holds
//	∂L/∂U = Σ δ(t) h(t-1)ᵀ   ∂L/∂M = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//	∂L/∂α = Σ g(t)·f(t)      ∂L/∂β = Σ g(t)·h(t-1)
//
// where the sums run over steps and sequences.
func (p *scalarGatedPass[F]) back(c chunk[F]) {
	if c.last == p.in.Steps {
		p.u.begin()
		clear(p.dalpha)
		clear(p.dbeta)
	}
	s, batch, g := p.cell, c.batch, p.dstate[0]
	for t := c.last - 1; t >= c.first; t-- {
		place := t - c.segment
		delta, activation, before := block(p.deltas, t-c.first, batch), block(p.activations, place, batch),
			block(p.history, place, batch)
		p.set.ScalarGateBackward(delta, g, activation, before, p.dalpha, p.dbeta, s.alpha[0],
			s.phi.activation, s.phi.slope)
		p.set.MultiplySum(g, kernel.Sum[F]{
			A: delta, B: &s.u.left, H: g, D: s.beta,
			Prefetch: memories(preceding(p.activations, place*batch, batch), preceding(p.history, place*batch, batch)),
		})
		c.addOutput(p.set, g, t)
	}
}

func (p *scalarGatedPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	deltas := p.deltas.Slice(0, to-from)
	p.u.accumulate(deltas, p.history.Slice(from, to), from, &p.scratch)
	p.input.accumulate(c, deltas, false)
}
