package kernel

import (
	"math"
	"testing"
)

// arguments are where exponentials and what is made of them change their ways.
func arguments() []float32 {
	xs := []float32{0, float32(math.Copysign(0, -1)), 1e-40, -1e-40, 1e-20, -1e-20, 1e-4, -1e-4, 0.5, 0.625,
		-0.625, 1, -1,
		7.9, 7.91, -7.9, -7.91, 9, 20, -20, 87, -87, 87.5, -87.5, 88, 88.7, -88.7, 89, -89, 104, -104,
		200, -200, 1e30, -1e30}
	for x := float32(-90); x < 90; x += 0.00731 {
		xs = append(xs, x)
	}
	for x := float32(1e-8); x < 10; x *= 1.003 {
		xs = append(xs, x, -x)
	}
	return xs
}

func TestExponentials(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, f := range []struct {
		name      string
		run       func(s *Set[float32], dst, src []float32)
		want      func(x float64) float64
		tolerance float64 // relative
		low, high float32 // at minus and plus infinity
	}{
		{"Exp", (*Set[float32]).Exp, math.Exp, 2e-7, 0, inf},
		{"Sigmoid", (*Set[float32]).Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 4e-7, 0, 1},
		{"Tanh", (*Set[float32]).Tanh, math.Tanh, 4e-7, -1, 1},
	} {
		t.Run(f.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T, s *Set[float32]) {
				src := arguments()
				dst := make([]float32, len(src))
				f.run(s, dst, src)
				worst, worstAt := 0.0, float32(0)
				for i, x := range src {
					if dst[i] > f.high || dst[i] < f.low {
						t.Errorf("of %g: %v is not between %v and %v", x, dst[i], f.low, f.high)
					}
					want := f.want(float64(x))
					if float32(want) == dst[i] {
						continue
					}
					if math.Abs(want) < 0x1p-126 && math.Abs(float64(dst[i])) < 0x1p-126 {
						continue // subnormal
					}
					if e := math.Abs(float64(dst[i])-want) / math.Abs(want); e > worst || e != e {
						worst, worstAt = e, x
					}
				}
				t.Logf("largest relative error %.2g at %g", worst, worstAt)
				if !(worst <= f.tolerance) {
					t.Errorf("largest relative error %.2g at %g is above %.2g", worst, worstAt, f.tolerance)
				}
				f.run(s, dst[:3], []float32{nan, -inf, inf})
				if dst[0] == dst[0] || dst[1] != f.low || dst[2] != f.high {
					t.Errorf("of NaN, -Inf, +Inf: %v, want NaN, %v, %v", dst[:3], f.low, f.high)
				}
			})
		})
	}
}

// The slices a step works on have any length and place, and may be the result's.
func TestActivate(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(10)
		for _, n := range sizes {
			for _, act := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
				const slope = 0.3
				src, grad := vectorField(r, n, nan), vectorField(r, n, nan)
				out, dst := vectorField(r, n, canary), vectorField(r, n, canary)
				s.Activate(out.Data, src.Data, act, slope)
				s.Derivative(dst.Data, grad.Data, out.Data, act, slope)
				out.check(t, "Activate")
				dst.check(t, "Derivative")
				for i, x := range src.Data {
					near(t, out.Data[i], activate(float64(x), act, slope), 1e-6*math.Abs(float64(x)),
						"Activate %v of %v", act, x)
					near(t, dst.Data[i], float64(grad.Data[i])*derivative(float64(out.Data[i]), act, slope),
						1e-6*math.Abs(float64(grad.Data[i])), "Derivative %v", act)
				}
				same := src.clone()
				s.Activate(same.Data, same.Data, act, slope)
				equal(t, "Activate in place", same.Data, out.Data)
				same = grad.clone()
				s.Derivative(same.Data, same.Data, out.Data, act, slope)
				equal(t, "Derivative over grad", same.Data, dst.Data)
				same = out.clone()
				s.Derivative(same.Data, grad.Data, same.Data, act, slope)
				equal(t, "Derivative over out", same.Data, dst.Data)
			}
			for name, f := range map[string]func(s *Set[float32], dst, src []float32){
				"Exp": (*Set[float32]).Exp, "Sigmoid": (*Set[float32]).Sigmoid, "Tanh": (*Set[float32]).Tanh,
			} {
				src, dst := vectorField(r, n, nan), vectorField(r, n, canary)
				f(s, dst.Data, src.Data)
				dst.check(t, name)
				for i, x := range src.Data { // the same whichever lane it falls in
					var one [1]float32
					f(s, one[:], []float32{x})
					if one[0] != dst.Data[i] {
						t.Fatalf("%s(%v) is %v alone and %v at %d of %d", name, x, one[0], dst.Data[i], i, n)
					}
				}
				f(s, src.Data, src.Data)
				equal(t, name+" in place", src.Data, dst.Data)
			}
		}
	})
}

// equal fails the test unless the elements have the same bits.
func equal(t *testing.T, name string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", name, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}
