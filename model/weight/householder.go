package weight

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Householder is an orthogonal [Matrix], the weight of oRNN (Mhammedi et al.
// 2017): the product of m reflectors
//
//	W = H(u_n) H(u_{n-1}) … H(u_{n-m+1})
//
// as equation (2). With m = n it reaches every orthogonal matrix (theorem 1).
// Where rows and columns differ n is the larger number: W is the first columns of
// the product, or these transposed, and what is shorter is orthonormal.
//
// W does not depend on the lengths of the u, which [Matrix.Constrain] sets to 1.
type Householder[F kernel.Float] struct {
	unitVectors[F]
	rows, cols int
	u          reflectors[F]
	chain      *chain[F]
	transposed kernel.Matrix[F] // ∂L/∂Wᵀ; made if there are more columns than rows

	compact *compact[F]      // for Factors; nil before their first call
	da      kernel.Matrix[F] // n × m
}

// NewHouseholder declares m reflectors, tensors "u<n>" … "u<n-m+1>" of those
// lengths, in the arena, n being the larger of rows and cols. m is from 1 to n.
func NewHouseholder[F kernel.Float](set *kernel.Set[F], arena *Arena[F], rows, cols, m int) (*Householder[F], error) {
	n := max(rows, cols)
	if err := checkReflectors("u", n, m); err != nil {
		return nil, err
	}
	if err := checkSides(rows, cols); err != nil {
		return nil, err
	}
	u := declareReflectors(arena, "u", n, m)
	h := &Householder[F]{unitVectors: unitVectors[F]{kernels: set, reflectors: u}, rows: rows, cols: cols, u: u,
		chain: newChain(set, u, n, min(rows, cols))}
	if rows < cols {
		h.transposed = later[F](cols, rows)
	}
	return h, nil
}

var reflectorStarts = []Start{StartRandom, StartNearIdentity}

// Shape returns the numbers of rows and columns.
func (h *Householder[F]) Shape() (rows, cols int) { return h.rows, h.cols }

// Init sets the reflectors to [StartRandom] or [StartNearIdentity].
func (h *Householder[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	start, err := startOf(start, reflectorStarts)
	if err != nil {
		return err
	}
	h.u.draw(source)
	if start == StartNearIdentity {
		h.u.pair()
	}
	h.Constrain(0)
	return nil
}

// Value writes W.
func (h *Householder[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, h)
	h.chain.begin()
	h.chain.reflect()
	if h.rows < h.cols {
		h.chain.set.Transpose(w, h.chain.product)
	} else {
		w.Fill(h.chain.product)
	}
}

// Pullback adds the gradients of the reflectors.
func (h *Householder[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, h)
	if h.rows < h.cols {
		ready(&h.transposed)
		h.chain.set.Transpose(h.transposed, dw)
		dw = h.transposed
	}
	h.chain.pullback(dw)
}

// Flops counts 4 operations an element of a product and reflector in Value, 8 in
// Pullback.
func (h *Householder[F]) Flops() float64 {
	return 12 * float64(h.rows) * float64(h.cols) * float64(len(h.u))
}

// Rank returns m.
func (h *Householder[F]) Rank() int { return len(h.u) }

// Factors writes W = I - A Yᵀ: d = 1, L = -A and R = Y.
func (h *Householder[F]) Factors(d []F, left, right kernel.Matrix[F]) {
	checkFactors(d, left, right, h)
	if h.compact == nil {
		h.compact = newCompact(h.chain.set, h.u, h.rows)
		h.da = kernel.NewMatrix[F](h.rows, len(h.u))
	}
	h.compact.load()
	for i := range d {
		d[i] = 1
	}
	negate(left, h.compact.a)
	right.Fill(h.compact.y)
}

// PullbackFactors adds the gradients of the reflectors.
func (h *Householder[F]) PullbackFactors(dd []F, dleft, dright kernel.Matrix[F]) {
	checkFactors(dd, dleft, dright, h)
	negate(h.da, dleft)
	h.compact.pullback(dright, h.da)
}

// Footprint counts the chain's product and, where it is made, ∂L/∂Wᵀ.
func (h *Householder[F]) Footprint() int {
	return h.chain.product.Rows*h.chain.product.Cols + h.transposed.Rows*h.transposed.Cols
}

// FactorsFootprint counts the compact form and the gradient of A.
func (h *Householder[F]) FactorsFootprint() int {
	m := len(h.u)
	return compactFootprint(h.chain.set, h.rows, m) + h.rows*m
}
