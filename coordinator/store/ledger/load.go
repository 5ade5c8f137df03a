package ledger

import (
	"cmp"
	"slices"
	"strings"

	"sweep/sweep"
)

// TrialIDs returns the trials that the events are about, each once, in order
// of sweep and index.
func TrialIDs(events []sweep.Event) []sweep.TrialID {
	ids := make([]sweep.TrialID, len(events))
	for i := range events {
		ids[i] = events[i].TrialID
	}
	slices.SortFunc(ids, func(a, b sweep.TrialID) int {
		return cmp.Or(strings.Compare(a.Sweep, b.Sweep), cmp.Compare(a.Index, b.Index))
	})
	return slices.Compact(ids)
}

// LoadTrial hands a stored trial to the ledger.
func (l *Ledger) LoadTrial(t *Trial) {
	t.loaded, t.wasUnconfirmed = t.State, t.Unconfirmed
	l.trials[t.ID] = t
	l.Trials = append(l.Trials, t)
}

// Mentioned returns the executions that the store has to load: those that the
// events are about and those that started last, of trials that have any.
func (l *Ledger) Mentioned(events []sweep.Event) []Execution {
	seen := map[executionKey]bool{}
	var mentioned []Execution
	mention := func(trial *Trial, id string) {
		if key := (executionKey{trial.ID, id}); !seen[key] {
			seen[key] = true
			mentioned = append(mentioned, Execution{Trial: trial, ID: id})
		}
	}
	for i := range events {
		if trial := l.trials[events[i].TrialID]; trial != nil && trial.Executions > 0 {
			mention(trial, trial.Execution)
			mention(trial, cleanText(events[i].Execution))
		}
	}
	return mentioned
}

// LoadExecution hands a stored execution of a loaded trial to the ledger, once.
func (l *Ledger) LoadExecution(e *Execution) {
	if key := (executionKey{e.Trial.ID, e.ID}); l.executions[key] == nil {
		e.unended, e.Stored = e.EndedAt.IsZero() || e.unreported(), true
		l.executions[key] = e
	}
}

// Imply makes the executions known that have no rows of their own, after the others were loaded.
func (l *Ledger) Imply() {
	for _, t := range l.Trials {
		key := executionKey{t.ID, t.Execution}
		if t.State == sweep.Completed && t.Execution != "" && l.executions[key] == nil {
			l.executions[key] = &Execution{Trial: t, ID: t.Execution, Worker: t.Worker, StartedAt: t.StartedAt,
				EndedAt: t.FinishedAt, Outcome: sweep.ExecutionResult}
		}
	}
}

// RefusedBy returns the refusals that the store has to load, as far as it has
// them: those of the trials and workers of the events.
func (l *Ledger) RefusedBy(events []sweep.Event) []Refusal {
	var mentioned []Refusal
	for i := range events {
		if trial := l.trials[events[i].TrialID]; events[i].Kind == sweep.EventRefused && trial != nil &&
			trial.Refusals > 0 {
			mentioned = append(mentioned, Refusal{Trial: trial, Worker: cleanText(events[i].Worker)})
		}
	}
	return mentioned
}

// LoadRefusal hands a stored refusal to the ledger.
func (l *Ledger) LoadRefusal(r *Refusal) { l.refusals[executionKey{r.Trial.ID, r.Worker}] = r }

// Lost returns the trials whose lost executions the store has to load, because
// events may add to them.
func (l *Ledger) Lost(events []sweep.Event) []*Trial {
	return l.about(events, func(event *sweep.Event, trial *Trial) bool {
		return (event.Kind == sweep.EventLost || event.Kind == sweep.EventReleased) && trial.Losses > 0
	})
}

// Extended returns the trials whose stored curves the store has to load, because
// events add to them.
func (l *Ledger) Extended(events []sweep.Event) []*Trial {
	return l.about(events, func(event *sweep.Event, _ *Trial) bool {
		return event.Kind == sweep.EventPoints && isIncrement(event.Curves)
	})
}

// about returns the loaded trials of the events for which a condition holds, each once.
func (l *Ledger) about(events []sweep.Event, holds func(event *sweep.Event, trial *Trial) bool) (trials []*Trial) {
	for i := range events {
		trial := l.trials[events[i].TrialID]
		if trial != nil && holds(&events[i], trial) && !slices.Contains(trials, trial) {
			trials = append(trials, trial)
		}
	}
	return trials
}
