package weight

import (
	"fmt"
	"math"
	"strings"

	"sweep/model/kernel"
)

// A Matrix is an n × n weight matrix W that depends on parameters in an
// [Arena]. A recurrent cell asks for its value once a minibatch and hands back
// one gradient:
//
//	m.Value(w)      // before the forward pass
//	…               // forward and backward, which accumulate ∂L/∂W
//	m.Pullback(dw)  // after the backward pass
//	…               // an optimiser's step over the arena
//	m.Project()     // parameters back onto their set
type Matrix[F kernel.Float] interface {
	// Size returns n.
	Size() int

	// Start sets the parameters to the named start, which must be one of
	// Starts; an empty name means the first of them.
	Start(start Start, random *Random) error

	// Starts lists the starts that the matrix knows.
	Starts() []Start

	// Value writes W into w, [n × n].
	Value(w kernel.Matrix[F])

	// Pullback adds ∂L/∂θ to the gradient of each parameter θ, given
	// dw = ∂L/∂W, [n × n], at the parameters of the last call of Value. It
	// may be called once for each call of Value, and uses dw as scratch
	// space: its contents are lost.
	Pullback(dw kernel.Matrix[F])

	// Project restores what an optimiser's step may have lost: reflectors are
	// scaled to unit length, which changes no W. Training without it is
	// possible.
	Project()

	// SingularValues appends the singular values of W to dst, in no
	// particular order. SVD and Householder know them, Dense has to compute a
	// decomposition in O(n³): a caller chooses how often to ask.
	SingularValues(dst []float64) []float64
}

// SpectralMargin returns max |σ_i - 1| over the singular values of a matrix,
// as returned by [Matrix.SingularValues]: how far W is from an isometry.
func SpectralMargin(singularValues []float64) float64 {
	margin := 0.0
	for _, s := range singularValues {
		// A NaN is handed on rather than lost in the comparison.
		if d := math.Abs(s - 1); d > margin || math.IsNaN(d) {
			margin = d
		}
	}
	return margin
}

// A Start names a way to set a matrix's parameters before training.
type Start string

// The starts. Dense knows the first three, Householder and SVD the others.
const (
	// StartGaussian draws each entry from N(0, 1/n).
	StartGaussian Start = "gaussian"
	// StartIdentity sets W to the identity, as IRNN does (Le, Jaitly and
	// Hinton 2015).
	StartIdentity Start = "identity"
	// StartOrthogonal sets W to a random orthogonal matrix.
	StartOrthogonal Start = "orthogonal"
	// StartRandom draws each reflector from N(0, I) and scales it to unit
	// length.
	StartRandom Start = "random"
	// StartNearIdentity draws reflectors in equal pairs that cancel, so that W
	// starts as the identity (or, with an odd one left over, as one
	// reflection) and yet every reflector can move.
	StartNearIdentity Start = "near-identity"
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
	for _, k := range known {
		if k == start {
			return start, nil
		}
	}
	return "", &StartError{Start: start, Known: known}
}

func checkSquare[F kernel.Float](w kernel.Matrix[F], n int) {
	if w.Rows != n || w.Cols != n {
		panic(fmt.Sprintf("weight: matrix of %d × %d where %d × %d is due", w.Rows, w.Cols, n, n))
	}
}
