package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
)

// lose counts an execution whose worker vanished, once. A trial fails only by an execution that ran alone: one beside
// others may be their victim.
func (l *Ledger) lose(event *sweep.Event, trial *Trial, limits func(*Trial) Limits) {
	id := cmp.Or(cleanText(event.Execution), trial.Execution)
	execution := l.executions[executionKey{trial.ID, id}]
	runs := trial.State == sweep.Running && trial.Execution == id
	switch {
	case execution == nil || trial.State.Terminal() || execution.Forgotten:
		return
	case !event.Heard.IsZero() && !trial.HeardAt.Equal(event.Heard): // it was heard of since
		return
	case runs && execution.Outcome == sweep.ExecutionRunning:
		execution.Outcome, execution.EndedAt = sweep.ExecutionLost, l.now
	case execution.Outcome != sweep.ExecutionLost || !execution.Replaced || execution.Charged:
		return
	}
	execution.Charged = true
	execution.Reason = "its worker vanished"
	trial.Losses++
	l.report.Lost++
	l.write(execution)
	switch limit := limits(trial).Losses; {
	case trial.Losses >= limit && execution.Alone:
		l.end(trial, execution, &sweep.Result{
			State: sweep.Failed,
			Error: fmt.Sprintf("%d executions took their workers with them: %s; the last one ran nothing else",
				trial.Losses, strings.Join(l.victims(trial), ", ")),
		}, l.now)
	case runs:
		trial.State = sweep.Pending
		l.report.Released++
	}
}

// victims names the workers of a trial's lost executions, in the order in which they
// started.
func (l *Ledger) victims(trial *Trial) (workers []string) {
	var lost []*Execution
	for _, e := range l.executions {
		if e.Trial == trial && e.counted() {
			lost = append(lost, e)
		}
	}
	slices.SortFunc(lost, func(a, b *Execution) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range lost {
		workers = append(workers, e.Worker)
	}
	return workers
}

// found revokes a loss whose execution has reported after all.
func (l *Ledger) found(trial *Trial, execution *Execution) {
	if execution.Outcome != sweep.ExecutionLost || !execution.Charged {
		return
	}
	execution.Charged, execution.Reason = false, ""
	if !execution.Forgotten {
		trial.Losses--
	}
	l.write(execution)
}
