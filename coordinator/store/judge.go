package store

import (
	"context"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// loadStandings finds, for ends of trials, how the worker fares with their class and what others have done: whether
// one has completed a trial, and whether one failed for the same cause.
const loadStandings = `SELECT v.sweep_no, v.class_no, v.worker, v.cause, coalesce(p.completed, FALSE),
		coalesce(p.failures, 0), coalesce(p.cause, ''),
		v.cause <> '' AND EXISTS (SELECT 1 FROM standings AS o WHERE o.sweep_no = v.sweep_no
			AND o.class_no = v.class_no AND o.worker <> v.worker AND o.completed),
		v.cause <> '' AND EXISTS (SELECT 1 FROM standings AS o WHERE o.sweep_no = v.sweep_no
			AND o.class_no = v.class_no AND o.worker <> v.worker AND o.cause = v.cause)
	FROM {v} LEFT JOIN standings AS p
		ON p.sweep_no = v.sweep_no AND p.class_no = v.class_no AND p.worker = v.worker`

func (r *recording) loadStandings(events []sweep.Event, names map[int64]string) {
	judged := r.ledger.Judged(events)
	doubted := map[int64]string{}
	r.each(func(row database.Row) error {
		var j ledger.Judged
		var own ledger.Standing
		var others ledger.Others
		err := row.Scan(&j.Class.Sweep, &j.Class.Number, &j.Worker, &j.Cause, &own.Completed, &own.Failures, &own.Cause,
			&others.Complete, &others.Fail)
		r.ledger.LoadStanding(j, own, others)
		if j.Cause != "" || !own.Completed || own.Failures > 0 {
			doubted[j.Class.Sweep] = names[j.Class.Sweep]
		}
		return err
	}, loadStandings, database.Rows(len(judged), "sweep_no, class_no, worker, cause", func(i int, row []any) []any {
		j := &judged[i]
		return append(row, &j.Class.Sweep, &j.Class.Number, &j.Worker, &j.Cause)
	}))
	r.loadDoubts(doubted)
}

// saveStandings writes how workers fare, and which failures count by that.
func (r *recording) saveStandings() {
	all := r.ledger.Standings
	const columns = "sweep_no, class_no, worker, completed, failures, cause"
	r.run(`INSERT INTO standings (`+columns+`) SELECT `+columns+` FROM {v} WHERE TRUE
		ON CONFLICT (sweep_no, class_no, worker) DO UPDATE
		SET completed = excluded.completed, failures = excluded.failures, cause = excluded.cause`,
		database.Rows(len(all), columns, func(i int, row []any) []any {
			s := all[i]
			return append(row, &s.Class.Sweep, &s.Class.Number, &s.Worker, &s.Completed, &s.Failures, &s.Cause)
		}))
	var confirmed []int64
	for _, d := range r.ledger.Doubts {
		if d.Confirmed {
			confirmed = append(confirmed, d.Key)
		}
	}
	r.run(confirmTrials, ints("trial_no", confirmed))
	r.countUnconfirmed(r.ledger.Unconfirmed())
}

const confirmTrials = `UPDATE trials AS t SET unconfirmed = FALSE FROM {v} WHERE t.trial_no = v.trial_no`

// loadDoubts loads the unconfirmed failures of the sweeps of ends that may confirm some.
func (r *recording) loadDoubts(sweeps map[int64]string) {
	for number, id := range sweeps {
		for _, f := range r.unconfirmed(class{Sweep: number, Number: -1}, func(*failure) bool { return true }) {
			r.ledger.LoadDoubt(sweep.TrialID{Sweep: id, Index: f.index}, ledger.Doubt{Key: f.trial, Index: f.index,
				Class: f.class, Worker: f.worker, Text: f.text, Outdated: f.outdated})
		}
	}
}

// countUnconfirmed adds to the numbers of unconfirmed failures of classes.
func (t *transaction) countUnconfirmed(deltas map[class]int64) {
	type change struct {
		class
		n int64
	}
	var changes []change
	for c, n := range deltas {
		if n != 0 {
			changes = append(changes, change{c, n})
		}
	}
	t.run(`UPDATE classes AS c SET unconfirmed = c.unconfirmed + v.unconfirmed`+whereClass,
		database.Rows(len(changes), "sweep_no, class_no, unconfirmed", func(i int, row []any) []any {
			return append(row, &changes[i].Sweep, &changes[i].Number, &changes[i].n)
		}))
}

// failure is an unconfirmed one.
type failure struct {
	trial, index      int64
	class             class
	worker, execution string
	text              string
	// outdated means that the trial was queued before its sweep was retried, retracted that its failure was taken
	// back once.
	outdated, retracted bool
}

const selectUnconfirmed = `SELECT t.trial_no, t.trial_index, t.sweep_no, t.class_no, t.worker, t.execution,
		coalesce(o.error, ''), coalesce(t.queued_at < s.retried_at, FALSE), t.retracted
	FROM trials AS t JOIN sweeps AS s USING (sweep_no) LEFT JOIN outcomes AS o USING (trial_no)
	WHERE t.sweep_no = $1 AND t.unconfirmed ORDER BY t.finished_at, t.trial_index`

// unconfirmed returns the unconfirmed failures of a class for which a condition holds; of all classes if its number is
// negative.
func (t *transaction) unconfirmed(c class, fits func(*failure) bool) []failure {
	all := collect(t, func(f *failure) []any {
		return []any{&f.trial, &f.index, &f.class.Sweep, &f.class.Number, &f.worker, &f.execution, &f.text, &f.outdated,
			&f.retracted}
	}, selectUnconfirmed, c.Sweep)
	return slices.DeleteFunc(all, func(f failure) bool {
		return c.Number >= 0 && f.class != c || !fits(&f)
	})
}

// confirm has failures count. In a row they may pause the sweep.
func (t *transaction) confirm(failures []failure, inRow bool) {
	if len(failures) == 0 {
		return
	}
	var trials []int64
	deltas, rows := map[class]int64{}, map[class]*sweep.Errors{}
	for i := range failures {
		f := &failures[i]
		trials = append(trials, f.trial)
		deltas[f.class]--
		if !inRow || f.outdated {
			continue
		}
		errors := rows[f.class]
		if errors == nil {
			errors = &sweep.Errors{}
			t.one([]any{&errors.Count, &errors.Cause, &errors.Last, &errors.Trial}, `SELECT errors, cause, error,
				error_index FROM classes WHERE sweep_no = $1 AND class_no = $2`, f.class.Sweep, f.class.Number)
			rows[f.class] = errors
		}
		errors.Add(f.index, f.text)
	}
	t.run(confirmTrials, ints("trial_no", trials))
	t.countUnconfirmed(deltas)
	sweeps := map[int64]bool{}
	for c := range deltas {
		sweeps[c.Sweep] = true
		if e := rows[c]; e != nil {
			t.run(`UPDATE classes SET errors = $1, cause = $2, error = $3, error_index = $4
				WHERE sweep_no = $5 AND class_no = $6`, e.Count, e.Cause, e.Last, e.Trial, c.Sweep, c.Number)
		}
	}
	for number := range sweeps {
		t.finish(number)
	}
}

// ConfirmFailures implements sweep.Store.
func (s *Store) ConfirmFailures(ctx context.Context, id string, classNo int, worker string) error {
	return s.updateSweep(ctx, "confirm failures of", id, func(t *transaction, number int64) {
		t.confirm(t.unconfirmed(class{Sweep: number, Number: int64(classNo)}, func(f *failure) bool {
			return worker == "" || f.worker == worker
		}), true)
	})
}

// RetractFailures implements sweep.Store.
func (s *Store) RetractFailures(ctx context.Context, id string, classNo int, worker, why string) (n int, err error) {
	err = s.updateSweep(ctx, "retract failures of", id, func(t *transaction, number int64) {
		found := t.unconfirmed(class{Sweep: number, Number: int64(classNo)}, func(f *failure) bool {
			return f.worker == worker && !f.retracted
		})
		var events []sweep.Event
		for _, f := range found {
			events = append(events, sweep.Event{Kind: sweep.EventRetracted, Execution: f.execution, Note: why,
				TrialID: sweep.TrialID{Sweep: id, Index: f.index}, Worker: worker})
		}
		if n = len(events); n > 0 {
			t.record(events)
		}
	})
	return n, err
}

// suspects finds the workers with unconfirmed failures, by class.
const suspects = `SELECT t.sweep_no, t.class_no, t.worker, count(*), count(*) FILTER (WHERE NOT t.retracted),
		coalesce(p.failures, 0),
		EXISTS (SELECT 1 FROM standings AS o WHERE o.sweep_no = t.sweep_no AND o.class_no = t.class_no
			AND o.worker <> t.worker AND o.completed)
	FROM {v} JOIN trials AS t USING (sweep_no) LEFT JOIN standings AS p
		ON p.sweep_no = t.sweep_no AND p.class_no = t.class_no AND p.worker = t.worker
	WHERE t.unconfirmed GROUP BY t.sweep_no, t.class_no, t.worker, p.failures ORDER BY 1, 2, 3`

// addSuspects adds to backlogs the workers with unconfirmed failures.
func (t *transaction) addSuspects(backlogs []sweep.Backlog) {
	var numbers []int64
	of := map[int64]*sweep.Backlog{}
	for i := range backlogs {
		b := &backlogs[i]
		if slices.ContainsFunc(b.Classes, func(c sweep.ClassBacklog) bool { return c.Unconfirmed > 0 }) {
			if number, found := t.lookup(b.Sweep); found {
				numbers, of[number] = append(numbers, number), b
			}
		}
	}
	t.each(func(row database.Row) error {
		var number int64
		var s sweep.Suspect
		err := row.Scan(&number, &s.Class, &s.Worker, &s.Unconfirmed, &s.Retractable, &s.Failures, &s.Others)
		if b := of[number]; b != nil {
			b.Suspects = append(b.Suspects, s)
		}
		return err
	}, suspects, ints("sweep_no", numbers))
}

// goodTrials finds the shortest trial of a class that completed in its sweep.
const goodTrials = `SELECT t.trial_index, t.class_no, t.parameters, t.fingerprint, t.dataset_digest, 0
	FROM trials AS t JOIN outcomes AS o USING (trial_no)
	WHERE t.sweep_no = $1 AND t.class_no = $2 AND t.state = 'completed' AND NOT t.diverged AND t.source_no IS NULL
	ORDER BY o.seconds, t.trial_index LIMIT 1`

// GoodTrial implements sweep.Store.
func (s *Store) GoodTrial(ctx context.Context, id string, classNo int) (good *sweep.Trial, err error) {
	err = s.viewSweep(ctx, "look for a completed trial of", id, func(t *transaction, number int64) {
		if found := t.trials(id, goodTrials, number, classNo); len(found) > 0 {
			good = &found[0]
		}
	})
	return good, err
}
