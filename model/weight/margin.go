package weight

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
)

// How a margin is computed: singular values all together where that is cheap, else the
// outermost by Lanczos' method.
const (
	// decomposedSize is the smaller side up to which a matrix is decomposed.
	decomposedSize = 64
	// marginTolerance is the change of the margin, relative to it, with which the
	// iteration ends, and marginSteps the most steps that it takes.
	marginTolerance = 1e-4
	marginSteps     = 120
	// marginInterval is the number of steps between two looks at the margin.
	marginInterval = 10
)

// Margin returns max |σ_i - 1| over the min(rows, cols) singular values of w: how far it
// is from an isometry. It decomposes a small w; of a large one it estimates the margin by
// up to some hundred products with vectors: never above the true one, within a thousandth
// of it where the largest singular value decides, and some hundredths where the smallest of
// many near zero does. It is NaN if an element is not finite, and the error the context's.
// It allocates: a caller chooses how often to ask.
func Margin[F kernel.Float](ctx context.Context, set *kernel.Set[F], w kernel.Matrix[F]) (float64, error) {
	if !finite(set, w) {
		return math.NaN(), ctx.Err()
	}
	if min(w.Rows, w.Cols) > decomposedSize {
		return lanczosMargin(ctx, set, operator[F]{
			rows: w.Rows, cols: w.Cols,
			forward:  func(dst, x []F) { rowProducts(set, dst, w, x) },
			backward: func(dst, x []F) { columnProducts(set, dst, w, x) },
		})
	}
	return decomposedMargin(double(w)), ctx.Err()
}

// FactorsMargin is [Margin] of the square matrix diag(d) + L Rᵀ, see [LowRank], which it
// does not form where that is large.
func FactorsMargin[F kernel.Float](ctx context.Context, set *kernel.Set[F], d []F,
	left, right kernel.Matrix[F]) (float64, error) {
	n := len(d)
	if n <= decomposedSize {
		w := kernel.NewMatrix[F](n, n)
		for i := range n {
			rowProducts(set, w.Row(i), right, left.Row(i))
			w.Row(i)[i] += d[i]
		}
		return Margin(ctx, set, w)
	}
	if !finite(set, kernel.Dense(d, 1, n)) || !finite(set, left) || !finite(set, right) {
		return math.NaN(), ctx.Err()
	}
	inner := make([]F, left.Cols)
	product := func(outer, in kernel.Matrix[F]) func(dst, x []F) {
		return func(dst, x []F) {
			clear(inner)
			columnProducts(set, inner, in, x)
			rowProducts(set, dst, outer, inner)
			for i, s := range d {
				dst[i] += s * x[i]
			}
		}
	}
	return lanczosMargin(ctx, set, operator[F]{rows: n, cols: n, forward: product(left, right),
		backward: product(right, left)})
}

// finite says whether all elements of w are.
func finite[F kernel.Float](set *kernel.Set[F], w kernel.Matrix[F]) bool {
	for i := range w.Rows {
		if sum := set.SumSquares(w.Row(i)); math.IsNaN(sum) || math.IsInf(sum, 0) {
			return false
		}
	}
	return true
}

// operator is a matrix W by what it does to vectors: dst = W x and dst = Wᵀ x, where dst
// is zero before.
type operator[F kernel.Float] struct {
	rows, cols        int
	forward, backward func(dst, x []F)
}

// decomposedMargin is max |σ_i - 1|, NaN if there is no decomposition.
func decomposedMargin(w mat.Matrix) float64 {
	var svd mat.SVD
	if !svd.Factorize(w, mat.SVDNone) {
		return math.NaN()
	}
	values := svd.Values(nil)
	return margin(values[0], values[len(values)-1])
}

// margin is max |σ_i - 1| of a matrix whose singular values lie between these.
func margin(largest, smallest float64) float64 {
	return max(math.Abs(largest-1), math.Abs(smallest-1)) // a NaN is handed on
}

// lanczosMargin estimates max |σ_i - 1| by the bidiagonalisation of Golub and
// Kahan (1965) from a random start, with full reorthogonalisation. After k steps
// it has orthonormal bases with W V = U B, B being k × k and bidiagonal: the
// singular values of B lie between the outermost of W and approach them, so that
// the margin is at most the true one. A step costs two products of W with a
// vector.
func lanczosMargin[F kernel.Float](ctx context.Context, set *kernel.Set[F], w operator[F]) (float64, error) {
	// V is on the shorter side: on the longer one W has a null space.
	right, left := w.cols, w.rows
	forward, backward := w.forward, w.backward
	if right > left {
		right, left = left, right
		forward, backward = backward, forward
	}
	var us, vs [][]F
	v := make([]F, right)
	random.Gaussian(v, 1, random.New(0, random.Lanczos))
	unit(set, v)
	var alphas, betas []float64
	estimate := 0.0
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		vs = append(vs, v)
		u := make([]F, left)
		forward(u, v)
		orthogonalise(set, u, us)
		alpha := unit(set, u)
		us = append(us, u)
		alphas = append(alphas, alpha)

		v = make([]F, right)
		backward(v, u)
		orthogonalise(set, v, vs)
		beta := unit(set, v)
		// The bases span all that W moves the start to: B knows all of it.
		exhausted := len(vs) == right || beta <= 1e-6*alphas[0] || alpha <= 1e-6*alphas[0]
		if exhausted || len(vs)%marginInterval == 0 {
			before := estimate
			estimate = decomposedMargin(bidiagonal(alphas, betas))
			if exhausted || len(vs) >= marginSteps || math.Abs(estimate-before) <= marginTolerance*estimate {
				return estimate, nil
			}
		}
		betas = append(betas, beta)
	}
}

// bidiagonal is the square matrix with the alphas on its diagonal and betas above.
func bidiagonal(alphas, betas []float64) *mat.Dense {
	b := mat.NewDense(len(alphas), len(alphas), nil)
	for i, alpha := range alphas {
		b.Set(i, i, alpha)
		if i+1 < len(alphas) {
			b.Set(i, i+1, betas[i])
		}
	}
	return b
}

// rowProducts is dst = W x.
func rowProducts[F kernel.Float](set *kernel.Set[F], dst []F, w kernel.Matrix[F], x []F) {
	for i := range dst {
		dst[i] = F(set.Dot(w.Row(i), x))
	}
}

// columnProducts is dst = Wᵀ x; dst is zero before.
func columnProducts[F kernel.Float](set *kernel.Set[F], dst []F, w kernel.Matrix[F], x []F) {
	for i, s := range x {
		set.Axpy(dst, s, w.Row(i))
	}
}

// orthogonalise takes from x what lies along the basis, twice.
func orthogonalise[F kernel.Float](set *kernel.Set[F], x []F, basis [][]F) {
	for range 2 {
		for _, b := range basis {
			set.Axpy(x, F(-set.Dot(x, b)), b)
		}
	}
}

// unit scales x to length 1 and returns the length before; a zero x stays.
func unit[F kernel.Float](set *kernel.Set[F], x []F) float64 {
	length := math.Sqrt(set.SumSquares(x))
	if length > 0 {
		set.Scale(x, F(1/length))
	}
	return length
}
