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
		r := recording{transaction: t, ledger: ledger.New(t.now), numbers: map[string]int64{}}
		r.load(events)
		report = r.ledger.Apply(events, r.limits)
		r.save()
	})
	return report, err
}

// recording is one Record.
type recording struct {
	*transaction
	ledger  *ledger.Ledger
	numbers map[string]int64
	// early are the trials that had executions before these events.
	early []*ledger.Trial
}

const loadTrials = `SELECT t.trial_no, t.sweep_no, t.trial_index, t.state, t.diverged, t.executions, t.charged,
	t.losses, t.execution, t.worker,
		t.started_at, t.finished_at, t.class_no, coalesce(t.point_key, 0), coalesce(t.seed, 0), t.refusals,
		t.heard_at, coalesce(o.digest, ''), coalesce(o.kernel_level, '')
	FROM {v} JOIN trials AS t USING (sweep_no, trial_index) LEFT JOIN outcomes AS o USING (trial_no)`

const selectExecutions = `SELECT e.trial_no, e.execution, e.worker, e.started_at, e.ended_at, e.outcome, e.charged,
	e.forgotten, e.replaced, e.checkpoint,
		e.reason, e.stderr, e.log_start, e.note
	FROM {v} JOIN executions AS e USING `

const (
	loadExecutions = selectExecutions + `(trial_no, execution)`
	loadLost       = selectExecutions + `(trial_no) WHERE e.outcome = 'lost' AND e.charged AND NOT e.forgotten`
)

func (r *recording) load(events []sweep.Event) {
	names := map[int64]string{}
	var known keys
	for _, id := range ledger.TrialIDs(events) {
		number, ok := r.numbers[id.Sweep]
		if !ok {
			number, _ = r.lookup(id.Sweep)
			r.numbers[id.Sweep] = number
		}
		if number != 0 {
			names[number] = id.Sweep
			known.numbers, known.indices = append(known.numbers, number), append(known.indices, id.Index)
		}
	}
	r.claim(slices.Sorted(maps.Keys(names))...)
	byKey := map[int64]*ledger.Trial{}
	r.each(func(row database.Row) error {
		trial := &ledger.Trial{}
		var number int64
		err := row.Scan(&trial.Key, &number, &trial.ID.Index, (*string)(&trial.State), &trial.Diverged,
			&trial.Executions, &trial.Charged, &trial.Losses,
			&trial.Execution, &trial.Worker, &trial.StartedAt, &trial.FinishedAt, &trial.Class, &trial.Point,
			&trial.Seed, &trial.Refusals, &trial.HeardAt, &trial.Digest, &trial.KernelLevel)
		trial.ID.Sweep = names[number]
		r.ledger.LoadTrial(trial)
		byKey[trial.Key] = trial
		if trial.Executions > 0 {
			r.early = append(r.early, trial)
		}
		return err
	}, loadTrials, known.batch())
	r.loadRefusals(byKey, events)
	if len(r.early) == 0 {
		return
	}
	r.loadCurves(byKey, events)
	load := func(row database.Row) error {
		e := &ledger.Execution{}
		var key int64
		err := row.Scan(&key, &e.ID, &e.Worker, &e.StartedAt, &e.EndedAt, (*string)(&e.Outcome), &e.Charged,
			&e.Forgotten, &e.Replaced, &e.Checkpoint, &e.Reason, &e.Stderr,
			&e.LogStart, &e.Note)
		if err != nil {
			return err
		}
		e.Trial = byKey[key]
		r.ledger.LoadExecution(e)
		return nil
	}
	mentioned := r.ledger.Mentioned(events)
	r.each(load, loadExecutions, database.Batch{Rows: len(mentioned), Columns: []database.Column{
		{Name: "trial_no", Int: func(i int) int64 { return mentioned[i].Trial.Key }},
		{Name: "execution", Text: func(i int) string { return mentioned[i].ID }},
	}})
	if lost := r.ledger.Lost(events); len(lost) > 0 {
		r.each(load, loadLost, keyBatch(lost))
	}
}

const loadRefusals = `SELECT r.trial_no, r.worker, r.reason, r.refusals, r.refused_at FROM {v}
	JOIN trial_refusals AS r USING (trial_no, worker)`

