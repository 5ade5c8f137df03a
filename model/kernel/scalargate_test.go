package kernel

import (
	"math"
	"testing"
)

// TestMultiplyGate holds a step of a scalar-gated cell at every level to its two parts,
// with canaries around what is written.
func TestMultiplyGate(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(20)
		for i, n := range sizes {
			rows, k, gap := []int{1, 4, 0, 7, 29}[i%5], []int{3, 40, 70}[i%3], []int{0, 5, 1}[i%3]
			x, a := newField(r, rows, 2, gap, nan), newField(r, rows, k, gap, nan)
			before := newField(r, rows, n, gap, nan)
			var m, b Packed[float32]
			s.PackBias(&m, newField(r, 2, n, 0, nan).Matrix, newField(r, 1, n, 0, nan).Row(0))
			s.Pack(&b, newField(r, k, n, 0, nan).Matrix)
			sum := Sum[float32]{X: x.Matrix, M: &m, A: a.Matrix, B: &b}
			for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
				want, got, next := newField(r, rows, n, 0, nan), newField(r, rows, n, gap, canary),
					newField(r, rows, n, 3, canary)
				s.MultiplyActivate(want.Matrix, sum, act, .2)
				s.MultiplyGate(got.Matrix, sum, act, .2, next.Matrix, before.Matrix, .25, .5)
				got.check(t, "MultiplyGate")
				next.check(t, "MultiplyGate")
				for i := range rows {
					for j, x := range got.Row(i) {
						if x != want.Row(i)[j] {
							t.Fatalf("%v, %d×%d at %d,%d: %v, want %v", act, rows, n, i, j, x, want.Row(i)[j])
						}
						state := .25*float64(x) + .5*float64(before.Row(i)[j])
						near(t, next.Row(i)[j], state, 1e-6*(1+math.Abs(state)), "%v: next, %d×%d at %d,%d",
							act, rows, n, i, j)
					}
				}
			}
		}
	})
}

// TestScalarGateBackward holds the way back at every level to float64, over whole blocks
// of rows and columns and rests of both, with canaries around what is written.
func TestScalarGateBackward(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(21)
		for i, n := range sizes {
			rows, gap := []int{1, 4, 0, 7, 9}[i%5], []int{0, 5, 1}[i%3]
			f, h := newField(r, rows, n, gap, nan), newField(r, rows, n, 0, nan)
			for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
				delta, g := newField(r, rows, n, gap, canary), newField(r, rows, n, 2, nan)
				dalpha, dbeta := vectorField(r, n, canary), vectorField(r, n, canary)
				wantDelta, wantAlpha, wantBeta := double(delta.Matrix), make([]float64, n), make([]float64, n)
				for j := range n {
					wantAlpha[j], wantBeta[j] = float64(dalpha.Row(0)[j]), float64(dbeta.Row(0)[j])
				}
				s.ScalarGateBackward(delta.Matrix, g.Matrix, f.Matrix, h.Matrix, dalpha.Row(0), dbeta.Row(0),
					.25, act, .2)
				out := double(f.Matrix)
				for i := range rows {
					for j, x := range g.Row(i) {
						wantAlpha[j] += float64(x) * float64(f.Row(i)[j])
						wantBeta[j] += float64(x) * float64(h.Row(i)[j])
						wantDelta.Row(i)[j] = .25 * float64(x)
					}
					Float64().Derivative(wantDelta.Row(i), wantDelta.Row(i), out.Row(i), act, .2)
				}
				for _, field := range []*field{delta, dalpha, dbeta} {
					field.check(t, "ScalarGateBackward")
				}
				for i := range rows {
					for j, x := range delta.Row(i) {
						near(t, x, wantDelta.Row(i)[j], 1e-6*(1+math.Abs(wantDelta.Row(i)[j])),
							"%v: delta, %d×%d at %d,%d", act, rows, n, i, j)
					}
				}
				for j := range n {
					near(t, dalpha.Row(0)[j], wantAlpha[j], 4e-6*(1+math.Abs(wantAlpha[j])), "%v: dalpha, %d×%d at %d",
						act, rows, n, j)
					near(t, dbeta.Row(0)[j], wantBeta[j], 4e-6*(1+math.Abs(wantBeta[j])), "%v: dbeta, %d×%d at %d",
						act, rows, n, j)
				}
			}
		}
	})
}
