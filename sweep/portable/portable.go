// Package portable has what searches compute with, with the same bits on every machine: Exp and Log, since those of
// package math are assembly on some and a compiler may fuse a product with a sum, and random numbers by counter (Mix,
// Hash, Share).
//
//	rate := portable.Exp(portable.Log(low) + float64(u*width))
package portable

import (
	"hash/fnv"
	"math"
)

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

// Golden is the increment of splitmix64's counter.
const Golden = 0x9e3779b97f4a7c15

// Mix is the finalizer of splitmix64 (G. L. Steele Jr., D. Lea, C. H. Flood, Fast splittable pseudorandom number
// generators, OOPSLA 2014).
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Hash is the FNV-1a hash of a name.
func Hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return h.Sum64()
}

// ShareBits is the number of binary digits of a share.
const ShareBits = 52

// Share is the number above 0 and below 1 that the first ShareBits bits of h stand for.
func Share(h uint64) float64 { return (float64(h>>(64-ShareBits)) + 0.5) / (1 << ShareBits) }
