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
	}
}

func compareAlgorithms(t *testing.T, s shape) {
	n := newSingle(t, kernel.Float64(), s, 21)
	d := newData[float64](s, 22)
	n.gradients(d)

	parameter := func(name string) []float64 { return n.arena.View(name).Value }
	l := reflectorsOf(s, parameter)
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
			z := l.Forward(states[step])
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
			g = steps[step].Backward(g)
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
	if s.m2 > 0 {
		check("sigma_hat", l.HatGradient)
	}
	check("h0", dh0)
	check("M", dm)
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
