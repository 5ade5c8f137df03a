// Package portable has the functions of package math that search needs, with the same bits on every
// machine: those of package math are assembly on some, and a compiler may fuse a product with a sum.
//
//	rate := portable.Exp(portable.Log(low) + float64(u*width))
package portable

import "math"

// Exp is e to the x, |x| ≤ 709, within a few units in the last place and with the
// same bits everywhere: math.Exp is assembly on some machines. x = k·ln 2 + r,
// and exp(r) is its series.
func Exp(x float64) float64 {
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts
	k := math.RoundToEven(float64(x * (1 / math.Ln2)))
	r := float64(x-float64(k*high)) - float64(k*low)
	sum := 1.0
	for i := 20.0; i >= 1; i-- {
		sum = 1 + float64(float64(r*sum)/i)
	}
	return math.Ldexp(sum, int(k))
}

// Log is the natural logarithm of a positive x, within a few units in the
// last place and with the same bits everywhere: with x = m·2ᵏ and
// s = (m − 1)/(m + 1), ln m = 2(s + s³/3 + s⁵/5 + …).
func Log(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.0
	for i := 41.0; i >= 1; i -= 2 {
		sum = 1/i + float64(square*sum)
	}
	return float64(float64(k)*math.Ln2) + float64(2*float64(s*sum))
}
