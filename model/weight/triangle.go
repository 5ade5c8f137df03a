package weight

import "sweep/model/kernel"

// triangle is the T of a product of reflectors in compact form, I - Y T Yᵀ, the columns
// of Y being the reflectors, longest first:
//
//	T⁻¹ = the upper triangle of Yᵀ Y, its diagonal halved
//
// which is upper triangular, too (Joffrain et al. 2006).
type triangle[F kernel.Float] struct {
	set        *kernel.Set[F]
	reflectors reflectors[F]
	t          kernel.Matrix[F] // m × m, as are those that follow
	gram       kernel.Matrix[F] // Yᵀ Y, to be set before invert; then scratch space
	dt         kernel.Matrix[F] // ∂L/∂T, to be set before pullback
	work       kernel.Matrix[F]
	packed     kernel.Packed[F]
	inverse    []float64 // a block of T in double precision while it is computed
}

func newTriangle[F kernel.Float](set *kernel.Set[F], r reflectors[F]) triangle[F] {
	m := len(r)
	square := func() kernel.Matrix[F] { return kernel.NewMatrix[F](m, m) }
	return triangle[F]{set: set, reflectors: r, t: square(), gram: square(), dt: square(), work: square(),
		inverse: make([]float64, m*m)}
}

// Up to so many reflectors T is inverted by elements; of more it is in blocks, whose
// products are those of matrices.
const (
	elementwiseReflectors = 64
	blockReflectors       = 32
)

// invert sets T from Yᵀ Y. With S = T⁻¹ and the blocks J of its columns
//
//	T[J][J] = S[J][J]⁻¹   T[..J][J] = -T[..J][..J] S[..J][J] T[J][J]
func (c *triangle[F]) invert() {
	m := len(c.reflectors)
	if m <= elementwiseReflectors {
		c.invertBlock(0, m)
		return
	}
	c.t.Clear()
	for from := 0; from < m; from += blockReflectors {
		to := min(from+blockReflectors, m)
		c.invertBlock(from, to)
		if from == 0 {
			continue
		}
		above, own := c.t.Slice(0, from).Columns(from, to), c.t.Slice(from, to).Columns(from, to)
		work := c.work.Slice(0, from).Columns(0, to-from)
		c.set.Pack(&c.packed, own)
		c.set.Multiply(work, c.gram.Slice(0, from).Columns(from, to), &c.packed)
		negate(work, work)
		c.set.Pack(&c.packed, work)
		c.set.Multiply(above, c.t.Slice(0, from).Columns(0, from), &c.packed)
	}
}

// invertBlock sets a block on T's diagonal, column by column from the left:
//
//	T[j][j] = 1/S[j][j]   T[i][j] = -T[j][j] Σ_{i≤k<j} T[i][k] S[k][j]
//
// A reflector that is zero, or nearly, gets a row and a column of zeros, which
// means the identity, as in [kernel.Set.ReflectLeftAll].
func (c *triangle[F]) invertBlock(from, to int) {
	m := to - from
	inverse, s := c.inverse[:m*m], c.gram.Slice(from, to).Columns(from, to)
	clear(inverse)
	for j := range m {
		scale := 0.0
		if sum := c.set.SumSquares(c.reflectors[from+j].Value); sum >= 0x1p-126 {
			scale = 2 / sum
		}
		for i := range j {
			sum := 0.0
			for k := i; k < j; k++ {
				sum += inverse[i*m+k] * float64(s.Data[k*s.Stride+j])
			}
			inverse[i*m+j] = -scale * sum
		}
		inverse[j*m+j] = scale
	}
	for i := range m {
		row := c.t.Row(from + i)[from:to]
		for j := range row {
			row[j] = F(inverse[i*m+j])
		}
	}
}

// pullback returns what ∂L/∂T adds to ∂L/∂Y when Y is multiplied by it from the right:
// with N = -Tᵀ dT Tᵀ, the gradient of T⁻¹, of which only the upper triangle counts, it
// is N + Nᵀ, its diagonal halved.
func (c *triangle[F]) pullback() kernel.Matrix[F] {
	m := len(c.reflectors)
	c.set.PackTransposed(&c.packed, c.t)
	c.set.Multiply(c.work, c.dt, &c.packed)
	c.set.Transposed(c.gram, c.t, c.work, nil)
	n := c.work
	for i := range m {
		for j := i; j < m; j++ {
			x := -c.gram.Data[i*m+j]
			n.Data[i*m+j], n.Data[j*m+i] = x, x
		}
	}
	return n
}

// triangleFootprint is the values of a triangle of m reflectors, its block in double
// precision counting twice.
func triangleFootprint[F kernel.Float](set *kernel.Set[F], m int) int {
	return 4*m*m + 2*m*m + set.PackedSize(m, m, false)
}
