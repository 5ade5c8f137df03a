package weight

import "sweep/model/kernel"

// Sides are the parts of W = U Σ Vᵀ by which it is applied with something between them:
//
//	U = I + Lᵤ Rᵤᵀ      V = I + Lᵥ Rᵥᵀ
//
// or the gradients of these parts. Of an n × n matrix L and R are [n × m1] and [n × m2].
type Sides[F kernel.Float] struct {
	Sigma []F
	U, V  Side[F]
}

// Side is the factors of an orthogonal matrix I + Left Rightᵀ.
type Side[F kernel.Float] struct{ Left, Right kernel.Matrix[F] }

// NewSides returns the sides of zeros of an n × n matrix of so many reflectors.
func NewSides[F kernel.Float](n, m1, m2 int) Sides[F] {
	side := func(m int) Side[F] { return Side[F]{kernel.NewPadded[F](n, m), kernel.NewPadded[F](n, m)} }
	return Sides[F]{Sigma: make([]F, n), U: side(m1), V: side(m2)}
}

// SidesSize is the values of sides.
func SidesSize(n, m1, m2 int) int {
	return n + 2*kernel.PaddedSize(n, m1) + 2*kernel.PaddedSize(n, m2)
}

// svdSides are both sides of an [SVD] in compact form.
type svdSides[F kernel.Float] struct{ u, v *compact[F] }

// Reflectors returns m1 and m2.
func (s *SVD[F]) Reflectors() (left, right int) { return len(s.u), len(s.v) }

// Sides writes the parts of a square W.
func (s *SVD[F]) Sides(to Sides[F]) {
	if s.sides == nil {
		s.sides = &svdSides[F]{newCompact(s.set, s.u, s.rows), newCompact(s.set, s.v, s.cols)}
	}
	s.loadSigma()
	copy(to.Sigma, s.sigma)
	s.sides.u.side(to.U)
	s.sides.v.side(to.V)
}

// PullbackSides adds the gradients of the reflectors and of σ̂, and that of the penalty, given
// those of the parts that Sides wrote last. It uses them as scratch space.
func (s *SVD[F]) PullbackSides(d Sides[F]) {
	copy(s.dsigma, d.Sigma)
	s.sides.u.pullbackSide(d.U)
	s.sides.v.pullbackSide(d.V)
	s.pullbackSigma()
}

// side computes the compact form, I - A Yᵀ, and writes it.
func (c *compact[F]) side(to Side[F]) {
	c.load()
	negate(to.Left, c.a)
	to.Right.Fill(c.y)
}

// pullbackSide adds the reflectors' gradients.
func (c *compact[F]) pullbackSide(d Side[F]) {
	negate(d.Left, d.Left)
	c.pullback(d.Right, d.Left)
}

// SidesFootprint counts both compact forms.
func (s *SVD[F]) SidesFootprint() int {
	return compactFootprint(s.set, s.rows, len(s.u)) + compactFootprint(s.set, s.cols, len(s.v))
}
