package sweep

import "time"

// Retention says what ended sweeps keep. A time that is zero leaves everything;
// results, which are small, go with their sweep alone.
type Retention struct {
	// Events is before when a sweep must have ended for its executions' records and
	// its refusals to be removed, and events to have come for them to leave
	// quarantine.
	Events time.Time `json:"events,omitzero"`
	// Curves is the same for curves, but for those that trials of other sweeps took
	// over.
	Curves time.Time `json:"curves,omitzero"`
	// Sweeps is the same for whole sweeps.
	Sweeps time.Time `json:"sweeps,omitzero"`
}

// Removed counts what was removed.
type Removed struct {
	Sweeps int64 `json:"sweeps"`
	Trials int64 `json:"trials"`
	// Events counts records of executions, refusals and quarantined events.
	Events int64 `json:"events"`
	Curves int64 `json:"curves"`
	// Deleted are the sweeps that went, whose artifacts are nobody's now.
	Deleted []DeletedSweep `json:"deleted,omitempty"`
}

// DeletedSweep is a sweep that is no more.
type DeletedSweep struct {
	ID   string `json:"id"`
	Pool string `json:"pool"`
}
