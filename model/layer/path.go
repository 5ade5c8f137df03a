package layer

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// A Path is a way to apply the matrix of an [Elman] cell at every time step, or of an
// [Affine] layer. Paths differ in speed, and in rounding.
type Path string

// The paths.
const (
	// PathAuto, also "", chooses PathCompactWY for a [weight.LowRank] of less than a
	// third of its size (n > 6m for two times m reflectors), and PathDense for all else.
	PathAuto Path = "auto"
	// PathDense forms W once a minibatch.
	PathDense Path = "dense"
	// PathCompactWY applies the factors of a [weight.LowRank] and never forms W.
	PathCompactWY Path = "compact-wy"
)

// From where on the factors of an n × n matrix of rank k are used, by measurement.
const (
	// appliedRanks: W is applied by its factors if n is more than so many times k. A rank counts as
	// the next multiple of rankStep, as products with fewer columns take no less time.
	appliedRanks, rankStep = 3, 16
	// formedSize and formedRanks: W is formed from its factors if n is so much at least, and so many
	// times k. One reflector after another would go over a matrix that the cache does not hold.
	formedSize, formedRanks = 128, 2
)

// factorsOf returns the matrix by whose factors the path leads, nil where W is to be
// formed.
func factorsOf[F kernel.Float](matrix weight.Matrix[F], path Path) (weight.LowRank[F], error) {
	low, factored := matrix.(weight.LowRank[F])
	rows, cols := matrix.Shape()
	factored = factored && rows == cols
	switch path {
	case "", PathAuto:
		factored = factored && rows > appliedRanks*((low.Rank()+rankStep-1)/rankStep*rankStep)
	case PathDense:
		factored = false
	case PathCompactWY:
		if !factored {
			return nil, fmt.Errorf("layer: path %s: a weight without factors has to be formed", path)
		}
	default:
		return nil, fmt.Errorf("layer: unknown path %q: want %s, %s or %s", string(path), PathAuto, PathDense,
			PathCompactWY)
	}
	if !factored {
		return nil, nil
	}
	return low, nil
}
