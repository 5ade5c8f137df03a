package layer

import (
	"fmt"
	"math"
	"testing"

	"sweep/model/kernel"
)

// The paper's appendix B, one reflector, one step and one series at a time:
// the reference for what weight.SVD and Elman do with whole matrices.

// hprod is algorithm 2: H(u) h, where u acts on the last len(u) coordinates.
func hprod(h, u []float64) []float64 {
	out := append([]float64(nil), h...)
	tail := out[len(h)-len(u):]
	alpha := 2 / dot(u, u) * dot(u, tail)
	for i, x := range u {
		tail[i] -= alpha * x
	}
	return out
}

// hgrad is algorithm 3: the gradients of h and u, given g, that of H(u) h.
func hgrad(h, u, g []float64) (dh, du []float64) {
	first := len(h) - len(u)
	alpha := 2 / dot(u, u) * dot(u, h[first:])
	beta := 2 / dot(u, u) * dot(u, g[first:])
	dh = append([]float64(nil), g...)
	du = make([]float64, len(u))
	for i, x := range u {
		dh[first+i] -= beta * x
		du[i] = -alpha*g[first+i] - beta*h[first+i] + alpha*beta*x
	}
	return dh, du
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// local is algorithm 1 with U = (u_n | … ), V = (v_n | … ) and their gradients.
type local struct {
	u, v        [][]float64
	hat         []float64
	radius      float64
	du, dv      [][]float64
	dhat        []float64
	before, mid [][]float64 // h before each v; h before each u
	afterV      []float64   // Vᵀ h
}

func (l *local) sigma(i int) float64 { return 2*l.radius*(1/(1+math.Exp(-l.hat[i]))-.5) + 1 }

// forward returns W h and keeps what backward needs.
func (l *local) forward(h []float64) []float64 {
	l.before, l.mid = nil, make([][]float64, len(l.u))
	for _, v := range l.v {
		l.before = append(l.before, h)
		h = hprod(h, v)
	}
	l.afterV = h
	scaled := make([]float64, len(h))
	for i := range h {
		scaled[i] = l.sigma(i) * h[i]
	}
	h = scaled
	for k := len(l.u) - 1; k >= 0; k-- {
		l.mid[k] = h
		h = hprod(h, l.u[k])
	}
	return h
}

// backward adds the gradients and returns Wᵀ g.
func (l *local) backward(g []float64) []float64 {
	var d []float64
	for k, u := range l.u {
		g, d = hgrad(l.mid[k], u, g)
		accumulate(l.du[k], d)
	}
	scaled := make([]float64, len(g))
	for i := range g {
		f := 1 / (1 + math.Exp(-l.hat[i]))
		l.dhat[i] += g[i] * l.afterV[i] * 2 * l.radius * f * (1 - f)
		scaled[i] = l.sigma(i) * g[i]
	}
	g = scaled
	for k := len(l.v) - 1; k >= 0; k-- {
		g, d = hgrad(l.before[k], l.v[k], g)
		accumulate(l.dv[k], d)
	}
	return g
}

func accumulate(dst, src []float64) {
	for i, x := range src {
		dst[i] += x
	}
}

// TestAlgorithm3 holds the gradients of all reflectors and of σ̂, of the input
// matrix and of the initial state, over whole sequences, to the algorithms.
func TestAlgorithm3(t *testing.T) {
	for _, s := range []shape{
		{n: 6, inputs: 2, steps: 4, batch: 3, m1: 3, m2: 2, radius: .2, activation: kernel.LeakyReLU, slope: .2},
		{n: 11, inputs: 1, steps: 7, batch: 2, m1: 11, m2: 11, radius: .4, activation: kernel.Tanh},
		{n: 32, inputs: 8, steps: 16, batch: 5, m1: 16, m2: 16, radius: .1, activation: kernel.LeakyReLU, slope: .2},
		{n: 32, inputs: 8, steps: 16, batch: 5, m1: 16, activation: kernel.Linear},
		{n: 5, inputs: 1, steps: 1, batch: 1, m1: 1, m2: 5, radius: .2, activation: kernel.ReLU},
	} {
		s.cell = "spectral-rnn"
		if s.m2 == 0 {
			s.cell = "ornn"
		}
		for _, kind := range []OperatorKind{OperatorDense, OperatorCompactWY} {
			s.operator = kind
			t.Run(s.String(), func(t *testing.T) { compareAlgorithms(t, s) })
		}
	}
}

func compareAlgorithms(t *testing.T, s shape) {
	n := newSingle(t, kernel.Float64(), s, 21)
	d := newData[float64](s, 22)
	n.gradients(d)

	l := &local{hat: make([]float64, s.n), dhat: make([]float64, s.n), radius: s.radius}
	parameter := func(name string) []float64 { return n.arena.View(name).Value }
	for k := range s.m1 {
		l.u = append(l.u, parameter(fmt.Sprintf("u%d", s.n-k)))
		l.du = append(l.du, make([]float64, s.n-k))
	}
	for k := range s.m2 {
		l.v = append(l.v, parameter(fmt.Sprintf("v%d", s.n-k)))
		l.dv = append(l.dv, make([]float64, s.n-k))
	}
	if s.m2 > 0 {
		l.hat = parameter("sigma_hat")
	}
	dh0, dm := make([]float64, s.n), make([]float64, s.n*s.inputs)
	slope := map[kernel.Activation]float64{kernel.Linear: 1, kernel.LeakyReLU: s.slope}[s.activation]
	phi := func(z float64) (value, derivative float64) {
		switch {
		case s.activation == kernel.Tanh:
			return math.Tanh(z), 1 - math.Tanh(z)*math.Tanh(z)
		case z > 0:
			return z, 1
		}
		return slope * z, slope
	}
	for b := range s.batch {
		states := [][]float64{parameter("h0")}
		var steps []local
		var slopes [][]float64
		for step := range s.steps {
			z := l.forward(states[step])
			steps = append(steps, *l)
			x := d.x.Row(step*s.batch + b)
			h, derivative := make([]float64, s.n), make([]float64, s.n)
			for i := range h {
				sum := z[i] + parameter("b")[i]
				for j, xj := range x {
					sum += parameter("M")[j*s.n+i] * xj
				}
				h[i], derivative[i] = phi(sum)
			}
			states, slopes = append(states, h), append(slopes, derivative)
		}
		g := append([]float64(nil), d.weights.Row(b)...)
		for step := s.steps - 1; step >= 0; step-- {
			for i := range g {
				g[i] *= slopes[step][i]
				for j, xj := range d.x.Row(step*s.batch + b) {
					dm[j*s.n+i] += g[i] * xj
				}
			}
			g = steps[step].backward(g)
		}
		accumulate(dh0, g)
	}
	check := func(name string, want []float64) {
		t.Helper()
		largest, difference := 1e-5, 0.0
		for i, got := range n.arena.View(name).Gradient {
			largest = max(largest, math.Abs(want[i]))
			difference = max(difference, math.Abs(got-want[i]))
		}
		if relative := difference / largest; !(relative < 1e-9) {
			t.Errorf("gradient of %s: relative error %.2g", name, relative)
		}
	}
	for k := range l.du {
		check(fmt.Sprintf("u%d", s.n-k), l.du[k])
	}
	for k := range l.dv {
		check(fmt.Sprintf("v%d", s.n-k), l.dv[k])
	}
	if s.m2 > 0 {
		check("sigma_hat", l.dhat)
	}
	check("h0", dh0)
	check("M", dm)
}
