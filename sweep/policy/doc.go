// Package policy chooses the points of a search by results. A policy is a pure function of the trials
// so far: it has no clock and no state, does not depend on the order in which trials ended, and draws
// random numbers by the index of the point. So the same results lead to the same points, on any number
// of workers, with whatever interruptions between, and with the same bits on every machine.
//
//	search, err := policy.NewTPE(&submission.Spec, &submission.Description)
//	next, err := search.Next(ctx, trials) // the next generation
package policy

import "sweep/sweep"

// Trial is a trial that has ended.
type Trial struct {
	// Parameters are resolved, as a store has them.
	Parameters sweep.Parameters
	// Value is the metric, NaN if there is none: the trial failed, was cancelled or diverged, or was stopped early and
	// the search does not take that. A smaller one is better.
	Value float64
	// Skipped is why the trial was not run, if it was not.
	Skipped string
}

// Point is a point of the next generation.
type Point struct {
	sweep.Parameters
	// Skip is why its trial is not run, "" if it is.
	Skip string
}
