package weight

import (
	"context"
	"slices"

	"sweep/model/kernel"
	"sweep/model/random"
)

// SVD is a [Matrix] in the form of its singular value decomposition, the
// weight of Spectral-RNN (equations 6 and 7):
//
//	W = H(u_m) … H(u_{m-m1+1}) Σ H(v_{n-m2+1}) … H(v_n)
//	σ = 2r (sigmoid(σ̂) - ½) + σ*
//
// for m rows and n columns, Σ being m × n with σ on its diagonal, so that every
// singular value stays within r of σ*. With m1 = m2 = min(m, n) and r large enough
// it reaches every matrix with such singular values (theorems 2 and 4).
type SVD[F kernel.Float] struct {
	spectrum[F]
	unitVectors[F]
	rows, cols int
	u, v       reflectors[F]

	// For Value; nil before its first call.
	byFrames    bool
	frames      *svdFrames[F]    // if W is formed from them; else
	left, right *chain[F]        // the products W and V
	transposed  kernel.Matrix[F] // V Σᵀ, or the gradient of it
	factors     *svdFactors[F]   // for Factors; nil before their first call
	sides       *svdSides[F]     // for Sides; likewise
}

// SVDOptions are the choices of an [SVD] matrix.
type SVDOptions struct {
	Left   int     // m1, the number of reflectors of U, from 1 to the rows
	Right  int     // m2, the number of reflectors of V, from 1 to the columns
	Radius float64 // r, how far a singular value may be from Center; 0 fixes it there
	Center float64 // σ*, usually 1

	// Clip makes σ itself the parameter, clipped to [σ*-r, σ*+r] after every step.
	Clip bool
	// Penalty is λ of λ ‖σ - σ*‖², whose gradient Pullback and PullbackFactors add.
	Penalty float64
	// Scale starts σ where σ̂ from N(0, Scale²) has it; with 0 at σ*.
	Scale float64
}

// NewSVD declares in the arena the tensors "u<rows>" … "u<rows-m1+1>" and "v<cols>"
// … "v<cols-m2+1>" of those lengths and "sigma_hat", or "sigma", one of each singular value.
func NewSVD[F kernel.Float](set *kernel.Set[F], arena *Arena[F], rows, cols int, options SVDOptions) (*SVD[F], error) {
	if err := checkReflectors("u", rows, options.Left); err != nil {
		return nil, err
	}
	if err := checkReflectors("v", cols, options.Right); err != nil {
		return nil, err
	}
	sigma := spectrumOptions{radius: options.Radius, center: options.Center, scale: options.Scale,
		clipped: options.Clip, penalty: options.Penalty}
	if err := sigma.check(); err != nil {
		return nil, err
	}
	u, v := declareReflectors(arena, "u", rows, options.Left), declareReflectors(arena, "v", cols, options.Right)
	return &SVD[F]{
		spectrum:    newSpectrum(set, arena, min(rows, cols), sigma),
		unitVectors: unitVectors[F]{kernels: set, reflectors: slices.Concat(u, v)}, rows: rows, cols: cols, u: u, v: v,
		byFrames: rows != cols && max(rows, cols) >= frameSize,
	}, nil
}

// frameSize is the length of the longer side from which on a matrix that is not square
// is formed by products of matrices: one reflector after another would go over more than
// the cache holds.
const frameSize = 128

// Shape returns the numbers of rows and columns.
func (s *SVD[F]) Shape() (rows, cols int) { return s.rows, s.cols }

// Init sets the reflectors to [StartRandom] or [StartNearIdentity] and σ to σ*, or to where
// Gaussian σ̂ have it if the options say so.
// The near-identity start of a square matrix is V = U; reflectors that one side has
// more than the other cancel in pairs, as all do where rows and columns differ.
func (s *SVD[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	start, err := startOf(start, reflectorStarts)
	if err != nil {
		return err
	}
	s.u.draw(source)
	s.v.draw(source)
	if start == StartNearIdentity {
		common := 0
		if s.rows == s.cols {
			common = min(len(s.u), len(s.v))
		}
		for k := range common {
			copy(s.v[k].Value, s.u[k].Value)
		}
		s.u[common:].pair()
		s.v[common:].pair()
	}
	s.unitVectors.Constrain(0)
	s.startSigma(source)
	return nil
}

// Constrain scales the reflectors to unit length and clips σ, if it is a parameter.
func (s *SVD[F]) Constrain(rate float64) {
	s.unitVectors.Constrain(rate)
	s.constrainSigma()
}

// Project is Constrain.
func (s *SVD[F]) Project() { s.Constrain(0) }

// Value writes W: algorithm 1's forward part with the identity in the place of
// h, a column of which is then a column of W. Of V it takes the columns that meet
// a singular value, scales them, as a matrix is scaled by columns in one go, and
// turns them over: these are the first rows of Σ Vᵀ, the others are zero. Of a large
// matrix that is not square it does so in compact form, see [svdFrames].
func (s *SVD[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, s)
	k := len(s.sigma)
	if s.byFrames {
		if s.frames == nil {
			s.frames = newSVDFrames(s)
		}
		s.loadSigma()
		s.frames.value(w, s.sigma)
		return
	}
	if s.left == nil {
		s.left, s.right = newChain(s.set, s.u, s.rows, s.cols), newChain(s.set, s.v, s.cols, k)
		s.transposed = kernel.NewMatrix[F](s.cols, k)
	}
	s.loadSigma()
	s.right.begin()
	s.right.reflect()
	s.set.MultiplySum(s.transposed, kernel.Sum[F]{H: s.right.product, D: s.sigma})
	ready(&s.left.product)
	s.set.Transpose(s.left.product.Slice(0, k), s.transposed)
	clear(s.left.product.Data[k*s.cols:])
	s.left.reflect()
	w.Fill(s.left.product)
}

// Pullback adds the gradients of reflectors and σ̂, and that of the penalty: algorithm 1's backward
// part, with dw in the place of ∂L/∂h.
func (s *SVD[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, s)
	if s.byFrames {
		s.frames.pullback(dw, s.sigma, s.dsigma)
		s.pullbackSigma()
		return
	}
	s.left.pullback(dw)
	s.set.Transpose(s.transposed, dw.Slice(0, len(s.sigma)))
	clear(s.dsigma)
	s.set.ColumnProductSumsAdd(s.dsigma, s.transposed, s.right.product)
	s.pullbackSigma()
	s.set.MultiplySum(s.transposed, kernel.Sum[F]{H: s.transposed, D: s.sigma})
	s.right.pullback(s.transposed)
}

// Flops counts 4 operations an element of a product and reflector in Value, 8 in
// Pullback; by frames the products of matrices.
func (s *SVD[F]) Flops() float64 {
	if s.byFrames {
		n, m, k, other := float64(s.cols), float64(len(s.v)), float64(s.rows), float64(len(s.u))
		if s.rows > s.cols {
			n, m, k, other = float64(s.rows), float64(len(s.u)), float64(s.cols), float64(len(s.v))
		}
		long := 4*n*m*m + 6*n*m*k + 8*m*m*m + 10*m*k*k
		return long + 12*k*other*other + 6*k*k*other
	}
	left, right := float64(s.rows)*float64(len(s.u)), float64(len(s.sigma))*float64(len(s.v))
	return 12 * float64(s.cols) * (left + right)
}

// Footprint counts the frames, or two products and V Σᵀ.
func (s *SVD[F]) Footprint() int {
	if s.byFrames {
		return s.framesFootprint()
	}
	return s.rows*s.cols + 2*s.cols*len(s.sigma)
}
