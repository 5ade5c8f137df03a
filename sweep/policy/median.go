package policy

import (
	"slices"

	"sweep/sweep"
)

// MedianLimits returns by what the trials of a generation are stopped, from the marks of the trials
// before it: at each position the median of the values that these have there. That is the rule of
// Optuna's MedianPruner, which compares the best value so far with it, but for two things: trials that
// were stopped count as far as they got, and there are enough trials if so many have a value at the
// position. Of an even number of values the median is the mean of the two in the middle.
func MedianLimits(rule *sweep.Median, marks [][]float32) (limits []sweep.StopLimit) {
	var values []float64
	for i := 0; ; i++ {
		values = values[:0]
		for _, m := range marks {
			if i < len(m) {
				values = append(values, float64(m[i]))
			}
		}
		n := len(values)
		if n == 0 || int64(n) < rule.StartupTrials {
			return limits
		}
		at := sweep.StopPosition(i)
		if at <= rule.WarmupSteps {
			continue
		}
		slices.Sort(values)
		limits = append(limits, sweep.StopLimit{At: at, Value: (values[(n-1)/2] + values[n/2]) / 2, Trials: n})
	}
}
