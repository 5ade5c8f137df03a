package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// A transition applies an Elman cell's recurrent matrix W and φ: W as it is
// loaded, for all passes.
type transition[F kernel.Float] interface {
	// load takes W from the present parameters.
	load()

	// pass returns the transition of a pass for up to batch sequences, segments
	// of up to kept rows and chunks of up to rows rows.
	pass(batch, kept, rows int) transitionPass[F]

	// join ends the Backward of the first so many passes: it adds the gradients
	// of the parameters.
	join(used int)

	// footprint is the memory of passes for such sizes; see [Cost].
	footprint(batch, kept, rows int) Cost

	// margin returns max |σ_i - 1| over the singular values of W as it was loaded last.
	margin(ctx context.Context) (float64, error)
}

// A transitionPass applies W and φ at one time step after another, forward and
// back. It keeps what it needs between them, and the gradient of W in whatever
// form it has W.
type transitionPass[F kernel.Float] interface {
	// forward goes through time steps: h holds blocks of batch rows, a state and
	// then those of the steps, whose inputs are x and the way in m (with a bias):
	// next = φ(x M + b + W h), row by row. t is the first step's place in its
	// segment, or negative for a Forward that keeps nothing.
	forward(t int, h, x kernel.Matrix[F], m *kernel.Packed[F], batch int)

	// reset begins a Backward.
	reset()

	// settle is told the delta of a step as soon as it is known. slot is the
	// step's place in its chunk.
	settle(slot int, delta kernel.Matrix[F])

	// backward is dst = (Wᵀ delta) ∘ φ', or (dst + Wᵀ delta) ∘ φ' if add, where
	// out is the output of φ and slot is delta's.
	backward(dst kernel.Matrix[F], slot int, delta, out kernel.Matrix[F], add bool)

	// backwardAll is backward, without add, and settle for the steps of a chunk before
	// its last one: deltas holds blocks of batch rows, of which the last is
	// known and settled, outs those of φ of the others, before the states that
	// are needed next.
	backwardAll(deltas, outs, before kernel.Matrix[F], batch int)

	// toInitial is dst = Wᵀ delta, the gradient of the initial state, where slot is
	// delta's.
	toInitial(dst kernel.Matrix[F], slot int, delta kernel.Matrix[F])

	// accumulate adds to the gradient of W for the steps of a segment from first
	// up to, not including, last, given their deltas and the states that W was
	// applied to.
	accumulate(first, last, batch int, deltas, h kernel.Matrix[F])
}

// phi is an activation and its slope.
type phi[F kernel.Float] struct {
	activation kernel.Activation
	slope      F
}

// derivative is delta = gradient ∘ φ', where out = φ(·).
func (p phi[F]) derivative(set *kernel.Set[F], delta, gradient, out kernel.Matrix[F]) {
	if n := delta.Cols; delta.Stride == n && gradient.Stride == n && out.Stride == n {
		n *= delta.Rows
		set.Derivative(delta.Data[:n], gradient.Data[:n], out.Data[:n], p.activation, p.slope)
		return
	}
	for i := range delta.Rows {
		set.Derivative(delta.Row(i), gradient.Row(i), out.Row(i), p.activation, p.slope)
	}
}

// denseTransition is the transition by W itself.
type denseTransition[F kernel.Float] struct {
	dense[F]
	phi phi[F]
}

type densePass[F kernel.Float] struct {
	*denseTransition[F]
	gradient *formGradient[F]
	scratch  kernel.Scratch[F]
}

func newDenseTransition[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], phi phi[F]) *denseTransition[F] {
	return &denseTransition[F]{dense[F]{form: newForm(set, matrix)}, phi}
}

func (f *denseTransition[F]) pass(_, _, _ int) transitionPass[F] {
	return &densePass[F]{denseTransition: f, gradient: f.form.pass()}
}

func (f *densePass[F]) forward(_ int, h, x kernel.Matrix[F], m *kernel.Packed[F], batch int) {
	f.set.MultiplyActivateSteps(h, batch, &f.right, x, m, f.phi.activation, f.phi.slope)
}

func (f *densePass[F]) reset() { f.gradient.begin() }

func (f *densePass[F]) settle(int, kernel.Matrix[F]) {}

func (f *densePass[F]) backward(dst kernel.Matrix[F], _ int, delta, out kernel.Matrix[F], add bool) {
	sum := kernel.Sum[F]{A: delta, B: &f.left}
	if add {
		sum.H = dst
	}
	f.set.MultiplyDerivative(dst, sum, out, f.phi.activation, f.phi.slope)
}

func (f *densePass[F]) backwardAll(deltas, outs, before kernel.Matrix[F], batch int) {
	f.set.MultiplyDerivativeSteps(deltas, batch, &f.left, outs, f.phi.activation, f.phi.slope, memory(before))
}

func (f *densePass[F]) toInitial(dst kernel.Matrix[F], _ int, delta kernel.Matrix[F]) {
	f.set.Multiply(dst, delta, &f.left)
}

