package weight

import "sweep/model/kernel"

// A chain multiplies an n × n matrix, at first the identity, by reflectors and
// one diagonal from the left, and runs the chain rule back over them.
//
// It does not keep every intermediate product: a reflector is its own inverse,
// so the way back finds the product before it by applying it once more. This
// keeps everything in the cache, at 4n² bytes instead of 4n²m. The product
// before the diagonal, which has no such inverse, is copied.
type chain[F kernel.Float] struct {
	set     *kernel.Set[F]
	product kernel.Matrix[F]
	before  kernel.Matrix[F] // product before the diagonal
}

func newChain[F kernel.Float](set *kernel.Set[F], n int) *chain[F] {
	return &chain[F]{
		set:     set,
		product: kernel.Dense(make([]F, n*n), n, n),
		before:  kernel.Dense(make([]F, n*n), n, n),
	}
}

// begin sets the product to the identity.
func (c *chain[F]) begin() {
	clear(c.product.Data)
	for i := range c.product.Rows {
		c.product.Data[i*c.product.Stride+i] = 1
	}
}

// reflect is Q ← H(u) Q.
func (c *chain[F]) reflect(u *View[F]) { c.set.ReflectLeft(c.product, u.Value) }

// scale is Q ← diag(sigma) Q.
func (c *chain[F]) scale(sigma []F) {
	copy(c.before.Data, c.product.Data)
	for i, s := range sigma {
		c.set.Scale(c.product.Row(i), s)
	}
}

// end writes Q into w.
func (c *chain[F]) end(w kernel.Matrix[F]) {
	for i := range w.Rows {
		copy(w.Row(i), c.product.Row(i))
	}
}

// pullback goes back over reflect: g = ∂L/∂(H Q) becomes ∂L/∂Q, and the
// gradient of u is added to.
func (c *chain[F]) pullback(u *View[F], g kernel.Matrix[F]) {
	c.set.ReflectLeftBackward(c.product, g, u.Value, u.Gradient)
}

// pullbackScale goes back over scale: g = ∂L/∂(diag(sigma) Q) becomes ∂L/∂Q,
// and dsigma is set to the gradient of sigma.
func (c *chain[F]) pullbackScale(sigma, dsigma []F, g kernel.Matrix[F]) {
	copy(c.product.Data, c.before.Data)
	for i, s := range sigma {
		row := g.Row(i)
		dsigma[i] = F(c.set.Dot(row, c.before.Row(i)))
		c.set.Scale(row, s)
	}
}
