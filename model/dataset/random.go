package dataset

import "math/bits"

// random is the generator PCG-XSH-RR 64/32 (O'Neill 2014): 64 bits of state, 32 bits a draw. It is written out here
// because splits and generated series must keep their bits whatever becomes of the standard library's generators.
type random struct {
	state, increment uint64
}

// newRandom returns the generator with the given seed; stream tells apart the uses of one seed.
func newRandom(seed, stream uint64) *random {
	r := &random{increment: stream<<1 | 1}
	r.next()
	r.state += seed
	r.next()
	return r
}

// next returns 32 random bits.
func (r *random) next() uint32 {
	old := r.state
	r.state = old*6364136223846793005 + r.increment
	return bits.RotateLeft32(uint32((old>>18^old)>>27), -int(old>>59))
}

// below returns a number from 0 to n−1, each equally likely (Lemire 2019). n is positive and below 2³².
func (r *random) below(n int) int {
	bound := uint64(n)
	product := uint64(r.next()) * bound
	if low := product & (1<<32 - 1); low < bound {
		for reject := (1<<32 - bound) % bound; low < reject; low = product & (1<<32 - 1) {
			product = uint64(r.next()) * bound
		}
	}
	return int(product >> 32)
}

// uniform returns a multiple of 2⁻⁵³ in [0, 1).
func (r *random) uniform() float64 {
	high := uint64(r.next())
	return float64((high<<32|uint64(r.next()))>>11) / (1 << 53)
}

// permutation returns 0 … n−1 in random order (Fisher and Yates).
func (r *random) permutation(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := r.below(i + 1)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// exponential draws from the exponential distribution by comparisons alone (von Neumann 1951), so that no logarithm of
// some machine's library takes part.
func (r *random) exponential() float64 {
	for whole := 0.0; ; whole++ {
		first := r.uniform()
		accept := true
		for previous := first; ; accept = !accept {
			u := r.uniform()
			if u >= previous {
				break
			}
			previous = u
		}
		if accept {
			return whole + first
		}
	}
}

// normal draws from the normal distribution with mean 0 and variance 1, by rejection from two exponentials (von Neumann
// 1951): x with probability exp(−(x−1)²/2), then a sign.
func (r *random) normal() float64 {
	for {
		x, y := r.exponential(), r.exponential()
		d := x - 1
		if 2*y <= d*d {
			continue
		}
		if r.next()&1 == 0 {
			return -x
		}
		return x
	}
}
