package kernel

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// laneVector is random complex numbers in lanes, and what they are in float64: [lane][element].
func laneVector(r *rand.Rand, n, lanes int) (x []float32, exact [][]complex128) {
	x = newField(r, 1, 2*n*lanes, 0, 0).Row(0)
	return x, complexes(x, n, lanes)
}

func complexes(x []float32, n, lanes int) (of [][]complex128) {
	for lane := range lanes {
		v := make([]complex128, n)
		for k := range v {
			v[k] = complex(float64(x[2*k*lanes+lane]), float64(x[(2*k+1)*lanes+lane]))
		}
		of = append(of, v)
	}
	return of
}

// pairs are the numbers of a vector of parts.
func pairs(v []float32) []complex128 {
	of := make([]complex128, len(v)/2)
	for k := range of {
		of[k] = complex(float64(v[2*k]), float64(v[2*k+1]))
	}
	return of
}

// sameLanes fails the test unless the numbers in lanes are near the expected ones.
func sameLanes(t *testing.T, name string, x []float32, want [][]complex128, tolerance float64) {
	t.Helper()
	for lane, v := range complexes(x, len(want[0]), len(want)) {
		for k, z := range v {
			if !(cmplx.Abs(z-want[lane][k]) <= tolerance) {
				t.Fatalf("%s: element %d of lane %d: %v, want %v", name, k, lane, z, want[lane][k])
			}
		}
	}
}

// TestLanes holds rows of complex numbers, brought into lanes and back, to themselves.
func TestLanes(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r, lanes := newRand(23), s.Lanes()
		for _, n := range []int{0, 1, 3, 8, 17, 64} {
			for _, count := range []int{0, 1, lanes - 1, lanes} {
				rows, back := newField(r, count, 2*n, 3, nan), newField(r, count, 2*n, 1, canary)
				x := vectorField(r, 2*n*lanes, canary)
				s.ToLanes(x.Data, rows.Matrix)
				x.check(t, "ToLanes")
				for lane, v := range complexes(x.Data, n, lanes) {
					for k, z := range v {
						want := complex128(0)
						if lane < count {
							want = complex(float64(rows.Row(lane)[k]), float64(rows.Row(lane)[n+k]))
						}
						if z != want {
							t.Fatalf("%d of %d rows: element %d of lane %d is %v, want %v", count, lanes, k, lane, z, want)
						}
					}
				}
				s.FromLanes(back.Matrix, x.Data)
				back.check(t, "FromLanes")
				sameBits(t, "back", back.Matrix, rows.Matrix)
			}
		}
	})
}

// TestTurn and TestMirror hold the loops to complex numbers of double precision.
func TestTurn(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r, lanes := newRand(24), s.Lanes()
		for _, n := range []int{0, 1, 2, 7, 64} {
			turns := newField(r, 1, 2*n, 0, nan).Row(0)
			x, exactX := laneVector(r, n, lanes)
			g, exactG := laneVector(r, n, lanes)
			domega := newField(r, 1, n*lanes, 0, nan).Row(0)
			wantOmega := append([]float32(nil), domega...)
			dst := vectorField(r, len(x), canary)
			s.Turn(dst.Data, x, turns)
			dst.check(t, "Turn")
			s.TurnBackward(g, x, turns, domega)
			want := make([][]complex128, lanes)
			for lane := range lanes {
				for k, z := range pairs(turns) {
					want[lane] = append(want[lane], z*exactX[lane][k])
					exactG[lane][k] *= cmplx.Conj(z)
					near(t, domega[k*lanes+lane],
						float64(wantOmega[k*lanes+lane])+imag(exactG[lane][k]*cmplx.Conj(exactX[lane][k])), 1e-5,
						"domega %d of lane %d", k, lane)
				}
			}
			sameLanes(t, "Turn", dst.Data, want, 1e-5)
			sameLanes(t, "TurnBackward", g, exactG, 1e-5)
		}
	})
}

