package weight

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
)

// FullUnitary is any unitary matrix of n × n complex numbers as a real [Matrix] of twice the size,
// the weight of full-capacity uRNN (Wisdom et al. 2016, eq. 6):
//
//	W = A + iB  as  | A -B |
//	                | B  A |
//
// The tensor is the real matrix, of which W is the part in this form, the mean of both A and of
// both B; so its gradient has the form, too, and [RuleCayley] keeps it: it moves W along the
// manifold of unitary matrices. W has n² degrees of freedom, which is how many free parameters are
// counted. A step costs of the order of (2n)³ operations.
type FullUnitary[F kernel.Float] struct {
	polar[F]
	n    int
	w    *View[F]         // [2n × 2n]
	work kernel.Matrix[F] // of the same shape
}

// NewFullUnitary declares "W" [2n × 2n], which moves at so many times the learning rate.
func NewFullUnitary[F kernel.Float](set *kernel.Set[F], arena *Arena[F], n int, rate float64) (*FullUnitary[F],
	error) {
	if n < 1 {
		return nil, fmt.Errorf("weight: unitary matrix of size %d: want at least 1", n)
	}
	w := arena.Declare("W", 2*n, 2*n)
	w.Rule, w.Rate, w.Free = RuleCayley, rate, n*n
	return &FullUnitary[F]{polar: polar[F]{kernels: set, gram: later[F](2*n, 2*n)}, n: n, w: w,
		work: later[F](2*n, 2*n)}, nil
}

// Shape returns 2n twice.
func (u *FullUnitary[F]) Shape() (rows, cols int) { return 2 * u.n, 2 * u.n }

// Init sets W to a random unitary matrix: Gaussian rows orthonormalised in their order, twice. A
// row (p | q) is that of a complex vector, and (-q | p) that of i times it.
func (u *FullUnitary[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	if _, err := startOf(start, []Start{StartOrthogonal}); err != nil {
		return err
	}
	w := u.w.Matrix()
	for i := range u.n {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := w.Row(i)
		random.Gaussian(row, 1, source)
		for range 2 {
			for k := range i {
				for _, before := range [][]F{w.Row(k), w.Row(u.n + k)} {
					u.kernels.Axpy(row, F(-u.kernels.Dot(row, before)), before)
				}
			}
			unit(u.kernels, row)
		}
		turned := w.Row(u.n + i)
		copy(turned[u.n:], row[:u.n])
		for j, q := range row[u.n:] {
			turned[j] = -q
		}
	}
	return nil
}

// Value writes W.
func (u *FullUnitary[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, u)
	u.form(w, u.w.Matrix(), false)
}

// Pullback adds the gradient of the tensor.
func (u *FullUnitary[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, u)
	u.form(u.w.GradientMatrix(), dw, true)
}

// form is to = the part of m that has the form, or to += it. to may be m.
func (u *FullUnitary[F]) form(to, m kernel.Matrix[F], add bool) {
	n := u.n
	for i := range n {
		upper, lower, toUpper, toLower := m.Row(i), m.Row(n+i), to.Row(i), to.Row(n+i)
		for j := range n {
			a, b := (upper[j]+lower[n+j])/2, (lower[j]-upper[n+j])/2
			if !add {
				toUpper[j], toUpper[n+j], toLower[j], toLower[n+j] = a, -b, b, a
				continue
			}
			toUpper[j] += a
			toUpper[n+j] -= b
			toLower[j] += b
			toLower[n+j] += a
		}
	}
}

// Constrain moves W, which rounding has led off the manifold, back onto it.
func (u *FullUnitary[F]) Constrain(float64) {
	ready(&u.work)
	u.form(u.w.Matrix(), u.w.Matrix(), false)
	u.nearest(u.w, u.work)
}

// Project moves W to the nearest unitary matrix, its polar factor.
func (u *FullUnitary[F]) Project() {
	ready(&u.work)
	u.form(u.w.Matrix(), u.w.Matrix(), false)
	u.polarise(u.w, u.work)
}

// Flops counts in the step what three products of matrices come to, besides two in Constrain.
func (u *FullUnitary[F]) Flops() float64 {
	n := 2 * float64(u.n)
	return 10 * n * n * n
}

// Footprint counts the matrices of Constrain, one of them packed.
func (u *FullUnitary[F]) Footprint() int {
	n := 2 * u.n
	return 2*n*n + u.kernels.PackedSize(n, n, false)
}
