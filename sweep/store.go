package sweep

import (
	"context"
	"time"
)

// Store is the truth about sweeps: the broker only carries. Every method is
// one transaction, safe for concurrent use, and safe to repeat. An unknown
// sweep or trial is ErrNotFound, wrapped.
type Store interface {
	Reader
	// Close releases the connections.
	Close() error

	// CreateSweep stores a new active sweep whose first grid has points points,
	// cursor 0.
	CreateSweep(ctx context.Context, id string, submission *Submission, points int64) error
	// AddGrid appends a further grid and makes the sweep active again.
	AddGrid(ctx context.Context, id string, submission *Submission, points int64) (GridRecord, error)
	// SetSweepState changes the state; SetSweepPriority the priority.
	SetSweepState(ctx context.Context, id string, state SweepState) error
	SetSweepPriority(ctx context.Context, id string, priority int) error

	// AddTrials writes the next page of a grid's trials as pending and moves the
	// grid's cursor from from to from+len(trials); if the cursor is not at from
	// the page is already written and nothing changes. With the submission's
	// Reuse, trials whose fingerprint has a completed result (in the store or
	// earlier in the sweep) become completed with that result and its curves,
	// ReusedFrom set. It returns how many.
	AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []Trial) (reused int, err error)
	// PendingTrials returns up to limit pending trials in index order.
	PendingTrials(ctx context.Context, id string, limit int) ([]Trial, error)
	// MarkQueued moves the pending ones of these trials to queued.
	MarkQueued(ctx context.Context, trials []TrialID) error
	// Record applies events in order, all or none; see Event and RecordReport.
	// The first terminal result of a trial wins.
	Record(ctx context.Context, events []Event) (RecordReport, error)
	// Unheard returns up to limit queued or running trials of active sweeps that
	// were last queued or heard of before the given time, in index order after
	// the trial after (nil for the first page).
	Unheard(ctx context.Context, before time.Time, after *TrialID, limit int) ([]TrialID, error)
	// Requeue puts the queued or running ones of these trials back to pending.
	Requeue(ctx context.Context, trials []TrialID) (int64, error)
	// CancelTrials cancels all trials of a sweep that are not terminal, its
	// unwritten points included, makes the sweep cancelled if there were any, and
	// returns those that were queued or running.
	CancelTrials(ctx context.Context, id string) ([]TrialID, error)
	// RetryTrials puts failed and cancelled trials back to pending, their
	// charges forgotten, makes the sweep active if there were any, and returns
	// how many, unwritten points included.
	RetryTrials(ctx context.Context, id string) (int64, error)
}

// Reader is the part of a Store that changes nothing. A coordinator's clients
// have one too.
type Reader interface {
	// Sweep finds one sweep by id, by a unique prefix of an id, by a name (the
	// newest of that name), or the newest of all for "" and "latest".
	Sweep(ctx context.Context, reference string) (*SweepRecord, error)
	// Sweeps lists the sweeps in the given states (all if none is given), newest first.
	Sweeps(ctx context.Context, states ...SweepState) ([]SweepRecord, error)
	// Progress counts a sweep's trials at a cost independent of their number.
	Progress(ctx context.Context, id string) (Progress, error)
	// Trial loads one trial with its result.
	Trial(ctx context.Context, id TrialID) (*TrialRecord, error)
	// Trials calls yield for each trial that fits the query, in its order, until
	// yield returns an error, which it returns.
	Trials(ctx context.Context, query TrialQuery, yield func(*TrialRecord) error) error
	// Curves loads the curves of one trial, all metrics if none is named.
	Curves(ctx context.Context, id TrialID, metrics ...string) ([]Curve, error)
	// Query runs one read-only SQL statement and calls yield for each row;
	// columns are the same in every call. A statement that would write is refused.
	Query(ctx context.Context, sql string, yield func(columns []string, row []any) error) error
}

// RecordReport tells what Record did.
type RecordReport struct {
	// Terminal counts the trials that reached a terminal state.
	Terminal int
	// Repeated counts results of trials that were terminal before; Faults those
	// of them whose digest differs.
	Repeated, Faults int
	// Released counts trials put back to pending.
	Released int
	// Unknown counts events about trials that the store does not hold,
	// Malformed those of an unknown kind or without what their kind needs.
	Unknown, Malformed int
}

// TrialQuery selects and orders trials.
type TrialQuery struct {
	// Sweeps are ids; empty means all.
	Sweeps []string
	// States are the accepted states; empty means all.
	States []State
	// Where must all hold.
	Where []TrialCondition
	// OrderBy is a parameter, a summary metric or a column ("index", "seconds",
	// "parameter_count", "best_epoch"); empty means index. Trials without it come last.
	OrderBy    string
	Descending bool
	// Limit is the largest number of trials; 0 means all.
	Limit int
}

// TrialCondition compares a parameter, a summary metric or a column with a
// value. Numbers compare with numbers and texts with texts; a value of another
// type is unequal, and neither smaller nor larger. A trial without the name
// fits no condition but "= nil".
type TrialCondition struct {
	Name string
	// Operator is one of =, !=, <, <=, >, >=.
	Operator string
	Value    any
}
