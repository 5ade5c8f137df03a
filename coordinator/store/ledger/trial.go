package ledger

import (
	"time"

	"sweep/sweep"
)

// Trial is the part of a stored trial that events change.
type Trial struct {
	// Key is the store's own key.
	Key   int64
	ID    sweep.TrialID
	Class Class
	// Budget is the store's key of the budget that it uses, 0 if there is none.
	Budget int64
	// Point is the store's key of its grid point, Seed its seed, 0 if it has none.
	Point, Seed int64
	// State and the fields up to Execution are columns of the trial.
	State      sweep.State
	Diverged   bool
	Executions int
	Charged    int
	Losses     int
	Worker     string
	StartedAt  time.Time
	FinishedAt time.Time
	// Execution is the one that started last.
	Execution string
	// HeardAt is when the trial was queued or last heard of, before these events.
	HeardAt time.Time
	// Outdated means that it was queued before its sweep, which errors had paused, was retried.
	Outdated bool
	// Unconfirmed means that it failed, and that its worker may be to blame. Retracted means that such a failure was
	// taken back.
	Unconfirmed, Retracted bool
	// Refusals counts what workers refused, refused that of these events.
	Refusals int
	refused  int64
	// Digest and KernelLevel are those of the recorded result, if there is one.
	Digest      string
	KernelLevel string

	// Outcome is set when these events made the trial terminal: the store
	// writes it. Revived is set if its earlier outcome is to be deleted first.
	Outcome *sweep.Result
	Revived bool
	// Curves, if ReplaceCurves is set, replace the stored ones. Those are loaded for trials
	// to which samples are added.
	Curves        []sweep.Curve
	ReplaceCurves bool
	// Marks, if not nil, replace the stored ones.
	Marks *sweep.Marks

	// loaded is the state before the events, wasUnconfirmed what Unconfirmed was.
	loaded         sweep.State
	wasUnconfirmed bool
	// doubt is what is known of its failure, if that may be unconfirmed.
	doubt *Doubt
}

// runUnder makes an execution the trial's last.
func (t *Trial) runUnder(e *Execution) {
	t.Execution, t.Worker, t.StartedAt = e.ID, e.Worker, e.StartedAt
}
