package layer

// The sizes that choose between operators. Those of the operator and of chunks decide bits, so that
// another value is another result version. docs/measurements.md has the measurements.
const (
	// appliedRanks: factors are applied instead of W if n is more than so many times the rank k,
	// rounded up to a multiple of rankStep: a rank between takes about as long as the next multiple.
	appliedRanks, rankStep = 3, 16

	// appliedFourier: the factors of a unitary matrix are applied from so many complex units on.
	appliedFourier = 64

	// formedSize and formedRanks: W is formed from its factors, not one reflector after another, if n
	// is so much at least, and so many times k: from there on the reflectors would go over a matrix
	// that the cache does not hold.
	formedSize, formedRanks = 128, 2

	// chunkValues: Backward works on so many values of rows together: 256 KB, which are still in a
	// second-level cache when they are used next.
	chunkValues = 1 << 16

	// evaluatedValues: without history so many values of states are worked on together, which a
	// first-level cache of 32 KB holds. No bit depends on it.
	evaluatedValues = 1 << 13
)
