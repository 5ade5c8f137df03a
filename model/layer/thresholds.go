package layer

// The sizes that choose between ways to compute the same. Those of the operator and of chunks decide
// bits, so that another value is another result version.
//
// Measured are best times in milliseconds of training steps (sweep trainer step, one thread, AVX2, an
// EPYC with two virtual cores that were busy with other work: differences below a tenth mean nothing).
// n × n is the matrix, k its rank, twice the reflectors of a side; T steps, B sequences, n_i = 1.
const (
	// appliedRanks: factors are applied instead of W if n is more than so many times k, with k
	// rounded up to a multiple of rankStep. T = 100, B = 32:
	//
	//	         n = 2k          3k             4k
	//	k        W     factors   W     factors  W     factors
	//	16       0.26  0.35      0.57  0.51     1.01  0.62
	//	32       1.00  1.11      2.32  1.68     4.24  3.61
	//	64       4.10  4.35      8.69  6.37     17.5  9.39
	appliedRanks = 3

	// rankStep: products with fewer columns take no less time. Factors, n = 96, T = 100, B = 32:
	// k = 8 0.70, 16 0.99, 18 1.50, 24 1.45, 32 1.73.
	rankStep = 16

	// formedSize and formedRanks: W is formed from its factors, not one reflector after another, if n
	// is so much at least, and so many times k: from there on the reflectors would go over a matrix
	// that the cache does not hold. T = 10, B = 16:
	//
	//	n, k        64, 16  64, 32  128, 32  128, 64  128, 96  256, 32  256, 128  256, 192
	//	reflectors  0.081   0.098   0.51     0.74     0.94     3.05     7.64      11.2
	//	factors     0.076   0.094   0.30     0.43     0.59     1.13     2.82      4.64
	formedSize, formedRanks = 128, 2

	// chunkValues: Backward works on so many values of rows together: 256 KB, which are still in a
	// second-level cache when they are used next. T = 128, B = 32:
	//
	//	                   2¹²   2¹⁴   2¹⁶   2¹⁸
	//	W, n = 128         7.51  4.98  5.70  5.23
	//	factors, n = 128   2.85  2.84  2.93  3.11
	//	LSTM, n = 64       6.31  6.30  6.37  6.71
	chunkValues = 1 << 16

	// evaluatedValues: where no history is kept so many values of states are worked on together, which
	// a first-level cache of 32 KB holds. No bit depends on it. Not measured: from 2¹¹ to 2¹⁷, times
	// of the busy machine differed by more than the sizes.
	evaluatedValues = 1 << 13
)
