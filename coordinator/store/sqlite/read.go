package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"sweep/sweep"
)

// trialColumns are what scanTrial reads.
const trialColumns = `
	SELECT s.sweep_id, s.name, t.trial_index, t.state, t.diverged, t.executions, t.charged, t.worker, t.queued_at, t.started_at,
		t.finished_at, t.fingerprint, t.dataset_digest, t.parameters,
		rs.sweep_id, rt.trial_index,
		o.summary, o.best_epoch, o.parameter_count, o.weights_digest, o.kernel_level, o.seconds, o.flops, o.error, o.stderr, o.digest
	FROM trials AS t
	JOIN sweeps AS s USING (sweep_no)
	LEFT JOIN trials AS rt ON rt.trial_no = t.source_no
	LEFT JOIN sweeps AS rs ON rs.sweep_no = rt.sweep_no
	LEFT JOIN outcomes AS o ON o.trial_no = t.trial_no`

func scanTrial(rows *sql.Rows) (*sweep.TrialRecord, error) {
	var r sweep.TrialRecord
	var diverged bool
	var queued, started, finished, sourceSweep, summary, weights, level, failure, stderr, digest sql.NullString
	var sourceIndex, epoch, count sql.NullInt64
	var seconds, flops sql.NullFloat64
	var parameters []byte
	err := rows.Scan(&r.Sweep, &r.SweepName, &r.Index, &r.State, &diverged, &r.Executions, &r.Charged, &r.Worker, &queued, &started,
		&finished, &r.Fingerprint, &r.DatasetDigest, &parameters,
		&sourceSweep, &sourceIndex,
		&summary, &epoch, &count, &weights, &level, &seconds, &flops, &failure, &stderr, &digest)
	if err != nil {
		return nil, err
	}
	if err := r.Parameters.UnmarshalJSON(parameters); err != nil {
		return nil, fmt.Errorf("parameters of trial %v: %w", r.TrialID, err)
	}
	if r.QueuedAt, err = parseTime(queued); err != nil {
		return nil, err
	}
	if r.StartedAt, err = parseTime(started); err != nil {
		return nil, err
	}
	if r.FinishedAt, err = parseTime(finished); err != nil {
		return nil, err
	}
	if sourceSweep.Valid {
		r.ReusedFrom = &sweep.TrialID{Sweep: sourceSweep.String, Index: sourceIndex.Int64}
	}
	if !r.State.Terminal() {
		return &r, nil
	}
	r.Result = &sweep.Result{
		State: r.State, Diverged: diverged, BestEpoch: epoch.Int64, ParameterCount: count.Int64, WeightsDigest: weights.String,
		KernelLevel: level.String, Seconds: seconds.Float64, Flops: flops.Float64, Error: failure.String, Stderr: stderr.String,
		Digest: digest.String,
	}
	if summary.Valid && summary.String != "{}" {
		if err := json.Unmarshal([]byte(summary.String), &r.Result.Summary); err != nil {
			return nil, fmt.Errorf("summary of trial %v: %w", r.TrialID, err)
		}
	}
	return &r, nil
}

// Trial implements sweep.Store.
func (s *Store) Trial(ctx context.Context, id sweep.TrialID) (*sweep.TrialRecord, error) {
	var record *sweep.TrialRecord
	err := s.view(ctx, "load trial "+id.String(), func(q *snapshot) error {
		number, err := s.number(ctx, q, id.Sweep)
		if err != nil {
			return err
		}
		rows, err := q.query(ctx, trialColumns+` WHERE t.sweep_no = ? AND t.trial_index = ?`, number, id.Index)
		err = each(rows, err, func() (err error) {
			record, err = scanTrial(rows)
			return err
		})
		if err == nil && record == nil {
			err = sweep.ErrNotFound
		}
		return err
	})
	return record, err
}

// Trials implements sweep.Store. Without Sweeps all are listed, in order of
// their creation.
func (s *Store) Trials(ctx context.Context, query sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	return s.view(ctx, "list trials", func(q *snapshot) error {
		var numbers []int64
		for _, id := range query.Sweeps {
			number, err := s.number(ctx, q, id)
			if err != nil {
				return err
			}
			numbers = append(numbers, number)
		}
		text, args, err := selection(query, numbers)
		if err != nil {
			return err
		}
		rows, err := q.query(ctx, text, args...)
		return each(rows, err, func() error {
			record, err := scanTrial(rows)
			if err != nil {
				return err
			}
			if err := yield(record); err != nil {
				return passed{err}
			}
			return nil
		})
	})
}

// Curves implements sweep.Store.
func (s *Store) Curves(ctx context.Context, id sweep.TrialID, metrics ...string) ([]sweep.Curve, error) {
	curves := []sweep.Curve{}
	err := s.view(ctx, "load the curves of trial "+id.String(), func(q *snapshot) error {
		number, err := s.number(ctx, q, id.Sweep)
		if err != nil {
			return err
		}
		rows, err := q.query(ctx,
			`SELECT c.metric, f.step_array, c.value_array
			FROM trials AS t
			LEFT JOIN curve_arrays AS c ON c.trial_no = coalesce(t.source_no, t.trial_no)
				AND (?3 = 'null' OR c.metric IN (SELECT value FROM json_each(?3)))
			LEFT JOIN curve_arrays AS f ON f.trial_no = c.trial_no
				AND f.ordinal = CASE WHEN length(c.step_array) = 0 AND length(c.value_array) > 0 THEN 0 ELSE c.ordinal END
			WHERE t.sweep_no = ?1 AND t.trial_index = ?2 ORDER BY c.ordinal`, number, id.Index, jsonText(metrics))
		found := false
		err = each(rows, err, func() error {
			found = true
			var metric sql.NullString
			var steps, values []byte
			if err := rows.Scan(&metric, &steps, &values); err != nil || !metric.Valid {
				return err
			}
			curve := sweep.Curve{Metric: metric.String}
			var err error
			if curve.Steps, err = sweep.DecodeSteps(steps); err != nil {
				return fmt.Errorf("curve %s: %w", curve.Metric, err)
			}
			if curve.Values, err = sweep.DecodeValues(values); err != nil {
				return fmt.Errorf("curve %s: %w", curve.Metric, err)
			}
			curves = append(curves, curve)
			return nil
		})
		if err == nil && !found {
			err = sweep.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return curves, nil
}
