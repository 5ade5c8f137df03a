// Package ledger has the rules by which events change trials. A [Ledger] applies a batch of
// events to the trials and executions that a store has loaded, and collects the changes,
// which the store writes in the same transaction. So both databases follow one set of
// rules, and a batch of events costs each trial one read and one write.
//
// The rules, event by event (see sweep.Event):
//
//   - Any event of an execution that is not known yet makes it known and counts
//     it: an execution that reports has started. A refusal is no execution. One of a
//     terminal trial is lost until it reports its end, for which nobody waits.
//   - started makes the trial running under that execution; another execution
//     that was running is lost. It is not counted before it is known that its worker
//     vanished, and never if the trial was put back in between.
//   - points, the samples of a running trial, replace its curves, or the part of them from
//     the samples' offsets on. The curves of a result replace them all; a result without
//     curves keeps them.
//   - result makes the trial terminal if it is not. Else it is a repeat, and a
//     fault if both are complete and its digest differs at the same kernel level.
//     A lost execution's being cancelled does not cancel the trial. Another execution that
//     was running is lost, and not counted.
//   - released ends the execution; the trial goes back to pending unless
//     another execution runs it, or fails once its charged executions reach the
//     limit. A later release of one execution replaces its charge and reason: a
//     trial that failed by its charges alone goes back to pending when one is
//     taken back.
//   - refused puts the trial back to pending if it is queued, or runs under that
//     very execution, and is counted. One that is not newer than the last refusal
//     of the same worker is a repeat.
//   - lost counts an execution whose worker vanished: the one that runs, which ends,
//     or one in whose place another started. The trial goes back to pending, or fails
//     once its losses reach the limit and this execution ran alone; another that was running is lost, and not counted.
//     A lost execution that reports its end after all is counted no more. A trial that was heard of since it was
//     looked at is not lost.
//   - retracted takes an unconfirmed failure back, at most once a trial: it goes back to pending. A
//     failure is unconfirmed while its worker may be to blame; see Confirmed.
//   - Events of an ended execution, or of a terminal trial, change nothing else.
//
// Every rule is idempotent, so a batch may come again, whole or in part.
package ledger

import (
	"fmt"
	"slices"
	"time"

	"sweep/sweep"
)

// Limits are how many charged and how many lost executions end a trial.
type Limits struct{ Attempts, Losses int }

// Fault is a repeat whose digest differs.
type Fault struct {
	Trial       *Trial
	Execution   string
	Worker      string
	KernelLevel string
	Expected    string
	Found       string
}

// executionKey names an execution of a trial, or a worker that refused it.
type executionKey struct {
	trial     sweep.TrialID
	execution string
}

// Ledger applies one batch of events.
type Ledger struct {
	// Trials are the loaded trials, all of which have been heard of, in the order in which
	// they were loaded. Executions and Refusals are to be written.
	Trials     []*Trial
	Executions []*Execution
	Refusals   []*Refusal
	// Faults are to be recorded; the store may hold some of them already.
	Faults []Fault
	// Standings are to be written. Doubts are stored, those that are confirmed to be written.
	Standings []*Standing
	Doubts    []*Doubt

	now        time.Time
	trials     map[sweep.TrialID]*Trial
	executions map[executionKey]*Execution
	refusals   map[executionKey]*Refusal
	report     sweep.RecordReport
	// ends are the trials that became terminal, in the order in which they did.
	ends []*Trial
	// standings and others are what judge decides by.
	standings map[standingKey]*Standing
	others    map[Judged]Others
}

// New returns a Ledger for a transaction whose time is now.
func New(now time.Time) *Ledger {
	return &Ledger{now: now, trials: map[sweep.TrialID]*Trial{}, executions: map[executionKey]*Execution{},
		refusals: map[executionKey]*Refusal{}, standings: map[standingKey]*Standing{}, others: map[Judged]Others{}}
}

// Apply applies the events in order. limits returns those of a trial.
func (l *Ledger) Apply(events []sweep.Event, limits func(*Trial) Limits) sweep.RecordReport {
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
		l.apply(event, trial, limits)
	}
	return l.report
}

