package kernel

// MultiplyGate is a step of a cell with two scalar gates,
//
//	C = φ(sum); next = α·C + β·before
//
// The sum has no H. next is no operand of it; before may be one.
func (s *Set[F]) MultiplyGate(c Matrix[F], sum Sum[F], act Activation, slope F, next, before Matrix[F], alpha, beta F) {
	s.checkSum(&c, &sum)
	next.checkShape(c.Rows, c.Cols)
	before.checkShape(c.Rows, c.Cols)
	checkActivation(act)
	checkSlope(act, slope)
	if sum.H.Data != nil {
		panic("kernel: sum with H before gates")
	}
	if !c.empty() {
		for _, operand := range [...]*Matrix[F]{&sum.A, &sum.X} {
			if len(operand.Data) > 0 && &operand.Data[0] == &next.Data[0] {
				panic("kernel: next state in the place of an operand")
			}
		}
		s.backend.multiply(c, sum, stage[F]{activation: act, slope: slope, next: next, before: before,
			alpha: alpha, beta: beta})
	}
}

// ScalarGateBackward is the backward pass of [Set.MultiplyGate], f = φ(·) being its C,
// given g, the gradient of next, and the state before:
//
//	delta = α·g ∘ φ'(·)   dalpha[j] += Σ_i g[i][j]·f[i][j]   dbeta[j] += Σ_i g[i][j]·before[i][j]
//
// φ' is found from f as in [Set.Derivative].
func (s *Set[F]) ScalarGateBackward(delta, g, f, before Matrix[F], dalpha, dbeta []F, alpha F,
	act Activation, slope F) {
	checkColumns(&delta, dalpha, dbeta)
	checkActivation(act)
	if delta.emptyAs(&g, &f, &before) {
		return
	}
	switch l := s.loops; {
	case l == nil:
		plainScalarGateBackward(delta, g, f, before, dalpha, dbeta, alpha, act, slope)
	case act == Tanh:
		l.scalarGateBackwardTanh(single(delta.Data), float*delta.Stride, single(g.Data), float*g.Stride,
			single(f.Data), float*f.Stride, single(before.Data), float*before.Stride,
			single(dalpha), single(dbeta), g.Rows, g.Cols, float32(alpha))
	default:
		l.scalarGateBackward(single(delta.Data), float*delta.Stride, single(g.Data), float*g.Stride,
			single(f.Data), float*f.Stride, single(before.Data), float*before.Stride,
			single(dalpha), single(dbeta), g.Rows, g.Cols, float32(alpha), float32(slopeOf(act, slope)))
	}
}

// next = α·f + β·h
func plainScalarGate[F Float](next, f, h Matrix[F], alpha, beta F) {
	for i := range next.Rows {
		to, x, y := next.Row(i), f.Row(i), h.Row(i)
		for j := range to {
			to[j] = alpha*x[j] + beta*y[j]
		}
	}
}

func plainScalarGateBackward[F Float](delta, g, f, before Matrix[F], dalpha, dbeta []F, alpha F,
	act Activation, slope F) {
	slope = slopeOf(act, slope)
	for i := range delta.Rows {
		to, x, y, z := delta.Row(i), g.Row(i), f.Row(i), before.Row(i)
		for j := range to {
			dalpha[j] += x[j] * y[j]
			dbeta[j] += x[j] * z[j]
			d := alpha * x[j]
			switch {
			case act == Tanh:
				d *= 1 - y[j]*y[j]
			case y[j] > 0:
			default: // a NaN is not above
				d *= slope
			}
			to[j] = d
		}
	}
}
