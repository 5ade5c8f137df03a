package weight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
)

// A Matrix is a weight matrix W, rows × cols, that depends on parameters in an
// [Arena]. A layer reads its value once a minibatch and passes one
// gradient to it:
//
//	m.Value(w)      // before the forward pass
//	…               // forward and backward, which accumulate ∂L/∂W
//	m.Pullback(dw)  // after the backward pass
//	…               // an optimiser's step over the arena
//	m.Constrain(rate) // parameters back onto their set
type Matrix[F kernel.Float] interface {
	// Shape returns the numbers of rows and columns.
	Shape() (rows, cols int)

	// Init sets the parameters to the named start; an empty name means the usual one. A
	// start that the matrix does not know is a [*StartError], which lists the others.
	Init(ctx context.Context, start Start, source *random.Source) error

	// Value writes W into w, [rows × cols].
	Value(w kernel.Matrix[F])

	// Pullback adds ∂L/∂θ to the gradient of each parameter θ, given
	// dw = ∂L/∂W, [rows × cols], at the parameters of the last call of Value. It
	// may be called once for each call of Value, and uses dw as scratch
	// space: its contents are lost.
	Pullback(dw kernel.Matrix[F])

	// Constrain restores what an optimiser's step of that learning rate may have
	// lost: reflectors are scaled to unit length, which changes no W, singular
	// values are clipped. The gradients are still those of the step.
	Constrain(rate float64)

	// Project moves the parameters to the nearest ones that are allowed, from anywhere,
	// as from the mean of allowed ones: Constrain mends no more than a step does.
	Project()

	// Flops returns the number of operations that Value and Pullback take.
	Flops() float64

	// Footprint returns how many values of F the buffers of Value, Pullback and
	// Constrain take.
	Footprint() int
}

// A Start names a way to set a matrix's parameters before training.
type Start string

// The starts. Dense knows the first three, Factorized the second and third, FullUnitary the
// third, Householder and SVD the next two, Rotations StartRandom and StartUniform.
const (
	// StartGaussian draws each entry from N(0, 1/cols).
	StartGaussian Start = "gaussian"
	// StartIdentity sets W to the identity, as IRNN does (Le, Jaitly and
	// Hinton 2015), or as much of it as fits.
	StartIdentity Start = "identity"
	// StartOrthogonal sets W to a random orthogonal matrix: the shorter of its
	// rows and columns are orthonormal.
	StartOrthogonal Start = "orthogonal"
	// StartRandom draws each reflector from N(0, I) and scales it to unit
	// length.
	StartRandom Start = "random"
	// StartNearIdentity draws reflectors in equal pairs that cancel, so that W
	// starts as the identity (or, with an odd one left over, as one
	// reflection) and yet every reflector can move.
	StartNearIdentity Start = "near-identity"
	// StartKeras is that of Keras' recurrent layers: the rows of all gates' matrices beside each other, [n × kn],
	// are orthonormal; without gates it is StartOrthogonal.
	StartKeras Start = "keras"
	// StartUniform draws the angles of rotations from U(-.05, .05), as the code of the SGORNN paper does.
	StartUniform Start = "uniform"
)

// A StartError reports a start that a matrix does not know.
type StartError struct {
	Start Start
	Known []Start
}

func (e *StartError) Error() string {
	known := make([]string, len(e.Known))
	for i, s := range e.Known {
		known[i] = string(s)
	}
	return fmt.Sprintf("weight: unknown start %q: want one of %s", string(e.Start), strings.Join(known, ", "))
}

// startOf returns the known start that is meant, the first one for "".
func startOf(start Start, known []Start) (Start, error) {
	if start == "" {
		return known[0], nil
	}
	if !slices.Contains(known, start) {
		return "", &StartError{Start: start, Known: known}
	}
	return start, nil
}

// unconstrained is part of a [Matrix] whose parameters may have any value.
type unconstrained struct{}

// Constrain does nothing: all parameters are allowed.
func (unconstrained) Constrain(float64) {}

// Project does nothing: all parameters are allowed.
func (unconstrained) Project() {}

// checkShape panics unless w can hold the matrix.
func checkShape[F kernel.Float](w kernel.Matrix[F], matrix Matrix[F]) {
	if rows, cols := matrix.Shape(); w.Rows != rows || w.Cols != cols {
		panic(fmt.Sprintf("weight: matrix of %d × %d where %d × %d is due", w.Rows, w.Cols, rows, cols))
	}
}

// identity sets w, without padding, to ones on the diagonal, zeros elsewhere.
func identity[F kernel.Float](w kernel.Matrix[F]) {
	clear(w.Data)
	for i := range min(w.Rows, w.Cols) {
		w.Data[i*w.Stride+i] = 1
	}
}

// double is w in double precision, for gonum.
func double[F kernel.Float](w kernel.Matrix[F]) *mat.Dense {
	d := mat.NewDense(w.Rows, w.Cols, nil)
	for i := range w.Rows {
		for j, x := range w.Row(i) {
			d.Set(i, j, float64(x))
		}
	}
	return d
}

// round sets w to d, rounded.
func round[F kernel.Float](w kernel.Matrix[F], d *mat.Dense) {
	for i := range w.Rows {
		row := w.Row(i)
		for j := range row {
			row[j] = F(d.At(i, j))
		}
	}
}

// later is a matrix of that shape without memory, which [ready] gives it: what is only
// declared, to estimate its cost, takes none.
func later[F kernel.Float](rows, cols int) kernel.Matrix[F] {
	return kernel.Matrix[F]{Rows: rows, Cols: cols, Stride: cols}
}

// ready gives matrices memory that have none yet.
func ready[F kernel.Float](list ...*kernel.Matrix[F]) {
	for _, m := range list {
		if m.Data == nil {
			m.Data = kernel.Make[F](m.Rows * m.Stride)
		}
	}
}
