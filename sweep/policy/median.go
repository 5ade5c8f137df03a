package policy

import (
	"math"
	"slices"
)

// Median stops a trial whose best value so far is worse than the median, over the completed trials of
// earlier generations, of the value that they had after as many reports: the rule of Optuna's
// MedianPruner (of Vizier's, Katib's and Syne Tune's none). What a trial is compared with is known
// before it starts, so where it stops depends on its own values alone.
type Median struct {
	// Startup is how many trials must have reached a report before it is judged; 5 in Optuna.
	Startup int
	// Warmup is how many reports are not judged.
	Warmup int
}

// Thresholds returns the medians by report, from the first one on, +Inf where nothing is judged.
// Completed are the values of the trials that completed; smaller is better.
func (m *Median) Thresholds(completed [][]float64) []float64 {
	var thresholds []float64
	for report := 0; ; report++ {
		var values []float64
		for _, reports := range completed {
			if len(reports) > report && !math.IsNaN(reports[report]) {
				values = append(values, reports[report])
			}
		}
		if len(values) == 0 {
			return thresholds
		}
		threshold := math.Inf(1)
		if len(values) >= m.Startup && report >= m.Warmup {
			slices.Sort(values)
			threshold = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
		}
		thresholds = append(thresholds, threshold)
	}
}

// Judge returns after how many reports a trial with these values stops, with the best of them; 0 if it
// does not.
func (m *Median) Judge(values, thresholds []float64) (reports int, best float64) {
	best = math.Inf(1)
	for i, value := range values {
		if value < best {
			best = value
		}
		if i < len(thresholds) && best > thresholds[i] {
			return i + 1, best
		}
	}
	return 0, best
}
