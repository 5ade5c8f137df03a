package ledger

import (
	"cmp"
	"slices"
	"strings"

	"sweep/sweep"
)

// Standing is how a worker fares with the trials of a class.
type Standing struct {
	Class  Class
	Worker string
	// Completed means that it has completed one, Failures counts those that failed since. Cause is the FailureCause of
	// the last of these.
	Completed bool
	Failures  int64
	Cause     string
	changed   bool
}

// Judged asks for a worker's standing: about a trial of a class that failed for a cause, or ended well without one.
type Judged struct {
	Class  Class
	Worker string
	Cause  string
}

// Others are what the other workers have done with the trials of a class.
type Others struct {
	// Complete means that one of them has completed a trial, Fail that the last failure of one has the same cause.
	Complete, Fail bool
}

// Confirmed decides whether a failure counts at once: otherwise the worker may be to blame, whose standing has the
// failure already. signed means that the error is one of a machine.
func Confirmed(own *Standing, others Others, signed bool) bool {
	switch {
	case others.Fail:
		return true
	case !own.Completed:
		return false
	case !others.Complete:
		return true
	}
	return !signed && own.Failures < sweep.StandsOut
}

// Judged returns the standings that the store has to load.
func (l *Ledger) Judged(events []sweep.Event) (list []Judged) {
	for i := range events {
		e := &events[i]
		trial := l.trials[e.TrialID]
		if trial == nil || !wellFormed(e) || e.Worker == "" {
			continue
		}
		switch {
		case e.Kind == sweep.EventReleased && e.Release.Charged:
			text := chargedError(1, cleanText(e.Release.Reason))
			list = append(list, Judged{trial.Class, cleanText(e.Worker), causeOf(text)})
		case e.Kind == sweep.EventResult && e.Result.State == sweep.Failed:
			list = append(list, Judged{trial.Class, cleanText(e.Worker), causeOf(cleanText(e.Result.Error))})
		case e.Kind == sweep.EventResult:
			list = append(list, Judged{Class: trial.Class, Worker: cleanText(e.Worker)})
		}
	}
	slices.SortFunc(list, func(a, b Judged) int {
		return cmp.Or(cmp.Compare(a.Class.Sweep, b.Class.Sweep), cmp.Compare(a.Class.Number, b.Class.Number),
			strings.Compare(a.Worker, b.Worker), strings.Compare(a.Cause, b.Cause))
	})
	return slices.Compact(list)
}

// causeOf is the cause of an error, never empty.
func causeOf(text string) string { return cmp.Or(sweep.ErrorCause(text), "no reason given") }

// LoadStanding hands a standing to the ledger, and what others have done.
func (l *Ledger) LoadStanding(j Judged, s Standing, others Others) {
	s.Class, s.Worker = j.Class, j.Worker
	key := standingKey{j.Class, j.Worker}
	if l.standings[key] == nil {
		l.standings[key] = &s
	}
	l.others[j] = others
}

// standingKey names a worker's standing.
type standingKey struct {
	class  Class
	worker string
}

// judge takes the end of a trial into the standing of its worker, and decides whether a failure counts at once.
// Failures that the coordinator itself reports are no worker's.
func (l *Ledger) judge(trial *Trial, worker string) {
	if worker == "" || worker == sweep.Coordinator {
		return
	}
	key := standingKey{trial.Class, worker}
	own := l.standings[key]
	if own == nil {
		own = &Standing{Class: trial.Class, Worker: worker}
		l.standings[key] = own
	}
	switch trial.State {
	case sweep.Completed, sweep.Stopped:
		if !own.Completed || own.Failures > 0 {
			l.changeStanding(own)
			own.Completed, own.Failures = true, 0
			l.confirm(trial.Class, func(d *Doubt) bool { return d.Worker == worker }, false)
		}
	case sweep.Failed:
		l.changeStanding(own)
		text := trial.Outcome.Error
		own.Cause = causeOf(text)
		own.Failures++
		others := l.others[Judged{trial.Class, worker, own.Cause}]
		for _, s := range l.standings {
			if s.Class == trial.Class && s != own {
				others.Complete = others.Complete || s.Completed
				others.Fail = others.Fail || s.Cause == own.Cause
			}
		}
		trial.Unconfirmed, trial.doubt = !Confirmed(own, others, sweep.MachineError(text)), &Doubt{Key: trial.Key,
			Class: trial.Class, Index: trial.ID.Index, Worker: worker, Cause: own.Cause, Text: text}
		if others.Fail {
			l.confirm(trial.Class, func(d *Doubt) bool { return d.Cause == own.Cause }, true)
		}
	}
}

