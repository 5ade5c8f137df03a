package kernel

import (
	"math"
	"testing"
)

// TestScalarGate holds both loops at every level to float64, over whole blocks of rows
// and columns and rests of both, with canaries around what is written.
func TestScalarGate(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(21)
		for i, n := range sizes {
			rows, gap := []int{1, 4, 0, 7, 9}[i%5], []int{0, 5, 1}[i%3]
			next, f, h := newField(r, rows, n, gap, canary), newField(r, rows, n, gap, nan), newField(r, rows, n, 0, nan)
			s.ScalarGate(next.Matrix, f.Matrix, h.Matrix, .25, .5)
			next.check(t, "ScalarGate")
			for i := range rows {
				for j, x := range next.Row(i) {
					want := .25*float64(f.Row(i)[j]) + .5*float64(h.Row(i)[j])
					near(t, x, want, 1e-6*(1+math.Abs(want)), "ScalarGate, %d×%d at %d,%d", rows, n, i, j)
				}
			}
			for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
				delta, g := newField(r, rows, n, gap, canary), newField(r, rows, n, 2, nan)
				dalpha, dbeta := vectorField(r, n, canary), vectorField(r, n, canary)
				wantDelta, wantAlpha, wantBeta := double(delta.Matrix), make([]float64, n), make([]float64, n)
				for j := range n {
					wantAlpha[j], wantBeta[j] = float64(dalpha.Row(0)[j]), float64(dbeta.Row(0)[j])
				}
				s.ScalarGateBackward(delta.Matrix, g.Matrix, f.Matrix, h.Matrix, dalpha.Row(0), dbeta.Row(0), .25, act, .2)
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
						near(t, x, wantDelta.Row(i)[j], 1e-6*(1+math.Abs(wantDelta.Row(i)[j])), "%v: delta, %d×%d at %d,%d", act, rows, n, i, j)
					}
				}
				for j := range n {
					near(t, dalpha.Row(0)[j], wantAlpha[j], 4e-6*(1+math.Abs(wantAlpha[j])), "%v: dalpha, %d×%d at %d", act, rows, n, j)
					near(t, dbeta.Row(0)[j], wantBeta[j], 4e-6*(1+math.Abs(wantBeta[j])), "%v: dbeta, %d×%d at %d", act, rows, n, j)
				}
			}
		}
	})
}
