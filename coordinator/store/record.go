package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// Record implements sweep.Store: it loads the trials of the events, has the ledger apply
// them, and writes the changes with one statement per table.
func (s *Store) Record(ctx context.Context, events []sweep.Event) (report sweep.RecordReport, err error) {
	err = s.update(ctx, "record events", func(t *transaction) {
		report = t.record(events)
	})
	return report, err
}

// record records events.
func (t *transaction) record(events []sweep.Event) sweep.RecordReport {
	r := recording{transaction: t, ledger: ledger.New(t.now)}
	r.load(events)
	report := r.ledger.Apply(events, r.limits)
	r.save()
	return report
}

// recording is one Record.
type recording struct {
	*transaction
	ledger *ledger.Ledger
	// early are the trials that had executions before these events.
	early []*ledger.Trial
}

const loadTrials = `SELECT t.trial_no, t.sweep_no, t.trial_index, t.state, t.diverged, t.executions, t.charged,
		t.losses, t.execution, t.worker, t.started_at, t.finished_at, t.class_no, coalesce(t.point_key, 0),
		coalesce(t.seed, 0), t.refusals, t.heard_at, coalesce(o.digest, ''), coalesce(o.kernel_level, ''),
		coalesce(s.budget_no, 0), coalesce(t.queued_at < s.retried_at, FALSE), t.unconfirmed, t.retracted
	FROM {v} JOIN trials AS t USING (sweep_no, trial_index) JOIN sweeps AS s USING (sweep_no)
	LEFT JOIN outcomes AS o USING (trial_no)`

const executionColumns = "trial_no, execution, worker, started_at, ended_at, outcome, charged, forgotten, replaced, " +
	"alone, checkpoint, reason, stderr, log_start, note"

func columnsOfExecution(row []any, e *ledger.Execution) []any {
	return append(row, &e.Trial.Key, &e.ID, &e.Worker, &e.StartedAt, &e.EndedAt, (*string)(&e.Outcome), &e.Charged,
		&e.Forgotten, &e.Replaced, &e.Alone, &e.Checkpoint, &e.Reason, &e.Stderr, &e.LogStart, &e.Note)
}

var (
	selectExecutions = `SELECT ` + qualified("e", executionColumns) + ` FROM {v} JOIN stored_executions AS e USING `
	loadExecutions   = selectExecutions + `(trial_no, execution)`
	loadLost         = selectExecutions + `(trial_no) WHERE e.outcome = 'lost' AND e.charged AND NOT e.forgotten`
)

const refusalColumns = "trial_no, worker, reason, refusals, refused_at"

func columnsOfRefusal(row []any, r *ledger.Refusal) []any {
	return append(row, &r.Trial.Key, &r.Worker, &r.Reason, &r.Count, &r.At)
}

func (r *recording) load(events []sweep.Event) {
	names := map[int64]string{}
	var known keys
	number, last := int64(0), ""
	for _, id := range ledger.TrialIDs(events) {
		if id.Sweep != last {
			number, _ = r.lookup(id.Sweep)
			last = id.Sweep
		}
		if number != 0 {
			names[number] = id.Sweep
			known.add(number, id.Index)
		}
	}
	r.claim(slices.Sorted(maps.Keys(names))...)
	byKey := map[int64]*ledger.Trial{}
	r.each(func(row database.Row) error {
		trial := &ledger.Trial{}
		err := row.Scan(&trial.Key, &trial.Class.Sweep, &trial.ID.Index, (*string)(&trial.State), &trial.Diverged,
			&trial.Executions, &trial.Charged, &trial.Losses, &trial.Execution, &trial.Worker, &trial.StartedAt,
			&trial.FinishedAt, &trial.Class.Number, &trial.Point, &trial.Seed, &trial.Refusals, &trial.HeardAt,
			&trial.Digest, &trial.KernelLevel, &trial.Budget, &trial.Outdated, &trial.Unconfirmed, &trial.Retracted)
		trial.ID.Sweep = names[trial.Class.Sweep]
		r.ledger.LoadTrial(trial)
		byKey[trial.Key] = trial
		if trial.Executions > 0 {
			r.early = append(r.early, trial)
		}
		return err
	}, loadTrials, known.batch())
	refused := r.ledger.RefusedBy(events)
	r.each(func(row database.Row) error {
		refusal := &ledger.Refusal{Trial: &ledger.Trial{}}
		if err := row.Scan(columnsOfRefusal(nil, refusal)...); err != nil {
			return err
		}
		refusal.Trial = byKey[refusal.Trial.Key]
		r.ledger.LoadRefusal(refusal)
		return nil
	}, `SELECT `+qualified("r", refusalColumns)+` FROM {v} JOIN trial_refusals AS r USING (trial_no, worker)`,
		database.Rows(len(refused), "trial_no, worker", func(i int, row []any) []any {
			return append(row, &refused[i].Trial.Key, &refused[i].Worker)
		}))
	r.loadCurves(byKey, events)
	r.loadStandings(events, names)
	load := func(row database.Row) error {
		e := &ledger.Execution{Trial: &ledger.Trial{}}
		if err := row.Scan(columnsOfExecution(nil, e)...); err != nil {
			return err
		}
		e.Trial = byKey[e.Trial.Key]
		r.ledger.LoadExecution(e)
		return nil
	}
	mentioned := r.ledger.Mentioned(events)
	r.each(load, loadExecutions, database.Rows(len(mentioned), "trial_no, execution", func(i int, row []any) []any {
		return append(row, &mentioned[i].Trial.Key, &mentioned[i].ID)
	}))
	r.each(load, loadLost, keyBatch(r.ledger.Lost(events)))
	r.ledger.Imply()
}

