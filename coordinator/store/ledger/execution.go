package ledger

import (
	"time"

	"sweep/sweep"
)

// Execution is a stored execution.
type Execution struct {
	Trial     *Trial
	ID        string
	Worker    string
	StartedAt time.Time
	EndedAt   time.Time
	Outcome   sweep.ExecutionOutcome
	Charged   bool
	Forgotten bool
	// Replaced is set if another execution started while it ran.
	Replaced bool
	// Alone is set if nothing else ran in its worker.
	Alone      bool
	Checkpoint int64
	Reason     string
	// Stderr is the end of its log, LogStart how many bytes came before.
	Stderr   string
	LogStart int64
	Note     string
	// New is set if it is made known by these events, Stored if it has a row of its own.
	New, Stored bool
	changed     bool
	// unended is set if it had not ended before these events.
	unended bool
}

// keepLog keeps the end of a log.
func (e *Execution) keepLog(text string, start int64) {
	e.Stderr = CleanTail(text)
	e.LogStart = max(start, 0)
	if cut := len(text) - stderrLimit; cut > 0 {
		e.LogStart += int64(cut)
	}
}

// ended reports whether the execution has a result or was released. Only its charge may
// still be corrected.
func (e *Execution) ended() bool {
	return e.Outcome == sweep.ExecutionResult || e.Outcome == sweep.ExecutionReleased
}

// unreported reports whether the execution ended because its trial was cancelled, and has not said so itself.
func (e *Execution) unreported() bool {
	return e.Outcome == sweep.ExecutionLost && !e.Charged && !e.Replaced && e.Trial.State == sweep.Cancelled
}

// Implied reports whether the trial's own row tells everything about it: such an execution needs none. It is the
// last one of a completed trial, whose result is all that it left.
func (e *Execution) Implied() bool {
	t := e.Trial
	return !e.Stored && t.State == sweep.Completed && t.Execution == e.ID && t.Worker == e.Worker &&
		t.StartedAt.Equal(e.StartedAt) && t.FinishedAt.Equal(e.EndedAt) && e.Outcome == sweep.ExecutionResult &&
		!e.Charged && !e.Forgotten && !e.Replaced && e.Checkpoint == 0 && e.Reason == "" && e.Stderr == "" &&
		e.LogStart == 0 && e.Note == ""
}

// counted reports whether it is lost and counts against its trial.
func (e *Execution) counted() bool {
	return e.Outcome == sweep.ExecutionLost && e.Charged && !e.Forgotten
}

// execution finds the event's execution or makes it known.
func (l *Ledger) execution(event *sweep.Event, trial *Trial, at time.Time) *Execution {
	key := executionKey{trial.ID, cleanText(event.Execution)}
	execution := l.executions[key]
	if execution == nil {
		execution = &Execution{
			Trial: trial, ID: key.execution, Worker: cleanText(event.Worker), StartedAt: at,
			Outcome: sweep.ExecutionRunning, Alone: event.Alone, New: true, unended: true,
		}
		if !event.Started.IsZero() {
			execution.StartedAt = event.Started.UTC()
		}
		if trial.State.Terminal() {
			execution.Outcome, execution.EndedAt = sweep.ExecutionLost, l.now
		}
		l.executions[key] = execution
		trial.Executions++
		l.write(execution)
	}
	if event.Note != "" && execution.Note == "" {
		execution.Note = CleanTail(event.Note)
		l.write(execution)
	}
	return execution
}