func (r *recording) loadRefusals(byKey map[int64]*ledger.Trial, events []sweep.Event) {
	mentioned := r.ledger.RefusedBy(events)
	if len(mentioned) == 0 {
		return
	}
	r.each(func(row database.Row) error {
		refusal := &ledger.Refusal{}
		var key int64
		err := row.Scan(&key, &refusal.Worker, &refusal.Reason, &refusal.Count, &refusal.At)
		refusal.Trial = byKey[key]
		r.ledger.LoadRefusal(refusal)
		return err
	}, loadRefusals, database.Batch{Rows: len(mentioned), Columns: []database.Column{
		{Name: "trial_no", Int: func(i int) int64 { return mentioned[i].Trial.Key }},
		{Name: "worker", Text: func(i int) string { return mentioned[i].Worker }},
	}})
}

const loadCurves = `SELECT c.trial_no, c.metric, c.step_array, c.value_array FROM {v}
	JOIN curve_arrays AS c USING (trial_no) ORDER BY c.trial_no, c.ordinal`

// loadCurves loads the curves to which events add samples.
func (r *recording) loadCurves(byKey map[int64]*ledger.Trial, events []sweep.Event) {
	extended := r.ledger.Extended(events)
	if len(extended) == 0 {
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
	}, loadCurves, keyBatch(extended))
}

// keyBatch is a batch of trials.
func keyBatch(trials []*ledger.Trial) database.Batch {
	return database.Batch{Rows: len(trials), Columns: []database.Column{{Name: "trial_no", Int: func(i int) int64 {
		return trials[i].Key
	}}}}
}

// limits finds those of the grid that a trial belongs to.
func (r *recording) limits(trial *ledger.Trial) (limits ledger.Limits) {
	r.one([]any{&limits.Attempts, &limits.Losses},
		`SELECT attempts, losses FROM grids WHERE sweep_no = $1 AND first_index <= $2 ORDER BY ordinal DESC LIMIT 1`,
		r.numbers[trial.ID.Sweep], trial.ID.Index)
	return limits
}

func (r *recording) save() {
	r.change("trials", 1, trialBatch(r.ledger.Trials(), r.now))
	for _, trial := range r.ledger.Trials() {
		if trial.State == sweep.Pending {
			r.s.taken.back(class{r.numbers[trial.ID.Sweep], trial.Class}, trial.ID.Index)
		}
	}
	save(r.transaction, "executions", 2, r.ledger.Executions(), func(e *ledger.Execution) bool {
		return !e.New
	}, executionBatch)
	r.saveRefusals()
	r.saveOutcomes()
	r.saveEntries()
	r.saveCurves()
	r.saveArtifacts()
	deltas := map[class]*sweep.Progress{}
	for c, d := range r.ledger.Deltas() {
		deltas[class{r.numbers[c.Sweep], c.Number}] = d
	}
	r.saveFaults(deltas)
	r.count(deltas)
	ended := map[int64]bool{}
	for class, d := range deltas {
		if d.Done() > 0 && !ended[class.sweep] {
			ended[class.sweep] = true
			r.finish(class.sweep)
		}
	}
}

func trialBatch(trials []*ledger.Trial, now time.Time) database.Batch {
	return database.Batch{Rows: len(trials), Columns: []database.Column{
		{Name: "trial_no", Int: func(i int) int64 { return trials[i].Key }},
		{Name: "state", Text: func(i int) string { return string(trials[i].State) }},
		{Name: "diverged", Bool: func(i int) bool { return trials[i].Diverged }},
		{Name: "executions", Int32: func(i int) int64 { return int64(trials[i].Executions) }},
		{Name: "charged", Int32: func(i int) int64 { return int64(trials[i].Charged) }},
		{Name: "losses", Int32: func(i int) int64 { return int64(trials[i].Losses) }},
		{Name: "execution", Text: func(i int) string { return trials[i].Execution }},
		{Name: "worker", Text: func(i int) string { return trials[i].Worker }},
		{Name: "refusals", Int32: func(i int) int64 { return int64(trials[i].Refusals) }},
		{Name: "started_at", Time: func(i int) time.Time { return trials[i].StartedAt }},
		{Name: "finished_at", Time: func(i int) time.Time { return trials[i].FinishedAt }},
		{Name: "heard_at", Time: func(int) time.Time { return now }},
	}}
}

