package kernel

// Set is the table of loops for one element type at one level. Its methods check
// the shapes of what they are given and then call the level's loops.
type Set[F Float] struct {
	level  Level
	width  int // columns in a panel of Packed
	narrow int // columns in a last panel that holds no more

	// transpose is dst = srcᵀ.
	transpose func(dst, src Matrix[F])
	// multiply is C = the sum after its stage.
	multiply                func(c Matrix[F], sum Sum[F], to stage[F])
	multiplyActivateSteps   func(c Matrix[F], rows int, b *Packed[F], x Matrix[F], m *Packed[F], act Activation, slope F)
	multiplyDerivativeSteps func(c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation, slope F, prefetch []F)
	// transposed is C = AᵀB, or C += AᵀB.
	transposed           func(c, a, b Matrix[F], scratch *Scratch[F], add bool)
	transposedPacked     func(c, a Matrix[F], b *Packed[F], scratch *Scratch[F])
	columnSumsAdd        func(dst []F, a Matrix[F])
	columnProductSumsAdd func(dst []F, a, b Matrix[F])
	scaleColumnsAdd      func(dst Matrix[F], d []F, src Matrix[F])

	leaky           func(dst, src []F, slope F)
	leakyDerivative func(dst, grad, out []F, slope F)
	tanhDerivative  func(dst, grad, out []F)
	exp             func(dst, src []F)
	sigmoid         func(dst, src []F)
	tanh            func(dst, src []F)

	lstmForward        func(gates, cells, states Matrix[F], rows int, w *Packed[F], x Matrix[F], m *Packed[F])
	lstmBackward       func(deltas, gates, cells, states Matrix[F], rows int, w *Packed[F], dh, dc Matrix[F], prefetch, then []F)
	gruGates           func(gates, hPrev, rh Matrix[F])
	gruBlend           func(gates, cand, hPrev, h Matrix[F])
	gruBlendBackward   func(gates, cand, hPrev, dh Matrix[F])
	gruGatesBackward   func(gates, hPrev, drh, dh Matrix[F])
	scalarGateBackward func(delta, g, f, before Matrix[F], dalpha, dbeta []F, alpha F, act Activation, slope F)
	softmax            func(dlogits, logits Matrix[F], labels []int, scale F) (float64, int)
	rowMaxima          func(m []F, a Matrix[F])
	expSums            func(sums []F, a Matrix[F], m []F)
	rowWeightedSums    func(dst []F, a Matrix[F], d []F)
	sumSquares         func(x []F) float64
	dot                func(x, y []F) float64
	axpy               func(y []F, a F, x []F)
	scale              func(x []F, a F)
	rotate             func(x, y []F, cos, sin F)
	adam               func(param, grad, m, v []F, rate, beta1, beta2, correction, epsilon F)
	rmsprop            func(param, grad, v []F, rate, rho, epsilon F)
	momentum           func(param, grad, velocity []F, rate, momentum F)
	reflectLeft        func(q Matrix[F], u []F)
	reflectorBackward  func(q, g Matrix[F], u, du []F)
	// Those of many reflectors save a call through the table for each.
	reflectLeftAll         func(q Matrix[F], us [][]F)
	reflectLeftAllBackward func(q, g Matrix[F], us, dus [][]F)
	normalizeAll           func(us [][]F)
}

// Level is the level of the loops.
func (s *Set[F]) Level() Level { return s.level }

var (
	plain32 = plainSet[float32]()
	plain64 = plainSet[float64]()
	chosen  = mustAt(selected)
)

// Float32 is the set for training, at the level found when the process started.
func Float32() *Set[float32] { return chosen }

// Float32At is the set at a given level. The error is a [*LevelError].
func Float32At(l Level) (*Set[float32], error) {
	switch {
	case l > detected:
		return nil, &LevelError{Level: l, Best: detected}
	case l == Plain:
		return plain32, nil
	}
	return simd(l), nil
}

// Float64 is the plain set for float64, the reference for gradient checks.
func Float64() *Set[float64] { return plain64 }

// mustAt is the set at a level that choose has allowed.
func mustAt(l Level) *Set[float32] {
	s, err := Float32At(l)
	if err != nil {
		panic(err)
	}
	return s
}

func plainSet[F Float]() *Set[F] {
	return &Set[F]{
		level:                   Plain,
		width:                   plainWidth,
		narrow:                  plainWidth,
		transpose:               plainTranspose[F],
		multiply:                plainMultiply[F],
		multiplyActivateSteps:   plainMultiplyActivateSteps[F],
		multiplyDerivativeSteps: plainMultiplyDerivativeSteps[F],
		transposed:              plainTransposed[F],
		transposedPacked:        plainTransposedPacked[F],
		columnSumsAdd:           plainColumnSumsAdd[F],
		columnProductSumsAdd:    plainColumnProductSumsAdd[F],
		scaleColumnsAdd:         plainScaleColumnsAdd[F],
		leaky:                   plainLeaky[F],
		leakyDerivative:         plainLeakyDerivative[F],
		tanhDerivative:          plainTanhDerivative[F],
		exp:                     plainExp[F],
		sigmoid:                 plainSigmoid[F],
		tanh:                    plainTanh[F],
		lstmForward:             plainLSTMForward[F],
		lstmBackward:            plainLSTMBackward[F],
		gruGates:                plainGRUGates[F],
		gruBlend:                plainGRUBlend[F],
		gruBlendBackward:        plainGRUBlendBackward[F],
		gruGatesBackward:        plainGRUGatesBackward[F],
		scalarGateBackward:      plainScalarGateBackward[F],
		softmax:                 plainSoftmaxCrossEntropy[F],
		rowMaxima:               plainRowMaxima[F],
		expSums:                 plainExpSums[F],
		rowWeightedSums:         plainRowWeightedSums[F],
		sumSquares:              plainSumSquares[F],
		dot:                     plainDot[F],
		axpy:                    plainAxpy[F],
		scale:                   plainScale[F],
		rotate:                  plainRotate[F],
		adam:                    plainAdam[F],
		rmsprop:                 plainRMSprop[F],
		momentum:                plainMomentum[F],
		reflectLeft:             plainReflectLeft[F],
		reflectorBackward:       plainReflectorBackward[F],
		reflectLeftAll:          plainReflectLeftAll[F],
		reflectLeftAllBackward:  plainReflectLeftAllBackward[F],
		normalizeAll:            plainNormalizeAll[F],
	}
}
