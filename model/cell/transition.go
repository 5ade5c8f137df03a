package cell

import (
	"sweep/model/kernel"
	"sweep/model/weight"
)

// A transition applies an Elman cell's recurrent matrix W and φ at one time
// step, forward and backward. It keeps what it needs between them, and the
// gradient of W in whatever form it has W.
type transition[F kernel.Float] interface {
	// load takes W from the present parameters.
	load()

	// ahead goes through time steps: h holds blocks of batch rows, a state and
	// then those of the steps, whose inputs are x and the way in m (with a bias):
	// next = φ(x M + b + W h), row by row. t is the first step's place in its
	// segment of a Forward, or negative for an Evaluate.
	ahead(t int, h, x kernel.Matrix[F], m *kernel.Packed[F], batch int)

	// reset begins a Backward.
	reset()

	// settle is told the delta of a step as soon as it is known. slot is the
	// step's place in its chunk.
	settle(slot int, delta kernel.Matrix[F])

	// back is dst = (Wᵀ delta) ∘ φ', or (dst + Wᵀ delta) ∘ φ' if add, where
	// out is the output of φ and slot is delta's.
	back(dst kernel.Matrix[F], slot int, delta, out kernel.Matrix[F], add bool)

	// backAll is back, without add, and settle for the steps of a chunk before
	// its last one: deltas holds blocks of batch rows, of which the last is
	// known and settled, outs those of φ of the others, before the states that
	// are needed next.
	backAll(deltas, outs, before kernel.Matrix[F], batch int)

	// start is dst = Wᵀ delta, where slot is delta's.
	start(dst kernel.Matrix[F], slot int, delta kernel.Matrix[F])

	// accumulate adds to the gradient of W for the steps of a segment from first
	// up to, not including, last, given their deltas and the states that W was
	// applied to.
	accumulate(first, last, batch int, deltas, h kernel.Matrix[F])

	// pullback ends a Backward: it adds the gradients of the parameters.
	pullback()

	// fork returns a transition by the same W for another part of the minibatch;
	// join adds the gradient of W that it has.
	fork() transition[F]
	join(fork transition[F])
}

// phi is an activation and its slope.
type phi[F kernel.Float] struct {
	activation kernel.Activation
	slope      F
}

// formed is the transition by W itself.
type formed[F kernel.Float] struct {
	set    *kernel.Set[F]
	matrix weight.Matrix[F]
	phi    phi[F]
	low    *lowRank[F]     // the factors that W is formed from; nil if it is not
	direct *weight.View[F] // W if it is a parameter itself: w and dw are its own
	w, dw  kernel.Matrix[F]
	right  *kernel.Packed[F] // Wᵀ, for products of states in rows
	left   *kernel.Packed[F] // W, for those of deltas

	scratch kernel.Scratch[F]
}

func newFormed[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], phi phi[F]) *formed[F] {
	n := matrix.Size()
	f := &formed[F]{set: set, matrix: matrix, phi: phi, right: new(kernel.Packed[F]), left: new(kernel.Packed[F])}
	if dense, ok := matrix.(*weight.Dense[F]); ok && n < paddedColumns {
		f.direct = dense.View()
	} else {
		f.w, f.dw = newMatrix[F](n, n), newMatrix[F](n, n)
	}
	if matrix, ok := matrix.(weight.LowRank[F]); ok && n >= factoredSize && n >= 2*matrix.Rank() {
		f.low = newLowRank(set, matrix)
	}
	return f
}

// factoredSize is the size from which on W is formed from its factors, if it has
// them: one reflector after another would go over a matrix that the cache does
// not hold.
const factoredSize = 128

func (f *formed[F]) load() {
	if f.direct != nil {
		f.w, f.dw = f.direct.Matrix(), f.direct.GradientMatrix()
	} else if f.low != nil {
		f.low.value(f.w)
	} else {
		f.matrix.Value(f.w)
	}
	f.set.PackTransposed(f.right, f.w)
	f.set.Pack(f.left, f.w)
}

func (f *formed[F]) ahead(_ int, h, x kernel.Matrix[F], m *kernel.Packed[F], batch int) {
	f.set.MultiplyActivateSteps(h, batch, f.right, x, m, f.phi.activation, f.phi.slope)
}

func (f *formed[F]) reset() {
	if f.direct == nil {
		clear(f.dw.Data)
	}
}

func (f *formed[F]) settle(int, kernel.Matrix[F]) {}

func (f *formed[F]) back(dst kernel.Matrix[F], _ int, delta, out kernel.Matrix[F], add bool) {
	sum := kernel.Sum[F]{A: delta, B: f.left}
	if add {
		sum.H = dst
	}
	f.set.MultiplyDerivative(dst, sum, out, f.phi.activation, f.phi.slope)
}

