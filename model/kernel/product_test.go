package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// productShapes are rows, columns and inner sizes: all pairs round the tiles'
// edges with one inner size, and the inner sizes with one pair.
func productShapes() [][3]int {
	var shapes [][3]int
	for _, rows := range []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 23, 24, 25, 27} {
		for _, cols := range sizes {
			shapes = append(shapes, [3]int{rows, cols, 5})
		}
	}
	for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 130} {
		shapes = append(shapes, [3]int{13, 37, k}, [3]int{1, 1, k}, [3]int{16, 32, k})
	}
	// More than one block of rows or of steps.
	return append(shapes, [3]int{110, 35, 1100}, [3]int{390, 17, 300}, [3]int{5, 9, 257}, [3]int{3, 33, 600})
}

// reference is A·B in float64 by gonum, and |A|·|B| for tolerances.
func reference(a, b Matrix[float32]) (product, magnitude func(i, j int) float64) {
	if a.Rows == 0 || b.Cols == 0 || a.Cols == 0 {
		zero := func(int, int) float64 { return 0 }
		return zero, zero
	}
	dense := func(m Matrix[float32], f func(float64) float64) *mat.Dense {
		d := mat.NewDense(m.Rows, m.Cols, nil)
		for i := range m.Rows {
			for j, x := range m.Row(i) {
				d.Set(i, j, f(float64(x)))
			}
		}
		return d
	}
	same := func(x float64) float64 { return x }
	var p, q mat.Dense
	p.Mul(dense(a, same), dense(b, same))
	q.Mul(dense(a, math.Abs), dense(b, math.Abs))
	return p.At, q.At
}

func transpose(m Matrix[float32]) Matrix[float32] {
	t := Dense(make([]float32, m.Rows*m.Cols), m.Cols, m.Rows)
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			t.Row(j)[i] = x
		}
	}
	return t
}

// activate is φ in float64.
func activate(x float64, act Activation, slope float32) float64 {
	switch act {
	case ReLU:
		return max(x, 0)
	case LeakyReLU:
		if x > 0 {
			return x
		}
		return x * float64(slope)
	case Tanh:
		return math.Tanh(x)
	}
	return x
}

// derivative is φ' from φ's output, in float64.
func derivative(out float64, act Activation, slope float32) float64 {
	switch act {
	case ReLU, LeakyReLU:
		if act == ReLU {
			slope = 0
		}
		if out > 0 {
			return 1
		}
		return float64(slope)
	case Tanh:
		return 1 - out*out
	}
	return 1
}

