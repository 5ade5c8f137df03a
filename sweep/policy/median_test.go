package policy

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// The limits are the medians of the values at the same position, as Optuna's MedianPruner has them
// (numpy.nanpercentile 50), wherever so many trials have a value.
func TestMedianLimits(t *testing.T) {
	observed := func(values ...[]float32) (list []sweep.Observation) {
		for i, v := range values {
			list = append(list, sweep.Observation{Trial: int64(i), Values: v})
		}
		return list
	}
	marks := [][]float32{{10, 9, 8}, {10, 8}, {10, 7, 7, 7}, {4, 6.5, 3}, {}}
	tests := []struct {
		name string
		rule Median
		want []sweep.StopLimit
	}{
		{"all", Median{StartupTrials: 1}, []sweep.StopLimit{{At: 1, Value: 10, Trials: 4},
			{At: 2, Value: 7.5, Trials: 4}, {At: 3, Value: 7, Trials: 3}, {At: 4, Value: 7, Trials: 1}}},
		{"startup trials", Median{StartupTrials: 3}, []sweep.StopLimit{{At: 1, Value: 10, Trials: 4},
			{At: 2, Value: 7.5, Trials: 4}, {At: 3, Value: 7, Trials: 3}}},
		{"too few", Median{StartupTrials: 5}, nil},
		{"warmup", Median{StartupTrials: 3, WarmupSteps: 2}, []sweep.StopLimit{{At: 3, Value: 7, Trials: 3}}},
		{"none", Median{StartupTrials: 0}, []sweep.StopLimit{{At: 1, Value: 10, Trials: 4},
			{At: 2, Value: 7.5, Trials: 4}, {At: 3, Value: 7, Trials: 3}, {At: 4, Value: 7, Trials: 1}}},
	}
	for _, test := range tests {
		if got := medianLimits(&test.rule, observed(marks...)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if got := medianLimits(&Median{StartupTrials: 1}, observed(make([]float32, 40))); got[39].At != sweep.StopPosition(39) {
		t.Errorf("the last limit is at %d", got[39].At)
	}
}

func TestMedianGeneration(t *testing.T) {
	seeds := sweep.Axis{Parameters: []sweep.AxisParameter{{Name: sweep.SeedParameter, Values: sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 3,
		Integer: true}}}}}
	m := Median{Batch: 4}
	for _, test := range []struct {
		spec sweep.Spec
		want int64
	}{
		{sweep.Spec{}, 4}, {sweep.Spec{Axes: []sweep.Axis{seeds}}, 12},
		{sweep.Spec{Axes: []sweep.Axis{seeds}, Random: &sweep.Random{}}, 4}, // seeds are drawn like any parameter
		{sweep.Spec{Axes: []sweep.Axis{seeds}, Random: &sweep.Random{Replicated: true}}, 12},
	} {
		if got := m.size(&test.spec); got != test.want {
			t.Errorf("%+v: %d trials, want %d", test.spec, got, test.want)
		}
	}
}
