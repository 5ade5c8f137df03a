package weight

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"
	"slices"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Unitary is a unitary matrix of n × n complex numbers as a real [Matrix] of twice the size, the
// weight of uRNN (Arjovsky, Shah and Bengio 2016, eq. 7):
//
//	W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁      as | Re W  -Im W |
//	                                   | Im W   Re W |
//
// D_k = diag(exp(iω)), R_k = I - 2 v v*/‖v‖², F is the Fourier transform over √n and Π a fixed
// permutation. It has 7n parameters: three vectors ω and, in real numbers, two v. Each column is
// computed in double precision in O(n log n) operations; a layer that never forms W takes its
// [UnitaryFactors].
type Unitary[F kernel.Float] struct {
	unitVectors[F]
	n       int
	phases  [3]*phases[F]
	mirrors [2]*mirror[F]
	order   permutation
	factors []unitaryFactor // the rightmost first

	// Of one column: what each factor is applied to, and the product; the gradient.
	states   [][]complex128
	gradient []complex128
}

// A unitaryFactor is a unitary matrix that is applied to vectors.
type unitaryFactor interface {
	// apply is to = M x. They are different vectors.
	apply(to, x []complex128)
	// pullback makes of g, the gradient of M x by its real parts plus i times that by its
	// imaginary parts, that of x, M* g. It adds what the parameters have of it. It may overwrite x.
	pullback(x, g []complex128)
}

// NewUnitary declares the tensors "d1", "d2" and "d3" [n], the angles ω, and "r1" and "r2" [2n],
// the real and then the imaginary parts of v, and
// fixes "order" [n], Π, drawn from the seed.
func NewUnitary[F kernel.Float](set *kernel.Set[F], arena *Arena[F], n int, seed uint64) (*Unitary[F], error) {
	if n < 1 {
		return nil, fmt.Errorf("weight: unitary matrix of size %d: want at least 1", n)
	}
	u := &Unitary[F]{n: n}
	for k := range u.phases {
		u.phases[k] = &phases[F]{omega: arena.Declare(fmt.Sprintf("d%d", k+1), 1, n)}
	}
	for k := range u.mirrors {
		u.mirrors[k] = &mirror[F]{vector: arena.Declare(fmt.Sprintf("r%d", k+1), 1, 2*n)}
	}
	u.unitVectors = unitVectors[F]{kernels: set, reflectors: reflectors[F]{u.mirrors[0].vector, u.mirrors[1].vector}}
	fourier := newFourier(n)
	order, err := arena.Fix("order", 1, n, func(int) []int { return random.New(seed, random.Turns).Permutation(n) })
	if err != nil {
		return nil, err
	}
	u.order = order[0]
	u.factors = []unitaryFactor{
		u.phases[0], fourier, u.mirrors[0], u.order,
		u.phases[1], inverse{fourier}, u.mirrors[1], u.phases[2],
	}
	return u, nil
}

// Shape returns 2n twice.
func (u *Unitary[F]) Shape() (rows, cols int) { return 2 * u.n, 2 * u.n }

// Init draws ω from [-π, π) and the directions of v.
func (u *Unitary[F]) Init(_ context.Context, start Start, source *random.Source) error {
	if _, err := startOf(start, []Start{StartRandom}); err != nil {
		return err
	}
	for _, p := range u.phases {
		for i := range p.omega.Value {
			p.omega.Value[i] = F(math.Pi * (2*source.Uniform() - 1))
		}
	}
	u.reflectors.draw(source)
	u.Constrain(0)
	return nil
}

// column computes a column of W, and before it all that factors are applied to.
func (u *Unitary[F]) column(j int) (w []complex128) {
	clear(u.states[0])
	u.states[0][j] = 1
	for k, f := range u.factors {
		f.apply(u.states[k+1], u.states[k])
	}
	return u.states[len(u.factors)]
}

// Value writes W.
func (u *Unitary[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, u)
	if u.states == nil {
		for range len(u.factors) + 1 {
			u.states = append(u.states, make([]complex128, u.n))
		}
		u.gradient = make([]complex128, u.n)
	}
	for _, p := range u.phases {
		p.load()
	}
	for _, m := range u.mirrors {
		m.load()
	}
	for j := range u.n {
		for i, x := range u.column(j) {
			re, im := F(real(x)), F(imag(x))
			upper, lower := w.Row(i), w.Row(u.n+i)
			upper[j], upper[u.n+j], lower[j], lower[u.n+j] = re, -im, im, re
		}
	}
}