func wellFormed(e *sweep.Event) bool {
	switch e.Kind {
	case sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint:
		return e.Execution != ""
	case sweep.EventResult:
		return e.Execution != "" && e.Result != nil && e.Result.State.Terminal()
	case sweep.EventReleased:
		return e.Execution != "" && e.Release != nil
	case sweep.EventRefused:
		return e.Refusal != nil
	case sweep.EventLost, sweep.EventRetracted:
		return true
	}
	return false
}

func (l *Ledger) apply(event *sweep.Event, trial *Trial, limits func(*Trial) Limits) {
	at := event.Time.UTC()
	if event.Time.IsZero() {
		at = l.now
	}
	switch event.Kind {
	case sweep.EventRefused:
		l.refuse(event, trial, at)
		return
	case sweep.EventLost:
		l.lose(event, trial, limits)
		return
	case sweep.EventRetracted:
		l.retract(event, trial)
		return
	}
	execution := l.execution(event, trial, at)
	switch event.Kind {
	case sweep.EventStarted:
		l.start(trial, execution)
	case sweep.EventPoints:
		if !trial.State.Terminal() && !execution.ended() {
			trial.addSamples(cleanCurves(event.Curves))
			if event.Marks != nil {
				trial.Marks = cleanMarks(event.Marks)
			}
		}
	case sweep.EventCheckpoint:
		if event.Checkpoint > execution.Checkpoint {
			execution.Checkpoint = event.Checkpoint
			l.write(execution)
		}
	case sweep.EventResult:
		l.finish(event, trial, execution, at)
	case sweep.EventReleased:
		l.release(event, trial, execution, at, limits)
	}
}

// start makes the trial run under the execution, once.
func (l *Ledger) start(trial *Trial, execution *Execution) {
	if trial.State.Terminal() || execution.Outcome != sweep.ExecutionRunning {
		return
	}
	if trial.State == sweep.Running && trial.Execution == execution.ID {
		return
	}
	// A batch that comes again must not bring an earlier execution back.
	if trial.Execution != "" && trial.Execution != execution.ID && !execution.New {
		return
	}
	if other := l.replace(trial, execution); other != nil && trial.State == sweep.Running { // else it was put back
		other.Replaced = true
		l.report.Replaced++
	}
	trial.State = sweep.Running
	trial.runUnder(execution)
}

// replace ends the execution that started last as lost, if it runs and is another than the one in its place, and
// returns it. It may report its end nevertheless.
func (l *Ledger) replace(trial *Trial, by *Execution) *Execution {
	other := l.executions[executionKey{trial.ID, trial.Execution}]
	if other == nil || other == by || other.Outcome != sweep.ExecutionRunning {
		return nil
	}
	other.Outcome, other.EndedAt = sweep.ExecutionLost, l.now
	l.write(other)
	return other
}

func (l *Ledger) finish(event *sweep.Event, trial *Trial, execution *Execution, at time.Time) {
	result := cleanResult(event.Result)
	again, lost := execution.Outcome == sweep.ExecutionResult, execution.Outcome == sweep.ExecutionLost
	l.found(trial, execution)
	if !again {
		execution.Outcome, execution.EndedAt = sweep.ExecutionResult, at
		execution.keepLog(event.Log, event.LogStart)
		l.write(execution)
	}
	if result.State == sweep.Failed && result.Stderr == "" {
		result.Stderr = execution.Stderr
	}
	switch {
	case !trial.State.Terminal() && again: // the trial was retried since
		l.report.Repeated++
		return
	case !trial.State.Terminal() && lost && result.State == sweep.Cancelled: // another execution has the trial
		return
	case trial.State.Terminal():
		l.report.Repeated++
		complete := trial.State == sweep.Completed && result.State == sweep.Completed // a timeout may come anywhere
		if complete && trial.Digest != "" && result.Digest != "" && trial.Digest != result.Digest &&
			trial.KernelLevel == result.KernelLevel {
			l.report.Faults++
			l.Faults = append(l.Faults, Fault{
				Trial: trial, Execution: execution.ID, Worker: execution.Worker,
				KernelLevel: result.KernelLevel, Expected: trial.Digest, Found: result.Digest,
			})
		}
		return
	}
	if result.Marks != nil {
		trial.Marks = cleanMarks(result.Marks)
	}
	if len(result.Curves) > 0 {
		trial.Curves, trial.ReplaceCurves = result.Curves, true
	}
	l.end(trial, execution, result, at)
	l.judge(trial, execution.Worker)
}