func (f *densePass[F]) accumulate(_, _, _ int, deltas, h kernel.Matrix[F]) {
	f.gradient.add(f.set, deltas, h, &f.scratch)
}

// compactWY is the transition by the factors of W.
type compactWY[F kernel.Float] struct {
	factored[F]
	phi phi[F]
}

// compactWYPass has P of the steps of a segment and Q of those of a chunk.
type compactWYPass[F kernel.Float] struct {
	*factoredPass[F]
	phi       phi[F]
	evaluated kernel.Matrix[F] // P of a step whose history is not kept
}

func newCompactWY[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F], phi phi[F]) *compactWY[F] {
	return &compactWY[F]{factored: factored[F]{factors: newFactors(set, matrix)}, phi: phi}
}

func (t *compactWY[F]) pass(batch, kept, rows int) transitionPass[F] {
	return &compactWYPass[F]{t.newPass(kept, rows), t.phi, kernel.NewPadded[F](batch, t.matrix.Rank())}
}

func (t *compactWYPass[F]) forward(first int, h, x kernel.Matrix[F], m *kernel.Packed[F], batch int) {
	for i := range h.Rows/batch - 1 {
		p := t.evaluated.Slice(0, batch)
		var after kernel.Matrix[F] // P of the next step
		if first >= 0 {
			p = block(t.p, first+i, batch)
			after = following(t.p, (first+i+1)*batch, batch)
		}
		state, next := block(h, i, batch), block(h, i+1, batch)
		t.set.MultiplySum(p, kernel.Sum[F]{A: state, B: &t.intoP, Prefetch: memories(after)})
		sum := kernel.Sum[F]{X: block(x, i, batch), M: m, A: p, B: &t.outOfP, H: state, D: t.d,
			Prefetch: memories(following(h, (i+2)*batch, batch))}
		t.set.MultiplyActivate(next, sum, t.phi.activation, t.phi.slope)
	}
}

func (t *compactWYPass[F]) reset() { t.clear() }

func (t *compactWYPass[F]) settle(slot int, delta kernel.Matrix[F]) {
	t.set.Multiply(block(t.q, slot, delta.Rows), delta, &t.intoQ)
}

func (t *compactWYPass[F]) backward(dst kernel.Matrix[F], slot int, delta, out kernel.Matrix[F], add bool) {
	t.backwardTo(dst, slot, delta, out, add, kernel.Matrix[F]{})
}

// backwardTo is backward, which asks for the memory of the output that is needed next.
func (t *compactWYPass[F]) backwardTo(dst kernel.Matrix[F], slot int, delta, out kernel.Matrix[F], add bool,
	before kernel.Matrix[F]) {
	sum := kernel.Sum[F]{A: block(t.q, slot, delta.Rows), B: &t.outOfQ, H: delta, D: t.d, Prefetch: memories(before)}
	if add {
		t.set.ScaleColumnsAdd(dst, t.d, delta)
		sum.H, sum.D = dst, nil
	}
	t.set.MultiplyDerivative(dst, sum, out, t.phi.activation, t.phi.slope)
}

func (t *compactWYPass[F]) backwardAll(deltas, outs, before kernel.Matrix[F], batch int) {
	for i := deltas.Rows/batch - 2; i >= 0; i-- {
		delta := block(deltas, i, batch)
		if i > 0 {
			before = block(outs, i-1, batch)
		}
		t.backwardTo(delta, i+1, block(deltas, i+1, batch), block(outs, i, batch), false, before)
		t.settle(i, delta)
	}
}

func (t *compactWYPass[F]) toInitial(dst kernel.Matrix[F], slot int, delta kernel.Matrix[F]) {
	t.set.MultiplySum(dst, kernel.Sum[F]{A: block(t.q, slot, delta.Rows), B: &t.outOfQ, H: delta, D: t.d})
}

func (t *compactWYPass[F]) accumulate(first, last, batch int, deltas, h kernel.Matrix[F]) {
	t.set.TransposedAdd(t.dleft, deltas, t.p.Slice(first*batch, last*batch), nil)
	t.set.TransposedAdd(t.dright, h, t.q.Slice(0, (last-first)*batch), nil)
	t.set.ColumnProductSumsAdd(t.dd, deltas, h)
}

func (f *denseTransition[F]) footprint(_, _, rows int) Cost {
	shared, pass, fork := f.packedFootprint()
	n, _ := f.matrix.Shape()
	return Cost{Shared: int64(shared), Pass: int64(pass + kernel.ScratchSize(n, rows)), Fork: int64(fork)}
}

func (t *compactWY[F]) footprint(batch, kept, rows int) Cost {
	shared, pass := t.factored.footprint()
	return Cost{Shared: int64(shared), Pass: int64(pass + kernel.PaddedSize(batch+kept+rows, t.matrix.Rank()))}
}
