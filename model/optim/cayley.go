package optim

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// cayley moves a matrix U, n × p with orthonormal columns, by gradient descent along
// the manifold of such matrices (Wen and Yin 2013, eq. 7 and 11; Vorontsov et al.
// 2017). With G = ∂L/∂U and η the learning rate
//
//	A = G Uᵀ - U Gᵀ      U ← (I + η/2 A)⁻¹ (I - η/2 A) U = U - η (I + η/2 A)⁻¹ A U
//
// A is skew, so that the columns stay orthonormal at any rate, but for rounding. The
// form on the right makes that the rounding of a sum. The inverse always exists; it is
// a linear system of n equations or, where that is faster (n > 5p, by measurement), by
// Sherman, Morrison and Woodbury one of 2p:
//
//	A = P Qᵀ      P = (G | U)      Q = (U | -G)
//	(I + η/2 A)⁻¹ A U = P (I + η/2 QᵀP)⁻¹ QᵀU
//
// It remembers nothing of the steps before.
type cayley[F kernel.Float] struct {
	set    *kernel.Set[F]
	u, g   kernel.Matrix[F]
	thin   bool             // by Woodbury
	p, q   kernel.Matrix[F] // [n × 2p], if thin
	k      kernel.Matrix[F] // A, or QᵀP if thin
	system kernel.Matrix[F] // I + η/2 K and, beside it, the right side
	packed kernel.Packed[F]
	others kernel.Matrix[F] // the factors of a block of columns
}

// newCayley returns the optimiser of one tensor, which has no more columns than rows.
// Where its columns are not orthonormal they stay as far from that as they are.
func newCayley[F kernel.Float](set *kernel.Set[F], tensor *weight.View[F]) (*cayley[F], error) {
	n, p := tensor.Rows, tensor.Cols
	if p > n {
		return nil,
			fmt.Errorf("optim: tensor %s of %d × %d moves by Cayley's transform: want no more columns than rows",
				tensor.Name, n, p)
	}
	c := &cayley[F]{set: set, u: tensor.Matrix(), g: tensor.GradientMatrix(), thin: 5*p < n}
	size := n
	if c.thin {
		size = 2 * p
		c.p, c.q = kernel.NewMatrix[F](n, size), kernel.NewMatrix[F](n, size)
	}
	c.k, c.system, c.others = kernel.NewMatrix[F](size, size), kernel.NewMatrix[F](size, size+p),
		kernel.NewMatrix[F](size, eliminated)
	return c, nil
}

func (c *cayley[F]) step(rate float64, _ int) {
	size, p := c.k.Rows, c.u.Cols
	right := c.system.Columns(size, size+p)
	if c.thin {
		for i := range c.u.Rows {
			u, g, q := c.u.Row(i), c.g.Row(i), c.q.Row(i)
			copy(c.p.Row(i), g)
			copy(c.p.Row(i)[p:], u)
			copy(q, u)
			for j, x := range g {
				q[p+j] = -x
			}
		}
		clear(c.k.Data)
		c.set.TransposedAdd(c.k, c.q, c.p, nil)
		for i := range size {
			copy(right.Row(i), c.k.Row(i)[p:]) // QᵀU
		}
	} else {
		c.set.PackTransposed(&c.packed, c.u)
		c.set.Multiply(c.k, c.g, &c.packed)
		for i := range size {
			c.k.Data[i*size+i] = 0
			for j := range i {
				a := c.k.Data[i*size+j] - c.k.Data[j*size+i]
				c.k.Data[i*size+j], c.k.Data[j*size+i] = a, -a
			}
		}
		c.set.Pack(&c.packed, c.u)
		c.set.Multiply(right, c.k, &c.packed)
	}
	for i := range size {
		row := c.system.Row(i)
		for j, x := range c.k.Row(i) {
			row[j] = F(rate/2) * x
		}
		row[i]++
	}
	c.solve()
	if !c.thin {
		for i := range size {
			c.set.Axpy(c.u.Row(i), F(-rate), right.Row(i))
		}
		return
	}
	for i := range size {
		c.set.Scale(right.Row(i), F(-rate))
	}
	c.set.Pack(&c.packed, right)
	c.set.MultiplyAdd(c.u, c.p, &c.packed)
}

// eliminated is the number of unknowns that are eliminated together.
const eliminated = 32

// solve makes of the system's right side the solution, by Gauss and Jordan's
// elimination of blocks of unknowns: within a block row by row, from the rows of the
// other blocks by a product. I + η/2 A needs no pivots: each block that is left over
// has a skew part and one that is at least I. Woodbury's system does, and is one block.
func (c *cayley[F]) solve() {
	size := c.system.Rows
	block := eliminated
	if c.thin {
		block = size
	}
	for from := 0; from < size; from += block {
		to := min(from+block, size)
		rows := c.system.Slice(from, to)
		c.reduce(rows.Columns(from, rows.Cols))
		if to-from == size {
			return
		}
		c.set.Pack(&c.packed, rows.Columns(to, rows.Cols))
		for _, part := range [][2]int{{0, from}, {to, size}} {
			other := c.system.Slice(part[0], part[1])
			factors := c.others.Slice(part[0], part[1]).Columns(0, to-from)
			for i := range other.Rows {
				for j, x := range other.Row(i)[from:to] {
					factors.Row(i)[j] = -x
				}
			}
			c.set.MultiplyAdd(other.Columns(to, other.Cols), factors, &c.packed)
		}
	}
}

// reduce makes the first columns of m, as many as it has rows, the identity by
// operations on rows; what they come to is not written.
func (c *cayley[F]) reduce(m kernel.Matrix[F]) {
	for j := range m.Rows {
		pivot := j
		for i := j + 1; i < m.Rows; i++ {
			if abs(m.Row(i)[j]) > abs(m.Row(pivot)[j]) {
				pivot = i
			}
		}
		row := m.Row(j)[j:]
		if pivot != j {
			for i, x := range m.Row(pivot)[j:] {
				m.Row(pivot)[j+i], row[i] = row[i], x
			}
		}
		c.set.Scale(row[1:], 1/row[0])
		for i := range m.Rows {
			if i != j {
				other := m.Row(i)[j:]
				c.set.Axpy(other[1:], -other[0], row[1:])
			}
		}
	}
}

func abs[F kernel.Float](x F) F { return max(x, -x) }

func (c *cayley[F]) memory() [][]F { return nil }

// cayleyFootprint is how many values newCayley and its steps take.
func cayleyFootprint[F kernel.Float](set *kernel.Set[F], n, p int) int {
	if 5*p < n {
		size := 2 * p
		return 2*n*size + size*size + size*(size+p) + size*eliminated + set.PackedSize(size, p, false)
	}
	return n*n + n*(n+p) + n*eliminated + max(set.PackedSize(p, n, false), set.PackedSize(n, p, false),
		set.PackedSize(eliminated, n+p, false))
}
