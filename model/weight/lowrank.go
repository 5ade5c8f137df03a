package weight

import "sweep/model/kernel"

// LowRank is a [Matrix] that, being square, is a diagonal plus a product of two thin
// matrices,
//
//	W = diag(d) + L Rᵀ
//
// with L and R [n × Rank]. Where n is well above the rank, applying the factors
// at every time step costs less than applying W. Value and Pullback remain;
// a cell uses either the one pair of methods or the other.
//
// Products of reflectors have this form by their compact WY representation
// (Schreiber and Van Loan 1989); see [Householder] and [SVD].
type LowRank[F kernel.Float] interface {
	Matrix[F]

	// Rank returns the number of columns of the factors.
	Rank() int

	// FactorsFootprint returns how many values of F the buffers of Factors and
	// PullbackFactors take.
	FactorsFootprint() int

	// Factors writes the diagonal, of length n, and the factors, [n × Rank].
	Factors(d []F, left, right kernel.Matrix[F])

	// PullbackFactors adds ∂L/∂θ to the gradient of each parameter θ, given the
	// gradients of d and of both factors, at the parameters of the last call of
	// Factors. It uses what it is given as scratch space.
	PullbackFactors(dd []F, dleft, dright kernel.Matrix[F])
}
