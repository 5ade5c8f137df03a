// Package ledger holds the rules by which events change trials: it works on
// trials and executions that a store has loaded and leaves what is to be
// written for the store to save, in one transaction. So both databases follow
// one set of rules, and a batch of events costs each trial one read and one
// write.
//
// The rules, event by event (see sweep.Event):
//
//   - Any event of an execution that is not known yet makes it known and counts
//     it: an execution that reports has started.
//   - started makes the trial running under that execution; another execution
//     that was running is lost.
//   - points replace the curves of a trial that has no result yet, and so do the
//     curves of its result; a result without curves keeps those of the points.
//   - result makes the trial terminal if it is not. Else it is a repeat, and a
//     fault if its digest differs at the same kernel level. A lost execution's
//     being cancelled does not cancel the trial.
//   - released ends the execution; the trial goes back to pending unless
//     another execution runs it, or fails once its charged executions reach the
//     limit. A later release of one execution replaces its charge and reason.
//   - Events of an ended execution, or of a terminal trial, change nothing else.
//
// Every rule is idempotent, so a batch may come again, whole or in part.
package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sweep/sweep"
)

// Trial is the part of a stored trial that events change.
type Trial struct {
	// Key is the store's own key.
	Key int64
	ID  sweep.TrialID
	// State and the fields up to Execution are columns of the trial.
	State      sweep.State
	Diverged   bool
	Executions int
	Charged    int
	Worker     string
	StartedAt  time.Time
	FinishedAt time.Time
	// Execution is the one that started last.
	Execution string
	// Digest and KernelLevel are those of the recorded result, if there is one.
	Digest      string
	KernelLevel string

	// Outcome is set when these events made the trial terminal: the store
	// writes it.
	Outcome *sweep.Result
	// Curves, if ReplaceCurves is set, take the place of the stored ones.
	Curves        []sweep.Curve
	ReplaceCurves bool

	// loaded is the state before the events.
	loaded sweep.State
}

// Outcomes of an execution.
const (
	ExecutionRunning  = "running"
	ExecutionResult   = "result"
	ExecutionReleased = "released"
	ExecutionLost     = "lost"
)

// Execution is a stored execution.
type Execution struct {
	Trial      *Trial
	ID         string
	Worker     string
	StartedAt  time.Time
	EndedAt    time.Time
	Outcome    string
	Charged    bool
	Forgotten  bool
	Checkpoint int64
	Reason     string
	Stderr     string
	// New says that the store does not hold it yet.
	New     bool
	changed bool
}

// ended reports whether the execution has said its last word, corrections of
// its charge excepted.
func (e *Execution) ended() bool {
	return e.Outcome == ExecutionResult || e.Outcome == ExecutionReleased
}

// Fault is a repeat whose digest differs.
type Fault struct {
	Trial       *Trial
	Execution   string
	Worker      string
	KernelLevel string
	Expected    string
	Found       string
}

type executionKey struct {
	trial     sweep.TrialID
	execution string
}

// Ledger applies one batch of events.
type Ledger struct {
	now        time.Time
	order      []*Trial
	trials     map[sweep.TrialID]*Trial
	executions map[executionKey]*Execution
	written    []*Execution
	faults     []Fault
	report     sweep.RecordReport
}

// New returns a Ledger for a transaction whose time is now.
func New(now time.Time) *Ledger {
	return &Ledger{now: now, trials: map[sweep.TrialID]*Trial{}, executions: map[executionKey]*Execution{}}
}

// TrialIDs returns the trials that the events are about, each once, in order
// of sweep and index.
func TrialIDs(events []sweep.Event) []sweep.TrialID {
	ids := make([]sweep.TrialID, len(events))
	for i := range events {
		ids[i] = events[i].TrialID
	}
	slices.SortFunc(ids, func(a, b sweep.TrialID) int {
		if c := strings.Compare(a.Sweep, b.Sweep); c != 0 {
			return c
		}
		switch {
		case a.Index < b.Index:
			return -1
		case a.Index > b.Index:
			return 1
		}
		return 0
	})
	return slices.Compact(ids)
}

// Mentioned returns the executions that the events are about, by trial.
func Mentioned(events []sweep.Event) map[sweep.TrialID][]string {
	mentioned := make(map[sweep.TrialID][]string, len(events))
	for i := range events {
		id := cleanText(events[i].Execution)
		if !slices.Contains(mentioned[events[i].TrialID], id) {
			mentioned[events[i].TrialID] = append(mentioned[events[i].TrialID], id)
		}
	}
	return mentioned
}