func (l *Ledger) release(event *sweep.Event, trial *Trial, execution *Execution, at time.Time,
	limits func(*Trial) Limits) {
	again := execution.ended()
	if again && (execution.Outcome == sweep.ExecutionResult || at.Before(execution.EndedAt)) {
		return // an execution with a result is not charged; an older release changes nothing
	}
	l.found(trial, execution)
	charged := event.Release.Charged
	if charged != execution.Charged && !execution.Forgotten {
		if charged {
			trial.Charged++
		} else {
			trial.Charged--
		}
	}
	execution.Outcome, execution.EndedAt = sweep.ExecutionReleased, at
	execution.Charged = charged
	execution.Reason = cleanText(event.Release.Reason)
	if log := event.Release.Stderr; log != "" {
		execution.keepLog(log, event.LogStart)
	} else if !again || event.Log != "" { // a release that revokes a charge has no log
		execution.keepLog(event.Log, event.LogStart)
	}
	l.write(execution)
	switch {
	case !charged && trial.State == sweep.Failed && l.failedByCharges(trial) &&
		trial.Charged < limits(trial).Attempts && !l.failedByLosses(trial, limits(trial).Losses):
		l.revive(trial)
	case trial.State.Terminal() || trial.State == sweep.Running && trial.Execution != execution.ID:
	case charged && trial.Charged >= limits(trial).Attempts:
		l.end(trial, execution, &sweep.Result{
			State:  sweep.Failed,
			Error:  chargedError(trial.Charged, execution.Reason),
			Stderr: execution.Stderr,
		}, at)
		l.judge(trial, execution.Worker)
	case !again && trial.State != sweep.Pending:
		trial.State = sweep.Pending
		l.report.Released++
	}
}

// chargedError is the error of a trial that fails by its charges, the last of them for a reason.
func chargedError(charged int, reason string) string {
	return fmt.Sprintf("%d executions ended without a result, the last: %s", charged, reason)
}

// failedByCharges reports whether a failed trial failed because its executions
// ended without a result, and not because its trainer said so: then the last one
// has a result.
func (l *Ledger) failedByCharges(trial *Trial) bool {
	last := l.executions[executionKey{trial.ID, trial.Execution}]
	return last == nil || last.Outcome != sweep.ExecutionResult
}

// failedByLosses reports whether a trial has so many losses, the last of which ran alone, that it failed.
func (l *Ledger) failedByLosses(trial *Trial, limit int) bool {
	if trial.Losses < limit {
		return false
	}
	for _, e := range l.executions {
		if e.Trial == trial && e.counted() && e.Alone {
			return true
		}
	}
	return false
}

// revive puts a failed trial back to pending.
func (l *Ledger) revive(trial *Trial) {
	trial.State, trial.FinishedAt = sweep.Pending, time.Time{}
	trial.Outcome, trial.Revived, trial.Unconfirmed = nil, true, false
	trial.Digest, trial.KernelLevel = "", ""
	l.ends = slices.DeleteFunc(l.ends, func(ended *Trial) bool { return ended == trial })
	l.report.Released++
}

// end makes the trial terminal by an execution. Another one that runs is lost: its worker may be gone.
func (l *Ledger) end(trial *Trial, by *Execution, result *sweep.Result, at time.Time) {
	l.replace(trial, by)
	trial.runUnder(by)
	trial.State = result.State
	trial.Diverged = result.Diverged
	trial.FinishedAt = at
	trial.Outcome = result
	trial.Digest, trial.KernelLevel = result.Digest, result.KernelLevel
	l.report.Terminal++
	l.ends = append(l.ends, trial)
}

func (l *Ledger) write(e *Execution) {
	if !e.changed {
		e.changed = true
		l.Executions = append(l.Executions, e)
	}
}
