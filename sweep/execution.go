package sweep

import "time"

// Execution is one attempt at a trial, as a store holds it.
type Execution struct {
	ID        string    `json:"execution"`
	Worker    string    `json:"worker"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Outcome is how it ended, or ExecutionRunning.
	Outcome ExecutionOutcome `json:"outcome"`
	// Charged says that it counts against the trial, which was to blame for its end or, of a lost
	// one, whose worker vanished. Forgotten says that a retry has reset that.
	Charged   bool `json:"charged,omitempty"`
	Forgotten bool `json:"forgotten,omitempty"`
	// Checkpoint is the last step of which the worker has a checkpoint.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Reason says why it ended without a result, Note what was unusual about its start.
	Reason string `json:"reason,omitempty"`
	Note   string `json:"note,omitempty"`
	// LogSize is the size of what is kept of its log, in bytes.
	LogSize int64 `json:"log_size,omitempty"`
}

// ExecutionOutcome is how an execution ended.
type ExecutionOutcome string

// The outcomes of an execution. A lost one had not ended when another one started.
const (
	ExecutionRunning  ExecutionOutcome = "running"
	ExecutionResult   ExecutionOutcome = "result"
	ExecutionReleased ExecutionOutcome = "released"
	ExecutionLost     ExecutionOutcome = "lost"
)

// LogLimit is how many bytes are kept of the end of an execution's log.
const LogLimit = 64 << 10

// Log is the end, or a part of the end, of what a trainer wrote to standard error.
type Log struct {
	Text string `json:"text"`
	// Start is how many bytes the trainer wrote before Text in this execution.
	Start int64 `json:"start,omitempty"`
}
