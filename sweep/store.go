package sweep

import (
	"context"
	"strings"
	"time"
)

// Store is the truth about sweeps: the broker only carries. Its parts are named after those
// that use them. Every method is safe for concurrent use and safe to repeat, and is one
// transaction, except for those that go through all trials of a sweep: they take one for
// each page of trials, so that recording does not wait for them, and resume where they
// stopped when they are repeated. An unknown sweep or trial is ErrNotFound, wrapped; data
// that the database rejects are ErrRefused, wrapped.
type Store interface {
	Reader
	Queue
	EventRecorder
	Reconciler
	Administrator
	// Close releases the connections.
	Close() error
	// Cluster is the identity of the database.
	Cluster(ctx context.Context) (Cluster, error)
	// Lead waits until no other process leads this database, takes the lead, and
	// brings the schema up to date. From then on each of the store's writes checks, in
	// its own transaction, that the term is not over: otherwise it is a *DeposedError.
	Lead(ctx context.Context, options LeadOptions) (Lead, error)
	// Rows calls yield for each trial of a sweep from one index up to another, in index
	// order, with the columns that trials are compared by. The row is valid until yield
	// returns.
	Rows(ctx context.Context, id string, from, until int64, yield func(*TrialRow) error) error
	// Edited returns the trials of a sweep whose annotations were changed after the after-th such edit
	// of the sweep, and the number of the last one.
	Edited(ctx context.Context, id string, after int64) (trials []int64, last int64, err error)
	// Statement returns the SQL over the views that answers with a list of a sweep's trials: their indices, states,
	// whether they diverged, and the columns.
	Statement(ctx context.Context, id string, list Listing) (string, error)
}

// Queue is the part of a Store that a scheduler needs: it turns grid points into trials,
// and trials into jobs.
type Queue interface {
	// AddTrials writes the next page of a grid's trials as pending and moves the
	// grid's cursor from from to from+len(trials); if the cursor is not at from
	// the page is already written and nothing changes. classes has the requirements
	// of the trials' classes that the sweep does not have yet. With the submission's
	// Reuse, trials whose fingerprint has a completed result (in the store or
	// earlier in the sweep) become completed with that result and its curves,
	// ReusedFrom set. It returns how many. A result with a list of inputs is reused only if the
	// submission's Unchanged has it, or the result is of the same grid.
	AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []Trial,
		classes map[int]Requirement) (reused int, err error)
	// AddGeneration is AddTrials for trials that are stopped by a rule, which is nil for a page that goes on with the
	// generation before. It reuses only results that have marks of the metric.
	AddGeneration(ctx context.Context, id string, ordinal int, from int64, trials []Trial,
		classes map[int]Requirement, metric string, rule *StopRule) (reused int, err error)
	// StopLimits returns the limits of the generation whose first trial has an index, and of which rule they are.
	StopLimits(ctx context.Context, id string, first int64) (rule string, limits []StopLimit, err error)
	// Observations returns those of a metric of the trials of a sweep between two indices: those of trials that
	// run, or else the marks of completed and stopped ones.
	Observations(ctx context.Context, id, metric string, running bool, from, until int64) ([]Observation, error)
	// AddStops stores decisions. They are carried out about trials that run.
	AddStops(ctx context.Context, id string, stops []Stop) error
	// Stops returns the decisions about trials that have not ended, of active and paused sweeps.
	Stops(ctx context.Context) ([]Stop, error)
	// Backlog returns what is left of the active sweeps, or of the named ones.
	Backlog(ctx context.Context, ids ...string) ([]Backlog, error)
	// TakePending moves up to limit pending trials of a class to queued, in index
	// order, and returns them; those that another process put back may come last. It
	// takes none of a sweep that is no longer active.
	TakePending(ctx context.Context, id string, class, limit int) ([]Trial, error)
	// PendingTrials returns up to limit pending trials of a sweep from an index on, in index order.
	PendingTrials(ctx context.Context, id string, from int64, limit int) ([]Trial, error)
	// TakeTrials moves those of the named trials that are pending to queued, and returns them in
	// index order. It takes none of a sweep that is no longer active.
	TakeTrials(ctx context.Context, id string, indices []int64) ([]Trial, error)
	// Checkpoints returns what trials of a sweep, by their indices, can continue from: of each lineage the
	// CheckpointArtifact of the completed trial with the largest budget below the trial's, without one of a
	// trial that was stopped early, of any sweep in the same pool. It looks in the trial's own sweep alone if
	// the grid does not reuse results.
	Checkpoints(ctx context.Context, id string, trials []Trial) (map[int64]ArtifactRecord, error)
	// Requeue puts the queued ones of these trials back to pending. It skips those that do not exist, as
	// those of a deleted sweep.
	Requeue(ctx context.Context, trials []TrialID) (int64, error)
	// SetWaiting records whether no worker can run what is left of an active sweep, and
	// why.
	SetWaiting(ctx context.Context, id string, waiting bool, reason string) error
	// ConfirmFailures has the unconfirmed failures of a worker with the trials of a class count, those of all workers
	// if it is empty, of all classes if the class is negative.
	ConfirmFailures(ctx context.Context, id string, class int, worker string) error
	// RetractFailures puts the trials of such failures back to pending, each once, and returns how many.
	RetractFailures(ctx context.Context, id string, class int, worker, why string) (int, error)
	// GoodTrial returns a short trial of a class that has completed, nil if there is none.
	GoodTrial(ctx context.Context, id string, class int) (*Trial, error)
	// Suspend pauses a sweep for a reason, if it is active.
	Suspend(ctx context.Context, id, reason string) error
}

