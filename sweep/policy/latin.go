package policy

import (
	"math/bits"

	"sweep/sweep"
	"sweep/sweep/portable"
)

var latinKind = Kind{
	Name: "latin", Key: MethodKey, Draws: true, New: func() Settings { return &Latin{} },
	Doc: "draws those of a Latin hypercube, which has one point in each of run_cap equally likely ranges of a " +
		"parameter",
	Grows: "a Latin hypercube with another run_cap or seed has other points, and together they are none: submit the " +
		"file as a sweep of its own, or extend with method: random",
}

// Latin has the n points of a search be those of a Latin hypercube: of n equally likely ranges of the values of a
// parameter each has one point, at a random place, and each parameter has its ranges in a random order of its own. So a
// draw depends on the number of points, too.
//
// M. D. McKay, R. J. Beckman and W. J. Conover, A comparison of three methods for selecting values of input variables
// in the analysis of output from a computer code, Technometrics 21 (1979).
type Latin struct{ defaults }

func (*Latin) kind() *Kind { return &latinKind }

func (*Latin) arrange(spec *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error) {
	n := uint64((spec.Cap-1)/replicatesOf(spec) + 1)
	return grid.Draw(func(draw uint64, axis int) float64 {
		own := seedOf(spec, axis)
		place := portable.Share(portable.Mix(own + portable.Golden*(draw+1)))
		share := (float64(permuted(draw, n, own)) + place) / float64(n)
		return min(max(share, leastShare), 1-leastShare)
	}), nil
}

// permuted is where a random order of the numbers below n has number i: a Feistel network over a power of 4, applied
// until the number is below n.
func permuted(i, n, key uint64) uint64 {
	const rounds = 4
	half := (bits.Len64(n-1) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		left, right := i>>half, i&mask
		for round := range uint64(rounds) {
			left, right = right, left^portable.Mix(key+portable.Golden*(round<<half|right))&mask
		}
		if i = left<<half | right; i < n {
			return i
		}
	}
}