// LoadTrial hands a stored trial to the ledger.
func (l *Ledger) LoadTrial(t *Trial) {
	t.loaded = t.State
	l.trials[t.ID] = t
	l.order = append(l.order, t)
}

// Trial returns a loaded trial, or nil.
func (l *Ledger) Trial(id sweep.TrialID) *Trial { return l.trials[id] }

// LoadExecution hands a stored execution of a loaded trial to the ledger: it
// needs those that the events mention and the one that started last.
func (l *Ledger) LoadExecution(e *Execution) {
	l.executions[executionKey{e.Trial.ID, e.ID}] = e
}

// Apply applies the events in order. attempts returns the limit of a trial's
// charged executions; its error ends Apply.
func (l *Ledger) Apply(events []sweep.Event, attempts func(*Trial) (int, error)) (sweep.RecordReport, error) {
	for i := range events {
		event := &events[i]
		trial := l.trials[event.TrialID]
		if trial == nil {
			l.report.Unknown++
			continue
		}
		if !wellFormed(event) {
			l.report.Malformed++
			continue
		}
		if err := l.apply(event, trial, attempts); err != nil {
			return l.report, err
		}
	}
	return l.report, nil
}

func wellFormed(e *sweep.Event) bool {
	switch e.Kind {
	case sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint:
		return e.Execution != ""
	case sweep.EventResult:
		return e.Execution != "" && e.Result != nil && e.Result.State.Terminal()
	case sweep.EventReleased:
		return e.Execution != "" && e.Release != nil
	}
	return false
}

func (l *Ledger) apply(event *sweep.Event, trial *Trial, attempts func(*Trial) (int, error)) error {
	at := event.Time.UTC()
	if event.Time.IsZero() {
		at = l.now
	}
	execution := l.execution(event, trial, at)
	switch event.Kind {
	case sweep.EventStarted:
		l.start(trial, execution)
	case sweep.EventPoints:
		if !trial.State.Terminal() && !execution.ended() {
			trial.Curves, trial.ReplaceCurves = cleanCurves(event.Curves), true
		}
	case sweep.EventCheckpoint:
		if event.Checkpoint > execution.Checkpoint {
			execution.Checkpoint = event.Checkpoint
			l.write(execution)
		}
	case sweep.EventResult:
		l.finish(event, trial, execution, at)
	case sweep.EventReleased:
		return l.release(event, trial, execution, at, attempts)
	}
	return nil
}

// execution finds the event's execution or makes it known.
func (l *Ledger) execution(event *sweep.Event, trial *Trial, at time.Time) *Execution {
	key := executionKey{trial.ID, cleanText(event.Execution)}
	execution := l.executions[key]
	if execution != nil {
		return execution
	}
	execution = &Execution{
		Trial: trial, ID: key.execution, Worker: cleanText(event.Worker), StartedAt: at, Outcome: ExecutionRunning, New: true,
	}
	l.executions[key] = execution
	trial.Executions++
	l.write(execution)
	return execution
}

// start makes the trial run under the execution, once.
func (l *Ledger) start(trial *Trial, execution *Execution) {
	if trial.State.Terminal() || execution.Outcome != ExecutionRunning {
		return
	}
	if trial.State == sweep.Running && trial.Execution == execution.ID {
		return
	}
	// A batch that comes again must not bring an earlier execution back.
	if trial.Execution != "" && trial.Execution != execution.ID && !execution.New {
		return
	}
	if other := l.executions[executionKey{trial.ID, trial.Execution}]; other != nil && other != execution && other.Outcome == ExecutionRunning {
		other.Outcome, other.EndedAt = ExecutionLost, l.now
		l.write(other)
	}
	trial.State = sweep.Running
	trial.Execution = execution.ID
	trial.Worker = execution.Worker
	trial.StartedAt = execution.StartedAt
}