func executionBatch(all []*ledger.Execution) database.Batch {
	return database.Batch{Rows: len(all), Columns: []database.Column{
		{Name: "trial_no", Int: func(i int) int64 { return all[i].Trial.Key }},
		{Name: "execution", Text: func(i int) string { return all[i].ID }},
		{Name: "worker", Text: func(i int) string { return all[i].Worker }},
		{Name: "started_at", Time: func(i int) time.Time { return all[i].StartedAt }},
		{Name: "ended_at", Time: func(i int) time.Time { return all[i].EndedAt }},
		{Name: "outcome", Text: func(i int) string { return string(all[i].Outcome) }},
		{Name: "charged", Bool: func(i int) bool { return all[i].Charged }},
		{Name: "forgotten", Bool: func(i int) bool { return all[i].Forgotten }},
		{Name: "replaced", Bool: func(i int) bool { return all[i].Replaced }},
		{Name: "checkpoint", Int: func(i int) int64 { return all[i].Checkpoint }},
		{Name: "reason", Text: func(i int) string { return all[i].Reason }},
		{Name: "stderr", Text: func(i int) string { return all[i].Stderr }},
		{Name: "log_start", Int: func(i int) int64 { return all[i].LogStart }},
		{Name: "note", Text: func(i int) string { return all[i].Note }},
	}}
}

func (r *recording) saveRefusals() {
	refusals := r.ledger.Refusals()
	if len(refusals) == 0 {
		return
	}
	r.run(`INSERT INTO trial_refusals (trial_no, worker, reason, refusals, refused_at)
		SELECT trial_no, worker, reason, refusals, refused_at FROM {v} WHERE TRUE
		ON CONFLICT (trial_no, worker) DO UPDATE
		SET reason = excluded.reason, refusals = excluded.refusals, refused_at = excluded.refused_at`,
		database.Batch{Rows: len(refusals), Columns: []database.Column{
			{Name: "trial_no", Int: func(i int) int64 { return refusals[i].Trial.Key }},
			{Name: "worker", Text: func(i int) string { return refusals[i].Worker }},
			{Name: "reason", Text: func(i int) string { return refusals[i].Reason }},
			{Name: "refusals", Int32: func(i int) int64 { return int64(refusals[i].Count) }},
			{Name: "refused_at", Time: func(i int) time.Time { return refusals[i].At }},
		}})
}

func (r *recording) saveOutcomes() {
	var ended, revived []*ledger.Trial
	var summaries []string
	for _, t := range r.ledger.Trials() {
		if t.Revived {
			revived = append(revived, t)
		}
		if t.Outcome != nil {
			ended = append(ended, t)
			summary := "{}"
			if len(t.Outcome.Summary) > 0 {
				summary = r.encode(t.Outcome.Summary)
			}
			summaries = append(summaries, summary)
		}
	}
	r.saveRevived(revived)
	of := func(i int) *sweep.Result { return ended[i].Outcome }
	r.insert("outcomes", database.Batch{Rows: len(ended), Columns: []database.Column{
		{Name: "trial_no", Int: func(i int) int64 { return ended[i].Key }},
		{Name: "summary", JSON: func(i int) string { return summaries[i] }},
		{Name: "best_epoch", Int: func(i int) int64 { return of(i).BestEpoch }},
		{Name: "parameter_count", Int: func(i int) int64 { return of(i).ParameterCount }},
		{Name: "weights_digest", Text: func(i int) string { return of(i).WeightsDigest }},
		{Name: "kernel_level", Text: func(i int) string { return of(i).KernelLevel }},
		{Name: "seconds", Float: func(i int) float64 { return of(i).Seconds }},
		{Name: "flops", Float: func(i int) float64 { return of(i).Flops }},
		{Name: "error", Text: func(i int) string { return of(i).Error }},
		{Name: "stderr", Text: func(i int) string { return of(i).Stderr }},
		{Name: "digest", Text: func(i int) string { return of(i).Digest }},
	}})
}

// saveRevived deletes the outcomes of trials that had failed, and makes their sweeps active.
func (r *recording) saveRevived(revived []*ledger.Trial) {
	if len(revived) == 0 {
		return
	}
	r.run(`DELETE FROM outcomes WHERE trial_no IN (SELECT v.trial_no FROM {v})`, keyBatch(revived))
	for _, text := range deleteMetrics {
		r.run(text, keyBatch(revived))
	}
	r.run(`DELETE FROM trial_artifacts WHERE trial_no IN (SELECT v.trial_no FROM {v})`, keyBatch(revived))
	r.run(`UPDATE sweeps SET state = 'active', updated_at = $1 WHERE state = 'finished' AND sweep_no IN (
		SELECT t.sweep_no FROM {v} JOIN trials AS t USING (trial_no))`, r.now, keyBatch(revived))
}

