package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// double is a copy of a matrix in float64.
func double(m Matrix[float32]) Matrix[float64] {
	d := Dense(make([]float64, m.Rows*m.Cols), m.Rows, m.Cols)
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			d.Row(i)[j] = float64(x)
		}
	}
	return d
}

// gateLoops are the methods on rows of gates: how many columns each operand has,
// in units of the cell's width, and the methods for both types.
var gateLoops = []struct {
	name   string
	widths []int
	run    func(s *Set[float32], m []Matrix[float32])
	run64  func(s *Set[float64], m []Matrix[float64])
	alias  [2]int // operands that may be the same view, if they differ
}{
	{"LSTMForward", []int{4, 1, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.LSTMForward(m[0], m[1], m[2], m[3], m[4]) },
		func(s *Set[float64], m []Matrix[float64]) { s.LSTMForward(m[0], m[1], m[2], m[3], m[4]) }, [2]int{1, 2}},
	{"LSTMBackward", []int{4, 1, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.LSTMBackward(m[0], m[1], m[2], m[3], m[4]) },
		func(s *Set[float64], m []Matrix[float64]) { s.LSTMBackward(m[0], m[1], m[2], m[3], m[4]) }, [2]int{}},
	{"GRUGates", []int{2, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUGates(m[0], m[1], m[2]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUGates(m[0], m[1], m[2]) }, [2]int{}},
	{"GRUBlend", []int{2, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUBlend(m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUBlend(m[0], m[1], m[2], m[3]) }, [2]int{2, 3}},
	{"GRUBlendBackward", []int{2, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUBlendBackward(m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUBlendBackward(m[0], m[1], m[2], m[3]) }, [2]int{}},
	{"GRUGatesBackward", []int{2, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUGatesBackward(m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUGatesBackward(m[0], m[1], m[2], m[3]) }, [2]int{}},
}

// testGates holds a level to the float64 loops with one shape.
func testGates(t *testing.T, s *Set[float32], r *rand.Rand, rows, n, gap int) {
	for _, loop := range gateLoops {
		for _, aliased := range []bool{false, true} {
			var fields []*field
			var got []Matrix[float32]
			var want []Matrix[float64]
			for _, width := range loop.widths {
				f := newField(r, rows, width*n, gap, canary)
				fields, got, want = append(fields, f), append(got, f.Matrix), append(want, double(f.Matrix))
			}
			if aliased {
				a, b := loop.alias[0], loop.alias[1]
				if a == b {
					continue
				}
				got[b], want[b] = got[a], want[a]
			}
			loop.run(s, got)
			loop.run64(Float64(), want)
			for q, m := range got {
				fields[q].check(t, loop.name)
				for i := range rows {
					for j, x := range m.Row(i) {
						w := want[q].Row(i)[j]
						near(t, x, w, 4e-6*(1+math.Abs(w)), "%s operand %d, %d×%d at %d,%d", loop.name, q, rows, n, i, j)
					}
				}
			}
		}
	}
}

// TestLSTM and TestGRU hold the float64 loops to the equations.
func TestGates(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(20)
		for i, n := range sizes {
			testGates(t, s, r, []int{1, 3, 0, 2}[i%4], n, []int{0, 5, 1}[i%3])
		}
	})
}

// random64 is a rows×cols matrix of normal random numbers.
func random64(seed uint64, rows, cols int) Matrix[float64] {
	return double(newField(newRand(seed), rows, cols, 0, 0).Matrix)
}

func clone64(m Matrix[float64]) Matrix[float64] {
	return Dense(append([]float64(nil), m.Data...), m.Rows, m.Cols)
}

// gradientCheck fails the test unless gradient is the derivative of loss by x.
func gradientCheck(t *testing.T, name string, x, gradient []float64, loss func() float64) {
	t.Helper()
	const step = 1e-5
	for i, before := range x {
		x[i] = before + step
		up := loss()
		x[i] = before - step
		down := loss()
		x[i] = before
		if want := (up - down) / (2 * step); !(math.Abs(gradient[i]-want) <= 1e-8*(1+math.Abs(want))) {
			t.Fatalf("%s: gradient %d is %v, want %v", name, i, gradient[i], want)
		}
	}
}

// weighted is Σ w·x, a loss whose gradient is w.
func weighted(w, x Matrix[float64]) float64 {
	var sum float64
	for i, v := range x.Data {
		sum += v * w.Data[i]
	}
	return sum
}

func TestLSTM(t *testing.T) {
	const rows, n = 2, 3
	s := Float64()
	pre, cPrev := random64(1, rows, 4*n), random64(2, rows, n)
	wc, wh := random64(3, rows, n), random64(4, rows, n)
	gates, c, tanhC, h := clone64(pre), random64(5, rows, n), random64(6, rows, n), random64(7, rows, n)
	s.LSTMForward(gates, cPrev, c, tanhC, h)
	for i := range rows {
		for j := range n {
			at := func(block int) float64 { return pre.Row(i)[block*n+j] }
			sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
			wantC := sigma(at(1))*cPrev.Row(i)[j] + sigma(at(0))*math.Tanh(at(2))
			wantH := sigma(at(3)) * math.Tanh(wantC)
			if math.Abs(c.Row(i)[j]-wantC)+math.Abs(h.Row(i)[j]-wantH) > 1e-14 {
				t.Fatalf("c, h at %d,%d: %v, %v, want %v, %v", i, j, c.Row(i)[j], h.Row(i)[j], wantC, wantH)
			}
		}
	}
	loss := func() float64 {
		gates, c, tanhC, h := clone64(pre), clone64(c), clone64(tanhC), clone64(h)
		s.LSTMForward(gates, cPrev, c, tanhC, h)
		return weighted(wc, c) + weighted(wh, h)
	}
	dc := clone64(wc)
	s.LSTMBackward(gates, cPrev, tanhC, wh, dc)
	gradientCheck(t, "pre-activations", pre.Data, gates.Data, loss)
	gradientCheck(t, "cell", cPrev.Data, dc.Data, loss)
}

// TestGRU makes the step that the package documents, forwards and backwards.
func TestGRU(t *testing.T) {
	const rows, n = 2, 3
	s := Float64()
	projectZR, projectH, hPrev := random64(1, rows, 2*n), random64(2, rows, n), random64(3, rows, n)
	weightZR, weightH, wh := random64(4, 2*n, n), random64(5, n, n), random64(6, rows, n)
	type step struct{ zr, cand, rh, h Matrix[float64] }
	forward := func() step {
		x := step{clone64(projectZR), clone64(projectH), random64(7, rows, n), random64(8, rows, n)}
		var packed Packed[float64]
		s.PackTransposed(&packed, weightZR)
		s.MultiplyAdd(x.zr, hPrev, &packed)
		s.GRUGates(x.zr, hPrev, x.rh)
		s.PackTransposed(&packed, weightH)
		s.MultiplyAdd(x.cand, x.rh, &packed)
		s.GRUBlend(x.zr, x.cand, hPrev, x.h)
		return x
	}
	x := forward()
	for i := range rows {
		sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
		dot := func(w, h []float64) (sum float64) {
			for j := range h {
				sum += w[j] * h[j]
			}
			return sum
		}
		before := hPrev.Row(i)
		reset := make([]float64, n)
		for j := range reset {
			reset[j] = before[j] * sigma(projectZR.Row(i)[n+j]+dot(weightZR.Row(n+j), before))
		}
		for j := range n {
			z := sigma(projectZR.Row(i)[j] + dot(weightZR.Row(j), before))
			want := (1-z)*before[j] + z*math.Tanh(projectH.Row(i)[j]+dot(weightH.Row(j), reset))
			if math.Abs(x.h.Row(i)[j]-want) > 1e-14 {
				t.Fatalf("h at %d,%d: %v, want %v", i, j, x.h.Row(i)[j], want)
			}
		}
	}

	loss := func() float64 { return weighted(wh, forward().h) }
	dh, drh := clone64(wh), random64(9, rows, n)
	var packed Packed[float64]
	s.GRUBlendBackward(x.zr, x.cand, hPrev, dh)
	s.Pack(&packed, weightH)
	s.Multiply(drh, x.cand, &packed)
	s.GRUGatesBackward(x.zr, hPrev, drh, dh)
	s.Pack(&packed, weightZR)
	s.MultiplyAdd(dh, x.zr, &packed)
	gradientCheck(t, "zr", projectZR.Data, x.zr.Data, loss)
	gradientCheck(t, "cand", projectH.Data, x.cand.Data, loss)
	gradientCheck(t, "hPrev", hPrev.Data, dh.Data, loss)
	dW := Dense(make([]float64, 2*n*n), 2*n, n)
	s.TransposedAdd(dW, x.zr, hPrev)
	gradientCheck(t, "W_zr", weightZR.Data, dW.Data, loss)
	dW = Dense(make([]float64, n*n), n, n)
	s.TransposedAdd(dW, x.cand, drh)
	gradientCheck(t, "W_h", weightH.Data, dW.Data, loss)
}
