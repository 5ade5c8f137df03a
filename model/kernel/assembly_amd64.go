package kernel

//go:generate sh -c "cd gen && go run . -out .."

// assembly is the table of generated functions of one level. They take pointers
// and strides in bytes and trust their caller; its methods are the loops of a Set.
type assembly struct {
	level Level
	lanes int // float32 in a vector
	tile  int // rows of a product's tile

	transposed, transposedNarrow func(c *float32, cStride int, a *float32, aStride, aTile int, b *float32, bStride int, r, rows, cols int)
	gather                       func(dst, src *float32, stride, r, tiles int)

	leaky             func(dst, src *float32, n int, slope float32)
	exp               func(dst, src *float32, n int)
	sigmoid           func(dst, src *float32, n int)
	tanh              func(dst, src *float32, n int)
	leakyDerivative   func(dst, grad, out *float32, n int, slope float32)
	tanhDerivative    func(dst, grad, out *float32, n int)
	axpy              func(y, x *float32, n int, a float32)
	scale             func(x *float32, n int, a float32)
	adam              func(param, grad, m, v *float32, n int, rate, beta1, rest1, beta2, rest2, correction, epsilon float32)
	rmsprop           func(param, grad, v *float32, n int, rate, rho, rest, epsilon float32)
	momentum          func(param, grad, velocity *float32, n int, rate, momentum float32)
	dot               func(x, y *float32, n int) float64
	columnSums        func(dst, a *float32, stride, rows, cols int)
	columnProductSums func(dst, a *float32, aStride int, b *float32, bStride, rows, cols int)
	scaleColumnsAdd   func(dst *float32, dstStride int, src *float32, srcStride int, d *float32, rows, cols int)

	lstmGates         func(gates *float32, gatesStride int, cPrev *float32, cPrevStride int, c *float32, cStride int, h *float32, hStride int, rows, cols, ahead int)
	lstmGatesBackward func(gates *float32, gatesStride int, deltas *float32, deltasStride int, cPrev *float32, cPrevStride int, h *float32, hStride int, dh *float32, dhStride int, dc *float32, dcStride int, rows, cols, ahead int)
	gruGates          func(gates *float32, gatesStride int, hPrev *float32, hPrevStride int, rh *float32, rhStride int, rows, cols int)
	gruBlend          func(gates *float32, gatesStride int, cand *float32, candStride int, hPrev *float32, hPrevStride int, h *float32, hStride int, rows, cols int)
	gruBlendBackward  func(gates *float32, gatesStride int, cand *float32, candStride int, hPrev *float32, hPrevStride int, dh *float32, dhStride int, rows, cols int)
	gruGatesBackward  func(gates *float32, gatesStride int, hPrev *float32, hPrevStride int, drh *float32, drhStride int, dh *float32, dhStride int, rows, cols int)

	transpose func(dst *float32, dstStride int, src *float32, srcStride, rows, cols int)
	peak      func(rounds int)
}

var assemblies = [...]*assembly{
	AVX2: {
		level:             AVX2,
		lanes:             8,
		tile:              6,
		transposed:        transposedAVX2,
		transposedNarrow:  transposedNarrowAVX2,
		gather:            gatherAVX2,
		leaky:             leakyAVX2,
		exp:               expAVX2,
		sigmoid:           sigmoidAVX2,
		tanh:              tanhAVX2,
		leakyDerivative:   leakyDerivativeAVX2,
		tanhDerivative:    tanhDerivativeAVX2,
		axpy:              axpyAVX2,
		scale:             scaleAVX2,
		adam:              adamAVX2,
		rmsprop:           rmspropAVX2,
		momentum:          momentumAVX2,
		dot:               dotAVX2,
		columnSums:        columnSumsAVX2,
		columnProductSums: columnProductSumsAVX2,
		scaleColumnsAdd:   scaleColumnsAddAVX2,
		lstmGates:         lstmGatesAVX2,
		lstmGatesBackward: lstmGatesBackwardAVX2,
		gruGates:          gruGatesAVX2,
		gruBlend:          gruBlendAVX2,
		gruBlendBackward:  gruBlendBackwardAVX2,
		gruGatesBackward:  gruGatesBackwardAVX2,
		transpose:         transposeAVX2,
		peak:              peakAVX2,
	},
	AVX512: {
		level:             AVX512,
		lanes:             16,
		tile:              12,
		transposed:        transposedAVX512,
		transposedNarrow:  transposedNarrowAVX512,
		gather:            gatherAVX512,
		leaky:             leakyAVX512,
		exp:               expAVX512,
		sigmoid:           sigmoidAVX512,
		tanh:              tanhAVX512,
		leakyDerivative:   leakyDerivativeAVX512,
		tanhDerivative:    tanhDerivativeAVX512,
		axpy:              axpyAVX512,
		scale:             scaleAVX512,
		adam:              adamAVX512,
		rmsprop:           rmspropAVX512,
		momentum:          momentumAVX512,
		dot:               dotAVX512,
		columnSums:        columnSumsAVX512,
		columnProductSums: columnProductSumsAVX512,
		scaleColumnsAdd:   scaleColumnsAddAVX512,
		lstmGates:         lstmGatesAVX512,
		lstmGatesBackward: lstmGatesBackwardAVX512,
		gruGates:          gruGatesAVX512,
		gruBlend:          gruBlendAVX512,
		gruBlendBackward:  gruBlendBackwardAVX512,
		gruGatesBackward:  gruGatesBackwardAVX512,
		transpose:         transposeAVX512,
		peak:              peakAVX512,
	},
}
