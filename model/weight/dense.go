package weight

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
)

// Dense is a [Matrix] whose parameters are its entries.
type Dense[F kernel.Float] struct {
	w *View[F] // n × n
}

var denseStarts = []Start{StartGaussian, StartIdentity, StartOrthogonal}

// NewDense declares the tensor "W", [n × n], in the arena.
func NewDense[F kernel.Float](arena *Arena[F], n int) (*Dense[F], error) {
	if n < 1 {
		return nil, fmt.Errorf("weight: dense matrix of size %d: the size must be positive", n)
	}
	return &Dense[F]{w: arena.Declare("W", n, n)}, nil
}

// Size returns n.
func (d *Dense[F]) Size() int { return d.w.Rows }

// Starts lists [StartGaussian], [StartIdentity] and [StartOrthogonal].
func (d *Dense[F]) Starts() []Start { return denseStarts }

// Start sets W to the named start.
func (d *Dense[F]) Start(start Start, random *Random) error {
	start, err := startOf(start, denseStarts)
	if err != nil {
		return err
	}
	n := d.w.Rows
	switch start {
	case StartGaussian:
		Gaussian(d.w.Value, 1/math.Sqrt(float64(n)), random)
	case StartIdentity:
		clear(d.w.Value)
		for i := range n {
			d.w.Value[i*n+i] = 1
		}
	case StartOrthogonal:
		for i, q := range Orthogonal(n, random) {
			d.w.Value[i] = F(q)
		}
	}
	return nil
}

// View returns the tensor W, whose value and gradient a caller may use in place
// of copies through Value and Pullback.
func (d *Dense[F]) View() *View[F] { return d.w }

// Value writes W.
func (d *Dense[F]) Value(w kernel.Matrix[F]) {
	n := d.w.Rows
	checkSquare(w, n)
	for i := range n {
		copy(w.Data[i*w.Stride:i*w.Stride+n], d.w.Value[i*n:])
	}
}

// Pullback adds dw to the gradient of W.
func (d *Dense[F]) Pullback(dw kernel.Matrix[F]) {
	n := d.w.Rows
	checkSquare(dw, n)
	for i := range n {
		src := dw.Data[i*dw.Stride : i*dw.Stride+n]
		dst := d.w.Gradient[i*n : (i+1)*n]
		for j, g := range src {
			dst[j] += g
		}
	}
}

// Project does nothing: every matrix is allowed.
func (d *Dense[F]) Project() {}

// SingularValues decomposes W, in O(n³) and with allocation. All values are
// NaN if W has an entry that is not finite.
func (d *Dense[F]) SingularValues(dst []float64) []float64 {
	n := d.w.Rows
	data := make([]float64, n*n)
	finite := true
	for i, v := range d.w.Value {
		data[i] = float64(v)
		finite = finite && !math.IsNaN(data[i]) && !math.IsInf(data[i], 0)
	}
	var svd mat.SVD
	if !finite || !svd.Factorize(mat.NewDense(n, n, data), mat.SVDNone) {
		for range n {
			dst = append(dst, math.NaN())
		}
		return dst
	}
	return append(dst, svd.Values(nil)...)
}

// Orthogonal returns a random orthogonal n × n matrix, row-major: the rows of a Gaussian
// matrix orthonormalised in their order (modified Gram-Schmidt, twice, which
// keeps orthogonality to rounding).
func Orthogonal(n int, random *Random) []float64 {
	q := make([]float64, n*n)
	Gaussian(q, 1, random)
	for i := range n {
		row := q[i*n : (i+1)*n]
		for range 2 {
			for k := range i {
				other := q[k*n : (k+1)*n]
				dot := 0.0
				for j, v := range row {
					dot += v * other[j]
				}
				for j, v := range other {
					row[j] -= dot * v
				}
			}
		}
		sum := 0.0
		for _, v := range row {
			sum += v * v
		}
		for j := range row {
			row[j] /= math.Sqrt(sum)
		}
	}
	return q
}