// Pullback adds the gradients of ω and v, column by column.
func (u *Unitary[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, u)
	for j := range u.n {
		u.column(j)
		for i := range u.gradient {
			upper, lower := dw.Row(i), dw.Row(u.n+i)
			u.gradient[i] = complex(float64(upper[j])+float64(lower[u.n+j]), float64(lower[j])-float64(upper[u.n+j]))
		}
		for k, f := range slices.Backward(u.factors) {
			f.pullback(u.states[k], u.gradient)
		}
	}
	for _, p := range u.phases {
		addGradient(p.omega, p.gradient)
	}
	for _, m := range u.mirrors {
		m.add()
	}
}

// addGradient adds to the gradient of a tensor.
func addGradient[F kernel.Float](to *View[F], gradient []float64) {
	for i, x := range gradient {
		to.Gradient[i] += F(x)
	}
}

// Flops counts six Fourier transforms of each column, 5 n log2 n operations each, and some forty
// operations an element for the rest.
func (u *Unitary[F]) Flops() float64 {
	n := float64(u.n)
	return n * n * (30*float64(bits.Len(uint(u.n))) + 3*40)
}

// Footprint counts the vectors in double precision.
func (u *Unitary[F]) Footprint() int {
	const number = 2 // values that a double takes
	vectors := 2*(len(u.factors)+2) + 2*3
	return number*vectors*u.n + u.FactorsFootprint()
}

// phases is diag(exp(iω)).
type phases[F kernel.Float] struct {
	omega    *View[F]
	turns    []complex128
	gradient []float64
}

// load computes the diagonal and clears its gradient.
func (p *phases[F]) load() {
	if p.turns == nil {
		p.turns, p.gradient = make([]complex128, len(p.omega.Value)), make([]float64, len(p.omega.Value))
	}
	clear(p.gradient)
	for i, omega := range p.omega.Value {
		sin, cos := math.Sincos(float64(omega))
		p.turns[i] = complex(cos, sin)
	}
}

func (p *phases[F]) apply(to, x []complex128) {
	for i, turn := range p.turns {
		to[i] = turn * x[i]
	}
}

func (p *phases[F]) pullback(x, g []complex128) {
	for i, turn := range p.turns {
		g[i] *= cmplx.Conj(turn)
		p.gradient[i] += imag(g[i] * cmplx.Conj(x[i]))
	}
}

// mirror is I - 2 v v*/‖v‖².
type mirror[F kernel.Float] struct {
	vector      *View[F] // of real and imaginary parts
	v, gradient []complex128
	scale       float64 // 2/‖v‖², 0 of a v that is 0
}

// load computes v and clears its gradient.
func (m *mirror[F]) load() {
	n := len(m.vector.Value) / 2
	if m.v == nil {
		m.v, m.gradient = make([]complex128, n), make([]complex128, n)
	}
	clear(m.gradient)
	sum := 0.0
	for i := range m.v {
		re, im := float64(m.vector.Value[i]), float64(m.vector.Value[n+i])
		m.v[i] = complex(re, im)
		sum += re*re + im*im
	}
	if m.scale = 0; sum > 0 {
		m.scale = 2 / sum
	}
}

// along is 2/‖v‖² v* x.
func (m *mirror[F]) along(x []complex128) complex128 {
	var sum complex128
	for i, v := range m.v {
		sum += cmplx.Conj(v) * x[i]
	}
	return complex(m.scale, 0) * sum
}

func (m *mirror[F]) apply(to, x []complex128) {
	alpha := m.along(x)
	for i, v := range m.v {
		to[i] = x[i] - alpha*v
	}
}

// With α = 2/‖v‖² v*x and β = 2/‖v‖² v*g the gradient of v is -ᾱ g - β̄ x + Re(α β̄) v.
func (m *mirror[F]) pullback(x, g []complex128) {
	alpha, beta := m.along(x), m.along(g)
	conjugates, both := [2]complex128{cmplx.Conj(alpha), cmplx.Conj(beta)}, real(alpha*cmplx.Conj(beta))
	for i, v := range m.v {
		m.gradient[i] += complex(both, 0)*v - conjugates[0]*g[i] - conjugates[1]*x[i]
		g[i] -= beta * v
	}
}

// add adds the gradient to that of the tensor.
func (m *mirror[F]) add() {
	n := len(m.v)
	for i, d := range m.gradient {
		m.vector.Gradient[i] += F(real(d))
		m.vector.Gradient[n+i] += F(imag(d))
	}
}

// permutation makes element i what was element permutation[i].
type permutation []int

func (p permutation) apply(to, x []complex128) {
	for i, of := range p {
		to[i] = x[of]
	}
}

func (p permutation) pullback(x, g []complex128) {
	copy(x, g)
	for i, of := range p {
		g[of] = x[i]
	}
}