// Doubt is an unconfirmed failure of a stored trial.
type Doubt struct {
	Key, Index          int64
	Class               Class
	Worker, Cause, Text string
	// Outdated is the trial's.
	Outdated bool
	// Confirmed is set when these events confirm it.
	Confirmed bool
}

// LoadDoubt hands a stored doubt about a class to the ledger.
func (l *Ledger) LoadDoubt(id sweep.TrialID, d Doubt) {
	d.Cause = causeOf(d.Text)
	if trial := l.trials[id]; trial != nil {
		trial.doubt = &d
	} else {
		l.Doubts = append(l.Doubts, &d)
	}
}

// confirm has the unconfirmed failures of a class count that fit. Stored ones are added to the errors in a row, before
// the trial that ended last, if inRow is set: otherwise that one has completed.
func (l *Ledger) confirm(class Class, fits func(*Doubt) bool, inRow bool) {
	var before []*Trial
	count := func(d *Doubt) {
		if inRow {
			before = append(before, &Trial{Class: class, ID: sweep.TrialID{Index: d.Index}, State: sweep.Failed,
				Outdated: d.Outdated, Outcome: &sweep.Result{State: sweep.Failed, Error: d.Text}})
		}
	}
	for _, trial := range l.Trials {
		if trial.Unconfirmed && trial.Class == class && trial.doubt != nil && fits(trial.doubt) {
			if trial.Unconfirmed = false; trial.wasUnconfirmed {
				count(trial.doubt)
			}
		}
	}
	for _, d := range l.Doubts {
		if !d.Confirmed && d.Class == class && fits(d) {
			d.Confirmed = true
			count(d)
		}
	}
	l.ends = slices.Insert(l.ends, len(l.ends)-1, before...)
}

func (l *Ledger) changeStanding(s *Standing) {
	if !s.changed {
		s.changed = true
		l.Standings = append(l.Standings, s)
	}
}

// Unconfirmed returns by how much the numbers of unconfirmed failures of classes change.
func (l *Ledger) Unconfirmed() map[Class]int64 {
	deltas := map[Class]int64{}
	for _, trial := range l.Trials {
		switch {
		case trial.Unconfirmed && !trial.wasUnconfirmed:
			deltas[trial.Class]++
		case !trial.Unconfirmed && trial.wasUnconfirmed:
			deltas[trial.Class]--
		}
	}
	for _, d := range l.Doubts {
		if d.Confirmed {
			deltas[d.Class]--
		}
	}
	return deltas
}

// retract takes an unconfirmed failure back, once a trial, because its worker was set aside.
func (l *Ledger) retract(event *sweep.Event, trial *Trial) {
	if trial.State != sweep.Failed || !trial.Unconfirmed || trial.Retracted ||
		event.Execution != "" && cleanText(event.Execution) != trial.Execution {
		return
	}
	trial.Retracted = true
	l.revive(trial)
	execution := l.executions[executionKey{trial.ID, trial.Execution}]
	if execution == nil {
		return
	}
	if execution.Charged && !execution.Forgotten && !execution.counted() {
		trial.Charged--
		execution.Charged = false
	}
	execution.Forgotten = true // a repeat does not charge it again
	if execution.Note == "" {
		execution.Note = CleanTail(event.Note)
	}
	l.write(execution)
}