// testProducts checks every product with one shape.
func testProducts(t *testing.T, s *Set[float32], r *rand.Rand, rows, cols, k, gap int) {
	inputs := k % 7
	a, x := newField(r, rows, k, gap, nan), newField(r, rows, inputs, gap, nan)
	b, m := newField(r, k, cols, gap, nan), newField(r, inputs, cols, gap, nan)
	bias, diagonal := vectorField(r, cols, nan), vectorField(r, cols, nan)
	source := newField(r, rows, cols, gap, nan)
	out := newField(r, rows, cols, gap, nan)
	for i := range rows {
		for j := range cols {
			out.Row(i)[j] = float32(math.Tanh(float64(out.Row(i)[j])))
		}
	}
	product, magnitude := reference(a.Matrix, b.Matrix)
	projection, projectionMagnitude := reference(x.Matrix, m.Matrix)
	var packed, fromTransposed, input Packed[float32]
	s.Pack(&packed, b.Matrix)
	s.PackTransposed(&fromTransposed, transpose(b.Matrix))
	s.PackBias(&input, m.Matrix, bias.Data)
	const slope = 0.25

	check := func(name string, run func(c Matrix[float32]), want func(i, j int, before float64) float64) {
		t.Helper()
		c := newField(r, rows, cols, gap, canary)
		before := c.clone()
		run(c.Matrix)
		c.check(t, name)
		for i := range rows {
			for j := range cols {
				magnitude := 4 + magnitude(i, j) + projectionMagnitude(i, j) + math.Abs(float64(before.Row(i)[j]))
				near(t, c.Row(i)[j], want(i, j, float64(before.Row(i)[j])), epsilon*(4+float64(k))*magnitude,
					"%s %d×%d×%d gap %d at %d,%d", name, rows, cols, k, gap, i, j)
			}
		}
	}
	at := func(f *field, i, j int) float64 { return float64(f.Row(i)[j]) }

	check("Multiply", func(c Matrix[float32]) { s.Multiply(c, a.Matrix, &packed) },
		func(i, j int, _ float64) float64 { return product(i, j) })
	check("Multiply PackTransposed", func(c Matrix[float32]) { s.Multiply(c, a.Matrix, &fromTransposed) },
		func(i, j int, _ float64) float64 { return product(i, j) })
	check("MultiplyAdd", func(c Matrix[float32]) { s.MultiplyAdd(c, a.Matrix, &packed) },
		func(i, j int, before float64) float64 { return before + product(i, j) })
	check("MultiplyBias", func(c Matrix[float32]) { s.MultiplyBias(c, x.Matrix, &input) },
		func(i, j int, _ float64) float64 { return float64(bias.Data[j]) + projection(i, j) })

	// All sums with all activations, in their own place and elsewhere.
	for parts := range 16 {
		inPlace := parts&8 != 0
		sumOf := func(c Matrix[float32]) Sum[float32] {
			sum := Sum[float32]{A: a.Matrix, B: &packed, Prefetch: [2][]float32{source.Data, out.Data}}
			if parts&1 != 0 {
				sum.X, sum.M = x.Matrix, &input
			}
			if parts&2 != 0 {
				sum.H = source.Matrix
				if inPlace {
					sum.H = c
				}
				if parts&4 != 0 && cols > 0 {
					sum.D = diagonal.Data
				}
			}
			return sum
		}
		want := func(i, j int, before float64) float64 {
			sum := product(i, j)
			if parts&1 != 0 {
				sum += float64(bias.Data[j]) + projection(i, j)
			}
			if parts&2 != 0 {
				h := at(source, i, j)
				if inPlace {
					h = before
				}
				if parts&4 != 0 {
					h *= float64(diagonal.Data[j])
				}
				sum += h
			}
			return sum
		}
		if parts&2 == 0 && parts&12 != 0 {
			continue
		}
		name := fmt.Sprintf("parts %04b ", parts)
		check("MultiplySum "+name, func(c Matrix[float32]) { s.MultiplySum(c, sumOf(c)) }, want)
		for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
			check("MultiplyActivate "+name+act.String(), func(c Matrix[float32]) {
				s.MultiplyActivate(c, sumOf(c), act, slope)
			},
				func(i, j int, before float64) float64 { return activate(want(i, j, before), act, slope) })
			check("MultiplyDerivative "+name+act.String(), func(c Matrix[float32]) {
				s.MultiplyDerivative(c, sumOf(c), out.Matrix, act, slope)
			},
				func(i, j int, before float64) float64 {
					return want(i, j, before) * derivative(at(out, i, j), act, slope)
				})
		}
	}
}

func TestProducts(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(1)
		for i, shape := range productShapes() {
			testProducts(t, s, r, shape[0], shape[1], shape[2], []int{0, 1, 5, 16}[i%4])
		}
	})
}

func testTransposed(t *testing.T, s *Set[float32], r *rand.Rand, rows, cols, k, gap int, scratch *Scratch[float32]) {
	a := newField(r, k, rows, gap, nan)
	b := newField(r, k, cols, gap, nan)
	c := newField(r, rows, cols, gap, canary)
	before, set := c.clone(), newField(r, rows, cols, gap, nan)
	product, magnitude := reference(transpose(a.Matrix), b.Matrix)
	s.TransposedAdd(c.Matrix, a.Matrix, b.Matrix, scratch)
	c.check(t, "TransposedAdd")
	s.Transposed(set.Matrix, a.Matrix, b.Matrix, scratch)
	var packed Packed[float32]
	s.Pack(&packed, b.Matrix)
	again := clone(before)
	s.TransposedAddPacked(again, a.Matrix, &packed, scratch)
	for i := range rows {
		for j := range cols {
			if got, want := again.Row(i)[j], c.Row(i)[j]; got != want {
				t.Fatalf("TransposedAddPacked %d×%d×%d at %d,%d: %v, TransposedAdd %v", rows, cols, k, i, j, got, want)
			}
			near(t, set.Row(i)[j], product(i, j), epsilon*(2+float64(k))*(1+magnitude(i, j)),
				"Transposed %d×%d×%d at %d,%d", rows, cols, k, i, j)
		}
	}
	for i := range rows {
		for j := range cols {
			near(t, c.Row(i)[j], float64(before.Row(i)[j])+product(i, j), epsilon*(2+float64(k))*(1+magnitude(i, j)),
				"TransposedAdd %d×%d×%d at %d,%d", rows, cols, k, i, j)
		}
	}
}

func TestTransposedAdd(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(2)
		for i, shape := range productShapes() {
			testTransposed(t, s, r, shape[0], shape[1], shape[2], []int{0, 1, 5, 16}[i%4], nil)
		}
		// Wide ones, for which A is gathered: in one tile, in several and a rest, in two blocks.
		var scratch Scratch[float32]
		for i, shape := range [][3]int{{5, 256, 3}, {12, 256, 1}, {13, 261, 7}, {28, 300, 260}, {400, 257, 30},
			{1, 256, 2}, {40, 256, 0}} {
			testTransposed(t, s, r, shape[0], shape[1], shape[2], []int{0, 3}[i%2], &scratch)
		}
	})
}