const loadCurves = `SELECT c.trial_no, c.metric, c.step_array, c.value_array FROM {v}
	JOIN curve_arrays AS c USING (trial_no) ORDER BY c.trial_no, c.ordinal`

// loadCurves loads the curves to which events add samples.
func (r *recording) loadCurves(byKey map[int64]*ledger.Trial, events []sweep.Event) {
	if len(r.early) == 0 { // none of the trials has curves
		return
	}
	r.each(func(row database.Row) error {
		var key int64
		var curve sweep.Curve
		err := row.Scan(&key, &curve.Metric, &curve.Steps, &curve.Values)
		trial := byKey[key]
		if len(curve.Steps) == 0 && len(curve.Values) > 0 && len(trial.Curves) > 0 {
			curve.Steps = trial.Curves[0].Steps
		}
		trial.Curves = append(trial.Curves, curve)
		return err
	}, loadCurves, keyBatch(r.ledger.Extended(events)))
}

// keyBatch is a batch of trials.
func keyBatch(trials []*ledger.Trial) database.Batch {
	return database.Rows(len(trials), "trial_no", func(i int, row []any) []any { return append(row, &trials[i].Key) })
}

// limits finds those of the grid that a trial belongs to.
func (r *recording) limits(trial *ledger.Trial) (limits ledger.Limits) {
	r.one([]any{&limits.Attempts, &limits.Losses},
		`SELECT attempts, losses FROM grids WHERE sweep_no = $1 AND first_index <= $2 ORDER BY ordinal DESC LIMIT 1`,
		trial.Class.Sweep, trial.ID.Index)
	return limits
}

func (r *recording) save() {
	r.change("trials", 1, trialBatch(r.ledger.Trials, r.now))
	for _, trial := range r.ledger.Trials {
		if trial.State == sweep.Pending {
			r.s.taken.back(trial.Class, trial.ID.Index)
		}
	}
	rows := slices.DeleteFunc(slices.Clone(r.ledger.Executions), (*ledger.Execution).Implied)
	save(r.transaction, "stored_executions", 2, rows, func(e *ledger.Execution) bool {
		return e.Stored
	}, executionBatch)
	refusals := r.ledger.Refusals
	r.run(`INSERT INTO trial_refusals (`+refusalColumns+`) SELECT `+refusalColumns+` FROM {v} WHERE TRUE
		ON CONFLICT (trial_no, worker) DO UPDATE
		SET reason = excluded.reason, refusals = excluded.refusals, refused_at = excluded.refused_at`,
		database.Rows(len(refusals), refusalColumns, func(i int, row []any) []any {
			return columnsOfRefusal(row, refusals[i])
		}))
	r.saveOutcomes()
	r.saveCurves()
	r.saveMarks()
	r.saveArtifacts()
	r.saveInputs()
	r.keepBest()
	deltas := r.ledger.Deltas()
	r.saveFaults(deltas)
	r.countEnds(deltas)
	r.saveSpending()
	r.saveStandings()
	ended := map[int64]bool{}
	for class, d := range deltas {
		if d.Done() > 0 && !ended[class.Sweep] {
			ended[class.Sweep] = true
			r.finish(class.Sweep)
		}
	}
}

func trialBatch(trials []*ledger.Trial, now time.Time) database.Batch {
	return database.Rows(len(trials), "trial_no, state, diverged, executions, charged, losses, execution, worker, "+
		"refusals, started_at, finished_at, heard_at, unconfirmed, retracted", func(i int, row []any) []any {
		t := trials[i]
		return append(row, &t.Key, (*string)(&t.State), &t.Diverged, &t.Executions, &t.Charged, &t.Losses, &t.Execution,
			&t.Worker, &t.Refusals, &t.StartedAt, &t.FinishedAt, &now, &t.Unconfirmed, &t.Retracted)
	})
}

func executionBatch(all []*ledger.Execution) database.Batch {
	return database.Rows(len(all), executionColumns, func(i int, row []any) []any {
		return columnsOfExecution(row, all[i])
	})
}

