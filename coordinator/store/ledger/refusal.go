package ledger

import (
	"time"

	"sweep/sweep"
)

// Refusal is what a worker refused of a trial: the last reason, and how often.
type Refusal struct {
	Trial   *Trial
	Worker  string
	Reason  string
	At      time.Time
	Count   int
	changed bool
}

// refuse counts a refusal and puts the trial back to pending.
func (l *Ledger) refuse(event *sweep.Event, trial *Trial, at time.Time) {
	at = at.Truncate(time.Microsecond) // as databases keep it, so that a repeat is told
	key := executionKey{trial.ID, cleanText(event.Worker)}
	r := l.refusals[key]
	if r == nil {
		r = &Refusal{Trial: trial, Worker: key.execution}
		l.refusals[key] = r
	} else if !at.After(r.At) {
		return
	}
	if !r.changed {
		r.changed = true
		l.Refusals = append(l.Refusals, r)
	}
	r.At, r.Reason = at, CleanTail(event.Refusal.Reason)
	r.Count++
	trial.Refusals++
	trial.refused++
	l.report.Refused++
	execution := l.executions[executionKey{trial.ID, cleanText(event.Execution)}]
	switch {
	case trial.State == sweep.Queued:
		trial.State = sweep.Pending
	case trial.State == sweep.Running && execution != nil && trial.Execution == execution.ID:
		trial.State = sweep.Pending
		execution.Outcome, execution.EndedAt, execution.Reason = sweep.ExecutionReleased, at, r.Reason
		l.write(execution)
	}
}
