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
			q := clone(q)
			s.ReflectLeft(q, u.Data)
			return q
		}
		loss := func() float64 { return weighted(w, reflected()) }
		g, du := clone(w), make([]float64, length)
		s.ReflectLeftBackward(reflected(), g, u.Data, du)
		gradientCheck(t, "u", u.Data, du, loss)
		gradientCheck(t, "q", q.Data, g.Data, loss)
	}
}

// TestReflectLeftAll holds the loops over many reflectors, which may take two at a
// time, to those of one in float64.
func TestReflectLeftAll(t *testing.T) {
	s64 := Float64()
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(52)
		for _, n := range []int{1, 5, 16, 33} {
			for _, lengths := range [][]int{{}, {n}, {n, n}, {0, 1, n / 2, n, n}, {n, 1, n / 2, 0, n},
				{n / 2, n/2 + 1, n, n - 1, n}, {(n + 1) / 2, n}} {
				for i, cols := range []int{0, 1, 16, 17, 37, 64} {
					name := fmt.Sprintf("%d×%d by %v", n, cols, lengths)
					q, g := newField(r, n, cols, i%4, canary), newField(r, n, cols, 3-i%4, canary)
					one, oneG := double(q.Matrix), double(g.Matrix)
					var fields []*field
					var us, dus [][]float32
					var us64, ones [][]float64
					for _, length := range lengths {
						// Of about unit length, as training keeps them.
						u, du := vectorField(r, length, nan), vectorField(r, length, canary)
						for j := range u.Data {
							u.Data[j] /= float32(math.Sqrt(float64(length)))
						}
						if length == 1 {
							u.Data[0] = 1
						}
						fields = append(fields, du)
						us, dus = append(us, u.Data), append(dus, du.Data)
						us64, ones = append(us64, double(u.Matrix).Data), append(ones, double(du.Matrix).Data)
					}
					same := func(what string, got Matrix[float64], want Matrix[float64]) {
						t.Helper()
						for i, x := range got.Data {
							near(t, float32(x), want.Data[i], 1e-5*float64(4+n)*(1+math.Abs(want.Data[i])),
								"%s of %s at %d", what, name, i)
						}
					}
					s.ReflectLeftAll(q.Matrix, us)
					for _, u := range us64 {
						s64.ReflectLeft(one, u)
					}
					q.check(t, name)
					same("product", double(q.Matrix), one)

					s.ReflectLeftAllBackward(q.Matrix, g.Matrix, us, dus)
					for i := len(us) - 1; i >= 0; i-- {
						s64.ReflectLeftBackward(one, oneG, us64[i], ones[i])
					}
					same("undone product", double(q.Matrix), one)
					same("gradient", double(g.Matrix), oneG)
					for i, du := range dus {
						for j, x := range du {
							near(t, x, ones[i][j], 1e-5*float64(1+cols)*float64(4+n), "du of %s at %d, %d", name, i, j)
						}
					}
					for _, f := range append(fields, q, g) {
						f.check(t, "backward of "+name)
					}
				}
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
		for _, special := range [][]float32{{0, 0, 0}, {1, infinite}, {nan, 1, 2}, {-3}, {3, 4}, {1e30, 0},
			{1e-15, 0}} {
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
				if !(math.Abs(float64(x-want[i][j])) <= 2e-7) && !(x != x && want[i][j] != want[i][j]) &&
					x != want[i][j] {
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
		// nothing, and no memory for it
		s.Transpose(Matrix[float32]{Rows: 11, Stride: 8}, Matrix[float32]{Cols: 11, Stride: 11})
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
