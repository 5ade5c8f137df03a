package progress

import (
	"fmt"
	"time"

	"sweep/sweep"
)

// Snapshot is how far a sweep is at one moment. Its JSON form is what
// "--progress json" prints.
type Snapshot struct {
	Time  time.Time        `json:"time"`
	Sweep string           `json:"sweep"`
	Name  string           `json:"name"`
	State sweep.SweepState `json:"state"`
	// Reason says why the sweep waits or is paused.
	Reason string         `json:"reason,omitempty"`
	Done   int64          `json:"done"`
	Total  int64          `json:"total"`
	Counts sweep.Progress `json:"counts"`
	// Share is the part of the work that is done, by the trainer's estimates of cost if it has
	// any, from 0 to 1.
	Share float64 `json:"share"`
	// Seconds is the time since somebody began to look.
	Seconds float64 `json:"seconds"`
	// Rate is in trials a second, 0 if unknown.
	Rate float64 `json:"rate,omitempty"`
	// Left is the time to the end in seconds, 0 if unknown or nothing is left.
	Left float64 `json:"left,omitempty"`
	// Running has some of the running trials by index; Counts.Running counts all.
	Running []Running `json:"running,omitempty"`
	// Failures and Refusals are the most frequent reasons.
	Failures []Cause `json:"failures,omitempty"`
	Refusals []Cause `json:"refusals,omitempty"`
	// Best has the best trial of each group by the metric BestBy, the best of all first.
	BestBy string `json:"best_by,omitempty"`
	Best   []Best `json:"best,omitempty"`
}

// Running is a trial that runs.
type Running struct {
	Index int64  `json:"index"`
	Label string `json:"label"`
	// Step is the last step of a curve, Steps the number of steps; 0 if unknown.
	Step  int64 `json:"step,omitempty"`
	Steps int64 `json:"steps,omitempty"`
	// Metric is the metric that trials are compared by or, while it has no value, one that has; Value is
	// its last value, nil if that is not finite. Metric is empty before the first values.
	Metric string   `json:"metric,omitempty"`
	Value  *float64 `json:"value,omitempty"`
	// Seconds is how long the execution runs, Left how long it still will; 0 if that
	// is not known.
	Seconds float64 `json:"seconds"`
	Left    float64 `json:"left,omitempty"`
	// whole is how long the trial takes at its pace, 0 if that is not known.
	whole float64
}

// ValueText is the last value with four significant digits, "" if there is none yet.
func (r Running) ValueText() string {
	switch {
	case r.Metric == "":
		return ""
	case r.Value == nil:
		return "not finite"
	}
	return fmt.Sprintf("%.4g", *r.Value)
}

// Share is the part of the trial that is done, 0 if that is not known.
func (r Running) Share() float64 {
	if r.Steps <= 0 || r.Step > r.Steps {
		return 0
	}
	return float64(r.Step) / float64(r.Steps)
}

// Cause is a reason and how often it was given.
type Cause struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// Best is the best trial of a group.
type Best struct {
	// Group names the group by the values of its parameters.
	Group string  `json:"group"`
	Index int64   `json:"index"`
	Value float64 `json:"value"`
}
