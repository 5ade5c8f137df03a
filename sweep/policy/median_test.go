package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	m := Median{Startup: 3, Warmup: 1}
	completed := [][]float64{{9, 8, 7, 1}, {5, 4, 3, 1}, {7, 6, math.NaN()}, {6, 5, 4}, {8}}
	thresholds := m.Thresholds(completed)
	infinite := math.Inf(1)
	if want := []float64{infinite, 5.5, 4, infinite}; !slices.Equal(thresholds, want) {
		t.Errorf("thresholds %v, want %v", thresholds, want)
	}
	for _, c := range []struct {
		values  []float64
		reports int
		best    float64
	}{
		{[]float64{9, 5.5, 4, 9}, 0, 4}, // as good as the median
		{[]float64{9, 5.6, 0}, 2, 5.6},
		{[]float64{5, 9, 9, 0}, 3, 5}, // its best one counts
		{[]float64{math.NaN(), math.NaN()}, 2, infinite},
		{[]float64{9}, 0, 9},
	} {
		if reports, best := m.Judge(c.values, thresholds); reports != c.reports || best != c.best {
			t.Errorf("%v: stops after %d with %v, want %d and %v", c.values, reports, best, c.reports, c.best)
		}
	}
	for range 20 {
		rand.Shuffle(len(completed), func(i, j int) { completed[i], completed[j] = completed[j], completed[i] })
		if got := m.Thresholds(completed); !slices.Equal(got, thresholds) {
			t.Errorf("in another order %v", got)
		}
	}
}
