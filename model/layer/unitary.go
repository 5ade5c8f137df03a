package layer

import (
	"context"
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// unitary is the operator of the factors of a [weight.Unitary], applied one after the other to several
// sequences in lanes:
//
//	W h = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ h
//
// Back, the states between the factors are computed again from h.
type unitary[F kernel.Float] struct {
	set     *kernel.Set[F]
	matrix  *weight.Unitary[F]
	factors *weight.UnitaryFactors[F]
	fourier *kernel.Fourier[F]
	passes  []*unitaryPass[F]
}

// unitaryPass has the states of one group of lanes, and the gradient.
type unitaryPass[F kernel.Float] struct {
	*unitary[F]
	states   [5][]F // h, and what R₁, D₂, R₂ and D₃ are applied to
	out      [3][]F // what D₁ and D₂ make, the product, and scratch
	along    [2][]F
	gradient *weight.UnitaryGradient[F]
}

func newUnitary[F kernel.Float](set *kernel.Set[F], matrix *weight.Unitary[F], fourier *kernel.Fourier[F]) *unitary[F] {
	return &unitary[F]{set: set, matrix: matrix, factors: weight.NewUnitaryFactors(matrix), fourier: fourier}
}

func (u *unitary[F]) load() { u.matrix.Factors(u.factors) }

// margin forms W, which nothing else does.
func (u *unitary[F]) margin(ctx context.Context) (float64, error) {
	w := kernel.NewPadded[F](u.matrix.Shape())
	u.matrix.Value(w)
	return weight.Margin(ctx, u.set, w)
}

func (u *unitary[F]) complexPass() complexPass[F] {
	n, lanes := u.fourier.Len(), u.set.Lanes()
	p := &unitaryPass[F]{unitary: u, gradient: weight.NewUnitaryGradient(u.matrix, lanes)}
	for i := range p.states {
		p.states[i] = kernel.Make[F](2 * n * lanes)
	}
	for i := range p.out {
		p.out[i] = kernel.Make[F](2 * n * lanes)
	}
	for i := range p.along {
		p.along[i] = kernel.Make[F](2 * lanes)
	}
	u.passes = append(u.passes, p)
	return p
}

func (p *unitaryPass[F]) sum(z, h, x kernel.Matrix[F], m *kernel.Packed[F]) {
	lanes := p.set.Lanes()
	for row := 0; row < h.Rows; row += lanes {
		end := min(row+lanes, h.Rows)
		p.set.ToLanes(p.states[0], h.Slice(row, end))
		p.forward()
		p.set.Turn(p.out[0], p.states[4], p.factors.Turns[2])
		p.set.FromLanes(z.Slice(row, end), p.out[0])
	}
	p.set.MultiplySum(z, kernel.Sum[F]{X: x, M: m, H: z})
}

// forward computes the states from the first one.
func (p *unitaryPass[F]) forward() {
	f, s := p.factors, &p.states
	p.set.Turn(p.out[0], s[0], f.Turns[0])
	p.set.Fourier(s[1], p.out[0], p.out[2], p.fourier, false)
	p.set.Mirror(s[2], s[1], &f.Mirrors[0], p.along[0])
	p.set.Turn(p.out[0], s[2], f.Turns[1])
	p.set.Fourier(s[3], p.out[0], p.out[2], p.fourier, true)
	p.set.Mirror(s[4], s[3], &f.Mirrors[1], p.along[1])
}

func (p *unitaryPass[F]) begin() { p.gradient.Clear() }

func (p *unitaryPass[F]) back(dst, delta, h kernel.Matrix[F]) {
	lanes := p.set.Lanes()
	f, s, d := p.factors, &p.states, p.gradient
	g, other := p.out[0], p.out[1]
	for row := 0; row < h.Rows; row += lanes {
		end := min(row+lanes, h.Rows)
		p.set.ToLanes(s[0], h.Slice(row, end))
		p.forward()
		p.set.ToLanes(g, delta.Slice(row, end))
		p.set.TurnBackward(g, s[4], f.Turns[2], d.Omega[2])
		p.set.MirrorBackward(other, g, s[3], &f.Mirrors[1], p.along[1], d.V[1], d.Both[1])
		p.set.Fourier(g, other, p.out[2], p.fourier, false)
		p.set.TurnBackward(g, s[2], f.Turns[1], d.Omega[1])
		p.set.MirrorBackward(other, g, s[1], &f.Mirrors[0], p.along[0], d.V[0], d.Both[0])
		p.set.Fourier(g, other, p.out[2], p.fourier, true)
		p.set.TurnBackward(g, s[0], f.Turns[0], d.Omega[0])
		p.set.FromLanes(dst.Slice(row, end), g)
	}
}

// accumulate does nothing: back has added to the gradient.
func (p *unitaryPass[F]) accumulate(kernel.Matrix[F], kernel.Matrix[F], int, *kernel.Scratch[F]) {}

func (u *unitary[F]) join(used int) {
	sum := u.passes[0].gradient
	for _, p := range u.passes[1:used] {
		sum.Add(u.set, p.gradient)
	}
	u.matrix.PullbackFactors(sum)
}

// cost counts forward, forward again and backward: six transforms, and what the diagonals and the
// reflections take. A weight counts for six operations.
func (u *unitary[F]) cost(operatorRows) Cost {
	n, lanes := u.fourier.Len(), u.set.Lanes()
	const forward, backward = 3*6 + 2*16, 3*10 + 2*36 // of an element
	gradients := u.matrix.GradientSize() * lanes
	return Cost{
		Weights: math.Ceil((6*u.fourier.Flops() + float64((2*forward+backward)*n)) / 6),
		Shared:  int64(u.factors.Size() + u.fourier.Size() + u.matrix.FactorsFootprint()),
		Pass:    int64(gradients + (8*2*n+2*2)*lanes),
	}
}