// EventRecorder is the part of a Store that a collector needs.
type EventRecorder interface {
	// Record applies events in order, all or none; see Event and RecordReport.
	// The first terminal result of a trial wins.
	Record(ctx context.Context, events []Event) (RecordReport, error)
	// Quarantine keeps events that Record refuses.
	Quarantine(ctx context.Context, events []Quarantined) error
}

// Reconciler is the part of a Store that is compared with the broker.
type Reconciler interface {
	// States returns the states of trials, without those that do not exist; those of
	// a deleted sweep are cancelled.
	States(ctx context.Context, trials []TrialID) (map[TrialID]State, error)
	// Replaced returns the executions that another execution replaced while they ran, of
	// trials that have not ended, each as the EventLost that counts it: its worker may
	// have vanished. Those that are counted already are left out.
	Replaced(ctx context.Context) ([]Event, error)
	// Unheard returns up to limit queued or running trials of active and paused
	// sweeps that were last queued or heard of before the given time, in index order
	// after the trial after (nil for the first page). A time further in the future than
	// the given one is in the past was written before the clock was set back: it counts
	// as before.
	Unheard(ctx context.Context, before time.Time, after *TrialID, limit int) ([]Heard, error)
	// RequeueUnheard puts back those of them that were not queued or heard of again
	// since Unheard returned them. Those without a time it puts back in any case. It skips those that do
	// not exist.
	RequeueUnheard(ctx context.Context, trials []Heard) (int64, error)
}

// Administrator is the part of a Store that people's commands need.
type Administrator interface {
	// CreateSweep stores a new active sweep whose first grid has points points, its
	// cursor at 0, and returns its id: that of the existing sweep if the submission's key
	// was used already.
	CreateSweep(ctx context.Context, id string, submission *Submission, points int64) (string, error)
	// AddGrid appends a further grid and makes the sweep active again. A submission
	// whose key was used already changes nothing.
	AddGrid(ctx context.Context, id string, submission *Submission, points int64) (GridRecord, error)
	// SetSweepState changes the state; the reason is empty if a person asked for it.
	SetSweepState(ctx context.Context, id string, state SweepState, reason string) error
	// SetSweepBudget gives a sweep a budget, or changes the one that it has for all sweeps that share it. Those that
	// were paused because it was used up become active.
	SetSweepBudget(ctx context.Context, id string, budget Budget) error
	// SetAnnotation changes the notes or tags of a sweep or of a trial, which needs a row.
	SetAnnotation(ctx context.Context, id string, edit Edit) error
	// RenameSweep changes the name.
	RenameSweep(ctx context.Context, id, name string) error
	// SetSweepPriority changes the priority.
	SetSweepPriority(ctx context.Context, id string, priority int) error
	// CancelTrials cancels all trials of a sweep that are not terminal, its
	// unwritten points included, makes the sweep cancelled if there were any, and
	// returns those that were queued or running. It goes in pages.
	CancelTrials(ctx context.Context, id string) ([]TrialID, error)
	// CancelSome cancels those of the named trials that are not terminal and returns
	// how many, and which of them were queued or running. An index without a trial row is
	// ErrNotFound, and then nothing changes.
	CancelSome(ctx context.Context, id string, indices []int64) (cancelled int64, active []TrialID, err error)
	// RetryTrials puts failed and cancelled trials back to pending, resets their charges,
	// makes the sweep active if there were any, and returns how many, unwritten points
	// included. It goes in pages.
	RetryTrials(ctx context.Context, id string) (int64, error)
	// RetrySome does so for those of the named trials that failed or were cancelled. An
	// index without a trial row is ErrNotFound, and then nothing changes.
	RetrySome(ctx context.Context, id string, indices []int64) (int64, error)
	// DeleteSweep removes a sweep with its trials and what belongs to them, in pages
	// between which others work. Results that trials of other sweeps reuse are kept for
	// them. A sweep that runs is ErrRunning, wrapped.
	DeleteSweep(ctx context.Context, id string) (Removed, error)
	// PruneSweeps removes what the retention of ended sweeps excludes, likewise in pages.
	PruneSweeps(ctx context.Context, keep Retention) (Removed, error)
	// ArtifactLocations calls yield for the location of each recorded artifact that
	// begins with a prefix, in no order.
	ArtifactLocations(ctx context.Context, prefix string, yield func(location string) error) error
	// DroppedArtifacts returns places of artifacts that no sweep keeps, some of them at a time: their bytes are to be
	// removed. It returns them again until ForgetDropped.
	DroppedArtifacts(ctx context.Context) (locations []string, err error)
	// ForgetDropped notes that there are no bytes in these places any more.
	ForgetDropped(ctx context.Context, locations []string) error
}