// deleteMetrics deletes the stored metrics of trials.
var deleteMetrics = []string{
	`DELETE FROM scores WHERE (sweep_no, trial_index) IN (SELECT t.sweep_no, t.trial_index FROM {v}
		JOIN trials AS t USING (trial_no))`,
	`DELETE FROM metrics WHERE (sweep_no, metric_no, trial_index) IN (
		SELECT n.sweep_no, n.metric_no, t.trial_index FROM {v} JOIN trials AS t USING (trial_no)
		JOIN metric_names AS n USING (sweep_no))`,
}

// saveEntries enters the results into scores, grid points and groups.
func (r *recording) saveEntries() {
	var entries []entry
	for _, t := range r.ledger.Trials() {
		if o := t.Outcome; o != nil {
			entries = append(entries, entry{
				sweep: r.numbers[t.ID.Sweep], trial: t.Key, index: t.ID.Index, point: t.Point, seed: t.Seed,
				completed: o.State == sweep.Completed, diverged: o.Diverged, summary: o.Summary,
				parameterCount: o.ParameterCount,
			})
		}
	}
	if r.err == nil && len(entries) > 0 {
		r.score(entries)
	}
}

const deleteCurves = `DELETE FROM curve_arrays WHERE trial_no IN (SELECT v.trial_no FROM {v})`

func (r *recording) saveCurves() {
	var stored []*ledger.Trial // that may have curves
	for _, t := range r.early {
		if t.ReplaceCurves {
			stored = append(stored, t)
		}
	}
	if len(stored) > 0 {
		r.run(deleteCurves, keyBatch(stored))
	}
	type curve struct {
		trial   *ledger.Trial
		ordinal int
	}
	var all []curve
	for _, t := range r.ledger.Trials() {
		if t.ReplaceCurves {
			for i := range t.Curves {
				all = append(all, curve{t, i})
			}
		}
	}
	of := func(i int) *sweep.Curve { return &all[i].trial.Curves[all[i].ordinal] }
	r.insert("curve_arrays", database.Batch{Rows: len(all), Columns: []database.Column{
		{Name: "trial_no", Int: func(i int) int64 { return all[i].trial.Key }},
		{Name: "metric", Text: func(i int) string { return of(i).Metric }},
		{Name: "ordinal", Int32: func(i int) int64 { return int64(all[i].ordinal) }},
		{Name: "step_array", Steps: func(i int) []int64 {
			return ledger.StoredSteps(all[i].trial.Curves, all[i].ordinal)
		}},
		{Name: "value_array", Values: func(i int) []float32 { return of(i).Values }},
	}})
}

// saveFaults writes the faults that are not there yet and counts them.
func (r *recording) saveFaults(deltas map[class]*sweep.Progress) {
	faults := r.ledger.Faults()
	if len(faults) == 0 {
		return
	}
	byKey := map[int64]class{}
	for _, f := range faults {
		byKey[f.Trial.Key] = class{r.numbers[f.Trial.ID.Sweep], f.Trial.Class}
	}
	r.each(func(row database.Row) error {
		var key int64
		err := row.Scan(&key)
		if deltas[byKey[key]] == nil {
			deltas[byKey[key]] = &sweep.Progress{}
		}
		deltas[byKey[key]].Faults++
		return err
	}, `INSERT INTO reproducibility_faults (trial_no, execution, worker, kernel_level, expected, found, found_at)
		SELECT trial_no, execution, worker, kernel_level, expected, found, $1 FROM {v} WHERE TRUE
		ON CONFLICT (trial_no, execution) DO NOTHING RETURNING trial_no`,
		r.now, database.Batch{Rows: len(faults), Columns: []database.Column{
			{Name: "trial_no", Int: func(i int) int64 { return faults[i].Trial.Key }},
			{Name: "execution", Text: func(i int) string { return faults[i].Execution }},
			{Name: "worker", Text: func(i int) string { return faults[i].Worker }},
			{Name: "kernel_level", Text: func(i int) string { return faults[i].KernelLevel }},
			{Name: "expected", Text: func(i int) string { return faults[i].Expected }},
			{Name: "found", Text: func(i int) string { return faults[i].Found }},
		}})
}
