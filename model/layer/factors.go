package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// factors are those of W = diag(d) + L Rᵀ. Applied one after the other, to states in
// rows, they never form W:
//
//	P = H R                  W H → d ∘ H + P Lᵀ
//	Q = Δ L                  Wᵀ Δ → d ∘ Δ + Q Rᵀ
//	dL = Σ Δᵀ P              dR = Σ Hᵀ Q              dd = Σ Δ ∘ H
type factors[F kernel.Float] struct {
	set    *kernel.Set[F]
	matrix weight.LowRank[F]

	d           []F
	left, right kernel.Matrix[F] // L and R
}

// factored applies W by its factors, for all passes of a layer.
type factored[F kernel.Float] struct {
	factors[F]
	bias          *weight.View[F]  // what is added to W H; nil for nothing
	intoP, outOfP kernel.Packed[F] // R, and Lᵀ with the bias
	intoQ, outOfQ kernel.Packed[F] // L and Rᵀ
	passes        []*factoredPass[F]
}

// factoredPass is the gradients of one pass, and its P and Q.
type factoredPass[F kernel.Float] struct {
	*factored[F]
	factorGradients[F]
	p, q kernel.Matrix[F]
}

// factorGradients are the gradients of d, L and R.
type factorGradients[F kernel.Float] struct {
	dd            []F
	dleft, dright kernel.Matrix[F]
}

func newFactors[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F]) factors[F] {
	n, _ := matrix.Shape()
	k := matrix.Rank()
	return factors[F]{set: set, matrix: matrix, d: make([]F, n), left: kernel.NewPadded[F](n, k),
		right: kernel.NewPadded[F](n, k)}
}

// load computes and packs the factors for the present parameters.
func (f *factored[F]) load() {
	f.matrix.Factors(f.d, f.left, f.right)
	f.set.Pack(&f.intoP, f.right)
	f.set.Pack(&f.intoQ, f.left)
	f.set.PackTransposed(&f.outOfQ, f.right)
	if f.bias != nil {
		f.set.PackTransposedBias(&f.outOfP, f.left, f.bias.Value)
	} else {
		f.set.PackTransposed(&f.outOfP, f.left)
	}
}

// newPass returns a further pass with room for so many rows of P and Q.
func (f *factored[F]) newPass(p, q int) *factoredPass[F] {
	pass := &factoredPass[F]{
		factored: f, factorGradients: f.gradients(),
		p: kernel.NewPadded[F](p, f.matrix.Rank()), q: kernel.NewPadded[F](q, f.matrix.Rank()),
	}
	f.passes = append(f.passes, pass)
	return pass
}

// join carries the gradients of the first so many passes to the parameters.
func (f *factored[F]) join(used int) {
	sum := &f.passes[0].factorGradients
	for _, p := range f.passes[1:used] {
		sum.add(f.set, &p.factorGradients)
	}
	f.pullback(sum)
}

// margin returns max |σ_i - 1| over the singular values of W as it was loaded last.
func (f *factored[F]) margin(ctx context.Context) (float64, error) {
	return weight.FactorsMargin(ctx, f.set, f.d, f.left, f.right)
}

// gradients returns room for gradients.
func (f *factors[F]) gradients() factorGradients[F] {
	n, k := len(f.d), f.matrix.Rank()
	return factorGradients[F]{dd: make([]F, n), dleft: kernel.NewPadded[F](n, k), dright: kernel.NewPadded[F](n, k)}
}

// pullback carries the gradients to the parameters. They are scratch space then.
func (f *factors[F]) pullback(g *factorGradients[F]) {
	f.matrix.PullbackFactors(g.dd, g.dleft, g.dright)
}

func (g *factorGradients[F]) clear() {
	clear(g.dd)
	clear(g.dleft.Data)
	clear(g.dright.Data)
}

func (g *factorGradients[F]) add(set *kernel.Set[F], other *factorGradients[F]) {
	set.Axpy(g.dd, 1, other.dd)
	add(set, g.dleft, other.dleft)
	add(set, g.dright, other.dright)
}

// factorsSize is the values of d, L and R, and of their gradients.
func factorsSize(n, k int) int { return n + 2*kernel.PaddedSize(n, k) }

// footprint is the values of the factors, all of them packed, and those of the gradients, which
// each pass has.
func (f *factored[F]) footprint() (shared, pass int) {
	n, k := len(f.d), f.matrix.Rank()
	packed := 2*f.set.PackedSize(n, k, false) + f.set.PackedSize(k, n, false) + f.set.PackedSize(k, n, f.bias != nil)
	return factorsSize(n, k) + packed + f.matrix.FactorsFootprint(), factorsSize(n, k)
}
