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
	// EventRefused: the worker cannot run the trial; see Refusal. It is no
	// execution, and nobody's failure.
	EventRefused EventKind = "refused"
	// EventLost: the worker of an execution vanished while it ran. The coordinator
	// reports it, never a worker. Without Execution it is the one that runs. The
	// store counts it, and fails the trial once its losses reach the sweep's
	// Limits.Losses.
	EventLost EventKind = "lost"
)

// Event is one report about one execution of one trial.
type Event struct {
	Kind EventKind `json:"kind"`
	TrialID
	// Execution identifies the execution, unique over all workers and time.
	Execution string    `json:"execution"`
	Worker    string    `json:"worker"`
	Time      time.Time `json:"time"`
	// Started is when the execution began, for one whose EventStarted was left
	// out because its result followed soon.
	Started time.Time `json:"started,omitzero"`
	// Note is what is remarkable about the execution, as that it set a checkpoint
	// aside. It belongs to the first event of an execution.
	Note string `json:"note,omitempty"`
	// Curves belong to EventPoints.
	Curves []Curve `json:"curves,omitempty"`
	// Checkpoint is the step that EventCheckpoint reached.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Heard, of an EventLost, is when the trial had last been heard of when its worker was
	// found to have vanished: one that was heard of since is not lost. Zero is any time.
	Heard time.Time `json:"-"`
	// Result belongs to EventResult.
	Result *Result `json:"result,omitempty"`
	// Release belongs to EventReleased.
	Release *Release `json:"release,omitempty"`
	// Refusal belongs to EventRefused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Log is the end of the execution's log, of one that ended; LogStart is how many
	// bytes came before it. Release.Stderr stands for it if it is set.
	Log      string `json:"log,omitempty"`
	LogStart int64  `json:"log_start,omitempty"`
}

// Refusal says why a worker cannot run a trial: it lacks the trainer, the data,
// the memory. The store puts the trial back to pending; another worker may have
// what it needs.
type Refusal struct {
	Reason string `json:"reason"`
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