func (l *Ledger) finish(event *sweep.Event, trial *Trial, execution *Execution, at time.Time) {
	result := cleanResult(event.Result)
	again, lost := execution.Outcome == ExecutionResult, execution.Outcome == ExecutionLost
	if !again {
		execution.Outcome, execution.EndedAt = ExecutionResult, at
		l.write(execution)
	}
	if !trial.State.Terminal() {
		switch {
		case again: // the trial was retried since
			l.report.Repeated++
			return
		case lost && result.State == sweep.Cancelled: // another execution has the trial
			return
		}
	}
	if trial.State.Terminal() {
		l.report.Repeated++
		if trial.Digest != "" && result.Digest != "" && trial.Digest != result.Digest && trial.KernelLevel == result.KernelLevel {
			l.report.Faults++
			l.faults = append(l.faults, Fault{
				Trial: trial, Execution: execution.ID, Worker: execution.Worker,
				KernelLevel: result.KernelLevel, Expected: trial.Digest, Found: result.Digest,
			})
		}
		return
	}
	trial.Execution = execution.ID
	trial.Worker = execution.Worker
	trial.StartedAt = execution.StartedAt
	if len(result.Curves) > 0 {
		trial.Curves, trial.ReplaceCurves = result.Curves, true
	}
	l.end(trial, result, at)
}

func (l *Ledger) release(event *sweep.Event, trial *Trial, execution *Execution, at time.Time, attempts func(*Trial) (int, error)) error {
	again := execution.ended()
	if again && (execution.Outcome == ExecutionResult || at.Before(execution.EndedAt)) {
		return nil // an execution with a result costs nothing; an older word changes nothing
	}
	charged := event.Release.Charged
	if charged != execution.Charged && !execution.Forgotten {
		if charged {
			trial.Charged++
		} else {
			trial.Charged--
		}
	}
	execution.Outcome, execution.EndedAt = ExecutionReleased, at
	execution.Charged = charged
	execution.Reason, execution.Stderr = cleanText(event.Release.Reason), cleanTail(event.Release.Stderr)
	l.write(execution)
	if trial.State.Terminal() || trial.State == sweep.Running && trial.Execution != execution.ID {
		return nil
	}
	if charged {
		limit, err := attempts(trial)
		if err != nil {
			return err
		}
		if trial.Charged >= limit {
			trial.Worker = execution.Worker
			l.end(trial, &sweep.Result{
				State:  sweep.Failed,
				Error:  fmt.Sprintf("%d executions ended without a result, the last: %s", trial.Charged, execution.Reason),
				Stderr: execution.Stderr,
			}, at)
			return nil
		}
	}
	if !again && trial.State != sweep.Pending {
		trial.State = sweep.Pending
		l.report.Released++
	}
	return nil
}

// end makes the trial terminal.
func (l *Ledger) end(trial *Trial, result *sweep.Result, at time.Time) {
	trial.State = result.State
	trial.Diverged = result.Diverged
	trial.FinishedAt = at
	trial.Outcome = result
	trial.Digest, trial.KernelLevel = result.Digest, result.KernelLevel
	l.report.Terminal++
}

func (l *Ledger) write(e *Execution) {
	if !e.changed {
		e.changed = true
		l.written = append(l.written, e)
	}
}

// Trials returns the loaded trials, all of which have been heard of, in the
// order in which they were loaded.
func (l *Ledger) Trials() []*Trial { return l.order }

// Executions returns the executions to write.
func (l *Ledger) Executions() []*Execution { return l.written }

// Faults returns the reproducibility faults to record; the store may hold some
// of them already.
func (l *Ledger) Faults() []Fault { return l.faults }

// Deltas returns by how much the counters of each sweep change, faults left out.
func (l *Ledger) Deltas() map[string]sweep.Progress {
	deltas := map[string]sweep.Progress{}
	for _, trial := range l.order {
		if trial.loaded == trial.State {
			continue
		}
		delta := deltas[trial.ID.Sweep]
		Count(&delta, trial.loaded, -1)
		Count(&delta, trial.State, 1)
		if trial.Diverged {
			delta.Diverged++
		}
		deltas[trial.ID.Sweep] = delta
	}
	return deltas
}

// Count adds n to the counter of a state.
func Count(p *sweep.Progress, state sweep.State, n int64) {
	switch state {
	case sweep.Pending:
		p.Pending += n
	case sweep.Queued:
		p.Queued += n
	case sweep.Running:
		p.Running += n
	case sweep.Completed:
		p.Completed += n
	case sweep.Failed:
		p.Failed += n
	case sweep.Cancelled:
		p.Cancelled += n
	}
}