func (f *formed[F]) backAll(deltas, outs, before kernel.Matrix[F], batch int) {
	f.set.MultiplyDerivativeSteps(deltas, batch, f.left, outs, f.phi.activation, f.phi.slope, memory(before))
}

func (f *formed[F]) start(dst kernel.Matrix[F], _ int, delta kernel.Matrix[F]) {
	f.set.Multiply(dst, delta, f.left)
}

func (f *formed[F]) accumulate(_, _, _ int, deltas, h kernel.Matrix[F]) {
	f.set.TransposedAdd(f.dw, deltas, h, &f.scratch)
}

func (f *formed[F]) pullback() {
	if f.low != nil {
		f.low.pullback(f.dw)
	} else if f.direct == nil {
		f.matrix.Pullback(f.dw)
	}
}

func (f *formed[F]) fork() transition[F] {
	n := f.matrix.Size()
	return &formed[F]{set: f.set, phi: f.phi, right: f.right, left: f.left, dw: newMatrix[F](n, n)}
}

func (f *formed[F]) join(fork transition[F]) { add(f.set, f.dw, fork.(*formed[F]).dw) }

// lowRank forms W = diag(d) + L Rᵀ and takes its gradient apart:
//
//	dL = dW R   dR = dWᵀ L   dd = diag(dW)
type lowRank[F kernel.Float] struct {
	set           *kernel.Set[F]
	matrix        weight.LowRank[F]
	d, dd         []F
	left, right   kernel.Matrix[F]
	dleft, dright kernel.Matrix[F]
	packed        kernel.Packed[F]
}

func newLowRank[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F]) *lowRank[F] {
	n, k := matrix.Size(), matrix.Rank()
	return &lowRank[F]{
		set: set, matrix: matrix, d: make([]F, n), dd: make([]F, n),
		left: newMatrix[F](n, k), right: newMatrix[F](n, k), dleft: newMatrix[F](n, k), dright: newMatrix[F](n, k),
	}
}

func (l *lowRank[F]) value(w kernel.Matrix[F]) {
	l.matrix.Factors(l.d, l.left, l.right)
	l.set.PackTransposed(&l.packed, l.right)
	l.set.Multiply(w, l.left, &l.packed)
	for i, d := range l.d {
		w.Data[i*w.Stride+i] += d
	}
}

func (l *lowRank[F]) pullback(dw kernel.Matrix[F]) {
	l.set.Pack(&l.packed, l.right)
	l.set.Multiply(l.dleft, dw, &l.packed)
	zero(l.dright)
	l.set.TransposedAdd(l.dright, dw, l.left, nil)
	for i := range l.dd {
		l.dd[i] = dw.Data[i*dw.Stride+i]
	}
	l.matrix.PullbackFactors(l.dd, l.dleft, l.dright)
}

// thin is the transition by the factors of W = diag(d) + L Rᵀ, which is never
// formed. With states in rows,
//
//	P = H R                  W H → d ∘ H + P Lᵀ
//	Q = Δ L                  Wᵀ Δ → d ∘ Δ + Q Rᵀ
//	dL = Σ Δᵀ P              dR = Σ Hᵀ Q              dd = Σ Δ ∘ H
type thin[F kernel.Float] struct {
	set    *kernel.Set[F]
	matrix weight.LowRank[F]
	phi    phi[F]

	d, dd         []F
	left, right   kernel.Matrix[F] // L and R
	dleft, dright kernel.Matrix[F]
	intoP, outOfP *kernel.Packed[F] // R and Lᵀ
	intoQ, outOfQ *kernel.Packed[F] // L and Rᵀ
	p             kernel.Matrix[F]  // of the steps of a segment
	q             kernel.Matrix[F]  // of the steps of a chunk
	evaluated     kernel.Matrix[F]  // P of a step of an Evaluate
}

// newThin returns the transition for up to batch series, segments of up to kept
// rows and chunks of up to rows rows.
func newThin[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F], phi phi[F], batch, kept, rows int) *thin[F] {
	n, k := matrix.Size(), matrix.Rank()
	return &thin[F]{
		set: set, matrix: matrix, phi: phi,
		intoP: new(kernel.Packed[F]), outOfP: new(kernel.Packed[F]), intoQ: new(kernel.Packed[F]), outOfQ: new(kernel.Packed[F]),
		d: make([]F, n), dd: make([]F, n),
		left: newMatrix[F](n, k), right: newMatrix[F](n, k),
		dleft: newMatrix[F](n, k), dright: newMatrix[F](n, k),
		p:         newMatrix[F](kept, k),
		q:         newMatrix[F](rows, k),
		evaluated: newMatrix[F](batch, k),
	}
}

