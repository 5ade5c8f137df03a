package weight

import (
	"math"
	"math/rand/v2"

	"sweep/model/kernel"
)

// A Random is a deterministic source of numbers for starts, shuffles and
// dropout. Only the generator, PCG-DXSM, is the standard library's, whose
// output for a seed is fixed; everything derived from it is computed here with
// basic arithmetic, so that a seed gives the same bits with any Go release.
type Random struct {
	source *rand.PCG
}

// NewRandom returns the generator of a seed. Different streams of one seed are
// independent: give each use (starts, shuffles, dropout, …) a stream of its own.
func NewRandom(seed, stream uint64) *Random {
	return &Random{source: rand.NewPCG(seed, stream)}
}

// Uint64 returns 64 random bits.
func (r *Random) Uint64() uint64 { return r.source.Uint64() }

// Uniform returns a number in the open interval (0, 1), one of the
// 2⁵² midpoints of its equal parts.
func (r *Random) Uniform() float64 {
	return float64(r.source.Uint64()>>12)*0x1p-52 + 0x1p-53
}

// Below returns an integer in [0, n), each equally likely. It panics if n < 1.
func (r *Random) Below(n int) int {
	if n < 1 {
		panic("weight: Below needs a positive bound")
	}
	// Values from the incomplete last run of n are drawn again.
	limit := math.MaxUint64 - math.MaxUint64%uint64(n)
	for {
		if bits := r.source.Uint64(); bits < limit {
			return int(bits % uint64(n))
		}
	}
}

// Shuffle puts the elements of order into a random order (Fisher and Yates).
func (r *Random) Shuffle(order []int) {
	for i := len(order) - 1; i > 0; i-- {
		j := r.Below(i + 1)
		order[i], order[j] = order[j], order[i]
	}
}

// Normal returns a number from the standard normal distribution by
// Marsaglia's polar method. The second number of each pair is not kept, so
// that the state is the generator's alone.
func (r *Random) Normal() float64 {
	for {
		x := 2*r.Uniform() - 1
		y := 2*r.Uniform() - 1
		s := float64(x*x) + float64(y*y)
		if s < 1 && s > 0 {
			return x * math.Sqrt(-2*logarithm(s)/s)
		}
	}
}

// MarshalBinary returns the generator's state.
func (r *Random) MarshalBinary() ([]byte, error) { return r.source.MarshalBinary() }

// UnmarshalBinary restores a state from [Random.MarshalBinary].
func (r *Random) UnmarshalBinary(state []byte) error {
	if r.source == nil {
		r.source = new(rand.PCG)
	}
	return r.source.UnmarshalBinary(state)
}

// Gaussian fills dst with independent normal numbers of mean 0 and the given
// standard deviation.
func Gaussian[F kernel.Float](dst []F, deviation float64, random *Random) {
	for i := range dst {
		dst[i] = F(deviation * random.Normal())
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
