package sweep_test

import (
	"math"
	"testing"

	"sweep/sweep"
)

// TestDigestOfFacts has facts that were integers once, with values that no integer has, and one that is volatile.
func TestDigestOfFacts(t *testing.T) {
	digest := func(summary map[string]float64, volatile ...string) string {
		set := map[string]bool{}
		for _, name := range volatile {
			set[name] = true
		}
		r := sweep.Result{State: sweep.Completed, Summary: summary}
		return r.ComputeDigest(set)
	}
	const name = sweep.BestEpochMetric
	seen := map[string]float64{}
	for _, v := range []float64{1, 2, 2.5, -3, 1 << 53, 1 << 54, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)} {
		d := digest(map[string]float64{name: v})
		if other, is := seen[d]; is {
			t.Errorf("%g has the digest of %g", v, other)
		}
		seen[d] = v
	}
	if digest(map[string]float64{name: 7}, name) != digest(nil) {
		t.Error("a volatile fact changes the digest")
	}
}
