package weight

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Exponential is an orthogonal [Matrix], the weight of EXPRNN (Casado and
// Martínez-Rubio 2019), one of the maps of SGORNN:
//
//	U = exp(A)      A_ij = -A_ji
//
// It has n(n-1)/2 parameters, A above its diagonal, row by row, and reaches every
// rotation. It is computed in double precision and allocates: forming U takes some
// ten products of n × n matrices, the backward pass those of one twice as large.
type Exponential[F kernel.Float] struct {
	unconstrained
	n int
	a *View[F] // n(n-1)/2
}

// NewExponential declares the tensor "a" of length n(n-1)/2.
func NewExponential[F kernel.Float](arena *Arena[F], n int) (*Exponential[F], error) {
	if n < 2 {
		return nil, fmt.Errorf("weight: exponential of size %d: want at least 2", n)
	}
	return &Exponential[F]{n: n, a: arena.Declare("a", 1, n*(n-1)/2)}, nil
}

// Shape returns n twice.
func (e *Exponential[F]) Shape() (rows, cols int) { return e.n, e.n }

// Init draws the elements of A from N(0, 1/n): angles of U that are spread out.
func (e *Exponential[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	if _, err := startOf(start, []Start{StartRandom}); err != nil {
		return err
	}
	random.Gaussian(e.a.Value, 1/math.Sqrt(float64(e.n)), source)
	return nil
}

// skew adds sign·A to m at row and column at.
func (e *Exponential[F]) skew(m *mat.Dense, at int, sign float64) {
	k := 0
	for i := range e.n {
		for j := i + 1; j < e.n; j++ {
			a := sign * float64(e.a.Value[k])
			m.Set(at+i, at+j, a)
			m.Set(at+j, at+i, -a)
			k++
		}
	}
}

// Value writes U.
func (e *Exponential[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, e)
	a := mat.NewDense(e.n, e.n, nil)
	e.skew(a, 0, 1)
	var u mat.Dense
	u.Exp(a)
	round(w, &u)
}

// Pullback adds the gradient of A. The derivative of exp at Aᵀ in the direction of G
// = ∂L/∂U, which is its adjoint at A, is the upper right part of
//
//	exp | Aᵀ  G  |
//	    | 0   Aᵀ |
//
// (Van Loan 1978); of it A's two elements take what lies above minus below.
func (e *Exponential[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, e)
	n := e.n
	block := mat.NewDense(2*n, 2*n, nil)
	e.skew(block, 0, -1)
	e.skew(block, n, -1)
	for i := range n {
		for j, g := range dw.Row(i) {
			block.Set(i, n+j, float64(g))
		}
	}
	var power mat.Dense
	power.Exp(block)
	k := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			e.a.Gradient[k] += F(power.At(i, n+j) - power.At(j, n+i))
			k++
		}
	}
}

// Flops counts products of matrices, 2 operations each element: ten of size n and
// ten of twice the size.
func (e *Exponential[F]) Flops() float64 {
	n := float64(e.n)
	return 10*2*n*n*n + 10*2*8*n*n*n
}

// Footprint counts the matrices of size 2n in double precision that the backward pass
// takes at once: the block, its exponential, and nine more to compute it.
func (e *Exponential[F]) Footprint() int {
	const matrices, double = 11, 2
	return matrices * double * 4 * e.n * e.n
}
