package safetensors

import (
	"encoding/binary"
	"math"
)

// IEEE 754 half precision: 5 bits of exponent, 10 of mantissa.
const (
	halfMantissa = 10
	halfBias     = 15
	halfLargest  = 65504
	halfInfinity = 0x7c00
)

// AppendHalf appends values in half precision, rounded to the nearest, ties to even.
func AppendHalf(dst []byte, values []float32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint16(dst, half(v))
	}
	return dst
}

func half(v float32) uint16 {
	x := float64(v)
	var sign uint16
	if math.Signbit(x) {
		sign, x = 1<<15, -x
	}
	switch {
	case x == 0:
		return sign
	case math.IsNaN(x):
		return sign | halfInfinity | 1
	case x >= halfLargest+16: // half a unit above the largest
		return sign | halfInfinity
	}
	// The unit in the last place is that of the smallest normal number at least.
	_, exponent := math.Frexp(x)
	unit := max(exponent, 2-halfBias) - 1 - halfMantissa
	steps := uint16(math.RoundToEven(math.Ldexp(x, -unit)))
	// Whole units above 2^10 carry into the exponent by themselves.
	return sign | uint16(unit+halfBias+halfMantissa-1)<<halfMantissa + steps
}

// Halves returns the values of a tensor of [F16], row by row.
func (t *Tensor) Halves() []float32 {
	values := make([]float32, len(t.Data)/2)
	for i := range values {
		values[i] = single(binary.LittleEndian.Uint16(t.Data[2*i:]))
	}
	return values
}

func single(h uint16) float32 {
	exponent, mantissa := int(h>>halfMantissa)&(1<<5-1), float64(h&(1<<halfMantissa-1))
	var x float64
	switch {
	case exponent == 1<<5-1 && mantissa == 0:
		x = math.Inf(1)
	case exponent == 1<<5-1:
		x = math.NaN()
	case exponent == 0:
		x = math.Ldexp(mantissa, 1-halfBias-halfMantissa)
	default:
		x = math.Ldexp(mantissa+1<<halfMantissa, exponent-halfBias-halfMantissa)
	}
	if h>>15 == 1 {
		x = -x
	}
	return float32(x)
}

// Integers returns the values of a tensor of [I32], row by row.
func (t *Tensor) Integers() []int {
	values := make([]int, len(t.Data)/4)
	for i := range values {
		values[i] = int(int32(binary.LittleEndian.Uint32(t.Data[4*i:])))
	}
	return values
}

// AppendIntegers appends values as [I32].
func AppendIntegers(dst []byte, values []int) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(v)))
	}
	return dst
}