// Splitting a batch must not change a bit: threads may share it in any way.
func TestProductRowsIndependent(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(4)
		const rows, cols, k = 29, 43, 37
		a, b := newField(r, rows, k, 0, nan), newField(r, k, cols, 0, nan)
		source, out := newField(r, rows, cols, 0, nan), newField(r, rows, cols, 0, nan)
		var packed Packed[float32]
		s.Pack(&packed, b.Matrix)
		whole, parts := newField(r, rows, cols, 0, canary), newField(r, rows, cols, 0, canary)
		for _, act := range []Activation{Linear, LeakyReLU, Tanh} {
			run := func(c, a, source, out Matrix[float32]) {
				s.MultiplyActivate(c, Sum[float32]{A: a, B: &packed, H: source}, act, 0.1)
				s.MultiplyDerivative(c, Sum[float32]{A: a, B: &packed, H: c}, out, act, 0.1)
			}
			run(whole.Matrix, a.Matrix, source.Matrix, out.Matrix)
			for i := 0; i < rows; {
				end := min(rows, i+1+r.IntN(7))
				run(parts.Slice(i, end), a.Slice(i, end), source.Slice(i, end), out.Slice(i, end))
				i = end
			}
			for i, x := range whole.Data {
				if math.Float32bits(x) != math.Float32bits(parts.Data[i]) {
					t.Fatalf("%v: element %d differs: %v and %v", act, i, x, parts.Data[i])
				}
			}
		}
	})
}

// A NaN must reach the loss, whose check ends a diverged trial.
func TestProductKeepsNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		var packed Packed[float32]
		s.Pack(&packed, Dense([]float32{1}, 1, 1))
		one := Dense([]float32{1}, 1, 1)
		for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
			c := Dense([]float32{0}, 1, 1)
			sum := Sum[float32]{A: Dense([]float32{nan}, 1, 1), B: &packed, H: one}
			s.MultiplyActivate(c, sum, act, 0.1)
			if c.Data[0] == c.Data[0] {
				t.Errorf("MultiplyActivate %v of NaN is %v", act, c.Data[0])
			}
			s.MultiplyDerivative(c, sum, one, act, 0.1)
			if act != Tanh && c.Data[0] == c.Data[0] {
				t.Errorf("MultiplyDerivative %v of NaN is %v", act, c.Data[0])
			}
		}
	})
}

// TestSteps holds the loops over time steps to those of one.
func TestSteps(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(54)
		for _, n := range []int{1, 7, 16, 17, 32, 33, 70} {
			for i, rows := range []int{1, 4, 13, 16} {
				for _, steps := range []int{0, 1, 2, 5} {
					for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
						var packed, input Packed[float32]
						inputs := 1 + i
						s.Pack(&packed, newField(r, n, n, 0, nan).Matrix)
						s.PackBias(&input, newField(r, inputs, n, 2, nan).Matrix, vectorField(r, n, nan).Data)
						name := fmt.Sprintf("%d steps of %d×%d, %v", steps, rows, n, act)

						c, x := newField(r, steps*rows, n, i, canary),
							newField(r, max(steps-1, 0)*rows, inputs, 3-i, nan)
						want := c.clone()
						s.MultiplyActivateSteps(c.Matrix, rows, &packed, x.Matrix, &input, act, 0.1)
						for at := rows; at < want.Rows; at += rows {
							sum := Sum[float32]{X: x.Slice(at-rows, at), M: &input,
								A: want.Slice(at-rows, at), B: &packed}
							s.MultiplyActivate(want.Slice(at, at+rows), sum, act, 0.1)
						}
						c.check(t, name)
						equal(t, name, c.clone().Data, want.Data)

						c, out := newField(r, steps*rows, n, i, canary), newField(r, max(steps-1, 0)*rows, n, 3-i, nan)
						want = c.clone()
						s.MultiplyDerivativeSteps(c.Matrix, rows, &packed, out.Matrix, act, 0.1, x.Data)
						for at := want.Rows - 2*rows; at >= 0; at -= rows {
							sum := Sum[float32]{A: want.Slice(at+rows, at+2*rows), B: &packed}
							s.MultiplyDerivative(want.Slice(at, at+rows), sum, out.Slice(at, at+rows), act, 0.1)
						}
						c.check(t, "backward of "+name)
						equal(t, "backward of "+name, c.clone().Data, want.Data)
					}
				}
			}
		}
	})
}
