package weight

import (
	"slices"

	"sweep/model/kernel"
)

// A chain is the product of reflectors, the longest leftmost, times a matrix,
// and its backward pass.
//
// It does not store every intermediate product: a reflector is its own inverse,
// so the backward pass finds the product before it by applying it once more. So
// everything stays in the cache, at 4n² bytes instead of 4n²m.
type chain[F kernel.Float] struct {
	set        *kernel.Set[F]
	reflectors reflectors[F]
	product    kernel.Matrix[F]

	// The vectors in the order of their use, the shortest first; nil before the
	// arena has made them.
	values, gradients [][]F
}

// newChain returns the chain of reflectors of dimension rows, times a matrix of so
// many rows.
func newChain[F kernel.Float](set *kernel.Set[F], r reflectors[F], rows, cols int) *chain[F] {
	return &chain[F]{set: set, reflectors: r, product: later[F](rows, cols)}
}

// begin sets the product to the identity.
func (c *chain[F]) begin() {
	ready(&c.product)
	identity(c.product)
}

// reflect is Q ← H(u_n) … H(u_{n-m+1}) Q.
func (c *chain[F]) reflect() {
	if c.values == nil {
		for _, u := range slices.Backward(c.reflectors) {
			c.values, c.gradients = append(c.values, u.Value), append(c.gradients, u.Gradient)
		}
	}
	c.set.ReflectLeftAll(c.product, c.values)
}

// pullback goes back over reflect: g = ∂L/∂(H … H Q) becomes ∂L/∂Q, the product
// becomes Q, and the gradients of the reflectors are added to.
func (c *chain[F]) pullback(g kernel.Matrix[F]) {
	c.set.ReflectLeftAllBackward(c.product, g, c.values, c.gradients)
}
