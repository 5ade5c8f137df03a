package statistics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"sweep/sweep/statistics"
)

func TestMoments(t *testing.T) {
	t.Parallel()
	if m := statistics.MomentsOf(nil); m.N != 0 || !math.IsNaN(m.SD()) {
		t.Errorf("no values: %+v", m)
	}
	if m := statistics.MomentsOf([]float64{math.NaN(), -3}); m.N != 1 || m.Mean != -3 || m.Min != -3 || m.Max != -3 ||
		!math.IsNaN(m.SD()) {
		t.Errorf("one value: %+v", m)
	}
	if m := statistics.MomentsOf([]float64{4, 1, math.NaN(), 7}); m.N != 3 || m.Mean != 4 || m.SD() != 3 || m.Min != 1 ||
		m.Max != 7 {
		t.Errorf("three values: %+v, deviation %v", m, m.SD())
	}
	// A deviation that is small beside the mean, and values whose sum is no number.
	random := rand.New(rand.NewPCG(1, 2))
	var m statistics.Moments
	for range 10_000 {
		m.Add(1e9 + random.NormFloat64())
	}
	if math.Abs(m.Mean-1e9) > 0.1 || math.Abs(m.SD()-1) > 0.03 {
		t.Errorf("mean %v, deviation %v", m.Mean, m.SD())
	}
	if m := statistics.MomentsOf([]float64{1e308, 1e308, 1e308}); m.Mean != 1e308 || m.SD() != 0 {
		t.Errorf("%+v", m)
	}
}
