package layer

import (
	"fmt"

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

	d             []F
	left, right   kernel.Matrix[F] // L and R
	intoP         kernel.Packed[F] // R
	intoQ, outOfQ kernel.Packed[F] // L and Rᵀ
}

// factorGradients are the gradients of d, L and R.
type factorGradients[F kernel.Float] struct {
	dd            []F
	dleft, dright kernel.Matrix[F]
}

func newFactors[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F]) factors[F] {
	n, _ := matrix.Shape()
	k := matrix.Rank()
	return factors[F]{set: set, matrix: matrix, d: make([]F, n), left: kernel.NewPadded[F](n, k), right: kernel.NewPadded[F](n, k)}
}

// load computes and packs the factors for the present parameters. Who uses them packs Lᵀ.
func (f *factors[F]) load() {
	f.matrix.Factors(f.d, f.left, f.right)
	f.set.Pack(&f.intoP, f.right)
	f.set.Pack(&f.intoQ, f.left)
	f.set.PackTransposed(&f.outOfQ, f.right)
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

// A Path is a way to apply the matrix of an [Elman] cell at every time step, or of an
// [Affine] layer. Paths differ in speed, and in rounding.
type Path string

// The paths.
const (
	// PathAuto, also "", chooses PathCompactWY for a [weight.LowRank] of less than a
	// third of its size (n > 6m for two times m reflectors), where it is faster
	// by measurement, and PathDense for all else. A rank counts as the next
	// multiple of 16, as products with fewer columns take no less time.
	PathAuto Path = "auto"
	// PathDense forms W once a minibatch.
	PathDense Path = "dense"
	// PathCompactWY applies the factors of a [weight.LowRank] and never forms W.
	PathCompactWY Path = "compact-wy"
)

// factorsOf returns the matrix by whose factors the path leads, nil where W is to be
// formed.
func factorsOf[F kernel.Float](matrix weight.Matrix[F], path Path) (weight.LowRank[F], error) {
	low, factored := matrix.(weight.LowRank[F])
	rows, cols := matrix.Shape()
	factored = factored && rows == cols
	switch path {
	case "", PathAuto:
		factored = factored && rows > 3*((low.Rank()+15)/16*16)
	case PathDense:
		factored = false
	case PathCompactWY:
		if !factored {
			return nil, fmt.Errorf("layer: path %s: a weight without factors has to be formed", path)
		}
	default:
		return nil, fmt.Errorf("layer: unknown path %q: want %s, %s or %s", string(path), PathAuto, PathDense, PathCompactWY)
	}
	if !factored {
		return nil, nil
	}
	return low, nil
}

// factorsSize is the values of d, L and R, and of their gradients.
func factorsSize(n, k int) int { return n + 2*kernel.PaddedSize(n, k) }

// footprint is the values of the factors, all of them packed and Lᵀ with a bias, if there is
// one, and those of the gradients, which each pass has.
func (f *factors[F]) footprint(bias bool) (shared, pass int) {
	n, k := len(f.d), f.matrix.Rank()
	packed := 2*f.set.PackedSize(n, k, false) + f.set.PackedSize(k, n, false) + f.set.PackedSize(k, n, bias)
	return factorsSize(n, k) + packed + f.matrix.FactorsFootprint(), factorsSize(n, k)
}
