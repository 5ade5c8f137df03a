package layer

import (
	"math"
	"math/cmplx"
	"testing"

	"sweep/model/kernel"
)

// TestModReLU holds the outputs of the cell to its equation in complex numbers.
func TestModReLU(t *testing.T) {
	s := shape{cell: "modrelu", n: 10, inputs: 3, steps: 6, batch: 4, every: true}
	n := newSingle(t, kernel.Float64(), s, 3)
	for i := range n.arena.View("b").Value {
		n.arena.View("b").Value[i] -= .3 // some states are 0
	}
	d := newData[float64](s, 4)
	n.gradients(d)
	half := s.n / 2
	parameter := func(name string) []float64 { return n.arena.View(name).Value }
	number := func(row []float64, i int) complex128 { return complex(row[i], row[half+i]) }
	zeros := 0
	for b := range s.batch {
		state := make([]float64, s.n)
		copy(state, parameter("h0"))
		for step := range s.steps {
			z := make([]float64, s.n)
			for i := range z {
				for j, h := range state {
					z[i] += parameter("W")[i*s.n+j] * h
				}
				for j, x := range d.x.Row(step*s.batch + b) {
					z[i] += parameter("M")[j*s.n+i] * x
				}
			}
			for i := range half {
				size := math.Sqrt(math.Pow(cmplx.Abs(number(z, i)), 2) + smallestModulus)
				h := complex(max(size+parameter("b")[i], 0)/size, 0) * number(z, i)
				state[i], state[half+i] = real(h), imag(h)
				if h == 0 {
					zeros++
				}
			}
			if got := n.outputs.Row(step*s.batch + b); !near(state, got) {
				t.Fatalf("step %d of series %d: %v, want %v", step, b, got, state)
			}
		}
	}
	if all := s.batch * s.steps * half; zeros == 0 || zeros == all {
		t.Errorf("%d of %d states are 0: the test proves little", zeros, all)
	}
}