// saveOutcomes writes the results, and enters them into scores, grid points and groups.
func (r *recording) saveOutcomes() {
	var ended []*ledger.Trial
	var revived, counted []*ledger.Trial // they had failed; the failures of some counted
	var entries []entry
	var summaries []database.JSON
	var called []labels
	for _, t := range r.ledger.Trials {
		if t.Revived {
			revived = append(revived, t)
			if !t.Retracted {
				counted = append(counted, t)
			}
		}
		if o := t.Outcome; o != nil {
			ended = append(ended, t)
			summaries = append(summaries, r.encodeSummary(o))
			called = append(called, labelsOf(o))
			entries = append(entries, entry{
				sweep: t.Class.Sweep, trial: t.Key, index: t.ID.Index, point: t.Point, seed: t.Seed,
				completed: o.State == sweep.Completed, diverged: o.Diverged, summary: o.Summary, notFinite: o.NotFinite,
			})
		}
	}
	r.forget(keyBatch(revived))
	r.revive(keyBatch(counted))
	r.insert("outcomes", database.Rows(len(ended), "trial_no, "+outcomeColumns, func(i int, row []any) []any {
		o := ended[i].Outcome
		return append(row, &ended[i].Key, &summaries[i], &o.WeightsDigest, &o.KernelLevel, &o.Seconds, &o.Error,
			&o.Stderr, &o.Digest, &called[i].name, &called[i].group, &called[i].notes, &called[i].tags)
	}))
	r.score(entries)
}

const outcomeColumns = "summary, weights_digest, kernel_level, seconds, error, stderr, digest, run_name, run_group, " +
	"notes, tags"

// forget deletes the results of trials, except their curves.
func (t *transaction) forget(trials database.Batch) {
	for _, text := range deleteMetrics {
		t.run(text, trials)
	}
	t.run(deleteOf("outcomes"), trials)
	t.run(deleteOf("trial_artifacts"), trials)
	t.run(deleteOf("trial_inputs"), trials)
}

// deleteOf is the statement that deletes what a table has of trials.
func deleteOf(table string) string {
	return "DELETE FROM " + table + " WHERE trial_no IN (SELECT v.trial_no FROM {v})"
}

// deleteMetrics deletes the stored metrics of trials.
var deleteMetrics = []string{
	`DELETE FROM scores WHERE (sweep_no, trial_index) IN (SELECT t.sweep_no, t.trial_index FROM {v}
		JOIN trials AS t USING (trial_no))`,
	`DELETE FROM metric_values WHERE (sweep_no, metric_no, trial_index) IN (
		SELECT n.sweep_no, n.metric_no, t.trial_index FROM {v} JOIN trials AS t USING (trial_no)
		JOIN metric_names AS n USING (sweep_no))`,
}

func (r *recording) saveCurves() {
	stored := slices.DeleteFunc(r.early, func(t *ledger.Trial) bool { return !t.ReplaceCurves }) // some have curves
	r.run(deleteOf("curve_arrays"), keyBatch(stored))
	type curve struct {
		*sweep.Curve
		trial   *ledger.Trial
		ordinal int
		steps   []int64
	}
	var all []curve
	for _, t := range r.ledger.Trials {
		if t.ReplaceCurves {
			for i := range t.Curves {
				all = append(all, curve{&t.Curves[i], t, i, ledger.StoredSteps(t.Curves, i)})
			}
		}
	}
	r.insert("curve_arrays", database.Rows(len(all), "trial_no, metric, ordinal, step_array, value_array",
		func(i int, row []any) []any {
			c := &all[i]
			return append(row, &c.trial.Key, &c.Metric, &c.ordinal, &c.steps, &c.Values)
		}))
}

// saveFaults writes the faults that are not there yet and counts them.
func (r *recording) saveFaults(deltas ledger.Counts[class]) {
	faults := r.ledger.Faults
	classes := map[int64]class{}
	for _, f := range faults {
		classes[f.Trial.Key] = f.Trial.Class
	}
	written := r.integers(`INSERT INTO reproducibility_faults (trial_no, execution, worker, kernel_level, expected,
			found, found_at)
		SELECT trial_no, execution, worker, kernel_level, expected, found, $1 FROM {v} WHERE TRUE
		ON CONFLICT (trial_no, execution) DO NOTHING RETURNING trial_no`, r.now,
		database.Rows(len(faults), "trial_no, execution, worker, kernel_level, expected, found",
			func(i int, row []any) []any {
				f := &faults[i]
				return append(row, &f.Trial.Key, &f.Execution, &f.Worker, &f.KernelLevel, &f.Expected, &f.Found)
			}))
	for _, trial := range written {
		deltas.Of(classes[trial]).Faults++
	}
}
