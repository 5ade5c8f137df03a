package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// Record implements sweep.Store: it loads the trials that the events are
// about, lets the ledger apply them, and writes what changed.
func (s *Store) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	var report sweep.RecordReport
	err := s.update(ctx, "record events", func(t *transaction) error {
		r := recording{s: s, t: t, ledger: ledger.New(t.now), numbers: map[string]int64{}}
		if err := r.load(ctx, events); err != nil {
			return err
		}
		var err error
		report, err = r.ledger.Apply(events, func(trial *ledger.Trial) (int, error) { return r.attempts(ctx, trial) })
		if err != nil {
			return err
		}
		return r.save(ctx)
	})
	if err != nil {
		return sweep.RecordReport{}, err
	}
	return report, nil
}

// recording is one Record.
type recording struct {
	s       *Store
	t       *transaction
	ledger  *ledger.Ledger
	numbers map[string]int64
}

const loadTrials = `SELECT t.trial_no, t.sweep_no, t.trial_index, t.state, t.diverged, t.executions, t.charged, t.execution, t.worker,
		t.started_at, t.finished_at, coalesce(o.digest, ''), coalesce(o.kernel_level, '')
	FROM unnest($1::bigint[], $2::bigint[]) AS k (sweep_no, trial_index)
	JOIN trials AS t USING (sweep_no, trial_index)
	LEFT JOIN outcomes AS o USING (trial_no)`

func (r *recording) load(ctx context.Context, events []sweep.Event) error {
	ids := ledger.TrialIDs(events)
	if err := r.findSweeps(ctx, ids); err != nil {
		return err
	}
	var numbers, indices, claimed []int64
	byNumber := map[int64]string{}
	for id, number := range r.numbers {
		claimed = append(claimed, number)
		byNumber[number] = id
	}
	if err := r.t.claim(ctx, claimed...); err != nil {
		return err
	}
	for _, id := range ids {
		if number, ok := r.numbers[id.Sweep]; ok {
			numbers, indices = append(numbers, number), append(indices, id.Index)
		}
	}
	byKey := map[int64]*ledger.Trial{}
	mentioned := ledger.Mentioned(events)
	var executed []int64
	var executions []string
	rows, err := r.t.Query(ctx, loadTrials, numbers, indices)
	err = each(rows, err, func() error {
		trial := &ledger.Trial{}
		var number int64
		var started, finished *time.Time
		if err := rows.Scan(&trial.Key, &number, &trial.ID.Index, &trial.State, &trial.Diverged, &trial.Executions, &trial.Charged,
			&trial.Execution, &trial.Worker, &started, &finished, &trial.Digest, &trial.KernelLevel); err != nil {
			return err
		}
		trial.ID.Sweep = byNumber[number]
		trial.StartedAt, trial.FinishedAt = utc(started), utc(finished)
		r.ledger.LoadTrial(trial)
		byKey[trial.Key] = trial
		if trial.Executions > 0 {
			for _, execution := range append(mentioned[trial.ID], trial.Execution) {
				executed, executions = append(executed, trial.Key), append(executions, execution)
			}
		}
		return nil
	})
	if err != nil || len(executed) == 0 {
		return err
	}
	rows, err = r.t.Query(ctx,
		`SELECT DISTINCT trial_no, execution, worker, started_at, ended_at, outcome, charged, forgotten, checkpoint, reason, stderr
		FROM executions JOIN unnest($1::bigint[], $2::text[]) AS k (trial_no, execution) USING (trial_no, execution)`, executed, executions)
	return each(rows, err, func() error {
		e := &ledger.Execution{}
		var key int64
		var started, ended *time.Time
		if err := rows.Scan(&key, &e.ID, &e.Worker, &started, &ended, &e.Outcome, &e.Charged, &e.Forgotten, &e.Checkpoint,
			&e.Reason, &e.Stderr); err != nil {
			return err
		}
		e.Trial, e.StartedAt, e.EndedAt = byKey[key], utc(started), utc(ended)
		r.ledger.LoadExecution(e)
		return nil
	})
}

