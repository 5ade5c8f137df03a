package layer

import (
	"sync"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// An affineWay applies the matrix W of an [Affine] layer: W as it is loaded, for all
// passes.
type affineWay[F kernel.Float] interface {
	// load takes W from the present parameters.
	load()

	// pass returns the way of a pass for so many rows.
	pass(rows int, w *workspace[F]) affineWayPass[F]

	// join ends the Backward of the first so many passes: it adds the gradients of the
	// parameters.
	join(used int)

	// footprint is the memory of passes for so many rows; see [Cost].
	footprint(rows int) Cost
}

// An affineWayPass applies W to rows, forward and back, and keeps its gradient in
// whatever form it has W.
type affineWayPass[F kernel.Float] interface {
	// forward is out = φ(W x + b + plus), plus being left out if it has its zero value.
	forward(out, x, plus kernel.Matrix[F], phi phi[F], keep bool)

	// backward sets the gradient of W, given that of φ's argument and the x of the last
	// forward that kept. dx, if it is asked for, is Wᵀ deltas, and ends as end says.
	backward(deltas, x, dx kernel.Matrix[F], end ending[F])

	// ahead is the part of W that forward begins with, behind what backward does.
	ahead() []F
	behind() []F
}

// activate is out = φ(sum).
func (p phi[F]) activate(set *kernel.Set[F], out kernel.Matrix[F], sum kernel.Sum[F]) {
	if p.activation == kernel.Linear {
		set.MultiplySum(out, sum)
	} else {
		set.MultiplyActivate(out, sum, p.activation, p.slope)
	}
}

// denseAffine is the way by W itself.
type denseAffine[F kernel.Float] struct {
	form[F]
	b      *weight.View[F]
	loaded kernel.Matrix[F] // W

	// Wᵀ for evaluations, many of which follow one load: the first of them packs it.
	evaluation sync.Mutex
	evaluated  bool
	right      kernel.Packed[F]
}

type denseAffinePass[F kernel.Float] struct {
	*denseAffine[F]
	gradient  *formGradient[F]
	workspace *workspace[F]
}

func newDenseAffine[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], b *weight.View[F]) *denseAffine[F] {
	return &denseAffine[F]{form: newForm(set, matrix), b: b}
}

// load forms W. Passes pack it when they need it.
func (a *denseAffine[F]) load() { a.loaded, a.evaluated = a.form.load(), false }

func (a *denseAffine[F]) pass(_ int, w *workspace[F]) affineWayPass[F] {
	return &denseAffinePass[F]{denseAffine: a, gradient: a.form.pass(), workspace: w}
}

// forEvaluation returns Wᵀ, packed.
func (a *denseAffine[F]) forEvaluation() *kernel.Packed[F] {
	a.evaluation.Lock()
	defer a.evaluation.Unlock()
	if !a.evaluated {
		a.set.PackTransposedBias(&a.right, a.loaded, a.b.Value)
		a.evaluated = true
	}
	return &a.right
}

func (p *denseAffinePass[F]) forward(out, x, plus kernel.Matrix[F], phi phi[F], keep bool) {
	sum := kernel.Sum[F]{X: x, M: &p.workspace.packed, H: plus, Prefetch: p.workspace.next}
	if keep {
		p.set.PackTransposedBias(sum.M, p.loaded, p.b.Value)
	} else {
		sum.M = p.forEvaluation()
	}
	phi.activate(p.set, out, sum)
}

func (p *denseAffinePass[F]) backward(deltas, x, dx kernel.Matrix[F], end ending[F]) {
	p.gradient.begin()
	p.gradient.add(p.set, deltas, x, nil)
	if dx.Data != nil {
		p.set.Pack(&p.workspace.packed, p.loaded)
		end.settle(p.set, dx, deltas, &p.workspace.packed, p.workspace.next)
	}
}

func (p *denseAffinePass[F]) ahead() []F  { return memory(p.loaded) }
func (p *denseAffinePass[F]) behind() []F { return memory(p.loaded) }

// factoredAffine is the way by the factors of W.
type factoredAffine[F kernel.Float] struct{ factored[F] }

type factoredAffinePass[F kernel.Float] struct {
	*factoredPass[F]
	workspace *workspace[F]
}

func newFactoredAffine[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F],
	b *weight.View[F]) *factoredAffine[F] {
	return &factoredAffine[F]{factored[F]{factors: newFactors(set, matrix), bias: b}}
}

func (a *factoredAffine[F]) pass(rows int, w *workspace[F]) affineWayPass[F] {
	return &factoredAffinePass[F]{a.newPass(rows, rows), w}
}

func (p *factoredAffinePass[F]) forward(out, x, plus kernel.Matrix[F], phi phi[F], _ bool) {
	inner := p.p.Slice(0, x.Rows)
	p.set.Multiply(inner, x, &p.intoP)
	sum := kernel.Sum[F]{X: inner, M: &p.outOfP, H: x, D: p.d, Prefetch: p.workspace.next}
	if plus.Data != nil {
		out.Fill(plus)
		p.set.ScaleColumnsAdd(out, p.d, x)
		sum.H, sum.D = out, nil
	}
	phi.activate(p.set, out, sum)
}

func (p *factoredAffinePass[F]) backward(deltas, x, dx kernel.Matrix[F], end ending[F]) {
	q := p.q.Slice(0, x.Rows)
	p.set.Multiply(q, deltas, &p.intoQ)
	p.set.Transposed(p.dleft, deltas, p.p.Slice(0, x.Rows), nil)
	p.set.Transposed(p.dright, x, q, nil)
	clear(p.dd)
	p.set.ColumnProductSumsAdd(p.dd, deltas, x)
	if dx.Data == nil {
		return
	}
	sum := kernel.Sum[F]{A: q, B: &p.outOfQ, H: deltas, D: p.d, Prefetch: p.workspace.next}
	if end.plus.Data != nil || end.phi.activation == kernel.Linear {
		p.set.MultiplySum(dx, sum)
		end.apply(p.set, dx)
	} else {
		p.set.MultiplyDerivative(dx, sum, end.out, end.phi.activation, end.phi.slope)
	}
}

func (p *factoredAffinePass[F]) ahead() []F  { return p.outOfP.Memory() }
func (p *factoredAffinePass[F]) behind() []F { return p.outOfQ.Memory() }

func (a *denseAffine[F]) footprint(int) Cost {
	shared, pass, fork := a.form.footprint()
	rows, cols := a.matrix.Shape()
	right := a.set.PackedSize(cols, rows, true)
	return Cost{
		Shared: int64(shared + right), Pass: int64(pass), Fork: int64(fork),
		Lent: int64(max(right, a.set.PackedSize(rows, cols, false))),
	}
}

func (a *factoredAffine[F]) footprint(rows int) Cost {
	shared, pass := a.factored.footprint()
	return Cost{Shared: int64(shared), Pass: int64(pass + 2*kernel.PaddedSize(rows, a.matrix.Rank()))}
}