// Backlog is what is left to do of a sweep.
type Backlog struct {
	Sweep    string
	Pool     string
	Priority int
	State    SweepState
	// Grids counts the sweep's grids, Unwritten their points without trial rows.
	Grids     int
	Unwritten int64
	// Budget is what it may use, nil if there is no bound.
	Budget *BudgetState
	// Canary means that the first trial of a class runs before the others, MaxErrors is how many equal errors in a
	// row pause the sweep, 0 if there is no bound.
	Canary    bool
	MaxErrors int64
	Classes   []ClassBacklog
	// Suspects are the workers with unconfirmed failures, by class and name.
	Suspects []Suspect
}

// Suspect is a worker that may be to blame for failures of trials of a class.
type Suspect struct {
	Class  int
	Worker string
	// Unconfirmed are those of its failures that do not count yet, Retractable those of them that have not been taken
	// back before. Failures are those in a row, up to now.
	Unconfirmed, Retractable, Failures int64
	// Others means that another worker has completed a trial of the class.
	Others bool
}

// ClassBacklog is what is left of the trials of one class.
type ClassBacklog struct {
	Class                    int
	Requirement              Requirement
	Pending, Queued, Running int64
	// Withheld is how many of the pending ones must not be queued yet, because others come first. Stores leave it 0.
	Withheld int64
	// Tried means that one of its trials has completed, or that a person has resumed the sweep in spite of its
	// error. Errors are those of the trials that ended last.
	Tried  bool
	Errors Errors
	// Unconfirmed are failures that do not count yet, because a worker may be to blame.
	Unconfirmed int64
	// Need is what its trials hold of devices; nil for nothing. Stores leave it nil.
	Need *Need
}

// Quarantined is an event that the store refuses.
type Quarantined struct {
	Event
	// Problem says why.
	Problem string
}

