package dataset

import (
	"math"
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		n         int
		fraction  float64
		wantHeld  int
		wantTrain int
	}{
		{30, .2, 6, 24}, {23, .2, 5, 18}, {36, .2, 7, 29}, {24, .2, 5, 19}, // 4.6, 7.2 and 4.8
		{450, .2, 90, 360}, {10, .25, 3, 7}, {10, .05, 1, 9}, // halves round up
		{2, .2, 1, 1}, {2, .99, 1, 1}, {2, 5, 1, 1}, {5, 0, 0, 5}, {5, -1, 1, 4}, {5, math.NaN(), 1, 4},
		{5, math.Inf(1), 4, 1},
		{1, .2, 0, 1}, {0, .2, 0, 0},
	} {
		train, validation := Split(make([]int, c.n), SplitRandom, c.fraction, 1)
		if len(train) != c.wantTrain || len(validation) != c.wantHeld {
			t.Errorf("Split(%d, %v): %d to train, %d held out; want %d, %d", c.n, c.fraction, len(train),
				len(validation), c.wantTrain, c.wantHeld)
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
		0: {0, 2, 5, 6, 13, 24},
		1: {6, 9, 14, 21, 23, 29},
	} {
		if _, got := Split(make([]int, 30), SplitRandom, .2, seed); !slices.Equal(got, want) {
			t.Errorf("seed %d: got %#v, want %#v", seed, got, want)
		}
	}
	labels := []int{2, 1, 2, 2, 2, 1} // and then 5 of class 0, 9 of class 1 and 15 of class 2
	for i := len(labels); i < 30; i++ {
		labels = append(labels, []int{0, 1, 2, 2, 2, 1}[i%6])
	}
	for seed, want := range map[uint64][]int{
		0: {0, 2, 5, 6, 13, 14},
		1: {6, 9, 14, 21, 23, 29},
	} {
		if _, got := Split(labels, SplitStratified, .2, seed); !slices.Equal(got, want) {
			t.Errorf("stratified, seed %d: got %#v, want %#v", seed, got, want)
		}
	}
}

func TestSplitIsUniform(t *testing.T) {
	var held [10]int
	const seeds = 5000
	for seed := range uint64(seeds) {
		_, validation := Split(make([]int, len(held)), SplitRandom, .2, seed)
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

// Every class of two series or more is on both sides, in its share, whatever the seed; a random split leaves some out.
func TestStratifiedSplit(t *testing.T) {
	for name, c := range map[string]struct {
		counts   []int // series of each class
		fraction float64
		want     []int // held out of each
	}{
		"even":           {[]int{10, 10, 10}, .2, []int{2, 2, 2}},
		"proportional":   {[]int{10, 30, 60}, .2, []int{2, 6, 12}},
		"remainders":     {[]int{7, 7, 6}, .25, []int{2, 2, 1}}, // 5 of 20: 1.75, 1.75, 1.5
		"small class":    {[]int{40, 2}, .2, []int{7, 1}},       // 8 of 42: 7.6, 0.4
		"single":         {[]int{9, 1}, .2, []int{2, 0}},
		"more than held": {[]int{3, 3, 3, 3}, .1, []int{1, 1, 1, 1}},
		"nearly all":     {[]int{2, 4}, .9, []int{1, 3}},
		"gap":            {[]int{5, 0, 5}, .2, []int{1, 0, 1}},
	} {
		var labels []int
		for class, count := range c.counts {
			for range count {
				labels = append(labels, class)
			}
		}
		for seed := range uint64(40) {
			train, validation := Split(labels, SplitStratified, c.fraction, seed)
			held := make([]int, len(c.counts))
			for _, row := range validation {
				held[labels[row]]++
			}
			if !slices.Equal(held, c.want) {
				t.Errorf("%s, seed %d: %v are held out of the classes, want %v", name, seed, held, c.want)
			}
			both := append(slices.Clone(train), validation...)
			slices.Sort(both)
			for i, row := range both {
				if row != i {
					t.Fatalf("%s, seed %d is no partition: %v and %v", name, seed, train, validation)
				}
			}
			if len(both) != len(labels) || !slices.IsSorted(train) || !slices.IsSorted(validation) {
				t.Errorf("%s, seed %d: %v and %v are not all rows in order", name, seed, train, validation)
			}
		}
	}
}

// Within a class each series is held out as often as another.
func TestStratifiedSplitIsUniform(t *testing.T) {
	labels := []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}
	held := make([]int, len(labels))
	const seeds = 5000
	for seed := range uint64(seeds) {
		_, validation := Split(labels, SplitStratified, .2, seed)
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
