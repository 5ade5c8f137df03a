package weight

import "sweep/model/kernel"

// A compact is the product of reflectors as Q = I - A Yᵀ: the columns of Y are
// the reflectors, longest first, with their leading zeros, and A = Y T.
type compact[F kernel.Float] struct {
	triangle[F]
	y, a kernel.Matrix[F] // n × m
}

func newCompact[F kernel.Float](set *kernel.Set[F], r reflectors[F], n int) *compact[F] {
	m := len(r)
	return &compact[F]{triangle: newTriangle(set, r), y: kernel.NewMatrix[F](n, m), a: kernel.NewMatrix[F](n, m)}
}

// load computes Y, T and A for the present parameters.
func (c *compact[F]) load() {
	m := len(c.reflectors)
	for k, u := range c.reflectors {
		for i, x := range u.Value {
			c.y.Data[(k+i)*m+k] = x
		}
	}
	c.set.Transposed(c.gram, c.y, c.y, nil)
	c.invert()
	c.set.Pack(&c.packed, c.t)
	c.set.Multiply(c.a, c.y, &c.packed)
}

// pullback adds the reflectors' gradients, given dy and the gradient of A, which
// are those of Y and A where they are used. dT is Yᵀ dA.
func (c *compact[F]) pullback(dy, da kernel.Matrix[F]) {
	c.set.Transposed(c.dt, c.y, da, nil)
	c.set.PackTransposed(&c.packed, c.t)
	c.set.MultiplyAdd(dy, da, &c.packed)
	c.set.Pack(&c.packed, c.triangle.pullback())
	c.set.MultiplyAdd(dy, c.y, &c.packed)
	for k, u := range c.reflectors {
		for i := range u.Gradient {
			u.Gradient[i] += dy.Data[(k+i)*dy.Stride+k]
		}
	}
}

// negate is dst = -src.
func negate[F kernel.Float](dst, src kernel.Matrix[F]) {
	for i := range dst.Rows {
		row := dst.Row(i)
		for j, x := range src.Row(i) {
			row[j] = -x
		}
	}
}

// compactFootprint is the values of a compact form of m reflectors.
func compactFootprint[F kernel.Float](set *kernel.Set[F], n, m int) int {
	return triangleFootprint(set, m) + 2*n*m
}
