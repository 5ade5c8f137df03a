package layer

import (
	"math"
	"testing"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// gradientShapes are small enough for differences of every single parameter.
func gradientShapes() []shape {
	base := []shape{
		{n: 6, inputs: 3, steps: 5, batch: 3, activation: kernel.LeakyReLU, slope: .2},
		{n: 7, inputs: 1, steps: 9, batch: 4, activation: kernel.Tanh},
		{n: 5, inputs: 2, steps: 1, batch: 2, activation: kernel.Tanh},
		{n: 4, inputs: 1, steps: 4, batch: 1, activation: kernel.Linear},
		{n: 1, inputs: 1, steps: 1, batch: 1, activation: kernel.Tanh},
		{n: 17, inputs: 2, steps: 6, batch: 5, activation: kernel.ReLU},
		{n: 5, inputs: 2, steps: 7, batch: 2, activation: kernel.Tanh, fixedStart: true},
	}
	var shapes []shape
	add := func(s shape, cell string, start weight.Start, m1, m2 int) {
		s.cell, s.start, s.m1, s.m2, s.radius = cell, start, m1, m2, .3
		shapes = append(shapes, s)
		if m1 > 0 && cell != "sgornn" && cell != "gated-spectral-rnn" && cell != "spectral-lstm" {
			s.operator = OperatorCompactWY
			shapes = append(shapes, s)
		}
	}
	for _, s := range base {
		add(s, "rnn", weight.StartGaussian, 0, 0)
		add(s, "irnn", weight.StartIdentity, 0, 0)
		add(s, "rnn", weight.StartOrthogonal, 0, 0)
		add(s, "fastrnn", weight.StartGaussian, 0, 0)
		if s.n%2 == 0 {
			add(s, "modrelu", weight.StartOrthogonal, 0, 0)
		}
		for _, kind := range []OperatorKind{OperatorDense, OperatorFactors} {
			unitary := s
			unitary.n, unitary.operator = map[bool]int{true: 8, false: 16}[s.n < 7], kind
			add(unitary, "urnn", "", 0, 0)
		}
		add(s, "lstm", "", 0, 0)
		add(s, "gru", "", 0, 0)
		half := (s.n + 1) / 2
		for _, m := range [][2]int{{1, 1}, {half, 1}, {1, half}, {half, s.n}, {s.n, s.n}} {
			add(s, "ornn", weight.StartRandom, m[0], 0)
			add(s, "sgornn", weight.StartRandom, m[0], 0)
			add(s, "spectral-rnn", weight.StartRandom, m[0], m[1])
			add(s, "gated-spectral-rnn", weight.StartRandom, m[0], m[1])
		}
		add(s, "ornn", weight.StartNearIdentity, half, 0)
		add(s, "spectral-rnn", weight.StartNearIdentity, half, half)
		add(s, "spectral-lstm", weight.StartRandom, half, 1)
		add(s, "spectral-lstm", weight.StartNearIdentity, half, half)
	}
	return shapes
}

// compareGradients holds every gradient of the arena against differences of
// the loss. The error of a tensor is its largest absolute difference over the
// largest gradient of the tensor, or over 1e-3 for a tensor that hardly acts.
func compareGradients(t *testing.T, a *weight.Arena[float64], loss func() float64) {
	t.Helper()
	for _, v := range a.Views() {
		largest, difference := 1e-3, 0.0
		for i := range v.Value {
			want := derivative(&v.Value[i], loss)
			largest = max(largest, math.Abs(want))
			difference = max(difference, math.Abs(want-v.Gradient[i]))
		}
		if relative := difference / largest; !(relative < 1e-6) {
			t.Errorf("gradient of %s: relative error %.2g", v.Name, relative)
		}
	}
}

// derivative is the central difference of f by x. The step is small enough for
// no argument of a ReLU of these tests to change its sign within it.
func derivative(x *float64, f func() float64) float64 {
	const h = 1e-5
	old := *x
	*x = old + h
	above := f()
	*x = old - h
	below := f()
	*x = old
	return (above - below) / (2 * h)
}

func TestGradients(t *testing.T) {
	for _, s := range gradientShapes() {
		t.Run(s.String()+","+string(s.start), func(t *testing.T) {
			n := newSingle(t, kernel.Float64(), s, 7)
			d := newData[float64](s, 8)
			n.gradients(d)
			compareGradients(t, n.arena, func() float64 { return n.forward(d) })
		})
	}
}
