package weight

import "sweep/model/kernel"

// A compact is the product of reflectors as Q = I - A Yᵀ: the columns of Y are
// the reflectors, longest first, with their leading zeros, and A = Y T with
//
//	T⁻¹ = the upper triangle of Yᵀ Y, its diagonal halved
//
// which is upper triangular, too (Joffrain et al. 2006).
type compact[F kernel.Float] struct {
	set        *kernel.Set[F]
	reflectors reflectors[F]
	y, a       kernel.Matrix[F] // n × m
	t          kernel.Matrix[F] // m × m
	gram       kernel.Matrix[F] // m × m, as are those that follow
	dt         kernel.Matrix[F]
	work       kernel.Matrix[F]
	packed     kernel.Packed[F]
	inverse    []float64 // T in double precision while it is computed, m × m
}

func newCompact[F kernel.Float](set *kernel.Set[F], r reflectors[F], n int) *compact[F] {
	m := len(r)
	return &compact[F]{
		set:        set,
		reflectors: r,
		y:          newMatrix[F](n, m),
		a:          newMatrix[F](n, m),
		t:          newMatrix[F](m, m),
		gram:       newMatrix[F](m, m),
		dt:         newMatrix[F](m, m),
		work:       newMatrix[F](m, m),
		inverse:    make([]float64, m*m),
	}
}

func newMatrix[F kernel.Float](rows, cols int) kernel.Matrix[F] {
	return kernel.Dense(make([]F, rows*cols), rows, cols)
}

// load computes Y, T and A for the present parameters.
func (c *compact[F]) load() {
	m := len(c.reflectors)
	for k, u := range c.reflectors {
		for i, x := range u.Value {
			c.y.Data[(k+i)*m+k] = x
		}
	}
	clear(c.gram.Data)
	c.set.TransposedAdd(c.gram, c.y, c.y, nil)
	c.invert()
	c.set.Pack(&c.packed, c.t)
	c.set.Multiply(c.a, c.y, &c.packed)
}

// invert sets T from Yᵀ Y, column by column from the left: with S = T⁻¹,
//
//	T[j][j] = 1/S[j][j]   T[i][j] = -T[j][j] Σ_{i≤k<j} T[i][k] S[k][j]
//
// A reflector that is zero, or nearly, gets a row and a column of zeros, which
// means the identity, as in [kernel.Set.ReflectLeft].
func (c *compact[F]) invert() {
	m := len(c.reflectors)
	clear(c.inverse)
	for j := range m {
		scale := 0.0
		if sum := c.set.SumSquares(c.reflectors[j].Value); sum >= 0x1p-126 {
			scale = 2 / sum
		}
		for i := range j {
			sum := 0.0
			for k := i; k < j; k++ {
				sum += c.inverse[i*m+k] * float64(c.gram.Data[k*m+j])
			}
			c.inverse[i*m+j] = -scale * sum
		}
		c.inverse[j*m+j] = scale
	}
	for i, x := range c.inverse {
		c.t.Data[i] = F(x)
	}
}

// pullback adds the reflectors' gradients, given dy and the gradient of A, which
// are those of Y and A where they are used. With N = -Tᵀ (Yᵀ dA) Tᵀ, the
// gradient of T⁻¹, of which only the upper triangle counts,
//
//	dY += dA Tᵀ + Y (N + Nᵀ, its diagonal halved)
func (c *compact[F]) pullback(dy, da kernel.Matrix[F]) {
	m := len(c.reflectors)
	clear(c.dt.Data)
	c.set.TransposedAdd(c.dt, c.y, da, nil)
	c.set.PackTransposed(&c.packed, c.t)
	c.set.MultiplyAdd(dy, da, &c.packed)
	c.set.Multiply(c.work, c.dt, &c.packed)
	clear(c.gram.Data)
	c.set.TransposedAdd(c.gram, c.t, c.work, nil)
	n := c.work
	for i := range m {
		for j := i; j < m; j++ {
			x := -c.gram.Data[i*m+j]
			n.Data[i*m+j], n.Data[j*m+i] = x, x
		}
	}
	c.set.Pack(&c.packed, n)
	c.set.MultiplyAdd(dy, c.y, &c.packed)
	for k, u := range c.reflectors {
		for i := range u.Gradient {
			u.Gradient[i] += dy.Data[(k+i)*dy.Stride+k]
		}
	}
}

// columns is the view of some columns of a matrix.
func columns[F kernel.Float](m kernel.Matrix[F], from, to int) kernel.Matrix[F] {
	m.Data, m.Cols = m.Data[from:], to-from
	return m
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
