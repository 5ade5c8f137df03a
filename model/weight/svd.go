package weight

import (
	"fmt"
	"math"

	"sweep/model/kernel"
)

// SVD is a [Matrix] in the form of its singular value decomposition, the
// weight of Spectral-RNN (equations 6 and 7):
//
//	W = H(u_n) … H(u_{n-m1+1}) diag(σ) H(v_{n-m2+1}) … H(v_n)
//	σ = 2r (sigmoid(σ̂) - ½) + σ*
//
// so that every singular value stays within r of σ*. With m1 = m2 = n and r
// large enough it reaches every matrix with such singular values (theorem 2).
type SVD[F kernel.Float] struct {
	n        int
	set      *kernel.Set[F]
	u, v     reflectors[F]
	units    [][]F    // the vectors of both, for Project; nil before its first call
	sigmaHat *View[F] // σ̂, n
	sigma    []F      // σ of the last call of Value or Factors
	slope    []F      // ∂σ/∂σ̂ there
	dsigma   []F      // ∂L/∂σ
	radius   float64
	center   float64

	// For Value; nil before its first call.
	left, right *chain[F]        // the products W and V
	turned      kernel.Matrix[F] // V Σ, or the gradient of it
	factors     *svdFactors[F]   // for Factors; nil before their first call
}

// SVDOptions are the choices of an [SVD] matrix.
type SVDOptions struct {
	Left   int     // m1, the number of reflectors of U, from 1 to n
	Right  int     // m2, the number of reflectors of V, from 1 to n
	Radius float64 // r, how far a singular value may be from Center; 0 fixes it there
	Center float64 // σ*, usually 1
}

// NewSVD declares in the arena the tensors "u<n>" … "u<n-m1+1>" and "v<n>" …
// "v<n-m2+1>" of those lengths and "sigma_hat" of length n.
func NewSVD[F kernel.Float](set *kernel.Set[F], arena *Arena[F], n int, options SVDOptions) (*SVD[F], error) {
	for _, o := range []struct {
		name  string
		value float64
	}{{"radius", options.Radius}, {"center", options.Center}} {
		if !(o.value >= 0 && o.value <= math.MaxFloat32) {
			return nil, fmt.Errorf("weight: %s %v of the singular values: want a finite number that is not negative", o.name, o.value)
		}
	}
	if err := checkReflectors("u", n, options.Left); err != nil {
		return nil, err
	}
	if err := checkReflectors("v", n, options.Right); err != nil {
		return nil, err
	}
	return &SVD[F]{
		n:        n,
		set:      set,
		u:        declareReflectors(arena, "u", n, options.Left),
		v:        declareReflectors(arena, "v", n, options.Right),
		sigmaHat: arena.Declare("sigma_hat", 1, n),
		sigma:    make([]F, n),
		slope:    make([]F, n),
		dsigma:   make([]F, n),
		radius:   options.Radius,
		center:   options.Center,
	}, nil
}

// Size returns n.
func (s *SVD[F]) Size() int { return s.n }

// Starts lists [StartRandom] and [StartNearIdentity].
func (s *SVD[F]) Starts() []Start { return reflectorStarts }

// Start sets the reflectors to the named start and σ̂ to 0, that is σ to σ*.
// The near-identity start is V = U; reflectors that one side has more than the
// other cancel in pairs.
func (s *SVD[F]) Start(start Start, random *Random) error {
	start, err := startOf(start, reflectorStarts)
	if err != nil {
		return err
	}
	s.u.draw(random)
	s.v.draw(random)
	if start == StartNearIdentity {
		common := min(len(s.u), len(s.v))
		for k := range common {
			copy(s.v[k].Value, s.u[k].Value)
		}
		s.u[common:].pair()
		s.v[common:].pair()
	}
	s.Project()
	clear(s.sigmaHat.Value)
	return nil
}

// Value writes W: algorithm 1's forward part with the identity in the place of
// h, a column of which is then a column of W. Its right half is made as V Σ and
// turned over, as a matrix is scaled by columns in one go.
func (s *SVD[F]) Value(w kernel.Matrix[F]) {
	checkSquare(w, s.n)
	if s.left == nil {
		s.left, s.right = newChain(s.set, s.u, s.n), newChain(s.set, s.v, s.n)
		s.turned = newMatrix[F](s.n, s.n)
	}
	s.loadSigma()
	s.right.begin()
	s.right.reflect()
	s.set.MultiplySum(s.turned, kernel.Sum[F]{H: s.right.product, D: s.sigma})
	s.set.Transpose(s.left.product, s.turned)
	s.left.reflect()
	fill(w, s.left.product)
}

// Pullback adds the gradients of reflectors and σ̂: algorithm 1's backward
// part, with dw in the place of ∂L/∂h.
func (s *SVD[F]) Pullback(dw kernel.Matrix[F]) {
	checkSquare(dw, s.n)
	s.left.pullback(dw)
	s.set.Transpose(s.turned, dw)
	clear(s.dsigma)
	s.set.ColumnProductSumsAdd(s.dsigma, s.turned, s.right.product)
	s.pullbackSigma()
	s.set.MultiplySum(dw, kernel.Sum[F]{H: s.turned, D: s.sigma})
	s.right.pullback(dw)
}

// loadSigma computes σ, and its derivative
// ∂σ/∂σ̂ = 2r sigmoid(σ̂) (1 - sigmoid(σ̂)), for the present parameters.
func (s *SVD[F]) loadSigma() {
	s.set.Sigmoid(s.slope, s.sigmaHat.Value)
	for i, f := range s.slope {
		f := float64(f)
		s.sigma[i] = F(2*s.radius*(f-0.5) + s.center)
		s.slope[i] = F(2 * s.radius * f * (1 - f))
	}
}

// pullbackSigma adds the gradient of σ̂ from that of σ.
func (s *SVD[F]) pullbackSigma() {
	for i, d := range s.dsigma {
		s.sigmaHat.Gradient[i] += s.slope[i] * d
	}
}

// Project scales the reflectors to unit length.
func (s *SVD[F]) Project() {
	if s.units == nil {
		s.units = append(s.u.values(), s.v.values()...)
	}
	s.set.NormalizeAll(s.units)
}

// SingularValues appends σ, in the order of σ̂.
func (s *SVD[F]) SingularValues(dst []float64) []float64 {
	for _, hat := range s.sigmaHat.Value {
		dst = append(dst, s.singular(float64(hat)))
	}
	return dst
}

// singular returns σ for σ̂, equation (7).
func (s *SVD[F]) singular(hat float64) float64 {
	return 2*s.radius*(sigmoid(hat)-0.5) + s.center
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