func TestMirror(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r, lanes := newRand(25), s.Lanes()
		for _, n := range []int{0, 1, 2, 7, 64} {
			m := &Mirror[float32]{V: newField(r, 1, 2*n, 0, nan).Row(0), Scale: .7, Order: r.Perm(n)}
			v := pairs(m.V)
			x, exactX := laneVector(r, n, lanes)
			g, exactG := laneVector(r, n, lanes)
			dv, exactDV := laneVector(r, n, lanes)
			both := newField(r, 1, lanes, 0, nan).Row(0)
			before := append([]float32(nil), both...)
			dst, dx, along := vectorField(r, len(x), canary), vectorField(r, len(x), canary), vectorField(r, 2*lanes, canary)
			s.Mirror(dst.Data, x, m, along.Data)
			s.MirrorBackward(dx.Data, g, x, m, along.Data, dv, both)
			for _, f := range []*field{dst, dx, along} {
				f.check(t, "Mirror")
			}
			want, wantDX := make([][]complex128, lanes), make([][]complex128, lanes)
			for lane := range lanes {
				var alpha, beta complex128
				for i, k := range m.Order {
					alpha += .7 * cmplx.Conj(v[k]) * exactX[lane][k]
					beta += .7 * cmplx.Conj(v[k]) * exactG[lane][i]
				}
				wantDX[lane] = make([]complex128, n)
				for i, k := range m.Order {
					want[lane] = append(want[lane], exactX[lane][k]-alpha*v[k])
					wantDX[lane][k] = exactG[lane][i] - beta*v[k]
					exactDV[lane][k] -= cmplx.Conj(alpha)*exactG[lane][i] + cmplx.Conj(beta)*exactX[lane][k]
				}
				near(t, both[lane], float64(before[lane])+real(alpha*cmplx.Conj(beta)), 1e-2, "both of lane %d", lane)
			}
			sameLanes(t, "Mirror", dst.Data, want, 1e-3)
			sameLanes(t, "MirrorBackward", dx.Data, wantDX, 1e-3)
			sameLanes(t, "the gradient of v", dv, exactDV, 1e-3)
		}
	})
}

// TestFourier holds the transform and its inverse to the naive sums.
func TestFourier(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r, lanes := newRand(26), s.Lanes()
		for _, n := range []int{4, 8, 16, 32, 64, 128, 256, 512} {
			f, err := NewFourier[float32](n)
			if err != nil {
				t.Fatal(err)
			}
			x, exact := laneVector(r, n, lanes)
			for _, inverse := range []bool{false, true} {
				sign := -1.0
				if inverse {
					sign = 1
				}
				want := make([][]complex128, lanes)
				for lane := range min(lanes, 2) { // the others do the same
					for k := range n {
						var sum complex128
						for j, z := range exact[lane] {
							sum += z * cmplx.Rect(1, sign*2*math.Pi*float64(j*k%n)/float64(n))
						}
						want[lane] = append(want[lane], sum)
					}
				}
				dst, scratch := vectorField(r, len(x), canary), vectorField(r, len(x), canary)
				s.Fourier(dst.Data, x, scratch.Data, f, inverse)
				dst.check(t, "Fourier")
				scratch.check(t, "Fourier")
				got := complexes(dst.Data, n, lanes)
				for lane := range min(lanes, 2) {
					for k, z := range got[lane] {
						if !(cmplx.Abs(z-want[lane][k]) <= 1e-5*math.Sqrt(float64(n))) {
							t.Fatalf("%d, inverse %t: element %d of lane %d: %v, want %v", n, inverse, k, lane, z,
								want[lane][k])
						}
					}
				}
				s.Fourier(x, dst.Data, scratch.Data, f, !inverse)
				for i := range x { // the last lanes as well
					x[i] /= float32(n)
				}
				sameLanes(t, "there and back", x, exact, 1e-5)
			}
		}
	})
	for _, n := range []int{0, 1, 2, 3, 12, 100} {
		if _, err := NewFourier[float64](n); err == nil {
			t.Errorf("length %d: no error", n)
		}
	}
}
