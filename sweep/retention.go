package sweep

import "time"

// Retention says what ended sweeps keep. A zero time removes nothing. Results, which are small,
// are removed with their sweep only.
type Retention struct {
	// Events removes execution records and refusals of sweeps that ended before it, and
	// quarantined events that came before it.
	Events time.Time `json:"events,omitzero"`
	// Curves likewise removes curves, except those that trials of other sweeps reuse.
	Curves time.Time `json:"curves,omitzero"`
	// Sweeps likewise removes whole sweeps.
	Sweeps time.Time `json:"sweeps,omitzero"`
}

// Removed counts what was removed.
type Removed struct {
	Sweeps int64 `json:"sweeps"`
	Trials int64 `json:"trials"`
	// Events counts records of executions, refusals and quarantined events.
	Events int64 `json:"events"`
	Curves int64 `json:"curves"`
	// Deleted are the removed sweeps, whose artifacts can be removed.
	Deleted []DeletedSweep `json:"deleted,omitempty"`
}

// DeletedSweep is a removed sweep.
type DeletedSweep struct {
	ID   string `json:"id"`
	Pool string `json:"pool"`
}
