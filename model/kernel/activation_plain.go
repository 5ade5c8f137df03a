package kernel

import (
	"math"
	"unsafe"
)

// dst[i] = src[i] > 0 ? src[i] : slope·src[i]
func plainLeaky[F Float](dst, src []F, slope F) {
	dst = dst[:len(src)]
	for i, x := range src {
		if x > 0 {
			dst[i] = x
		} else {
			dst[i] = slope * x
		}
	}
}

// dst[i] = out[i] > 0 ? grad[i] : slope·grad[i]
func plainLeakyDerivative[F Float](dst, grad, out []F, slope F) {
	dst, out = dst[:len(grad)], out[:len(grad)]
	for i, g := range grad {
		if out[i] > 0 {
			dst[i] = g
		} else {
			dst[i] = slope * g
		}
	}
}

// dst[i] = grad[i]·(1 − out[i]²)
func plainTanhDerivative[F Float](dst, grad, out []F) {
	dst, out = dst[:len(grad)], out[:len(grad)]
	for i, g := range grad {
		dst[i] = g * (1 - out[i]*out[i])
	}
}

func plainSigmoid[F Float](dst, src []F) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = sigmoid(x)
	}
}

func plainTanh[F Float](dst, src []F) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = tanh(x)
	}
}

// exp is eˣ; the float32 branch is chosen when the function is compiled.
func exp[F Float](x F) F {
	if unsafe.Sizeof(x) == 4 {
		return F(exp32(float32(x)))
	}
	return F(math.Exp(float64(x)))
}

func sigmoid[F Float](x F) F { return 1 / (1 + exp(-x)) }

func tanh[F Float](x F) F {
	if unsafe.Sizeof(x) == 4 {
		return F(tanh32(float32(x)))
	}
	return F(math.Tanh(float64(x)))
}

// exp32 is eˣ: x = n·ln 2 + r with |r| ≤ ½ ln 2, where eʳ is the polynomial of
// degree six with the least relative error, 3e-9, of those that begin 1 + r. ln 2
// is in two parts, the first so short that its product with n is exact (Cephes).
func exp32(x float32) float32 {
	const (
		log2e = 1.44269504088896341
		ln2Hi = 0.693359375
		ln2Lo = -2.12194440e-4
		magic = 1.5 * (1 << 23) // adding it rounds to an integer
	)
	switch {
	case x > 88.72283:
		return float32(math.Inf(1))
	case x < -87.33654: // the result would be subnormal
		return 0
	case x != x:
		return x
	}
	n := float32(x*log2e+magic) - magic
	r := x - n*ln2Hi - n*ln2Lo
	p := float32(1.381460205e-3)
	p = p*r + 8.368715199e-3
	p = p*r + 4.166838788e-2
	p = p*r + 1.666652065e-1
	p = p*r + 4.999999345e-1
	y := p*r*r + r + 1
	if n > 127 { // 2ⁿ itself is no float32
		return y * math.Float32frombits(uint32(int32(n)-1+127)<<23) * 2
	}
	return y * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// tanh32 is tanh as in Cephes' tanhf (S. Moshier, 1989): an odd polynomial near 0,
// else by exp.
func tanh32(x float32) float32 {
	z := x * x
	if z < 0.625*0.625 {
		p := float32(-5.70498872745e-3)
		p = p*z + 2.06390887954e-2
		p = p*z - 5.37397155531e-2
		p = p*z + 1.33314422036e-1
		p = p*z - 3.33332819422e-1
		return p*z*x + x
	}
	return 1 - 2/(exp32(2*x)+1)
}
