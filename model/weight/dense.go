package weight

import (
	"context"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Dense is a [Matrix] whose parameters are its entries.
type Dense[F kernel.Float] struct {
	unconstrained
	set *kernel.Set[F]
	w   *View[F]
}

var denseStarts = []Start{StartGaussian, StartIdentity, StartOrthogonal, StartKeras}

// NewDense declares the tensor of that name, [rows × cols], in the arena.
func NewDense[F kernel.Float](set *kernel.Set[F], arena *Arena[F], name string, rows, cols int) (*Dense[F], error) {
	if err := checkSides(rows, cols); err != nil {
		return nil, err
	}
	return &Dense[F]{set: set, w: arena.Declare(name, rows, cols)}, nil
}

// Shape returns the numbers of rows and columns.
func (d *Dense[F]) Shape() (rows, cols int) { return d.w.Rows, d.w.Cols }

// Init sets W to [StartGaussian], [StartIdentity] or [StartOrthogonal], which is [StartKeras] too.
func (d *Dense[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	start, err := startOf(start, denseStarts)
	if err != nil {
		return err
	}
	switch start {
	case StartGaussian:
		return SetGaussian(ctx, d.w.Value, 1/math.Sqrt(float64(d.w.Cols)), source)
	case StartIdentity:
		identity(d.w.Matrix())
	case StartOrthogonal, StartKeras:
		return SetOrthogonal(ctx, d.set, d.w.Matrix(), source)
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

// Flops returns 0: nothing has to be formed.
func (d *Dense[F]) Flops() float64 { return 0 }

// Footprint returns 0.
func (d *Dense[F]) Footprint() int { return 0 }
