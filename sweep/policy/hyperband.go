package policy

import (
	"slices"

	"sweep/sweep"
)

// Decision stops a trial.
type Decision struct {
	// Trial is its place in the list.
	Trial int
	// Band is a number of values. Value is worse than Threshold, the worst of the best 1/eta of so many values there.
	Band             int64
	Value, Threshold float64
	Trials           int
}

// Marked is a trial with its marks.
type Marked struct {
	sweep.Marks
	// Running trials can be stopped; the others are only compared with.
	Running bool
}

// Hyperband returns which of the running trials W&B's early_terminate with type: hyperband stops. Its rule: the
// threshold of a band is value number int(n/eta), from 0, of the n values there in order; a trial is compared at the
// highest band that it has reached; ties go on.
func Hyperband(rule *sweep.Stopping, trials []Marked) (stops []Decision) {
	h, sign := rule.Hyperband, 1.0
	if rule.Goal == sweep.Maximize {
		sign = -1
	}
	rank := 1 / h.Eta // W&B multiplies by it
	thresholds, counts := make([]float64, len(h.Bands)), make([]int, len(h.Bands))
	var values []float64
	for i := range h.Bands {
		values = values[:0]
		for t := range trials {
			if i < len(trials[t].Values) {
				values = append(values, sign*float64(trials[t].Values[i]))
			}
		}
		if counts[i] = len(values); counts[i] == 0 {
			break
		}
		slices.Sort(values)
		thresholds[i] = values[int(rank*float64(len(values)))]
	}
	for t := range trials {
		trial := &trials[t]
		last := min(len(trial.Values), len(h.Bands)) - 1 // there are more only of a worker that has other bands
		if !trial.Running || last < 0 {
			continue
		}
		value := sign * float64(trial.Best)
		if h.Strict {
			value = sign * float64(trial.Values[last])
		}
		if value > thresholds[last] {
			stops = append(stops, Decision{t, h.Bands[last], sign * value, sign * thresholds[last], counts[last]})
		}
	}
	return stops
}
