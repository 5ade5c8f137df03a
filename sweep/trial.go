package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// State is a trial's state:
//
//	pending → queued → running → completed | failed | cancelled | stopped
//
// A trial goes back to pending when its sweep is paused or its message is
// lost. Terminal states never change, except that a retry puts failed and
// cancelled trials back to pending.
type State string

// The states of a trial.
const (
	Pending   State = "pending"
	Queued    State = "queued"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	// Stopped: early stopping ended it, for the reason in its result. Its curves end there.
	Stopped State = "stopped"
	// Skipped: a race or halving decided, before it was to run, that it need not, for the reason in its
	// result.
	Skipped State = "skipped"
)

// States lists all states in the order of a trial's life.
var States = []State{Pending, Queued, Running, Completed, Failed, Cancelled, Stopped, Skipped}

// Terminal reports whether a trial in this state has its recorded result.
func (s State) Terminal() bool {
	return s == Completed || s == Failed || s == Cancelled || s == Stopped || s == Skipped
}

// TrialID is the sweep of a trial and its index there.
type TrialID struct {
	Sweep string `json:"sweep"`
	Index int64  `json:"index"`
}

// String returns "sweep/index".
func (id TrialID) String() string { return fmt.Sprintf("%s/%d", id.Sweep, id.Index) }

// Heard is a trial and when it was last queued or heard of.
type Heard struct {
	TrialID
	At time.Time
}

// Fingerprint identifies a result before it is computed: equal fingerprint,
// equal result. It is the hexadecimal SHA-256 of trainer name, trainer result
// version, dataset digest and canonical parameters.
type Fingerprint string

// NewFingerprint computes the fingerprint, with a zero byte between its parts.
func NewFingerprint(trainer, resultVersion, datasetDigest string, canonical []byte) Fingerprint {
	h := sha256.New()
	for _, part := range []string{trainer, resultVersion, datasetDigest} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(canonical)
	return Fingerprint(hex.EncodeToString(h.Sum(nil)))
}

// Trial is one point of a grid, replicate seed included, ready to be run.
type Trial struct {
	TrialID
	// Parameters are the resolved values, the trainer's defaults filled in.
	Parameters    Parameters  `json:"parameters"`
	Fingerprint   Fingerprint `json:"fingerprint"`
	DatasetDigest string      `json:"dataset_digest,omitempty"`
	// Class is the number of its class in the sweep: trials that need the same of a worker.
	Class int `json:"class,omitempty"`
	// Skipped is why it is not to run, "" if it is.
	Skipped string `json:"-"`
	// Lineage and Budget say which checkpoints the trial can continue from, see Description.Lineage.
	// The lineage is empty where none is asked for.
	Lineage Fingerprint `json:"-"`
	Budget  int64       `json:"-"`
	// Lost is how many of its executions were lost before it was taken, those included that do not count yet.
	Lost int `json:"lost,omitempty"`
	// Again says that it was executed before, and may have taken a worker with it that had not said so yet: its next
	// execution is announced before it trains.
	Again bool `json:"again,omitempty"`
}

// TrialRecord is a trial as a store has it.
type TrialRecord struct {
	Trial
	SweepName string `json:"sweep_name"`
	State     State  `json:"state"`
	// Executions counts started executions, Charged those that ended by the trial's own fault,
	// Losses those whose workers vanished.
	Executions int       `json:"executions"`
	Charged    int       `json:"charged"`
	Losses     int       `json:"losses,omitempty"`
	Worker     string    `json:"worker,omitempty"`
	QueuedAt   time.Time `json:"queued_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// ReusedFrom is the trial whose result is reused, if one is.
	ReusedFrom *TrialID `json:"reused_from,omitempty"`
	// Refusals counts refusals; LastRefusal is the last reason, RefusedBy its worker.
	Refusals    int    `json:"refusals,omitempty"`
	LastRefusal string `json:"last_refusal,omitempty"`
	RefusedBy   string `json:"refused_by,omitempty"`
	// RunName and RunGroup are what the program called its run.
	RunName  string `json:"run_name,omitempty"`
	RunGroup string `json:"run_group,omitempty"`
	// Annotation is the program's until a person changes it.
	Annotation
	// Result is set in terminal states; its curves are not loaded.
	Result *Result `json:"result,omitempty"`
}

// StateText is the state as people see it: a trial that completed may have diverged, or reuse a result.
func (t *TrialRecord) StateText() string {
	switch {
	case t.Result != nil && t.Result.Diverged:
		return "diverged"
	case t.ReusedFrom != nil:
		return "reused"
	}
	return string(t.State)
}

// TrialRow is what trials of one sweep are compared by. Parameters and Summary are the stored
// JSON objects. Summary and the fields after it are empty without a result.
type TrialRow struct {
	Index      int64
	State      State
	Diverged   bool
	Executions int
	Parameters []byte
	Summary    []byte

	Seconds           float64
	RunName, RunGroup string
	// Tags are the trial's with commas between them, also of one without a result.
	Tags string
	// Skipped is why the trial was skipped, if it was.
	Skipped string
}
