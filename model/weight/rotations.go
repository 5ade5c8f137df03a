package weight

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Rotations is an orthogonal [Matrix] of even size n, the weight of VPRNN and SGORNN
// (SGORNN paper, eq. 2, after Taylor-Melanson et al. 2021):
//
//	U = R_1 Q_1 R_2 Q_2 … R_k Q_k      k = 2 ⌈log2 n⌉
//
// Q_j permutes the coordinates, (Q_j x)_i = x_{π_j(i)}, and stays as it is; R_j turns
// each pair (i, i + n/2) by an angle of its own,
//
//	(x_i, x_{i+n/2}) → (x_i cos θ - x_{i+n/2} sin θ, x_i sin θ + x_{i+n/2} cos θ)
//
// It has (n/2)·k parameters. The paper leaves pairs, sign and permutations open;
// these are those of its authors' public layer.
type Rotations[F kernel.Float] struct {
	unconstrained
	set   *kernel.Set[F]
	theta *View[F] // [n/2 × k], column j-1 being of R_j
	turns []turn   // the permutations
	cos   []F      // of theta at the last call of Value
	sin   []F

	// The rows of a product lie where place says: a permutation moves none.
	product  kernel.Matrix[F]
	gradient kernel.Matrix[F]
	place    []int
	work     []int
}

// turn is a permutation: after it coordinate i is what was coordinate turn[i].
type turn []int

// RotationSteps returns k, the number of rotations and of permutations of size n.
func RotationSteps(n int) int { return 2 * bits.Len(uint(n-1)) }

// NewRotations declares the tensor "theta" [n/2 × k]. permutations are π_1 … π_k; nil
// fixes "turns" [k × n], drawn from the seed.
func NewRotations[F kernel.Float](set *kernel.Set[F], arena *Arena[F], n int, permutations [][]int,
	seed uint64) (*Rotations[F], error) {
	if n < 2 || n%2 != 0 {
		return nil, fmt.Errorf("weight: rotations of size %d: want an even number", n)
	}
	k := RotationSteps(n)
	r := &Rotations[F]{set: set}
	if permutations == nil {
		var err error
		if permutations, err = arena.Fix("turns", k, n, func(j int) []int {
			return random.New(seed, random.Turns.At(j)).Permutation(n)
		}); err != nil {
			return nil, err
		}
	}
	for _, p := range permutations {
		if len(permutations) != k || len(p) != n {
			return nil, fmt.Errorf("weight: %d permutations for rotations of size %d: want %d of that size",
				len(permutations), n, k)
		}
		r.turns = append(r.turns, p)
	}
	r.theta = arena.Declare("theta", n/2, k)
	r.cos, r.sin = make([]F, n/2*k), make([]F, n/2*k)
	r.product, r.gradient = later[F](n, n), later[F](n, n)
	r.place, r.work = make([]int, n), make([]int, n)
	return r, nil
}

// Shape returns n twice.
func (r *Rotations[F]) Shape() (rows, cols int) { return r.product.Rows, r.product.Cols }

// smallAngle is the standard deviation of angles at the start, or of StartUniform the largest one.
const smallAngle = 0.05

// Init draws the angles from N(0, .05²) or, with [StartUniform], from U(-.05, .05).
func (r *Rotations[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	start, err := startOf(start, []Start{StartRandom, StartUniform})
	if err != nil {
		return err
	}
	if start == StartUniform {
		for i := range r.theta.Value {
			r.theta.Value[i] = F(smallAngle * (2*source.Uniform() - 1))
		}
		return nil
	}
	random.Gaussian(r.theta.Value, smallAngle, source)
	return nil
}

// Value writes U: from the identity on, Q_k and R_k are applied first.
func (r *Rotations[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, r)
	for i, angle := range r.theta.Value {
		sin, cos := math.Sincos(float64(angle))
		r.sin[i], r.cos[i] = F(sin), F(cos)
	}
	ready(&r.product, &r.gradient)
	identity(r.product)
	for i := range r.place {
		r.place[i] = i
	}
	for j, t := range slices.Backward(r.turns) {
		r.permute(t)
		r.rotate(r.product, j, 1)
	}
	for i, at := range r.place {
		copy(w.Row(i), r.product.Row(at))
	}
}

// permute makes row i what was row t[i].
func (r *Rotations[F]) permute(t turn) {
	for i, of := range t {
		r.work[i] = r.place[of]
	}
	r.place, r.work = r.work, r.place
}

// undo is the inverse of permute.
func (r *Rotations[F]) undo(t turn) {
	for i, of := range t {
		r.work[of] = r.place[i]
	}
	r.place, r.work = r.work, r.place
}

// rotate turns the pairs of rows of m by R_{j+1}, or back with a sign of -1.
func (r *Rotations[F]) rotate(m kernel.Matrix[F], j int, sign F) {
	half, k := len(r.place)/2, len(r.turns)
	for i := range half {
		cos, sin := r.cos[i*k+j], sign*r.sin[i*k+j]
		r.set.Rotate(m.Row(r.place[i]), m.Row(r.place[i+half]), cos, sin)
	}
}

// Pullback adds the gradients of the angles. It goes back over Value, from R_1 on: the
// product before each rotation is found by undoing it. With P the product after
// R_j and G its gradient, the angle of a pair has the gradient G_{i+n/2}·P_i -
// G_i·P_{i+n/2}.
func (r *Rotations[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, r)
	for i, at := range r.place {
		copy(r.gradient.Row(at), dw.Row(i))
	}
	half, k := len(r.place)/2, len(r.turns)
	for j, t := range r.turns {
		for i := range half {
			a, b := r.place[i], r.place[i+half]
			r.theta.Gradient[i*k+j] += F(r.set.Dot(r.gradient.Row(b), r.product.Row(a)) -
				r.set.Dot(r.gradient.Row(a), r.product.Row(b)))
		}
		r.rotate(r.product, j, -1)
		r.rotate(r.gradient, j, -1)
		r.undo(t)
	}
}

// Flops counts 3 operations an element and rotation in Value, 8 in Pullback.
func (r *Rotations[F]) Flops() float64 {
	n := float64(r.product.Rows)
	return 11 * n * n * float64(len(r.turns))
}

// Footprint counts two matrices, sines and cosines, and the permutations.
func (r *Rotations[F]) Footprint() int {
	n, k := r.product.Rows, len(r.turns)
	const number = 2 // values that an int takes
	return 2*n*n + n*k + number*n*(k+2)
}
