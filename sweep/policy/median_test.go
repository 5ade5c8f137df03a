package policy

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// The limits are the medians of the values at the same position, as Optuna's MedianPruner has them
// (numpy.nanpercentile 50), wherever so many trials have a value.
func TestMedianLimits(t *testing.T) {
	marks := [][]float32{{10, 9, 8}, {10, 8}, {10, 7, 7, 7}, {4, 6.5, 3}, {}}
	tests := []struct {
		name string
		rule sweep.Median
		want []sweep.StopLimit
	}{
		{"all", sweep.Median{StartupTrials: 1}, []sweep.StopLimit{{At: 1, Value: 10, Trials: 4},
			{At: 2, Value: 7.5, Trials: 4}, {At: 3, Value: 7, Trials: 3}, {At: 4, Value: 7, Trials: 1}}},
		{"startup trials", sweep.Median{StartupTrials: 3}, []sweep.StopLimit{{At: 1, Value: 10, Trials: 4},
			{At: 2, Value: 7.5, Trials: 4}, {At: 3, Value: 7, Trials: 3}}},
		{"too few", sweep.Median{StartupTrials: 5}, nil},
		{"warmup", sweep.Median{StartupTrials: 3, WarmupSteps: 2}, []sweep.StopLimit{{At: 3, Value: 7, Trials: 3}}},
		{"none", sweep.Median{StartupTrials: 0}, []sweep.StopLimit{{At: 1, Value: 10, Trials: 4},
			{At: 2, Value: 7.5, Trials: 4}, {At: 3, Value: 7, Trials: 3}, {At: 4, Value: 7, Trials: 1}}},
	}
	for _, test := range tests {
		if got := MedianLimits(&test.rule, marks); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	long := make([]float32, 40)
	if got := MedianLimits(&sweep.Median{StartupTrials: 1}, [][]float32{long}); got[39].At != sweep.StopPosition(39) {
		t.Errorf("the last limit is at %d", got[39].At)
	}
}
