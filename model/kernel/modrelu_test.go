package kernel

import (
	"math"
	"testing"
)

// TestModReLU holds modReLU at every level to the plain loops, bit by bit, over some numbers that
// become 0 and a NaN, with canaries around what is written.
func TestModReLU(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(22)
		for i, n := range sizes {
			rows, gap := []int{1, 4, 0, 7, 9}[i%5], []int{0, 5, 1}[i%3]
			z, b := newField(r, rows, 2*n, gap, nan), vectorField(r, n, nan)
			g, db := newField(r, rows, 2*n, gap, nan), vectorField(r, n, canary)
			h, delta := newField(r, rows, 2*n, gap, canary), newField(r, rows, 2*n, gap, canary)
			if rows > 3 && n > 0 {
				z.Row(3)[n/2] = nan
			}
			wantH, wantDelta, wantDB := h.clone(), delta.clone(), db.clone()
			plain32.ModReLU(wantH, z.Matrix, b.Data, 1e-5)
			plain32.ModReLUBackward(wantDelta, g.Matrix, z.Matrix, b.Data, wantDB.Data, 1e-5)
			s.ModReLU(h.Matrix, z.Matrix, b.Data, 1e-5)
			s.ModReLUBackward(delta.Matrix, g.Matrix, z.Matrix, b.Data, db.Data, 1e-5)
			for _, f := range []*field{h, delta, db} {
				f.check(t, "modReLU")
			}
			sameBits(t, "h", h.Matrix, wantH)
			sameBits(t, "delta", delta.Matrix, wantDelta)
			sameBits(t, "db", db.Matrix, wantDB)
			s.ModReLUBackward(g.Matrix, g.Matrix, z.Matrix, b.Data, db.Data, 1e-5)
			sameBits(t, "delta in the place of g", g.Matrix, wantDelta)
			s.ModReLU(z.Matrix, z.Matrix, b.Data, 1e-5)
			sameBits(t, "h in the place of z", z.Matrix, wantH)
		}
	})
}

// sameBits fails the test unless the elements are equal, 0 and -0 counting as equal.
func sameBits(t *testing.T, name string, got, want Matrix[float32]) {
	t.Helper()
	for i := range want.Rows {
		for j, w := range want.Row(i) {
			x := got.Row(i)[j]
			if x != w && !(math.IsNaN(float64(x)) && math.IsNaN(float64(w))) {
				t.Fatalf("%s, %d×%d at %d,%d: %v, want %v", name, want.Rows, want.Cols, i, j, x, w)
			}
		}
	}
}

// TestModReLUEquations holds the float64 loops to the equation and to its derivatives.
func TestModReLUEquations(t *testing.T) {
	const rows, n, smallest = 3, 4, 1e-5
	s := Float64()
	z, g, b := random64(1, rows, 2*n), random64(2, rows, 2*n), random64(3, 1, n).Data
	for j := range b {
		b[j]-- // so that some h are 0
	}
	h, delta, db := random64(4, rows, 2*n), random64(5, rows, 2*n), make([]float64, n)
	s.ModReLU(h, z, b, smallest)
	zeros := 0
	for i := range rows {
		for j := range n {
			re, im := z.Row(i)[j], z.Row(i)[n+j]
			size := math.Sqrt(re*re + im*im + smallest)
			scale := math.Max(size+b[j], 0) / size
			if scale == 0 {
				zeros++
			}
			if math.Hypot(h.Row(i)[j]-scale*re, h.Row(i)[n+j]-scale*im) > 1e-14 {
				t.Errorf("at %d,%d: %v, %v; want %v times %v, %v", i, j, h.Row(i)[j], h.Row(i)[n+j], scale, re, im)
			}
		}
	}
	if zeros == 0 || zeros == rows*n {
		t.Fatalf("%d of %d are 0: the test proves little", zeros, rows*n)
	}
	s.ModReLUBackward(delta, g, z, b, db, smallest)
	loss := func() float64 {
		out := random64(6, rows, 2*n)
		s.ModReLU(out, z, b, smallest)
		return weighted(g, out)
	}
	gradientCheck(t, "z", z.Data, delta.Data, loss)
	gradientCheck(t, "b", b, db, loss)
}