// findSweeps finds the numbers of the sweeps that exist.
func (r *recording) findSweeps(ctx context.Context, ids []sweep.TrialID) error {
	var unknown []string
	r.s.lock.RLock()
	for _, id := range ids {
		if number, ok := r.s.numbers[id.Sweep]; ok {
			r.numbers[id.Sweep] = number
		} else if !slices.Contains(unknown, id.Sweep) {
			unknown = append(unknown, id.Sweep)
		}
	}
	r.s.lock.RUnlock()
	if len(unknown) == 0 {
		return nil
	}
	rows, err := r.t.Query(ctx, `SELECT sweep_id, sweep_no FROM sweeps WHERE sweep_id = ANY($1)`, unknown)
	return each(rows, err, func() error {
		var id string
		var number int64
		err := rows.Scan(&id, &number)
		r.numbers[id] = number
		return err
	})
}

// attempts finds the limit of the grid that a trial belongs to.
func (r *recording) attempts(ctx context.Context, trial *ledger.Trial) (int, error) {
	var limit int
	err := r.t.QueryRow(ctx,
		`SELECT attempts FROM grids WHERE sweep_no = $1 AND first_index <= $2 ORDER BY ordinal DESC LIMIT 1`,
		r.numbers[trial.ID.Sweep], trial.ID.Index).Scan(&limit)
	return limit, err
}

