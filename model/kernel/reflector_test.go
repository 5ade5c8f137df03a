package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// reflector is H of ReflectLeft as a matrix.
func reflector(n int, u []float64) Matrix[float64] {
	h := Dense(make([]float64, n*n), n, n)
	var norm float64
	for _, x := range u {
		norm += x * x
	}
	for i := range n {
		h.Row(i)[i] = 1
	}
	if norm == 0 {
		return h
	}
	for i, x := range u {
		for j, y := range u {
			h.Row(n - len(u) + i)[n-len(u)+j] -= 2 * x * y / norm
		}
	}
	return h
}

// testReflector checks one reflection of an n×cols matrix, there and back.
func testReflector(t *testing.T, s *Set[float32], r *rand.Rand, n, cols, length, gap int) {
	s64, name := Float64(), fmt.Sprintf("%d×%d by %d", n, cols, length)
	q, g := newField(r, n, cols, gap, canary), newField(r, n, cols, gap, canary)
	u, du := vectorField(r, length, nan), vectorField(r, length, canary)
	before, beforeG, beforeDu := q.clone(), double(g.Matrix), double(du.Matrix).Data
	u64 := double(u.Matrix).Data
	h := reflector(n, u64)
	product := func(m Matrix[float64]) Matrix[float64] {
		var packed Packed[float64]
		c := Dense(make([]float64, n*cols), n, cols)
		s64.Pack(&packed, m)
		s64.Multiply(c, h, &packed)
		return c
	}
	same := func(what string, got, want Matrix[float64]) {
		t.Helper()
		for i, x := range got.Data {
			near(t, float32(x), want.Data[i], 4e-6*float64(4+n), "%s of %s at %d", what, name, i)
		}
	}

	s.ReflectLeft(q.Matrix, u.Data)
	q.check(t, name)
	same("product", double(q.Matrix), product(double(before)))

	s.ReflectLeftBackward(q.Matrix, g.Matrix, u.Data, du.Data)
	for _, f := range []*field{q, g, du} {
		f.check(t, "backward of "+name)
	}
	same("undone product", double(q.Matrix), double(before))
	same("gradient", double(g.Matrix), product(beforeG))
	// TestReflectLeftGradient holds the float64 loop to differences. Short
	// reflectors have large gradients, which cancel for the most part.
	tolerance := 2e-5 * float64(1+cols) * (1 + 1/math.Sqrt(s64.SumSquares(u64)))
	s64.ReflectLeftBackward(product(double(before)), beforeG, u64, beforeDu)
	for i, x := range du.Data {
		near(t, x, beforeDu[i], tolerance*(1+math.Abs(beforeDu[i])), "du of %s at %d", name, i)
	}
}

func TestReflectLeft(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(50)
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 16, 33} {
			for i, cols := range sizes {
				for _, length := range []int{0, 1, n / 2, n} {
					testReflector(t, s, r, n, cols, length, i%4)
				}
			}
		}
	})
}

func TestReflectLeftZero(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		for _, u := range [][]float32{{0, 0, 0}, {1e-30, 0, 1e-30}} {
			r := newRand(51)
			q, g := newField(r, 4, 5, 0, 0), newField(r, 4, 5, 0, 0)
			before, beforeG, du := q.clone(), g.clone(), []float32{1, 2, 3}
			s.ReflectLeft(q.Matrix, u)
			equal(t, "product", q.Data, before.Data)
			s.ReflectLeftBackward(q.Matrix, g.Matrix, u, du)
			equal(t, "undone product", q.Data, before.Data)
			equal(t, "gradient", g.Data, beforeG.Data)
			equal(t, "du", du, []float32{1, 2, 3})
		}
	})
}

