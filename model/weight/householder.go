package weight

import "sweep/model/kernel"

// Householder is an orthogonal [Matrix], the weight of oRNN (Mhammedi et al.
// 2017): the product of m reflectors
//
//	W = H(u_n) H(u_{n-1}) … H(u_{n-m+1})
//
// as equation (2). With m = n it reaches every orthogonal matrix (theorem 1).
// Its parameters do not determine the lengths of the u: neither does W depend
// on them, nor do gradients change them to first order. [Matrix.Project] keeps
// them at 1, so that a learning rate means the same throughout.
type Householder[F kernel.Float] struct {
	n     int
	u     reflectors[F]
	units [][]F // the vectors, for Project; nil before its first call
	chain *chain[F]

	compact *compact[F]      // for Factors; nil before their first call
	da      kernel.Matrix[F] // n × m
}

// NewHouseholder declares m reflectors, tensors "u<n>" … "u<n-m+1>" of those
// lengths, in the arena. m is from 1 to n.
func NewHouseholder[F kernel.Float](set *kernel.Set[F], arena *Arena[F], n, m int) (*Householder[F], error) {
	if err := checkReflectors("u", n, m); err != nil {
		return nil, err
	}
	u := declareReflectors(arena, "u", n, m)
	return &Householder[F]{n: n, u: u, chain: newChain(set, u, n)}, nil
}

var reflectorStarts = []Start{StartRandom, StartNearIdentity}

// Size returns n.
func (h *Householder[F]) Size() int { return h.n }

// Starts lists [StartRandom] and [StartNearIdentity].
func (h *Householder[F]) Starts() []Start { return reflectorStarts }

// Start sets the reflectors to the named start.
func (h *Householder[F]) Start(start Start, random *Random) error {
	start, err := startOf(start, reflectorStarts)
	if err != nil {
		return err
	}
	h.u.draw(random)
	if start == StartNearIdentity {
		h.u.pair()
	}
	h.Project()
	return nil
}

// Value writes W.
func (h *Householder[F]) Value(w kernel.Matrix[F]) {
	checkSquare(w, h.n)
	h.chain.begin()
	h.chain.reflect()
	fill(w, h.chain.product)
}

// Pullback adds the gradients of the reflectors.
func (h *Householder[F]) Pullback(dw kernel.Matrix[F]) {
	checkSquare(dw, h.n)
	h.chain.pullback(dw)
}

// Project scales the reflectors to unit length.
func (h *Householder[F]) Project() {
	if h.units == nil {
		h.units = h.u.values()
	}
	h.chain.set.NormalizeAll(h.units)
}

// SingularValues appends n ones: W is orthogonal whatever its parameters.
func (h *Householder[F]) SingularValues(dst []float64) []float64 {
	for range h.n {
		dst = append(dst, 1)
	}
	return dst
}

// Rank returns m.
func (h *Householder[F]) Rank() int { return len(h.u) }

// Factors writes W = I - A Yᵀ: d = 1, L = -A and R = Y.
func (h *Householder[F]) Factors(d []F, left, right kernel.Matrix[F]) {
	checkFactors(d, left, right, h.n, h.Rank())
	if h.compact == nil {
		h.compact = newCompact(h.chain.set, h.u, h.n)
		h.da = newMatrix[F](h.n, len(h.u))
	}
	h.compact.load()
	for i := range d {
		d[i] = 1
	}
	negate(left, h.compact.a)
	fill(right, h.compact.y)
}

// PullbackFactors adds the gradients of the reflectors.
func (h *Householder[F]) PullbackFactors(dd []F, dleft, dright kernel.Matrix[F]) {
	checkFactors(dd, dleft, dright, h.n, h.Rank())
	negate(h.da, dleft)
	h.compact.pullback(dright, h.da)
}
