package kernel

import (
	"math/rand/v2"
	"testing"
)

// fuzzShapes runs test at every level with shapes that the fuzzer chooses, the third of them small where the others
// are large: the fuzzer takes an input of ten seconds for one that hangs.
func fuzzShapes(f *testing.F, test func(t *testing.T, s *Set[float32], r *rand.Rand, a, b, c, gap int)) {
	f.Add(uint64(1), uint8(13), uint8(33), uint8(3), uint8(0))
	f.Add(uint64(2), uint8(1), uint8(16), uint8(0), uint8(9))
	f.Fuzz(func(t *testing.T, seed uint64, a, b, c, gap uint8) {
		const most = 1 << 18
		third := int(c) % (1 + most/max(1, int(a)*int(b)))
		for _, l := range Levels() {
			s, err := Float32At(l)
			if err != nil {
				t.Fatal(err)
			}
			test(t, s, newRand(seed), int(a), int(b), third, int(gap))
		}
	})
}

func FuzzProducts(f *testing.F) {
	fuzzShapes(f, func(t *testing.T, s *Set[float32], r *rand.Rand, rows, cols, k, gap int) {
		testProducts(t, s, r, rows, cols, k, gap)
		testTransposed(t, s, r, rows, cols, k, gap, nil)
		testTransposed(t, s, r, rows, 2*cols, k, gap, new(Scratch[float32])) // may be wide enough to gather
	})
}

func FuzzLoops(f *testing.F) {
	fuzzShapes(f, func(t *testing.T, s *Set[float32], r *rand.Rand, rows, cols, length, gap int) {
		testColumns(t, s, r, rows, cols, gap)
		testGates(t, s, r, rows%8, cols, gap)
		testReflector(t, s, r, rows, cols, length%(rows+1), gap)
		testSoftmax(t, s, r, rows, cols+1, gap)
	})
}