func (t *thin[F]) load() {
	t.matrix.Factors(t.d, t.left, t.right)
	t.set.Pack(t.intoP, t.right)
	t.set.PackTransposed(t.outOfP, t.left)
	t.set.Pack(t.intoQ, t.left)
	t.set.PackTransposed(t.outOfQ, t.right)
}

func (t *thin[F]) ahead(first int, h, x kernel.Matrix[F], m *kernel.Packed[F], batch int) {
	for i := range h.Rows/batch - 1 {
		p := t.evaluated.Slice(0, batch)
		var after kernel.Matrix[F] // P of the next step
		if first >= 0 {
			p = block(t.p, first+i, batch)
			after = following(t.p, (first+i+1)*batch, batch)
		}
		state, next := block(h, i, batch), block(h, i+1, batch)
		t.set.MultiplySum(p, kernel.Sum[F]{A: state, B: t.intoP, Ahead: upcoming(after)})
		sum := kernel.Sum[F]{X: block(x, i, batch), M: m, A: p, B: t.outOfP, H: state, D: t.d, Ahead: upcoming(following(h, (i+2)*batch, batch))}
		t.set.MultiplyActivate(next, sum, t.phi.activation, t.phi.slope)
	}
}

func (t *thin[F]) reset() {
	clear(t.dd)
	clear(t.dleft.Data)
	clear(t.dright.Data)
}

func (t *thin[F]) settle(slot int, delta kernel.Matrix[F]) {
	t.set.Multiply(block(t.q, slot, delta.Rows), delta, t.intoQ)
}

func (t *thin[F]) back(dst kernel.Matrix[F], slot int, delta, out kernel.Matrix[F], add bool) {
	t.backTo(dst, slot, delta, out, add, kernel.Matrix[F]{})
}

// backTo is back, which asks for the memory of the output that is needed next.
func (t *thin[F]) backTo(dst kernel.Matrix[F], slot int, delta, out kernel.Matrix[F], add bool, before kernel.Matrix[F]) {
	sum := kernel.Sum[F]{A: block(t.q, slot, delta.Rows), B: t.outOfQ, H: delta, D: t.d, Ahead: upcoming(before)}
	if add {
		t.set.ScaleColumnsAdd(dst, t.d, delta)
		sum.H, sum.D = dst, nil
	}
	t.set.MultiplyDerivative(dst, sum, out, t.phi.activation, t.phi.slope)
}

func (t *thin[F]) backAll(deltas, outs, before kernel.Matrix[F], batch int) {
	for i := deltas.Rows/batch - 2; i >= 0; i-- {
		delta := block(deltas, i, batch)
		if i > 0 {
			before = block(outs, i-1, batch)
		}
		t.backTo(delta, i+1, block(deltas, i+1, batch), block(outs, i, batch), false, before)
		t.settle(i, delta)
	}
}

func (t *thin[F]) start(dst kernel.Matrix[F], slot int, delta kernel.Matrix[F]) {
	t.set.MultiplySum(dst, kernel.Sum[F]{A: block(t.q, slot, delta.Rows), B: t.outOfQ, H: delta, D: t.d})
}

func (t *thin[F]) accumulate(first, last, batch int, deltas, h kernel.Matrix[F]) {
	t.set.TransposedAdd(t.dleft, deltas, t.p.Slice(first*batch, last*batch), nil)
	t.set.TransposedAdd(t.dright, h, t.q.Slice(0, (last-first)*batch), nil)
	t.set.ColumnProductSumsAdd(t.dd, deltas, h)
}

func (t *thin[F]) pullback() { t.matrix.PullbackFactors(t.dd, t.dleft, t.dright) }

func (t *thin[F]) fork() transition[F] {
	n, k := t.matrix.Size(), t.matrix.Rank()
	return &thin[F]{
		set: t.set, matrix: t.matrix, phi: t.phi, intoP: t.intoP, outOfP: t.outOfP, intoQ: t.intoQ, outOfQ: t.outOfQ,
		d: t.d, dd: make([]F, n), dleft: newMatrix[F](n, k), dright: newMatrix[F](n, k),
		p: newMatrix[F](t.p.Rows, k), q: newMatrix[F](t.q.Rows, k), evaluated: newMatrix[F](t.evaluated.Rows, k),
	}
}

func (t *thin[F]) join(fork transition[F]) {
	f := fork.(*thin[F])
	t.set.Axpy(t.dd, 1, f.dd)
	add(t.set, t.dleft, f.dleft)
	add(t.set, t.dright, f.dright)
}

// zero is m = 0.
func zero[F kernel.Float](m kernel.Matrix[F]) {
	if m.Stride == m.Cols {
		clear(m.Data[:m.Rows*m.Cols])
		return
	}
	for i := range m.Rows {
		clear(m.Row(i))
	}
}
