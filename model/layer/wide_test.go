package layer

import (
	"math"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
)

// TestWide checks some gradients of layers so wide that the rows of their
// matrices are padded.
func TestWide(t *testing.T) {
	for _, s := range []shape{
		{cell: "rnn", n: 514, activation: kernel.Tanh},
		{cell: "spectral-rnn", n: 514, m1: 2, m2: 3, radius: .3, activation: kernel.Tanh, operator: OperatorDense},
		{cell: "spectral-rnn", n: 514, m1: 2, m2: 3, radius: .3, activation: kernel.Tanh, operator: OperatorCompactWY},
		{cell: "lstm", n: 130},
		{cell: "spectral-lstm", n: 130, m1: 2, m2: 3, radius: .3},
		{cell: "gru", n: 258},
	} {
		s.inputs, s.steps, s.batch = 2, 3, 2
		t.Run(s.String(), func(t *testing.T) {
			n := newSingle(t, kernel.Float64(), s, 7)
			d := newData[float64](s, 8)
			n.gradients(d)
			source := random.New(9, 0)
			for _, v := range n.arena.Views() {
				largest := 1e-3
				for _, g := range v.Gradient {
					largest = max(largest, math.Abs(g))
				}
				for range 3 {
					i := source.Below(len(v.Value))
					want := derivative(&v.Value[i], func() float64 { return n.forward(d) })
					if math.Abs(want-v.Gradient[i]) > 1e-6*largest {
						t.Errorf("gradient %d of %s is %v, want %v", i, v.Name, v.Gradient[i], want)
					}
				}
			}
		})
	}
}
