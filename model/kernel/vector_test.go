package kernel

import (
	"math"
	"testing"
)

func TestVectors(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(40)
		for _, n := range append(sizes, 4, 5, 12, 1000) {
			x, y := vectorField(r, n, nan), vectorField(r, n, canary)
			before := y.clone()
			var squares, dot, magnitude float64
			for i, v := range x.Data {
				squares += float64(v) * float64(v)
				dot += float64(v) * float64(y.Data[i])
				magnitude += math.Abs(float64(v) * float64(y.Data[i]))
			}
			if got := s.SumSquares(x.Data); math.Abs(got-squares) > 1e-13*squares {
				t.Fatalf("SumSquares of %d: %v, want %v", n, got, squares)
			}
			if got := s.Dot(x.Data, y.Data); math.Abs(got-dot) > 1e-13*magnitude {
				t.Fatalf("Dot of %d: %v, want %v", n, got, dot)
			}
			s.Axpy(y.Data, 1.5, x.Data)
			y.check(t, "Axpy")
			for i, v := range y.Data {
				near(t, v, float64(before.Data[i])+1.5*float64(x.Data[i]), 1e-6, "Axpy of %d at %d", n, i)
			}
			copy(before.Data, y.Data)
			s.Scale(y.Data, -0.7)
			y.check(t, "Scale")
			for i, v := range y.Data {
				near(t, v, -0.7*float64(before.Data[i]), 1e-6, "Scale of %d at %d", n, i)
			}
			copy(before.Data, y.Data)
			turned := vectorField(r, n, canary)
			first := turned.clone()
			s.Rotate(turned.Data, y.Data, .6, -.8)
			turned.check(t, "Rotate")
			y.check(t, "Rotate")
			for i, v := range y.Data {
				a, b := float64(first.Data[i]), float64(before.Data[i])
				near(t, turned.Data[i], .6*a+.8*b, 1e-6*(1+math.Abs(a)+math.Abs(b)), "Rotate of %d, x at %d", n, i)
				near(t, v, -.8*a+.6*b, 1e-6*(1+math.Abs(a)+math.Abs(b)), "Rotate of %d, y at %d", n, i)
			}
		}
	})
}

func TestOptimisers(t *testing.T) {
	const rate, beta1, beta2, epsilon = 0.01, 0.9, 0.999, 1e-8
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(41)
		for _, n := range append(sizes, 100) {
			param := vectorField(r, n, canary)
			m, v := newField(r, 1, n, 0, canary), newField(r, 1, n, 0, canary)
			clear(m.Data)
			clear(v.Data)
			want, wantM, wantV := double(param.Matrix), double(m.Matrix), double(v.Matrix)
			for step := 1; step <= 10; step++ {
				grad := vectorField(r, n, nan)
				bias1, bias2 := 1-math.Pow(beta1, float64(step)), 1-math.Pow(beta2, float64(step))
				s.Adam(param.Data, grad.Data, m.Data, v.Data, float32(rate/bias1), beta1, beta2,
					float32(1/math.Sqrt(bias2)), epsilon)
				for i, g := range grad.Data { // as published
					g := float64(g)
					wantM.Data[i] = beta1*wantM.Data[i] + (1-beta1)*g
					wantV.Data[i] = beta2*wantV.Data[i] + (1-beta2)*g*g
					want.Data[i] -= rate * (wantM.Data[i] / bias1) / (math.Sqrt(wantV.Data[i]/bias2) + epsilon)
					near(t, param.Data[i], want.Data[i], 2e-6*(1+math.Abs(want.Data[i])),
						"Adam of %d, step %d at %d", n, step, i)
				}
			}
			for _, f := range []*field{param, m, v} {
				f.check(t, "Adam")
			}

			param, v = vectorField(r, n, canary), vectorField(r, n, canary)
			grad := vectorField(r, n, nan)
			s.Activate(v.Data, v.Data, ReLU, 0)
			want, wantV = double(param.Matrix), double(v.Matrix)
			s.RMSprop(param.Data, grad.Data, v.Data, rate, beta1, epsilon)
			for i, g := range grad.Data {
				second := beta1*wantV.Data[i] + (1-beta1)*float64(g)*float64(g)
				near(t, v.Data[i], second, 1e-6*(1+second), "RMSprop v")
				near(t, param.Data[i], want.Data[i]-rate*float64(g)/(math.Sqrt(second)+epsilon), 1e-5, "RMSprop")
			}
			param.check(t, "RMSprop")
			v.check(t, "RMSprop")

			velocity := vectorField(r, n, canary)
			want, wantV = double(param.Matrix), double(velocity.Matrix)
			s.Momentum(param.Data, grad.Data, velocity.Data, rate, beta1)
			for i, g := range grad.Data {
				second := beta1*wantV.Data[i] + float64(g)
				near(t, velocity.Data[i], second, 1e-6, "Momentum velocity")
				near(t, param.Data[i], want.Data[i]-rate*second, 1e-6, "Momentum")
			}
			param.check(t, "Momentum")
			velocity.check(t, "Momentum")
		}
	})
}
