package kernel

import (
	"fmt"
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

// lstmStep is the elementwise part of an LSTM's step: of weights that pass on what
// is given in gates.
func lstmStep[F Float](s *Set[F], gates, cPrev, c, h Matrix[F]) {
	n := c.Cols
	identity := Dense(make([]F, 16*n*n), 4*n, 4*n)
	for i := range identity.Rows {
		identity.Row(i)[i] = 1
	}
	for i := range c.Rows {
		copy(c.Row(i), cPrev.Row(i))
	}
	var m, w Packed[F]
	s.PackBias(&m, identity, make([]F, 4*n))
	s.Pack(&w, Dense(make([]F, 4*n*n), n, 4*n))
	s.LSTMForward(gates, c, h, max(c.Rows, 1), &w, clone(gates), &m)
}

// lstmStepBack is the way back through lstmStep. dh becomes 0.
func lstmStepBack[F Float](s *Set[F], deltas, gates, cPrev, h, dh, dc Matrix[F]) {
	rows, n := dc.Rows, dc.Cols
	cells, states := Dense(make([]F, 2*rows*n), 2*rows, n), Dense(make([]F, 2*rows*n), 2*rows, n)
	for i := range rows {
		copy(cells.Row(i), cPrev.Row(i))
		copy(states.Row(rows+i), h.Row(i))
	}
	var w Packed[F]
	s.Pack(&w, Dense(make([]F, 4*n*n), 4*n, n))
	s.LSTMBackward(deltas, gates, cells, states, max(rows, 1), &w, dh, dc, nil, nil)
}

// gateLoops are the methods on rows of gates: how many columns each operand has,
// in units of the cell's width, and the methods for both types.
var gateLoops = []struct {
	name   string
	widths []int
	run    func(s *Set[float32], m []Matrix[float32])
	run64  func(s *Set[float64], m []Matrix[float64])
	alias  [2]int                    // operands that may be the same view, if they differ
	inputs func(m []Matrix[float32]) // makes the random operands fit each other, if they must
}{
	{"LSTMForward", []int{4, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { lstmStep(s, m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { lstmStep(s, m[0], m[1], m[2], m[3]) }, [2]int{1, 2}, nil},
	{"LSTMBackward", []int{4, 4, 1, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { lstmStepBack(s, m[0], m[1], m[2], m[3], m[4], m[5]) },
		func(s *Set[float64], m []Matrix[float64]) {
			lstmStepBack(s, m[0], m[1], m[2], m[3], m[4], m[5])
		}, [2]int{1, 0},
		func(m []Matrix[float32]) {
			plain, err := Float32At(Plain)
			if err != nil {
				panic(err)
			}
			lstmStep(plain, m[1], m[2], m[5], m[3]) // what is h depends on the gates
		}},
	{"GRUGates", []int{2, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUGates(m[0], m[1], m[2]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUGates(m[0], m[1], m[2]) }, [2]int{}, nil},
	{"GRUBlend", []int{2, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUBlend(m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUBlend(m[0], m[1], m[2], m[3]) }, [2]int{2, 3}, nil},
	{"GRUBlendBackward", []int{2, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUBlendBackward(m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUBlendBackward(m[0], m[1], m[2], m[3]) }, [2]int{}, nil},
	{"GRUGatesBackward", []int{2, 1, 1, 1},
		func(s *Set[float32], m []Matrix[float32]) { s.GRUGatesBackward(m[0], m[1], m[2], m[3]) },
		func(s *Set[float64], m []Matrix[float64]) { s.GRUGatesBackward(m[0], m[1], m[2], m[3]) }, [2]int{}, nil},
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
				fields, got = append(fields, f), append(got, f.Matrix)
			}
			if loop.inputs != nil {
				loop.inputs(got)
			}
			for _, m := range got {
				want = append(want, double(m))
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
						near(t, x, w, 4e-6*(1+math.Abs(w)), "%s operand %d, %d×%d at %d,%d", loop.name,
							q, rows, n, i, j)
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
	gates, c, h := clone(pre), random64(5, rows, n), random64(7, rows, n)
	lstmStep(s, gates, cPrev, c, h)
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
		gates, c, h := clone(pre), clone(c), clone(h)
		lstmStep(s, gates, cPrev, c, h)
		return weighted(wc, c) + weighted(wh, h)
	}
	dc := clone(wc)
	deltas := random64(6, rows, 4*n)
	lstmStepBack(s, deltas, gates, cPrev, h, clone(wh), dc)
	gradientCheck(t, "pre-activations", pre.Data, deltas.Data, loss)
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
		x := step{clone(projectZR), clone(projectH), random64(7, rows, n), random64(8, rows, n)}
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
	dh, drh := clone(wh), random64(9, rows, n)
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
	s.TransposedAdd(dW, x.zr, hPrev, nil)
	gradientCheck(t, "W_zr", weightZR.Data, dW.Data, loss)
	dW = Dense(make([]float64, n*n), n, n)
	s.TransposedAdd(dW, x.cand, drh, nil)
	gradientCheck(t, "W_h", weightH.Data, dW.Data, loss)
}

// TestLSTMSteps holds the loops over time steps to those of one.
func TestLSTMSteps(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(55)
		for _, n := range []int{1, 4, 7, 16, 33} {
			for i, rows := range []int{1, 3, 13, 16} {
				for _, steps := range []int{0, 1, 2, 5} {
					var w, back, m Packed[float32]
					weight := newField(r, n, 4*n, 0, nan).Matrix
					s.Pack(&w, weight)
					s.PackTransposed(&back, weight)
					s.PackBias(&m, newField(r, i, 4*n, 2, nan).Matrix, vectorField(r, 4*n, nan).Data)
					name := fmt.Sprintf("%d steps of %d×%d", steps, rows, n)
					step := func(m Matrix[float32], t int) Matrix[float32] { return m.Slice(t*rows, (t+1)*rows) }

					x := newField(r, steps*rows, i, 1, nan)
					gates := newField(r, steps*rows, 4*n, 3, canary)
					cells, states := newField(r, (steps+1)*rows, n, i, canary),
						newField(r, (steps+1)*rows, n, 2, canary)
					wantGates, wantCells, wantStates := gates.clone(), cells.clone(), states.clone()
					for t := range steps {
						gate := step(wantGates, t)
						s.MultiplySum(gate, Sum[float32]{X: step(x.Matrix, t), M: &m, A: step(wantStates, t), B: &w})
						lstmStep(s, gate, step(wantCells, t), step(wantCells, t+1), step(wantStates, t+1))
					}
					// Nothing is kept but the last step.
					lastGate, lastCell, lastState := newField(r, rows, 4*n, 1, canary), newField(r, rows, n, 4, canary),
						newField(r, rows, n, 0, canary)
					for q := range rows {
						copy(lastCell.Row(q), cells.Row(q))
						copy(lastState.Row(q), states.Row(q))
					}
					s.LSTMForward(lastGate.Matrix, lastCell.Matrix, lastState.Matrix, rows, &w, x.Matrix, &m)
					s.LSTMForward(gates.Matrix, cells.Matrix, states.Matrix, rows, &w, x.Matrix, &m)
					for _, f := range []*field{gates, cells, states, lastGate, lastCell, lastState} {
						f.check(t, name)
					}
					equal(t, name+", gates", gates.clone().Data, wantGates.Data)
					equal(t, name+", cells", cells.clone().Data, wantCells.Data)
					equal(t, name+", states", states.clone().Data, wantStates.Data)
					equal(t, name+", last cell", lastCell.clone().Data, step(wantCells, steps).Data)
					equal(t, name+", last state", lastState.clone().Data, step(wantStates, steps).Data)

					deltas, dh, dc := newField(r, steps*rows, 4*n, 1, canary), newField(r, rows, n, 2, canary),
						newField(r, rows, n, 0, canary)
					wantDeltas, wantDH, wantDC := deltas.clone(), dh.clone(), dc.clone()
					for t := steps - 1; t >= 0; t-- {
						delta := step(wantDeltas, t)
						lstmStepBack(s, delta, step(wantGates, t), step(wantCells, t), step(wantStates, t+1),
							wantDH, wantDC)
						s.Multiply(wantDH, delta, &back)
					}
					s.LSTMBackward(deltas.Matrix, gates.Matrix, cells.Matrix, states.Matrix, rows, &back, dh.Matrix,
						dc.Matrix, x.Data, weight.Data)
					for _, f := range []*field{deltas, dh, dc} {
						f.check(t, "backward of "+name)
					}
					equal(t, "deltas of "+name, deltas.clone().Data, wantDeltas.Data)
					equal(t, "dh of "+name, dh.clone().Data, wantDH.Data)
					equal(t, "dc of "+name, dc.clone().Data, wantDC.Data)
				}
			}
		}
	})
}

// A NaN must reach the loss, whose check ends a diverged trial. A huge argument is a
// gate that is open or closed.
func TestLSTMExtremes(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		for gate := range 4 {
			for _, x := range []float32{nan, 3e38, -3e38, 200, -200} {
				gates, c, h := Dense([]float32{0.5, 0.5, 0.5, 0.5}, 1, 4), Dense([]float32{0}, 1, 1),
					Dense([]float32{0}, 1, 1)
				gates.Data[gate] = x
				lstmStep(s, gates, Dense([]float32{0.5}, 1, 1), c, h)
				if x != x {
					if h.Data[0] == h.Data[0] {
						t.Errorf("gate %d of NaN: the state is %v", gate, h.Data[0])
					}
					continue
				}
				want := [4]float64{0.6224593, 0.6224593, 0.4621172, 0.6224593} // of 0.5
				want[gate] = min(max(float64(x), 0), 1)
				if gate == 2 {
					want[gate] = min(max(float64(x), -1), 1)
				}
				memory := want[1]*0.5 + want[0]*want[2]
				near(t, c.Data[0], memory, 1e-6, "c for %v in gate %d", x, gate)
				near(t, h.Data[0], want[3]*math.Tanh(memory), 1e-6, "h for %v in gate %d", x, gate)
			}
		}
	})
}
