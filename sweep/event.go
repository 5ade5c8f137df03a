package sweep

import "time"

// EventKind says what a worker reports of an execution.
type EventKind string

// The kinds of event, in the order in which an execution sends them.
const (
	// EventStarted: a worker slot has handed the trial to its trainer.
	EventStarted EventKind = "started"
	// EventPoints carries the curves so far, thinned; it replaces earlier ones.
	EventPoints EventKind = "points"
	// EventCheckpoint says that the worker keeps a checkpoint of the execution.
	EventCheckpoint EventKind = "checkpoint"
	// EventResult carries the terminal result.
	EventResult EventKind = "result"
	// EventReleased: the execution ended without a result; see Release.
	EventReleased EventKind = "released"
)

// Event is one report about one execution of one trial.
type Event struct {
	Kind EventKind `json:"kind"`
	TrialID
	// Execution identifies the execution, unique over all workers and time.
	Execution string    `json:"execution"`
	Worker    string    `json:"worker"`
	Time      time.Time `json:"time"`
	// Curves belong to EventPoints.
	Curves []Curve `json:"curves,omitempty"`
	// Checkpoint is the step that EventCheckpoint reached.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Result belongs to EventResult.
	Result *Result `json:"result,omitempty"`
	// Release belongs to EventReleased.
	Release *Release `json:"release,omitempty"`
}

// Release says why an execution ended without a result. The store puts the
// trial back to pending, or fails it once its charged executions reach the
// sweep's Limits.Attempts. A second release of one execution replaces its
// charge: a worker that finds itself broken takes back what it charged.
type Release struct {
	// Charged says that the trial is to blame as far as the worker can tell.
	Charged bool   `json:"charged"`
	Reason  string `json:"reason"`
	Stderr  string `json:"stderr,omitempty"`
}
