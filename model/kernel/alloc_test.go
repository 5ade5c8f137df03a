package kernel

import "testing"

// Work on hot paths allocates nothing, so that no trial waits for the collector.
func TestNoAllocations(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		const rows, n = 70, 33
		m := func(cols int) Matrix[float32] { return newField(newRand(60), rows, cols, 3, 0).Matrix }
		a, b, c, d, h := m(n), m(n), m(n), m(n), m(n)
		zr, gates, square := m(2*n), m(4*n), newField(newRand(61), n, n, 0, 0).Matrix
		x, y, z, w := a.Row(0), b.Row(0), c.Row(0), d.Row(0)
		labels := make([]int, rows)
		us, dus := [][]float32{a.Row(2), a.Row(3)}, [][]float32{a.Row(4), a.Row(5)}
		wide := newField(newRand(62), n, 300, 0, 0).Matrix
		var scratch Scratch[float32]
		var packed, input Packed[float32]
		s.Pack(&packed, square)
		s.PackBias(&input, square, x)
		var right Packed[float32]
		s.Pack(&right, b)
		two := newField(newRand(63), 2*rows, n, 0, 0).Matrix
		weight := newField(newRand(64), n, 4*n, 0, 0).Matrix
		var wide4, input4, back4 Packed[float32]
		s.Pack(&wide4, weight)
		s.PackTransposed(&back4, weight)
		s.PackBias(&input4, weight, gates.Row(0))
		for name, f := range map[string]func(){
			"Pack":           func() { s.Pack(&packed, square) },
			"PackTransposed": func() { s.PackTransposed(&packed, square) },
			"Multiply":       func() { s.Multiply(c, a, &packed) },
			"MultiplyAdd":    func() { s.MultiplyAdd(c, a, &packed) },
			"PackBias":       func() { s.PackBias(&input, square, x) },
			"MultiplyBias":   func() { s.MultiplyBias(c, a, &input) },
			"MultiplySum": func() {
				s.MultiplySum(c, Sum[float32]{X: a, M: &input, A: b, B: &packed, H: d,
					Prefetch: [2][]float32{h.Data, a.Data}})
			},
			"MultiplyActivate": func() { s.MultiplyActivate(c, Sum[float32]{A: a, B: &packed, H: b}, Tanh, 0) },
			"MultiplyDerivative": func() {
				s.MultiplyDerivative(c, Sum[float32]{A: a, B: &packed}, b, LeakyReLU, 0.1)
			},
			"MultiplyActivateSteps": func() {
				s.MultiplyActivateSteps(a, 7, &packed, b.Slice(7, rows), &input, LeakyReLU, 0.1)
			},
			"MultiplyDerivativeSteps": func() {
				s.MultiplyDerivativeSteps(a, 7, &packed, b.Slice(7, rows), LeakyReLU, 0.1, nil)
			},
			"Transpose":              func() { s.Transpose(square, square) },
			"ReflectLeftAll":         func() { s.ReflectLeftAll(square, us) },
			"ReflectLeftAllBackward": func() { s.ReflectLeftAllBackward(square, square, us, dus) },
			"NormalizeAll":           func() { s.NormalizeAll(us) },
			"TransposedAdd":          func() { s.TransposedAdd(square, a, b, nil) },
			"TransposedAddPacked":    func() { s.TransposedAddPacked(square, a, &right, nil) },
			"TransposedAdd wide":     func() { s.TransposedAdd(wide, square, wide, &scratch) },
			"ColumnSumsAdd":          func() { s.ColumnSumsAdd(x, b) },
			"ColumnProductSumsAdd":   func() { s.ColumnProductSumsAdd(x, b, c) },
			"ScaleColumnsAdd":        func() { s.ScaleColumnsAdd(a, x, b) },
			"Activate":               func() { s.Activate(x, y, LeakyReLU, 0.1) },
			"Derivative":             func() { s.Derivative(x, y, z, Tanh, 0) },
			"Exp":                    func() { s.Exp(x, y) },
			"Sigmoid":                func() { s.Sigmoid(x, y) },
			"LSTMForward":            func() { s.LSTMForward(gates, h, h, rows, &wide4, a, &input4) },
			"LSTMBackward": func() {
				s.LSTMBackward(gates, gates, two, two, rows, &back4, a, b, h.Data, nil)
			},
			"GRUGates":            func() { s.GRUGates(zr, a, b) },
			"GRUBlend":            func() { s.GRUBlend(zr, a, b, c) },
			"GRUBlendBackward":    func() { s.GRUBlendBackward(zr, a, b, c) },
			"GRUGatesBackward":    func() { s.GRUGatesBackward(zr, a, b, c) },
			"ModReLU":             func() { s.ModReLU(zr, zr, x, 1e-5) },
			"ModReLUBackward":     func() { s.ModReLUBackward(zr, zr, zr, x, y, 1e-5) },
			"SoftmaxCrossEntropy": func() { s.SoftmaxCrossEntropy(h, a, labels, 1) },
			"SumSquares":          func() { s.SumSquares(x) },
			"Dot":                 func() { s.Dot(x, y) },
			"Axpy":                func() { s.Axpy(x, 0.5, y) },
			"Scale":               func() { s.Scale(x, 0.5) },
			"Adam":                func() { s.Adam(x, y, z, w, 1, 1, 1, 1, 1) },
			"RMSprop":             func() { s.RMSprop(x, y, z, 1, 1, 1) },
			"Momentum":            func() { s.Momentum(x, y, z, 1, 1) },
		} {
			if n := testing.AllocsPerRun(10, f); n != 0 {
				t.Errorf("%s allocates %v times", name, n)
			}
		}
	})
}
