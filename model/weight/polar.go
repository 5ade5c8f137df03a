package weight

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
)

// polar moves matrices with nearly orthonormal columns to the nearest ones that have them.
type polar[F kernel.Float] struct {
	kernels *kernel.Set[F]
	gram    kernel.Matrix[F] // of as many rows and columns as the matrices have columns
	packed  kernel.Packed[F]
}

// nearest mends what rounding does, by a step of Newton's method (Björck and Bowie 1971):
//
//	U ← U (3 I - UᵀU) / 2
//
// work is of the shape of the factor.
func (p *polar[F]) nearest(factor *View[F], work kernel.Matrix[F]) {
	p.loadGram(factor)
	p.orthonormalise(factor, work)
}

// loadGram computes UᵀU.
func (p *polar[F]) loadGram(factor *View[F]) {
	u := factor.Matrix()
	ready(&p.gram)
	p.kernels.Transposed(p.gram, u, u, nil)
}

// orthonormalise does the step, given UᵀU; work is of the shape of the factor.
func (p *polar[F]) orthonormalise(factor *View[F], work kernel.Matrix[F]) {
	u := factor.Matrix()
	p.kernels.Scale(p.gram.Data, -.5)
	for i := range p.gram.Rows {
		p.gram.Data[i*p.gram.Stride+i] += 1.5
	}
	p.kernels.Pack(&p.packed, p.gram)
	p.kernels.Multiply(work, u, &p.packed)
	copy(u.Data, work.Data)
}

// polarSteps bounds the steps of Newton's method. From singular values below 1 each
// makes the smallest larger by half, and once they are near 1 squares what is missing.
const polarSteps = 40

// polarise makes of a factor its polar factor, by steps of [polar.nearest]; where
// these do not get there, as from columns that depend on each other, by a decomposition,
// which completes the others. work is of the shape of the factor.
func (p *polar[F]) polarise(factor *View[F], work kernel.Matrix[F]) {
	const near = 1e-3 // from there one step goes to rounding
	for range polarSteps {
		p.loadGram(factor)
		// The steps converge where UᵀU has no eigenvalue of 3 or more; of means of
		// orthonormal columns it has none above 1.
		most := 0.0
		for i := range p.gram.Rows {
			sum := 0.0
			for _, x := range p.gram.Row(i) {
				sum += math.Abs(float64(x))
			}
			most = max(most, sum)
		}
		if !(most < math.MaxFloat32) {
			return // not finite
		}
		if most >= 3 {
			p.kernels.Scale(factor.Value, F(1/math.Sqrt(most)))
			continue
		}
		away := p.fromIdentity()
		p.orthonormalise(factor, work)
		if away < near {
			return
		}
	}
	u := double(factor.Matrix())
	var svd mat.SVD
	if !svd.Factorize(u, mat.SVDThin) {
		return
	}
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	u.Mul(&left, right.T())
	round(factor.Matrix(), u)
}

// fromIdentity is the Frobenius norm of UᵀU - I.
func (p *polar[F]) fromIdentity() float64 {
	sum := 0.0
	for i := range p.gram.Rows {
		for j, x := range p.gram.Row(i) {
			d := float64(x)
			if i == j {
				d--
			}
			sum += d * d
		}
	}
	return math.Sqrt(sum)
}
