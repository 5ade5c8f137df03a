// Package policy chooses what a sweep tries next from what was observed. A policy is a pure
// function: it has no clock, depends on no order of arrival, and draws random numbers by the
// index of the point, so that the same results lead to the same points, on any number of
// workers, with whatever interruptions between.
//
//	search, err := policy.NewTPE(&spec, policy.Generations{Batch: 16})
//	next, err := search.Step(state, observations, want)
package policy

import (
	"encoding/json"

	"sweep/sweep"
)

// Observation is what is known of a trial. A policy gets those of all its trials so far.
type Observation struct {
	// Index numbers the points of the policy from 0.
	Index int64
	// Outcome says how far the trial is.
	Outcome Outcome
	// Value is the metric of a completed trial; a smaller one is better.
	Value float64
}

// Outcome is how far a trial is.
type Outcome int

// The outcomes of a trial. One that failed or diverged counts as worse than all that completed.
const (
	Running Outcome = iota
	Completed
	Failed
)

// Decision is what a policy decided. What it holds is written in one transaction.
type Decision struct {
	// State is what the next step gets, nil for the first one.
	State json.RawMessage
	// Points are the next trials, numbered from where the last step ended.
	Points []sweep.Parameters
	// Done says that there will be no further points.
	Done bool
}

// Generations say which results a point may depend on: the points of generation g on those of
// generations before g - Lag alone, whichever others have come. So no point depends on the order
// in which trials end. With a lag of 1 the next generation is there before the last one ends.
type Generations struct {
	// Batch is the number of points of a generation.
	Batch int `json:"batch"`
	Lag   int `json:"lag,omitempty"`
}

// needed returns how many trials must have ended before the point with an index is chosen.
func (g Generations) needed(index int) int {
	return max(index/g.Batch-g.Lag, 0) * g.Batch
}
