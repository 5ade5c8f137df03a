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
	// EventRefused: the worker cannot run the trial; see Refusal. It is neither an execution nor
	// a failure.
	EventRefused EventKind = "refused"
	// EventLost: the worker of an execution vanished while it ran; without Execution, of the one
	// that runs. Only the coordinator reports it. The store counts it, and fails the trial at the
	// sweep's Limits.Losses.
	EventLost EventKind = "lost"
	// EventRetracted: the failure of an execution does not count, because its worker was set aside; Note says why. Only
	// the coordinator reports it.
	EventRetracted EventKind = "retracted"
)

// Coordinator is the Event.Worker of trials that the coordinator itself ends.
const Coordinator = "coordinator"

// Event is one report about one execution of one trial.
type Event struct {
	Kind EventKind `json:"kind"`
	TrialID
	// Execution identifies the execution, unique over all workers and time.
	Execution string    `json:"execution"`
	Worker    string    `json:"worker"`
	Time      time.Time `json:"time"`
	// Started is when the execution began, if its EventStarted was left out because the result
	// followed soon.
	Started time.Time `json:"started,omitzero"`
	// Alone says that nothing else runs in the worker beside the execution. It is in the execution's first event.
	Alone bool `json:"alone,omitempty"`
	// Note is what is unusual about the execution, as a rejected checkpoint. It is in the
	// execution's first event, or in its last one if it was not known before.
	Note string `json:"note,omitempty"`
	// Curves belong to EventPoints.
	Curves []Curve `json:"curves,omitempty"`
	// Marks belong to EventPoints of a trial about which the coordinator decides whether it stops.
	Marks *Marks `json:"marks,omitempty"`
	// Checkpoint is the step that EventCheckpoint reached.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Heard, of an EventLost, is when the trial had last been heard of when its worker was found
	// to have vanished: it is not lost if it was heard of since. Zero is any time.
	Heard time.Time `json:"-"`
	// Result belongs to EventResult.
	Result *Result `json:"result,omitempty"`
	// Release belongs to EventReleased.
	Release *Release `json:"release,omitempty"`
	// Refusal belongs to EventRefused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Use is what the end of an execution tells of its class: whether its trials use GPUs.
	Use *DeviceUse `json:"use,omitempty"`
	// Log is the end of the log of an execution that ended; LogStart is how many bytes came
	// before it. Release.Stderr, if set, replaces it.
	Log      string `json:"log,omitempty"`
	LogStart int64  `json:"log_start,omitempty"`
}

// DeviceUse says whether a trial of a class used the GPU that it held, where the sweep file does not say.
type DeviceUse struct {
	Class int  `json:"class"`
	Used  bool `json:"used,omitempty"`
	// Process was seen on a GPU, Devices are what the trial held.
	Process int    `json:"process,omitempty"`
	Devices string `json:"devices,omitempty"`
}

// Refusal says why a worker cannot run a trial: it lacks the trainer, the data or the memory. The
// store makes the trial pending again, for other workers.
type Refusal struct {
	Reason string `json:"reason"`
}

// Release says why an execution ended without a result. The store makes the trial pending again,
// or fails it at the sweep's Limits.Attempts. A second release of an execution replaces its
// charge: a worker that finds itself broken takes back what it charged.
type Release struct {
	// Charged says that the trial is to blame, as far as the worker can tell.
	Charged bool   `json:"charged"`
	Reason  string `json:"reason"`
	Stderr  string `json:"stderr,omitempty"`
}
