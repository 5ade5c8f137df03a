package weight

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
)

// reflectors are the Householder reflectors of one n × n orthogonal matrix,
// longest first, stored without their leading zeros: the k-th (k = 0, 1, …) has
// length n-k and acts on the last n-k coordinates,
//
//	H = I - 2 u uᵀ / ‖u‖²    (equation 1; the identity if u = 0).
type reflectors[F kernel.Float] []*View[F]

// declareReflectors declares m tensors named by letter and length.
func declareReflectors[F kernel.Float](arena *Arena[F], letter string, n, m int) reflectors[F] {
	r := make(reflectors[F], m)
	for k := range r {
		r[k] = arena.Declare(fmt.Sprintf("%s%d", letter, n-k), 1, n-k)
	}
	return r
}

// checkReflectors returns an error unless n × n matrices of m reflectors exist.
func checkReflectors(letter string, n, m int) error {
	if n < 1 || m < 1 || m > n {
		return fmt.Errorf("weight: %d reflectors %s in %d dimensions: want from 1 to the dimension", m, letter, n)
	}
	return nil
}

// checkSides returns an error unless there are rows × cols matrices.
func checkSides(rows, cols int) error {
	if rows < 1 || cols < 1 {
		return fmt.Errorf("weight: matrix of %d × %d: both must be positive", rows, cols)
	}
	return nil
}

// draw sets all reflectors to independent Gaussian vectors.
func (r reflectors[F]) draw(source *random.Source) {
	for _, u := range r {
		random.Gaussian(u.Value, 1, source)
	}
}

// pair makes the reflectors equal in pairs, so that each pair's product is the
// identity. The shorter of a pair is extended by a zero in front.
func (r reflectors[F]) pair() {
	for k := 0; k+1 < len(r); k += 2 {
		long, short := r[k].Value, r[k+1].Value
		long[0] = 0
		copy(long[1:], short)
	}
}

// unitVectors are part of a [Matrix] whose reflectors have unit length. Their lengths do not change
// it, nor do gradients change them to first order, but this way a learning rate means the
// same throughout.
type unitVectors[F kernel.Float] struct {
	kernels    *kernel.Set[F]
	reflectors reflectors[F]
	values     [][]F // the vectors; nil before the first call of Constrain
}

// Constrain scales the reflectors to unit length.
func (u *unitVectors[F]) Constrain(float64) {
	if u.values == nil {
		for _, r := range u.reflectors {
			u.values = append(u.values, r.Value)
		}
	}
	u.kernels.NormalizeAll(u.values)
}

// Project scales the reflectors to unit length.
func (u *unitVectors[F]) Project() { u.Constrain(0) }