func TestReflectLeftGradient(t *testing.T) {
	s := Float64()
	for _, cols := range []int{1, 4, 5} {
		const n, length = 5, 3
		q, w, u := random64(1, n, cols), random64(2, n, cols), random64(3, 1, length)
		reflected := func() Matrix[float64] {
			q := clone64(q)
			s.ReflectLeft(q, u.Data)
			return q
		}
		loss := func() float64 { return weighted(w, reflected()) }
		g, du := clone64(w), make([]float64, length)
		s.ReflectLeftBackward(reflected(), g, u.Data, du)
		gradientCheck(t, "u", u.Data, du, loss)
		gradientCheck(t, "q", q.Data, g.Data, loss)
	}
}

// TestReflectLeftAll holds the loops over many reflectors to those of one.
func TestReflectLeftAll(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(52)
		for _, n := range []int{1, 5, 16, 33} {
			for _, cols := range []int{0, 1, 16, 37} {
				q, g := newField(r, n, cols, 3, canary), newField(r, n, cols, 3, canary)
				one, oneG := q.clone(), g.clone()
				var us, dus, ones [][]float32
				for _, length := range []int{0, 1, n / 2, n, n} {
					us = append(us, vectorField(r, length, nan).Data)
					dus = append(dus, vectorField(r, length, canary).Data)
					ones = append(ones, append([]float32(nil), dus[len(dus)-1]...))
				}
				s.ReflectLeftAll(q.Matrix, us)
				for _, u := range us {
					s.ReflectLeft(one, u)
				}
				q.check(t, "product")
				equal(t, "product", q.clone().Data, clone(one).Data)
				s.ReflectLeftAllBackward(q.Matrix, g.Matrix, us, dus)
				for i := len(us) - 1; i >= 0; i-- {
					s.ReflectLeftBackward(one, oneG, us[i], ones[i])
					equal(t, "du", dus[i], ones[i])
				}
				q.check(t, "undone product")
				g.check(t, "gradient")
				equal(t, "undone product", q.clone().Data, clone(one).Data)
				equal(t, "gradient", g.clone().Data, clone(oneG).Data)
			}
		}
	})
}

func TestNormalizeAll(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(55)
		infinite := float32(math.Inf(1))
		fields := []*field{}
		us, want := [][]float32{}, [][]float32{}
		for _, special := range [][]float32{{0, 0, 0}, {1, infinite}, {nan, 1, 2}, {-3}, {3, 4}, {1e30, 0}, {1e-15, 0}} {
			us = append(us, append([]float32(nil), special...))
		}
		for _, length := range sizes {
			f := vectorField(r, length, canary)
			fields, us = append(fields, f), append(us, f.Data)
		}
		for _, u := range us {
			w := append([]float32(nil), u...)
			norm := math.Sqrt(Float64().SumSquares(double(Dense(u, 1, len(u))).Data))
			if norm > 0 && !math.IsInf(norm, 0) {
				for i := range w {
					w[i] = float32(float64(w[i]) / norm)
				}
			}
			want = append(want, w)
		}
		s.NormalizeAll(us)
		for i, u := range us {
			for j, x := range u {
				if !(math.Abs(float64(x-want[i][j])) <= 2e-7) && !(x != x && want[i][j] != want[i][j]) && x != want[i][j] {
					t.Errorf("element %d of vector %d is %v, want %v", j, i, x, want[i][j])
				}
			}
		}
		for _, f := range fields {
			f.check(t, "normalized vector")
		}
		s.NormalizeAll(nil)
	})
}

func TestTranspose(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(53)
		for _, rows := range sizes {
			for i, cols := range sizes {
				src, dst := newField(r, rows, cols, i%4, nan), newField(r, cols, rows, i%3, canary)
				s.Transpose(dst.Matrix, src.Matrix)
				dst.check(t, "transpose")
				for i := range rows {
					for j, x := range src.Row(i) {
						if dst.Row(j)[i] != x {
							t.Fatalf("%d×%d: %v at %d, %d: want %v", rows, cols, dst.Row(j)[i], j, i, x)
						}
					}
				}
			}
		}
	})
}
