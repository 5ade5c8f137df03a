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
	recurrent[F]
	matrix  weight.Matrix[F]
	options ScalarGatedOptions
	phi     phi[F]
	form    *form[F]

	m, b              *weight.View[F] // [n_i × n], [n]
	alphaHat, betaHat *weight.View[F]

	project kernel.Packed[F] // M
	right   kernel.Packed[F] // Uᵀ, for products of states in rows
	left    kernel.Packed[F] // U, for those of deltas

	// At the last Load; a scalar for every unit.
	alpha, beta []F
	bounded     bool // β is 1 - 2α, or 0
	gated       []*scalarGatedPass[F]
}

// ScalarGatedOptions are the choices of a [ScalarGated] cell.
type ScalarGatedOptions struct {
	Inputs     int               // n_i
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	FixedStart bool              // h(0) is 0 instead of trained
	Every      bool              // there is an output for every step, not for the last alone
	Bound      bool              // β is at most 1 - 2α, and at least 0

	Start       weight.Start // of U; "" is the matrix's usual one
	InputScale  float64      // s: M starts from N(0, s²/n_i)
	Alpha, Beta float64      // the starts of α̂ and β̂
}

// NewScalarGated declares the tensors "M" [n_i × n], "b", "alpha_hat", "beta_hat" and
// "h0". The matrix, which is square, has declared its own.
func NewScalarGated[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F], options ScalarGatedOptions) (*ScalarGated[F], error) {
	n, err := squareSize(matrix)
	if err != nil {
		return nil, err
	}
	if err := checkActivation(options.Activation, options.Slope); err != nil {
		return nil, err
	}
	base, err := newRecurrent(set, options.Inputs, n, 2, 1, options.Every)
	if err != nil {
		return nil, err
	}
	s := &ScalarGated[F]{
		recurrent: base, matrix: matrix, options: options, phi: phi[F]{options.Activation, F(options.Slope)},
		form: newForm(set, matrix), alpha: make([]F, n), beta: make([]F, n),
	}
	s.m, s.b = s.declare(arena, "M", options.Inputs, n), s.declare(arena, "b", 1, n)
	s.alphaHat, s.betaHat = arena.Declare("alpha_hat", 1, 1), arena.Declare("beta_hat", 1, 1)
	s.declareInitial(arena, "h0", options.FixedStart)
	return s, nil
}

// Init sets U to its start, M to N(0, s²/n_i), α̂ and β̂ to theirs, the rest to 0.
func (s *ScalarGated[F]) Init(ctx context.Context, source *random.Source) error {
	if err := s.matrix.Init(ctx, s.options.Start, source); err != nil {
		return err
	}
	random.Gaussian(s.m.Value, s.options.InputScale/math.Sqrt(float64(s.inputs)), source)
	clear(s.b.Value)
	s.alphaHat.Value[0], s.betaHat.Value[0] = F(s.options.Alpha), F(s.options.Beta)
	s.clearInitial()
	return nil
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
	u := s.form.load()
	s.set.PackTransposed(&s.right, u)
	s.set.Pack(&s.left, u)
	s.set.PackBias(&s.project, s.m.Matrix(), s.b.Value)
	alpha, beta, bounded := s.Gates()
	for i := range s.alpha {
		s.alpha[i], s.beta[i] = F(alpha), F(beta)
	}
	s.bounded = bounded
}

