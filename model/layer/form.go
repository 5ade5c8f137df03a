package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// form is a weight matrix as products take it: W itself, formed once a minibatch,
// and the gradients of W that passes have.
type form[F kernel.Float] struct {
	set    *kernel.Set[F]
	matrix weight.Matrix[F]
	low    *lowRank[F]      // the factors that W is formed from; nil if it is not
	direct *weight.View[F]  // W if it is a parameter itself
	w      kernel.Matrix[F] // made by the first load: an estimate has no use for it
	passes []*formGradient[F]
}

// dense applies W itself, formed and packed once a minibatch, for all passes of a layer.
type dense[F kernel.Float] struct {
	form[F]
	right kernel.Packed[F] // Wᵀ, for products of states in rows
	left  kernel.Packed[F] // W, for those of deltas
}

// load forms and packs W for the present parameters.
func (d *dense[F]) load() {
	w := d.form.load()
	d.set.PackTransposed(&d.right, w)
	d.set.Pack(&d.left, w)
}

// packedFootprint is [form.footprint] and what is packed of W, which is square.
func (d *dense[F]) packedFootprint() (shared, pass, fork int) {
	shared, pass, fork = d.footprint()
	n, _ := d.matrix.Shape()
	return shared + 2*d.set.PackedSize(n, n, false), pass, fork
}

// formGradient is ∂L/∂W of one pass; of the first pass it is the parameter's own
// gradient where W is a parameter.
type formGradient[F kernel.Float] struct {
	direct *weight.View[F]
	dw     kernel.Matrix[F]
	unset  bool // dw counts as 0, whatever it holds
}

func newForm[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F]) form[F] {
	rows, cols := matrix.Shape()
	f := form[F]{set: set, matrix: matrix}
	if dense, ok := matrix.(*weight.Dense[F]); ok && cols%kernel.PaddedColumns != 0 {
		f.direct = dense.View()
		f.direct.Deferred = true
	}
	if matrix, ok := matrix.(weight.LowRank[F]); ok && rows == cols &&
		rows >= max(formedSize, formedRanks*matrix.Rank()) {
		f.low = newLowRank(set, matrix)
	}
	return f
}

// load returns W for the present parameters.
func (f *form[F]) load() kernel.Matrix[F] {
	if f.direct == nil && f.w.Data == nil {
		f.w = kernel.NewPadded[F](f.matrix.Shape())
	}
	switch {
	case f.direct != nil:
		return f.direct.Matrix()
	case f.low != nil:
		f.low.value(f.w)
	default:
		f.matrix.Value(f.w)
	}
	return f.w
}

// margin returns max |σ_i - 1| over the singular values of W as it was loaded last.
func (f *form[F]) margin(ctx context.Context) (float64, error) {
	w := f.w
	if f.direct != nil {
		w = f.direct.Matrix()
	}
	return weight.Margin(ctx, f.set, w)
}

// pass returns the place for the gradient of a further pass.
func (f *form[F]) pass() *formGradient[F] {
	g := &formGradient[F]{}
	if f.direct != nil && len(f.passes) == 0 {
		g.direct = f.direct
	} else {
		g.dw = kernel.NewPadded[F](f.matrix.Shape())
	}
	f.passes = append(f.passes, g)
	return g
}

// begin sets the gradient to 0, but for a parameter's own, which others clear.
func (g *formGradient[F]) begin() {
	g.unset = true
	if g.direct != nil {
		g.dw, g.unset = g.direct.GradientMatrix(), g.direct.Unset()
	}
}

// add is dW += δᵀ x.
func (g *formGradient[F]) add(set *kernel.Set[F], deltas, x kernel.Matrix[F], scratch *kernel.Scratch[F]) {
	if g.unset {
		set.Transposed(g.dw, deltas, x, scratch)
		g.unset = false
		return
	}
	set.TransposedAdd(g.dw, deltas, x, scratch)
}

// join carries the gradients of the first so many passes to the parameters.
func (f *form[F]) join(used int) {
	dw := f.passes[0].dw
	if f.direct != nil && f.direct.Unset() {
		clear(f.direct.Gradient)
	}
	for _, g := range f.passes[1:used] {
		add(f.set, dw, g.dw)
	}
	switch {
	case f.direct != nil:
	case f.low != nil:
		f.low.pullback(dw)
	default:
		f.matrix.Pullback(dw)
	}
}

// lowRank forms W = diag(d) + L Rᵀ and takes its gradient apart:
//
//	dL = dW R   dR = dWᵀ L   dd = diag(dW)
type lowRank[F kernel.Float] struct {
	factors[F]
	factorGradients[F]
	packed kernel.Packed[F]
}

func newLowRank[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F]) *lowRank[F] {
	l := &lowRank[F]{factors: newFactors(set, matrix)}
	l.factorGradients = l.gradients()
	return l
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
	l.dright.Clear()
	l.set.TransposedAdd(l.dright, dw, l.left, nil)
	for i := range l.dd {
		l.dd[i] = dw.Data[i*dw.Stride+i]
	}
	l.factors.pullback(&l.factorGradients)
}

// footprint is the values of what all passes use, of each pass, and of each but the first.
func (f *form[F]) footprint() (shared, pass, fork int) {
	own := kernel.PaddedSize(f.matrix.Shape())
	switch {
	case f.direct != nil:
		return 0, 0, own
	case f.low != nil:
		n, k := len(f.low.d), f.low.matrix.Rank()
		packed := max(f.set.PackedSize(k, n, false), f.set.PackedSize(n, k, false))
		return own + 2*factorsSize(n, k) + packed + f.low.matrix.FactorsFootprint(), own, 0
	default:
		return own + f.matrix.Footprint(), own, 0
	}
}
