package layer

import (
	"fmt"
	"math"
	"testing"

	"sweep/model/analysis"
	"sweep/model/kernel"
)

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func accumulate(dst, src []float64) {
	for i, x := range src {
		dst[i] += x
	}
}

// TestAlgorithm3 holds the gradients of all reflectors and of σ̂, of the input
// matrix and of the initial state, over whole sequences, to the paper's algorithms
// (appendix B), which work on one reflector, one step and one series at a time.
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
		if s.m2 > 0 {
			s.cell, s.operator = "gated-spectral-rnn", ""
			t.Run(s.String(), func(t *testing.T) { compareAlgorithms(t, s) })
		}
	}
}

func compareAlgorithms(t *testing.T, s shape) {
	n := newSingle(t, kernel.Float64(), s, 21)
	d := newData[float64](s, 22)
	n.gradients(d)

	parameter := func(name string) []float64 { return n.arena.View(name).Value }
	l := reflectorsOf(s, parameter)
	gates := newSigmaGates(s, l, parameter)
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
		var steps []analysis.Reflectors
		var slopes [][]float64
		for step := range s.steps {
			x := d.x.Row(step*s.batch + b)
			gates.forward(l, states[step], x)
			z := l.Forward(states[step])
			steps = append(steps, *l)
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
			g = steps[step].Backward(g)
			gates.backward(&steps[step], states[step], d.x.Row(step*s.batch+b), g)
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
	for k := range l.UGradient {
		check(fmt.Sprintf("u%d", s.n-k), l.UGradient[k])
	}
	for k := range l.VGradient {
		check(fmt.Sprintf("v%d", s.n-k), l.VGradient[k])
	}
	check("h0", dh0)
	check("M", dm)
	switch {
	case gates != nil:
		check("sigma_hat", gates.hat)
		check("W_g", gates.dw)
		check("U_g", gates.du)
		check("b_g", gates.db)
	case s.m2 > 0:
		check("sigma_hat", l.HatGradient)
	}
}

// sigmaGates gate the singular values of the algorithms at each step; nil does nothing.
type sigmaGates struct {
	parameter       func(name string) []float64
	sigma, slope    []float64 // without gates
	hat, dw, du, db []float64 // gradients
}

func newSigmaGates(s shape, l *analysis.Reflectors, parameter func(name string) []float64) *sigmaGates {
	if s.cell != "gated-spectral-rnn" {
		return nil
	}
	return &sigmaGates{parameter: parameter, sigma: l.Sigma, slope: l.Slope, hat: make([]float64, s.n),
		dw: make([]float64, s.n*s.n), du: make([]float64, s.n*s.inputs), db: make([]float64, s.n)}
}

// forward gives the step gated singular values, and a gradient of its own.
func (g *sigmaGates) forward(l *analysis.Reflectors, h, x []float64) {
	if g == nil {
		return
	}
	n := len(h)
	l.Sigma, l.Slope, l.HatGradient = make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		sum := g.parameter("b_g")[i]
		for j, xj := range x {
			sum += g.parameter("U_g")[j*n+i] * xj
		}
		for j, hj := range h {
			sum += g.parameter("W_g")[j*n+i] * hj
		}
		gate := 1 / (1 + math.Exp(-sum))
		l.Sigma[i], l.Slope[i] = g.sigma[i]*gate, g.slope[i]*gate
	}
}

// backward adds the gradients of the gates, and of the state by them to dh. That of σ̂ is
// g ∂σ/∂σ̂ times that of a gated singular value, which a gate's is σ times.
func (g *sigmaGates) backward(l *analysis.Reflectors, h, x, dh []float64) {
	if g == nil {
		return
	}
	n := len(h)
	for i, d := range l.HatGradient {
		g.hat[i] += d
		gate := l.Sigma[i] / g.sigma[i]
		d *= g.sigma[i] / l.Slope[i] * gate * (1 - gate)
		g.db[i] += d
		for j, xj := range x {
			g.du[j*n+i] += d * xj
		}
		for j, hj := range h {
			g.dw[j*n+i] += d * hj
			dh[j] += d * g.parameter("W_g")[j*n+i]
		}
	}
}

// reflectorsOf is the transition matrix of a layer for the algorithms.
func reflectorsOf(s shape, parameter func(name string) []float64) *analysis.Reflectors {
	r := &analysis.Reflectors{KeepNorms: s.n%2 == 0, KeepProducts: s.n%3 > 0}
	for k := range s.m1 {
		r.U = append(r.U, parameter(fmt.Sprintf("u%d", s.n-k)))
		r.UGradient = append(r.UGradient, make([]float64, s.n-k))
	}
	for k := range s.m2 {
		r.V = append(r.V, parameter(fmt.Sprintf("v%d", s.n-k)))
		r.VGradient = append(r.VGradient, make([]float64, s.n-k))
	}
	if s.m2 == 0 {
		return r
	}
	r.HatGradient = make([]float64, s.n)
	for _, hat := range parameter("sigma_hat") {
		f := 1 / (1 + math.Exp(-hat))
		r.Sigma = append(r.Sigma, 2*s.radius*(f-.5)+1)
		r.Slope = append(r.Slope, 2*s.radius*f*(1-f))
	}
	return r
}
