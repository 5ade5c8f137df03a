package sweep

import "time"

// Execution is one attempt at a trial, as a store holds it.
type Execution struct {
	ID        string    `json:"execution"`
	Worker    string    `json:"worker"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Outcome is how it ended, or that it runs.
	Outcome ExecutionOutcome `json:"outcome"`
	// Charged says that it counts against the trial: that the trial was to blame for
	// its end or, of a lost one, that its worker vanished. Forgotten says that a retry
	// has forgotten that.
	Charged   bool `json:"charged,omitempty"`
	Forgotten bool `json:"forgotten,omitempty"`
	// Checkpoint is the last step of which its worker kept a checkpoint.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Reason says why it ended without a result, Note what was remarkable about its
	// start.
	Reason string `json:"reason,omitempty"`
	Note   string `json:"note,omitempty"`
	// LogSize is how much of its log is kept, in bytes.
	LogSize int64 `json:"log_size,omitempty"`
}

// ExecutionOutcome is how an execution ended.
type ExecutionOutcome string

// The outcomes of an execution. A lost one ended without a word before another
// started.
const (
	ExecutionRunning  ExecutionOutcome = "running"
	ExecutionResult   ExecutionOutcome = "result"
	ExecutionReleased ExecutionOutcome = "released"
	ExecutionLost     ExecutionOutcome = "lost"
)

// LogLimit is how much of the end of an execution's log is kept, in bytes.
const LogLimit = 64 << 10

// Log is the end of what an execution's trainer wrote to standard error, or a part
// of it.
type Log struct {
	Text string `json:"text"`
	// Start is how many bytes the trainer wrote before Text in this execution.
	Start int64 `json:"start,omitempty"`
}
