package kernel

import (
	"slices"
	"testing"
)

// A product has the same bits whether it is shared or not, with all that a sum and its stage may have,
// and is shared where there are several panels.
func TestSharedProductsHaveTheSameBits(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		parts := 0
		shared := s.Shared(3, func(count int, do func(part int)) {
			parts = count
			for i := range count {
				do(count - 1 - i) // in any order
			}
		})
		// Whole panels, a last one that is narrow, one that is not, and fewer than there are parts.
		for _, cols := range []int{512, 515, 531, 64, 20} {
			const inputs, inner, work = 37, 600, 1 << 20 // multiplications that are shared
			rows := 1 + work/(cols*(inputs+inner))
			field := func(seed uint64, rows, cols int) Matrix[float32] {
				return newField(newRand(seed), rows, cols, 3, 0).Matrix
			}
			x, a, h, out := field(1, rows, inputs), field(2, rows, inner), field(3, rows, cols), field(4, rows, cols)
			bias := field(5, 1, cols).Data[:cols]
			var m, b Packed[float32]
			s.PackBias(&m, field(6, inputs, cols), bias)
			s.Pack(&b, field(7, inner, cols))
			sum := Sum[float32]{X: x, M: &m, A: a, B: &b, H: h, D: bias}
			before := field(8, rows, cols)
			for name, of := range map[string]func(s *Set[float32], c Matrix[float32]){
				"sum":        func(s *Set[float32], c Matrix[float32]) { s.MultiplySum(c, sum) },
				"leaky":      func(s *Set[float32], c Matrix[float32]) { s.MultiplyActivate(c, sum, LeakyReLU, .1) },
				"tanh":       func(s *Set[float32], c Matrix[float32]) { s.MultiplyActivate(c, sum, Tanh, 0) },
				"derivative": func(s *Set[float32], c Matrix[float32]) { s.MultiplyDerivative(c, sum, out, Tanh, 0) },
				"gate": func(s *Set[float32], c Matrix[float32]) {
					s.MultiplyGate(field(11, rows, cols), Sum[float32]{X: x, M: &m, A: a, B: &b}, ReLU, 0, c, before, .3, .7)
				},
			} {
				parts = 0
				want, got := field(10, rows, cols), field(10, rows, cols)
				of(s, want)
				of(shared, got)
				for i := range rows {
					if !slices.Equal(got.Row(i), want.Row(i)) {
						t.Errorf("%s of %d × %d: row %d differs", name, rows, cols, i)
						break
					}
				}
				panels := (cols + s.width - 1) / s.width
				if want := min(12, panels); s.level != Plain && parts != want {
					t.Errorf("%s of %d × %d: %d parts, want %d", name, rows, cols, parts, want)
				}
			}
		}
	})
}
