package weight

import (
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Dense is a [Matrix] whose parameters are its entries.
type Dense[F kernel.Float] struct {
	set *kernel.Set[F]
	w   *View[F]
}

var denseStarts = []Start{StartGaussian, StartIdentity, StartOrthogonal}

// NewDense declares the tensor of that name, [rows × cols], in the arena.
func NewDense[F kernel.Float](set *kernel.Set[F], arena *Arena[F], name string, rows, cols int) (*Dense[F], error) {
	if err := checkSides(rows, cols); err != nil {
		return nil, err
	}
	return &Dense[F]{set: set, w: arena.Declare(name, rows, cols)}, nil
}

// Shape returns the numbers of rows and columns.
func (d *Dense[F]) Shape() (rows, cols int) { return d.w.Rows, d.w.Cols }

// Starts lists [StartGaussian], [StartIdentity] and [StartOrthogonal].
func (d *Dense[F]) Starts() []Start { return denseStarts }

// Init sets W to the named start.
func (d *Dense[F]) Init(start Start, source *random.Source) error {
	start, err := startOf(start, denseStarts)
	if err != nil {
		return err
	}
	rows, cols := d.Shape()
	switch start {
	case StartGaussian:
		random.Gaussian(d.w.Value, 1/math.Sqrt(float64(cols)), source)
	case StartIdentity:
		identity(d.w.Matrix())
	case StartOrthogonal:
		for i, q := range Orthogonal(rows, cols, source) {
			d.w.Value[i] = F(q)
		}
	}
	return nil
}

// View returns the tensor, whose value and gradient a caller may use in place
// of copies through Value and Pullback.
func (d *Dense[F]) View() *View[F] { return d.w }

// Value writes W.
func (d *Dense[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, d)
	w.Fill(d.w.Matrix())
}

// Pullback adds dw to the gradient of W.
func (d *Dense[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, d)
	gradient := d.w.GradientMatrix()
	for i := range dw.Rows {
		d.set.Axpy(gradient.Row(i), 1, dw.Row(i))
	}
}

// Constrain does nothing: every matrix is allowed.
func (d *Dense[F]) Constrain(float64) {}

// Project does nothing: every matrix is allowed.
func (d *Dense[F]) Project() {}

// Flops returns 0: nothing has to be formed.
func (d *Dense[F]) Flops() float64 { return 0 }

// SpectralBounds returns 0 and infinity.
func (d *Dense[F]) SpectralBounds() (least, most float64) { return 0, math.Inf(1) }

// Orthogonal returns a random rows × cols matrix, row-major, whose rows are
// orthonormal, or whose columns are if they are fewer: Gaussian vectors
// orthonormalised in their order (modified Gram-Schmidt, twice, which keeps
// orthogonality to rounding).
func Orthogonal(rows, cols int, source *random.Source) []float64 {
	count, length := min(rows, cols), max(rows, cols)
	q := make([]float64, count*length)
	random.Gaussian(q, 1, source)
	for i := range count {
		row := q[i*length : (i+1)*length]
		for range 2 {
			for k := range i {
				other := q[k*length : (k+1)*length]
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
	if rows <= cols {
		return q
	}
	transposed := make([]float64, len(q))
	for i := range count {
		for j := range length {
			transposed[j*count+i] = q[i*length+j]
		}
	}
	return transposed
}
