// Package random is the one source of random numbers of the trainer: starts,
// splits, the order of minibatches, dropout and generated data.
//
// Its generator, Philox4x32-10, has no state that grows: block i of a sequence is
// a function of a key and i. So a dropout mask is a function of seed, layer, step
// and row, which no cutting of minibatches or sequences and no resumption can
// change, and the place in any sequence is one number. Everything derived from
// the blocks is computed here by operations that IEEE 754 rounds in one way only:
// a seed gives the same bits on every machine and with every release of Go.
package random

import "math"

// A Stream tells what numbers are for. Each use of a seed has its own, so that
// none disturbs another.
type Stream uint64

// The streams. Their numbers are part of every result.
const (
	Weights     Stream = iota + 1 // starts of all layers, one after the other
	Dropout                       // masks; At a layer
	Order                         // of the minibatches; At an epoch
	Split                         // what is held out for validation
	Permutation                   // of permuted-mnist's pixels
	Series                        // generated series
	Lanczos                       // the vector that an estimate of singular values starts from
	Turns                         // the permutations between rotations; At their number
	Examples                      // generated sequences; At their number
	Text                          // generated text
)

// At returns the stream's part of that index, as the one of a layer or an epoch.
func (s Stream) At(index int) Stream { return s | Stream(index)<<8 }

// A Source is a sequence of random numbers, not for use by several goroutines at
// once.
type Source struct {
	key   key
	block uint64    // the next one
	words [2]uint64 // of the one before; the last left of them are unused
	left  int
}

// New returns the sequence of a stream of a seed, at its start.
func New(seed uint64, stream Stream) *Source { return &Source{key: derive(seed, stream)} }

// Begin makes the source the sequence of a stream of a seed, at its start.
func (s *Source) Begin(seed uint64, stream Stream) { *s = Source{key: derive(seed, stream)} }

// derive is the key of a stream: its number enciphered with the seed.
func derive(seed uint64, stream Stream) key {
	k0, k1, _, _ := philox(key{uint32(seed), uint32(seed >> 32)}, uint32(stream), uint32(stream>>32), 0, 0)
	return key{k0, k1}
}

// Uint64 returns 64 random bits.
func (s *Source) Uint64() uint64 {
	if s.left == 0 {
		a, b, c, d := philox(s.key, uint32(s.block), uint32(s.block>>32), 0, 0)
		s.words = [2]uint64{uint64(a)<<32 | uint64(b), uint64(c)<<32 | uint64(d)}
		s.block++
		s.left = 2
	}
	word := s.words[2-s.left]
	s.left--
	return word
}

// Uniform returns a number in the open interval (0, 1), one of the 2⁵² midpoints
// of its equal parts.
func (s *Source) Uniform() float64 {
	return float64(s.Uint64()>>12)*0x1p-52 + 0x1p-53
}

// Below returns an integer in [0, n), each equally likely. It panics if n < 1.
func (s *Source) Below(n int) int {
	if n < 1 {
		panic("random: Below needs a positive bound")
	}
	// Values from the incomplete last run of n are drawn again.
	limit := math.MaxUint64 - math.MaxUint64%uint64(n)
	for {
		if bits := s.Uint64(); bits < limit {
			return int(bits % uint64(n))
		}
	}
}

// Shuffle puts the elements of order into a random order (Fisher and Yates).
func (s *Source) Shuffle(order []int) {
	for i := len(order) - 1; i > 0; i-- {
		j := s.Below(i + 1)
		order[i], order[j] = order[j], order[i]
	}
}

// Permutation returns 0 … n-1 in random order.
func (s *Source) Permutation(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	s.Shuffle(order)
	return order
}

// Normal returns a number from the standard normal distribution by Marsaglia's
// polar method, of which the second number of each pair is discarded.
func (s *Source) Normal() float64 {
	for {
		x := 2*s.Uniform() - 1
		y := 2*s.Uniform() - 1
		square := float64(x*x) + float64(y*y)
		if square < 1 && square > 0 {
			return x * math.Sqrt(-2*logarithm(square)/square)
		}
	}
}

// Gaussian fills dst with independent normal numbers of mean 0 and the given
// standard deviation.
func Gaussian[F float32 | float64](dst []F, deviation float64, source *Source) {
	for i := range dst {
		dst[i] = F(deviation * source.Normal())
	}
}

// logarithm returns ln x for finite x > 0 to about 2 units in the last place:
// x = m 2^e with m in [√½, √2), ln m = 2 artanh((m-1)/(m+1)) as a series. The
// conversions keep the compiler from fusing a product into a sum, which would
// make the bits depend on the machine.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(2*s*sum) + float64(float64(e)*math.Ln2)
}