func (r *recording) save(ctx context.Context) error {
	if err := r.saveTrials(ctx); err != nil {
		return err
	}
	if err := r.saveExecutions(ctx); err != nil {
		return err
	}
	if err := r.saveOutcomes(ctx); err != nil {
		return err
	}
	if err := r.saveCurves(ctx); err != nil {
		return err
	}
	deltas := r.ledger.Deltas()
	if err := r.saveFaults(ctx, deltas); err != nil {
		return err
	}
	for id, d := range deltas {
		number := r.numbers[id]
		if err := r.t.addCounts(ctx, number, d); err != nil {
			return err
		}
		if d.Done() > 0 {
			if err := r.t.finish(ctx, number); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recording) saveTrials(ctx context.Context) error {
	trials := r.ledger.Trials()
	if len(trials) == 0 {
		return nil
	}
	n := len(trials)
	keys, executions, charged := make([]int64, n), make([]int32, n), make([]int32, n)
	states, execution, workers := make([]string, n), make([]string, n), make([]string, n)
	diverged := make([]bool, n)
	started, finished := make([]*time.Time, n), make([]*time.Time, n)
	for i, t := range trials {
		keys[i], states[i], diverged[i], executions[i], charged[i] = t.Key, string(t.State), t.Diverged, int32(t.Executions), int32(t.Charged)
		execution[i], workers[i], started[i], finished[i] = t.Execution, t.Worker, nullTime(t.StartedAt), nullTime(t.FinishedAt)
	}
	_, err := r.t.Exec(ctx,
		`UPDATE trials AS t SET state = v.state, diverged = v.diverged, executions = v.executions, charged = v.charged,
			execution = v.execution, worker = v.worker, started_at = v.started_at, finished_at = v.finished_at, heard_at = $1
		FROM unnest($2::bigint[], $3::text[], $4::boolean[], $5::integer[], $6::integer[], $7::text[], $8::text[], $9::timestamptz[], $10::timestamptz[])
			AS v (trial_no, state, diverged, executions, charged, execution, worker, started_at, finished_at)
		WHERE t.trial_no = v.trial_no`,
		r.t.now, keys, states, diverged, executions, charged, execution, workers, started, finished)
	return err
}

func (r *recording) saveExecutions(ctx context.Context) error {
	all := r.ledger.Executions()
	if len(all) == 0 {
		return nil
	}
	n := len(all)
	keys, checkpoints := make([]int64, n), make([]int64, n)
	ids, workers, outcomes, reasons, stderrs := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	charged, forgotten := make([]bool, n), make([]bool, n)
	started, ended := make([]time.Time, n), make([]*time.Time, n)
	for i, e := range all {
		keys[i], ids[i], workers[i], started[i], ended[i], outcomes[i] = e.Trial.Key, e.ID, e.Worker, e.StartedAt, nullTime(e.EndedAt), e.Outcome
		charged[i], forgotten[i], checkpoints[i], reasons[i], stderrs[i] = e.Charged, e.Forgotten, e.Checkpoint, e.Reason, e.Stderr
	}
	_, err := r.t.Exec(ctx,
		`INSERT INTO executions (trial_no, execution, worker, started_at, ended_at, outcome, charged, forgotten, checkpoint, reason, stderr)
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::boolean[], $8::boolean[],
			$9::bigint[], $10::text[], $11::text[])
		ON CONFLICT (trial_no, execution) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome,
			charged = excluded.charged, checkpoint = excluded.checkpoint, reason = excluded.reason, stderr = excluded.stderr`,
		keys, ids, workers, started, ended, outcomes, charged, forgotten, checkpoints, reasons, stderrs)
	return err
}

func (r *recording) saveOutcomes(ctx context.Context) error {
	var ended []*ledger.Trial
	for _, t := range r.ledger.Trials() {
		if t.Outcome != nil {
			ended = append(ended, t)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	columns := []string{"trial_no", "summary", "best_epoch", "parameter_count", "weights_digest", "kernel_level", "seconds", "flops", "error", "stderr", "digest"}
	_, err := r.t.CopyFrom(ctx, pgx.Identifier{"outcomes"}, columns, pgx.CopyFromSlice(len(ended), func(i int) ([]any, error) {
		o := ended[i].Outcome
		summary := []byte("{}")
		if len(o.Summary) > 0 {
			var err error
			if summary, err = json.Marshal(o.Summary); err != nil {
				return nil, err
			}
		}
		return []any{ended[i].Key, summary, o.BestEpoch, o.ParameterCount, o.WeightsDigest, o.KernelLevel, o.Seconds, o.Flops, o.Error, o.Stderr, o.Digest}, nil
	}))
	return err
}

func (r *recording) saveCurves(ctx context.Context) error {
	type row struct {
		trial   *ledger.Trial
		ordinal int
	}
	var all []row
	var replaced []int64
	for _, t := range r.ledger.Trials() {
		if !t.ReplaceCurves {
			continue
		}
		replaced = append(replaced, t.Key)
		for i := range t.Curves {
			all = append(all, row{t, i})
		}
	}
	if len(replaced) == 0 {
		return nil
	}
	if _, err := r.t.Exec(ctx, `DELETE FROM curve_arrays WHERE trial_no = ANY($1)`, replaced); err != nil {
		return err
	}
	columns := []string{"trial_no", "metric", "ordinal", "step_array", "value_array"}
	_, err := r.t.CopyFrom(ctx, pgx.Identifier{"curve_arrays"}, columns, pgx.CopyFromSlice(len(all), func(i int) ([]any, error) {
		t, ordinal := all[i].trial, all[i].ordinal
		c := &t.Curves[ordinal]
		return []any{t.Key, c.Metric, ordinal, bigintArray{ledger.StoredSteps(t.Curves, ordinal)}, realArray{c.Values}}, nil
	}))
	return err
}

func (r *recording) saveFaults(ctx context.Context, deltas map[string]sweep.Progress) error {
	for _, f := range r.ledger.Faults() {
		tag, err := r.t.Exec(ctx,
			`INSERT INTO reproducibility_faults (trial_no, execution, worker, kernel_level, expected, found, found_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (trial_no, execution) DO NOTHING`,
			f.Trial.Key, f.Execution, f.Worker, f.KernelLevel, f.Expected, f.Found, r.t.now)
		if err != nil {
			return err
		}
		d := deltas[f.Trial.ID.Sweep]
		d.Faults += tag.RowsAffected()
		deltas[f.Trial.ID.Sweep] = d
	}
	return nil
}
