package main

import (
	"context"
	"math"

	"sweep/sweep"
)

// fillNotFinite enters the metrics that are not finite into the summary of a trial: the last value of their curve, NaN
// without one.
func fillNotFinite(ctx context.Context, results sweep.Reader, t *sweep.TrialRecord) error {
	if t.Result == nil || len(t.Result.NotFinite) == 0 {
		return nil
	}
	curves, err := results.Curves(ctx, t.TrialID)
	if err != nil {
		return err
	}
	if t.Result.Summary == nil {
		t.Result.Summary = map[string]float64{}
	}
	for _, name := range t.Result.NotFinite {
		t.Result.Summary[name] = math.NaN()
	}
	for _, c := range curves {
		if v, there := t.Result.Summary[c.Metric]; !there || len(c.Values) == 0 || !math.IsNaN(v) {
			continue
		}
		if last := c.Values[len(c.Values)-1]; !finite(last) {
			t.Result.Summary[c.Metric] = float64(last)
		}
	}
	return nil
}

// plainTrial is a trial as JSON has it.
type plainTrial struct {
	*sweep.TrialRecord
	Result *sweep.PlainResult `json:"result,omitempty"`
}