// Reader is the part of a Store that changes nothing. A coordinator's clients
// have one too.
type Reader interface {
	// Sweep finds one sweep by id, by a unique prefix of an id, by a name (the
	// newest of that name), or the newest of all for "" and "latest".
	Sweep(ctx context.Context, reference string) (*SweepRecord, error)
	// Sweeps lists the sweeps in the given states (all if none is given), newest
	// first, without their grids' submissions. SweepActive includes those that wait.
	Sweeps(ctx context.Context, states ...SweepState) ([]SweepRecord, error)
	// Progress counts a sweep's trials at a cost independent of their number.
	Progress(ctx context.Context, id string) (Progress, error)
	// Trial loads one trial with its result.
	Trial(ctx context.Context, id TrialID) (*TrialRecord, error)
	// Trials calls yield for each trial that fits the query, in its order, until
	// yield returns an error, which it returns. It reads pages, each as it is when its
	// turn comes: trials that change meanwhile may move, in a list that is sorted by what
	// changes. Who needs one consistent view asks for trials that have ended.
	Trials(ctx context.Context, query TrialQuery, yield func(*TrialRecord) error) error
	// Curves loads the curves of one trial, all metrics if none is named.
	Curves(ctx context.Context, id TrialID, metrics ...string) ([]Curve, error)
	// Executions lists the executions of a trial in the order of their starts.
	Executions(ctx context.Context, id TrialID) ([]Execution, error)
	// ExecutionLog loads what is kept of an execution's log, that of the one which
	// started last if none is named. Of one that runs there is none yet.
	ExecutionLog(ctx context.Context, id TrialID, execution string) (*Log, error)
	// Inputs calls yield for each list of inputs that fits the query, the newest first, at most MaxInputLists.
	Inputs(ctx context.Context, query InputQuery, yield func(*InputList) error) error
	// Artifacts calls yield for each artifact that fits the query, those that should
	// be there and are not too, by trial and name.
	Artifacts(ctx context.Context, query ArtifactQuery, yield func(*ArtifactRecord) error) error
	// Query runs one read-only SQL statement and calls yield for each row;
	// columns are the same in every call. A statement that would write is refused.
	Query(ctx context.Context, sql string, yield func(columns []string, row []any) error) error
	// QuerySweep is Query in which t names the trials of a sweep, with a column for each
	// of its parameters and metrics, of their types. A metric that has the name of a
	// parameter or another column is called metric.NAME.
	QuerySweep(ctx context.Context, id, sql string, yield func(columns []string, row []any) error) error
}

// RecordReport tells what Record did.
type RecordReport struct {
	// Terminal counts the trials that reached a terminal state.
	Terminal int
	// Repeated counts results of trials that were terminal before; Faults those
	// of them whose digest differs.
	Repeated, Faults int
	// Released counts trials put back to pending, Refused those that a worker could
	// not run.
	Released, Refused int
	// Replaced counts executions in whose place another started while they ran, Lost
	// those that were counted as lost.
	Replaced, Lost int
	// Unknown counts events about trials that the store does not hold,
	// Malformed those of an unknown kind or without what their kind needs.
	Unknown, Malformed int
}

// TrialColumns are what trials can be selected and ordered by besides parameters and
// summary metrics.
var TrialColumns = []string{
	"index", "state", "diverged", "worker", "executions", "charged", "losses", "refusals", "fingerprint",
	"seconds", "kernel_level", "error", "digest",
	"run_name", "run_group", "notes", TagColumn,
}

// TagColumn compares by = and != with each tag of a trial: tag=x selects the trials that have
// the tag, tag!=x the others.
const TagColumn = "tag"

// TrialQuery selects and orders trials.
type TrialQuery struct {
	// Sweeps are ids; empty means all.
	Sweeps []string
	// States are the accepted states; empty means all.
	States []State
	// Where must all hold.
	Where []TrialCondition
	// OrderBy is a parameter, a summary metric or one of TrialColumns; empty means
	// index. Trials without it come last.
	OrderBy    Name
	Descending bool
	// After is the last trial of the page before: the list goes on behind it.
	After *TrialID `json:",omitempty"`
	// Best leaves the best trial of each group alone, by the sweeps' select.
	Best bool `json:",omitempty"`
	// Limit is the largest number of trials; 0 means all.
	Limit int
}

// Listing is a list of trials of one sweep as people see it.
type Listing struct {
	// Columns are parameters, summary metrics and fields that the views have, and Headings what each is called.
	Columns  []Name
	Headings []string
	// States are the accepted ones, among which diverged is one of its own; empty means all. Where, OrderBy and
	// Descending are as in a TrialQuery.
	States     []string
	Where      []TrialCondition
	OrderBy    Name
	Descending bool
	// Limit is the largest number of trials, 0 for all; Offset is how many are left out before.
	Limit, Offset int64
}

// QuoteSQL writes a text as a literal in SQL.
func QuoteSQL(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// TrialCondition compares a parameter, a summary metric or a column with a
// value. Numbers compare with numbers and texts with texts; a value of another
// type is unequal, and neither smaller nor larger. A trial without the name
// fits no condition but Lacks and, unless it is a parameter, "= nil".
type TrialCondition struct {
	Name Name
	// Operator is one of Operators, or Lacks or Has, whose Value means nothing.
	Operator string
	Value    any
}
