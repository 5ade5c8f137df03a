package dataset

import (
	"math"
	"slices"
	"testing"
)

// The first numbers of O'Neill's demonstration pcg32-demo with seed 42 and stream 54.
func TestPCGReference(t *testing.T) {
	r := newRandom(42, 54)
	for i, want := range []uint32{0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e} {
		if got := r.next(); got != want {
			t.Errorf("draw %d: got %#x, want %#x", i, got, want)
		}
	}
}

func TestBelow(t *testing.T) {
	r := newRandom(5, 5)
	const draws = 60000
	var counts [6]int
	for range draws {
		counts[r.below(len(counts))]++
	}
	for i, n := range counts {
		if d := float64(n) - draws/6; math.Abs(d) > 5*math.Sqrt(draws*5./36) {
			t.Errorf("%d came %d times in %d", i, n, draws)
		}
	}
	for range 100 {
		if r.below(1) != 0 {
			t.Fatal("below(1) is not 0")
		}
		if n := r.below(math.MaxUint32); n < 0 || n >= math.MaxUint32 {
			t.Fatalf("below(2³²−1) is %d", n)
		}
	}
}

func TestNormal(t *testing.T) {
	r := newRandom(11, 5)
	const n = 200000
	var moment [5]float64
	beyond := 0
	for range n {
		x := r.normal()
		p := 1.0
		for k := range moment {
			moment[k] += p / n
			p *= x
		}
		if math.Abs(x) > 1.959964 {
			beyond++
		}
	}
	// Tolerances are five standard errors.
	for k, want := range []struct{ value, tolerance float64 }{{1, 1e-9}, {0, 5 * math.Sqrt(1./n)}, {1, 5 * math.Sqrt(2./n)}, {0, 5 * math.Sqrt(15./n)}, {3, 5 * math.Sqrt(96./n)}} {
		if math.Abs(moment[k]-want.value) > want.tolerance {
			t.Errorf("moment %d: got %v, want %v ± %v", k, moment[k], want.value, want.tolerance)
		}
	}
	if share := float64(beyond) / n; math.Abs(share-.05) > 5*math.Sqrt(.05*.95/n) {
		t.Errorf("%v of the values are beyond 1.96", share)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		n         int
		fraction  float64
		wantHeld  int
		wantTrain int
	}{
		{30, .2, 6, 24}, {23, .2, 5, 18}, {36, .2, 7, 29}, {24, .2, 5, 19}, // 4.6, 7.2 and 4.8
		{450, .2, 90, 360}, {10, .25, 3, 7}, {10, .05, 1, 9}, // halves round up
		{2, .2, 1, 1}, {2, .99, 1, 1}, {2, 5, 1, 1}, {5, 0, 1, 4}, {5, -1, 1, 4}, {5, math.NaN(), 1, 4}, {5, math.Inf(1), 4, 1},
		{1, .2, 0, 1}, {0, .2, 0, 0}, {-3, .2, 0, 0},
	} {
		train, validation := Split(c.n, c.fraction, 1)
		if len(train) != c.wantTrain || len(validation) != c.wantHeld {
			t.Errorf("Split(%d, %v): %d to train, %d held out; want %d, %d", c.n, c.fraction, len(train), len(validation), c.wantTrain, c.wantHeld)
		}
		both := append(slices.Clone(train), validation...)
		slices.Sort(both)
		for i, row := range both {
			if row != i {
				t.Errorf("Split(%d, %v) is no partition: %v and %v", c.n, c.fraction, train, validation)
				break
			}
		}
		if !slices.IsSorted(train) || !slices.IsSorted(validation) {
			t.Errorf("Split(%d, %v) is not in order", c.n, c.fraction)
		}
	}
}

// Results depend on these bits: a change of them is a change of every result.
func TestSplitStays(t *testing.T) {
	for seed, want := range map[uint64][]int{
		0: {9, 14, 16, 20, 24, 29},
		1: {3, 5, 9, 13, 19, 27},
	} {
		if _, got := Split(30, .2, seed); !slices.Equal(got, want) {
			t.Errorf("seed %d: got %#v, want %#v", seed, got, want)
		}
	}
}

func TestSplitIsUniform(t *testing.T) {
	var held [10]int
	const seeds = 5000
	for seed := range uint64(seeds) {
		_, validation := Split(len(held), .2, seed)
		for _, row := range validation {
			held[row]++
		}
	}
	for row, n := range held {
		if math.Abs(float64(n)-seeds*.2) > 5*math.Sqrt(seeds*.16) {
			t.Errorf("row %d was held out by %d of %d seeds", row, n, seeds)
		}
	}
}
