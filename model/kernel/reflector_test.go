package kernel

import (
	"fmt"
	"math"
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

func TestReflectLeft(t *testing.T) {
	s64 := Float64()
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(50)
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 16, 33} {
			for _, cols := range sizes {
				for _, length := range []int{0, 1, n / 2, n} {
					name := fmt.Sprintf("%d×%d by %d", n, cols, length)
					q, g := newField(r, n, cols, 3, canary), newField(r, n, cols, 2, canary)
					u, du := vectorField(r, length, nan), vectorField(r, length, canary)
					before, beforeG, beforeDu := q.clone(), g.clone(), du.clone()
					h := reflector(n, double(u.Matrix).Data)
					var packed Packed[float64]
					product := func(m Matrix[float32]) Matrix[float64] {
						c := Dense(make([]float64, n*cols), n, cols)
						s64.Pack(&packed, double(m))
						s64.Multiply(c, h, &packed)
						return c
					}

					s.ReflectLeftPullback(q.Matrix, g.Matrix, u.Data, du.Data)
					q.check(t, "pullback "+name)
					g.check(t, "pullback "+name)
					du.check(t, "pullback "+name)
					equal(t, "before "+name, q.clone().Data, before.Data)
					want := product(beforeG)
					for i := range n {
						for j, x := range g.Row(i) {
							near(t, fmt.Sprintf("g %s at %d,%d", name, i, j), x, want.Row(i)[j], 4e-6*float64(4+n))
						}
					}
					// Short reflectors have large gradients, which cancel for the most part.
					tolerance := 2e-5 * float64(1+cols) * (1 + 1/math.Sqrt(s64.SumSquares(double(u.Matrix).Data)))
					// A reference of the gradient that TestReflectLeftGradient checks.
					du64, g64 := double(beforeDu).Data, double(beforeG)
					s64.ReflectLeftPullback(double(before), g64, double(u.Matrix).Data, du64)
					for i, x := range du.Data {
						near(t, fmt.Sprintf("du %s at %d", name, i), x, du64[i], tolerance*(1+math.Abs(du64[i])))
					}

					s.ReflectLeft(q.Matrix, u.Data)
					q.check(t, name)
					product32, g2, du2 := newField(r, n, cols, 1, canary), newField(r, n, cols, 0, canary), vectorField(r, length, canary)
					for i := range n {
						copy(product32.Row(i), q.Row(i))
						copy(g2.Row(i), beforeG.Row(i))
					}
					copy(du2.Data, beforeDu.Data)
					s.ReflectLeftBackward(product32.Matrix, g2.Matrix, u.Data, du2.Data)
					for _, f := range []*field{product32, g2, du2} {
						f.check(t, "backward "+name)
					}
					for i := range n {
						for j, x := range g2.Row(i) {
							near(t, "backward g "+name, x, float64(g.Row(i)[j]), 1e-6*float64(4+n))
							near(t, "backward q "+name, product32.Row(i)[j], float64(before.Row(i)[j]), 4e-6*float64(4+n))
						}
					}
					for i, x := range du2.Data {
						near(t, fmt.Sprintf("backward du %s at %d", name, i), x, du64[i], tolerance*(1+math.Abs(du64[i])))
					}
					want = product(before)
					for i := range n {
						for j, x := range q.Row(i) {
							near(t, fmt.Sprintf("%s at %d,%d", name, i, j), x, want.Row(i)[j], 4e-6*float64(4+n))
						}
					}
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
			s.ReflectLeftPullback(q.Matrix, g.Matrix, u, du)
			s.ReflectLeftBackward(q.Matrix, g.Matrix, u, du)
			s.ReflectLeft(q.Matrix, u)
			equal(t, "q", q.Data, before.Data)
			equal(t, "g", g.Data, beforeG.Data)
			equal(t, "du", du, []float32{1, 2, 3})
		}
	})
}

func TestReflectLeftGradient(t *testing.T) {
	s := Float64()
	for _, cols := range []int{1, 4, 5} {
		const n, length = 5, 3
		q, w, u := random64(1, n, cols), random64(2, n, cols), random64(3, 1, length)
		loss := func() float64 {
			q := clone64(q)
			s.ReflectLeft(q, u.Data)
			return weighted(w, q)
		}
		g, du := clone64(w), make([]float64, length)
		s.ReflectLeftPullback(q, g, u.Data, du)
		gradientCheck(t, "u", u.Data, du, loss)
		gradientCheck(t, "q", q.Data, g.Data, loss)
	}
}
