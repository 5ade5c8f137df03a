package weight

import (
	"math"

	"sweep/model/kernel"
)

// UnitaryFactors are the factors of a [Unitary] of n × n complex numbers as [kernel.Set.Turn] and
// [kernel.Set.Mirror] take them.
type UnitaryFactors[F kernel.Float] struct {
	// Turns are D₁, D₂ and D₃ in pairs of parts; the first two are divided by √n, so that the transforms
	// after them need no factor.
	Turns [3][]F
	// Mirrors are R₁ with Π after it, and R₂.
	Mirrors [2]kernel.Mirror[F]
}

// NewUnitaryFactors returns memory for the factors of a matrix.
func NewUnitaryFactors[F kernel.Float](u *Unitary[F]) *UnitaryFactors[F] {
	f := &UnitaryFactors[F]{}
	for i := range f.Turns {
		f.Turns[i] = make([]F, 2*u.n)
	}
	for i := range f.Mirrors {
		f.Mirrors[i].V = make([]F, 2*u.n)
	}
	f.Mirrors[0].Order, f.Mirrors[1].Order = u.order, make([]int, u.n)
	for i := range u.n {
		f.Mirrors[1].Order[i] = i
	}
	return f
}

// Size is how many values the factors take, an index counting for two.
func (f *UnitaryFactors[F]) Size() int { return len(f.Turns)*len(f.Turns[0]) + 4*len(f.Turns[0]) }

// Factors writes the factors for the present parameters.
func (u *Unitary[F]) Factors(f *UnitaryFactors[F]) {
	for i, p := range u.phases {
		scale := 1 / math.Sqrt(float64(u.n))
		if i == len(u.phases)-1 {
			scale = 1
		}
		p.load()
		for k, turn := range p.turns {
			f.Turns[i][2*k], f.Turns[i][2*k+1] = F(scale*real(turn)), F(scale*imag(turn))
		}
	}
	for i, m := range u.mirrors {
		m.load()
		for k, v := range m.v {
			f.Mirrors[i].V[2*k], f.Mirrors[i].V[2*k+1] = F(real(v)), F(imag(v))
		}
		f.Mirrors[i].Scale = F(m.scale)
	}
}

// FactorsFootprint is how many values the buffers of Factors and PullbackFactors take.
func (u *Unitary[F]) FactorsFootprint() int {
	const number = 2 // values that a double takes
	return number * (3*(2+1) + 2*(2+2)) * u.n
}

// UnitaryGradient is the gradient of a [Unitary], in lanes, as [kernel.Set.TurnBackward] and
// [kernel.Set.MirrorBackward] add it up.
type UnitaryGradient[F kernel.Float] struct {
	lanes int
	Omega [3][]F // of ω of D₁, D₂ and D₃
	V     [2][]F // of v of R₁ and R₂, but for Both times v
	Both  [2][]F
}

// NewUnitaryGradient returns memory for the gradient of a matrix.
func NewUnitaryGradient[F kernel.Float](u *Unitary[F], lanes int) *UnitaryGradient[F] {
	g := &UnitaryGradient[F]{lanes: lanes}
	for i := range g.Omega {
		g.Omega[i] = kernel.Make[F](u.n * lanes)
	}
	for i := range g.V {
		g.V[i], g.Both[i] = kernel.Make[F](2*u.n*lanes), kernel.Make[F](lanes)
	}
	return g
}

// GradientSize is how many values a gradient takes in each lane.
func (u *Unitary[F]) GradientSize() int { return (3+2*2)*u.n + 2 }

// parts are all that the gradient consists of.
func (g *UnitaryGradient[F]) parts() [7][]F {
	return [...][]F{g.Omega[0], g.Omega[1], g.Omega[2], g.V[0], g.V[1], g.Both[0], g.Both[1]}
}

// Clear sets the gradient to 0.
func (g *UnitaryGradient[F]) Clear() {
	for _, part := range g.parts() {
		clear(part)
	}
}

// Add adds another gradient.
func (g *UnitaryGradient[F]) Add(set *kernel.Set[F], other *UnitaryGradient[F]) {
	others := other.parts()
	for i, part := range g.parts() {
		set.Axpy(part, 1, others[i])
	}
}

// PullbackFactors adds the gradients of ω and v, at the parameters of the last call of Factors.
func (u *Unitary[F]) PullbackFactors(g *UnitaryGradient[F]) {
	for i, p := range u.phases {
		for k := range p.gradient {
			p.gradient[k] = g.sum(g.Omega[i], k)
		}
		addGradient(p.omega, p.gradient)
	}
	for i, m := range u.mirrors {
		both := g.sum(g.Both[i], 0)
		for k, v := range m.v {
			m.gradient[k] = complex(g.sum(g.V[i], 2*k)+both*real(v), g.sum(g.V[i], 2*k+1)+both*imag(v))
		}
		m.add()
	}
}

// sum is that of the lanes of one number.
func (g *UnitaryGradient[F]) sum(x []F, k int) (sum float64) {
	for _, part := range x[k*g.lanes : (k+1)*g.lanes] {
		sum += float64(part)
	}
	return sum
}