// Join adds the gradients of the first passes, those of the gates through
// ∂α/∂α̂ = α(1-α), likewise β, and ∂β/∂α = -2 at the upper bound.
func (s *ScalarGated[F]) Join(used int) {
	s.join(used)
	s.form.join(used)
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

// Constrain scales what has a length, see [weight.Matrix].
func (s *ScalarGated[F]) Constrain(rate float64) { s.matrix.Constrain(rate) }

// SpectralMargin returns max |σ_i - 1| over the singular values of U as it was loaded
// last; see [weight.Margin].
func (s *ScalarGated[F]) SpectralMargin(ctx context.Context) (float64, error) {
	return s.form.margin(ctx)
}

// Cost counts U.
func (s *ScalarGated[F]) Cost(limits Limits) Cost {
	c := s.cost(limits, 1, 2*s.size)
	c.Minibatch = s.matrix.Flops()
	u, n := s.sized(limits), s.size
	shared, pass, fork := s.form.footprint()
	c.Shared = int64(shared + 2*s.set.PackedSize(n, n, false) + s.set.PackedSize(s.inputs, n, true) + 2*n)
	c.Pass += int64(pass + 2*n + kernel.PaddedSize(u.kept+2*limits.Batch+u.chunkRows(), n) + kernel.ScratchSize(max(n, s.inputs), u.chunkRows()))
	c.Fork += int64(fork)
	c.Inject = int64(s.set.PackedSize(n, s.inputs, false))
	return c
}

// scalarGatedPass is a [Pass] of a [ScalarGated] cell.
type scalarGatedPass[F kernel.Float] struct {
	*unrolled[F]
	cell          *ScalarGated[F]
	gradient      *formGradient[F]
	m, b          *weight.View[F]  // with the pass's gradients
	dalpha, dbeta []F              // ∂L/∂α and ∂L/∂β, by units
	inject        kernel.Packed[F] // Mᵀ, packed if an input gradient is asked for

	activations kernel.Matrix[F] // φ(·) of the steps of a segment
	activation  kernel.Matrix[F] // of a step whose history is not kept
	spare       kernel.Matrix[F] // the state after it
	deltas      kernel.Matrix[F] // the gradients of φ's argument in the steps of one chunk
	run         func(first, end int)
}

// NewPass returns a pass for parts of minibatches.
func (s *ScalarGated[F]) NewPass(limits Limits) Pass[F] {
	p := &scalarGatedPass[F]{unrolled: s.newUnrolled(limits), cell: s, gradient: s.form.pass(), dalpha: make([]F, s.size), dbeta: make([]F, s.size)}
	p.m, p.b = p.unrolled.gradient(s.m), p.unrolled.gradient(s.b)
	p.activations, p.activation, p.spare = kernel.NewPadded[F](p.kept, s.size), kernel.NewPadded[F](limits.Batch, s.size), kernel.NewPadded[F](limits.Batch, s.size)
	p.deltas = kernel.NewPadded[F](p.chunkRows(), s.size)
	p.run = p.segmentForward
	s.gated = append(s.gated, p)
	return p
}

// Forward runs the cell.
func (p *scalarGatedPass[F]) Forward(in Input[F], from State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	if keep || p.every {
		return p.forward(in, from, p.run)
	}
	p.beginEvaluate(in, from)
	activation := p.activation.Slice(0, in.Batch)
	for t := range in.Steps {
		next := p.spare.Slice(0, in.Batch)
		p.step(activation, block(in.X, t, in.Batch), p.to[0], next, [2][]F{})
		p.to[0], p.state[0], p.spare = next, p.spare, p.state[0]
	}
	return p.to[0], p.to
}

// segmentForward goes through the steps of a segment.
func (p *scalarGatedPass[F]) segmentForward(first, end int) {
	batch := p.in.Batch
	x := p.in.X.Slice(first*batch, end*batch)
	for t := range end - first {
		p.step(block(p.activations, t, batch), block(x, t, batch), block(p.history, t, batch), block(p.history, t+1, batch),
			memories(following(p.activations, (t+1)*batch, batch), following(p.history, (t+2)*batch, batch)))
	}
}

// step does one time step. What it is given last is needed in the next one.
func (p *scalarGatedPass[F]) step(activation, x, h, next kernel.Matrix[F], needed [2][]F) {
	c := p.cell
	sum := kernel.Sum[F]{X: x, M: &c.project, A: h, B: &c.right, Prefetch: needed}
	p.set.MultiplyGate(activation, sum, c.phi.activation, c.phi.slope, next, h, c.alpha[0], c.beta[0])
}

// Backward goes back through time. With g(t) = ∂L/∂h(t), f(t) the output of φ and
// δ(t) the gradient of its argument,
//
//	δ(t) = α g(t) ∘ φ'      g(t-1) = Uᵀ δ(t) + β g(t) + what dout holds
//	∂L/∂U = Σ δ(t) h(t-1)ᵀ   ∂L/∂M = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//	∂L/∂α = Σ g(t)·f(t)      ∂L/∂β = Σ g(t)·h(t-1)
//
// where the sums run over steps and sequences.
func (p *scalarGatedPass[F]) Backward(dout kernel.Matrix[F], dto State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	all := p.beginBackward(dout, dto, dx)
	c, steps, batch := p.cell, p.in.Steps, p.in.Batch
	if dx.Data != nil {
		p.set.PackTransposed(&p.inject, p.m.Matrix())
	}
	p.gradient.begin()
	clear(p.dalpha)
	clear(p.dbeta)
	g := p.back[0]
	stride := p.stride(steps, batch)
	first := (steps - 1) / stride * stride
	segment := p.lastSegment()
	for last := steps; last > 0; first, last = first-stride, first {
		if first < segment {
			segment -= p.segment(steps, batch)
			p.again(segment, p.run)
		}
		for t := last - 1; t >= first; t-- {
			place := t - segment
			delta, activation, before := block(p.deltas, t-first, batch), block(p.activations, place, batch), block(p.history, place, batch)
			p.set.ScalarGateBackward(delta, g, activation, before, p.dalpha, p.dbeta, c.alpha[0], c.phi.activation, c.phi.slope)
			p.set.MultiplySum(g, kernel.Sum[F]{A: delta, B: &c.left, H: g, D: c.beta, Prefetch: memories(preceding(p.activations, place*batch, batch), preceding(p.history, place*batch, batch))})
			if all && t > 0 {
				add(p.set, g, block(dout, t-1, batch))
			}
		}
		from, to := (first-segment)*batch, (last-segment)*batch
		x, deltas := p.in.X.Slice(first*batch, last*batch), p.deltas.Slice(0, to-from)
		p.gradient.add(p.set, deltas, p.history.Slice(from, to), &p.scratch)
		p.set.TransposedAdd(p.m.GradientMatrix(), x, deltas, &p.scratch)
		p.set.ColumnSumsAdd(p.b.Gradient, deltas)
		if dx.Data != nil {
			p.set.Multiply(dx.Slice(first*batch, last*batch), deltas, &p.inject)
		}
	}
	return p.endBackward()
}
