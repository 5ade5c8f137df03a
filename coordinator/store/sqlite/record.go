package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
		if report, err = r.ledger.Apply(events, r.attempts); err != nil {
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

func (r *recording) load(ctx context.Context, events []sweep.Event) error {
	mentioned := ledger.Mentioned(events)
	for _, id := range ledger.TrialIDs(events) {
		if err := ctx.Err(); err != nil {
			return err
		}
		number, err := r.s.number(ctx, r.t, id.Sweep)
		if errors.Is(err, sweep.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		r.numbers[id.Sweep] = number
		trial := &ledger.Trial{ID: id}
		var started, finished, digest, level sql.NullString
		err = r.t.queryRow(ctx,
			`SELECT t.trial_no, t.state, t.diverged, t.executions, t.charged, t.execution, t.worker, t.started_at, t.finished_at,
				o.digest, o.kernel_level
			FROM trials AS t LEFT JOIN outcomes AS o USING (trial_no) WHERE t.sweep_no = ? AND t.trial_index = ?`,
			number, id.Index).Scan(&trial.Key, &trial.State, &trial.Diverged, &trial.Executions, &trial.Charged, &trial.Execution,
			&trial.Worker, &started, &finished, &digest, &level)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		trial.Digest, trial.KernelLevel = digest.String, level.String
		if trial.StartedAt, err = parseTime(started); err != nil {
			return err
		}
		if trial.FinishedAt, err = parseTime(finished); err != nil {
			return err
		}
		r.ledger.LoadTrial(trial)
		if trial.Executions > 0 {
			if err := r.loadExecutions(ctx, trial, append(mentioned[id], trial.Execution)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recording) loadExecutions(ctx context.Context, trial *ledger.Trial, executions []string) error {
	rows, err := r.t.query(ctx,
		`SELECT execution, worker, started_at, ended_at, outcome, charged, forgotten, checkpoint, reason, stderr
		FROM executions WHERE trial_no = ? AND execution IN (SELECT value FROM json_each(?))`, trial.Key, jsonText(executions))
	return each(rows, err, func() error {
		e := &ledger.Execution{Trial: trial}
		var started, ended sql.NullString
		err := rows.Scan(&e.ID, &e.Worker, &started, &ended, &e.Outcome, &e.Charged, &e.Forgotten, &e.Checkpoint, &e.Reason, &e.Stderr)
		if err != nil {
			return err
		}
		if e.StartedAt, err = parseTime(started); err != nil {
			return err
		}
		if e.EndedAt, err = parseTime(ended); err != nil {
			return err
		}
		r.ledger.LoadExecution(e)
		return nil
	})
}

// attempts finds the limit of the grid that a trial belongs to.
func (r *recording) attempts(trial *ledger.Trial) (int, error) {
	var limit int
	err := r.t.queryRow(context.Background(),
		`SELECT attempts FROM grids WHERE sweep_no = ? AND first_index <= ? ORDER BY ordinal DESC LIMIT 1`,
		r.numbers[trial.ID.Sweep], trial.ID.Index).Scan(&limit)
	return limit, err
}

func (r *recording) save(ctx context.Context) error {
	now := formatTime(r.t.now)
	for _, trial := range r.ledger.Trials() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.saveTrial(trial, now); err != nil {
			return fmt.Errorf("trial %v: %w", trial.ID, err)
		}
	}
	for _, e := range r.ledger.Executions() {
		_, err := r.t.exec(
			`INSERT INTO executions (trial_no, execution, worker, started_at, ended_at, outcome, charged, forgotten, checkpoint, reason, stderr)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (trial_no, execution) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome,
				charged = excluded.charged, checkpoint = excluded.checkpoint, reason = excluded.reason, stderr = excluded.stderr`,
			e.Trial.Key, e.ID, e.Worker, formatTime(e.StartedAt), formatTime(e.EndedAt), e.Outcome, e.Charged, e.Forgotten,
			e.Checkpoint, e.Reason, e.Stderr)
		if err != nil {
			return fmt.Errorf("execution %s of trial %v: %w", e.ID, e.Trial.ID, err)
		}
	}
	deltas := r.ledger.Deltas()
	for _, f := range r.ledger.Faults() {
		n, err := r.t.changed(
			`INSERT INTO reproducibility_faults (trial_no, execution, worker, kernel_level, expected, found, found_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (trial_no, execution) DO NOTHING`,
			f.Trial.Key, f.Execution, f.Worker, f.KernelLevel, f.Expected, f.Found, now)
		if err != nil {
			return err
		}
		d := deltas[f.Trial.ID.Sweep]
		d.Faults += n
		deltas[f.Trial.ID.Sweep] = d
	}
	for id, d := range deltas {
		number := r.numbers[id]
		if err := r.t.addCounts(number, d); err != nil {
			return err
		}
		if d.Done() > 0 {
			if err := r.t.finish(number); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recording) saveTrial(trial *ledger.Trial, now any) error {
	_, err := r.t.exec(
		`UPDATE trials SET state = ?, diverged = ?, executions = ?, charged = ?, execution = ?, worker = ?, heard_at = ?,
			started_at = ?, finished_at = ? WHERE trial_no = ?`,
		string(trial.State), trial.Diverged, trial.Executions, trial.Charged, trial.Execution, trial.Worker, now,
		formatTime(trial.StartedAt), formatTime(trial.FinishedAt), trial.Key)
	if err != nil {
		return err
	}
	if trial.ReplaceCurves {
		if err := r.saveCurves(trial); err != nil {
			return err
		}
	}
	if trial.Outcome == nil {
		return nil
	}
	o := trial.Outcome
	summary, err := encodeSummary(o.Summary)
	if err != nil {
		return err
	}
	_, err = r.t.exec(
		`INSERT INTO outcomes (trial_no, summary, best_epoch, parameter_count, weights_digest, kernel_level, seconds, flops, error, stderr, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		trial.Key, summary, o.BestEpoch, o.ParameterCount, o.WeightsDigest, o.KernelLevel, o.Seconds, o.Flops, o.Error, o.Stderr, o.Digest)
	return err
}

func (r *recording) saveCurves(trial *ledger.Trial) error {
	if _, err := r.t.exec(`DELETE FROM curve_arrays WHERE trial_no = ?`, trial.Key); err != nil {
		return err
	}
	for i, c := range trial.Curves {
		_, err := r.t.exec(
			`INSERT INTO curve_arrays (trial_no, metric, ordinal, step_array, value_array) VALUES (?, ?, ?, ?, ?)`,
			trial.Key, c.Metric, i, sweep.EncodeSteps(ledger.StoredSteps(trial.Curves, i)), sweep.EncodeValues(c.Values))
		if err != nil {
			return fmt.Errorf("curve %s: %w", c.Metric, err)
		}
	}
	return nil
}

// encodeSummary writes the summary metrics as a JSON object, "{}" for none.
func encodeSummary(summary map[string]float64) (string, error) {
	if len(summary) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(summary)
	return string(text), err
}
