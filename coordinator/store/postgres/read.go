package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/sweep"
)

// trialColumns are what scanTrial reads.
const trialColumns = `
	SELECT s.sweep_id, s.name, t.trial_index, t.state, t.diverged, t.executions, t.charged, t.worker, t.queued_at, t.started_at,
		t.finished_at, t.fingerprint, t.dataset_digest, t.parameters::text,
		rs.sweep_id, rt.trial_index,
		coalesce(o.summary::text, '{}'), coalesce(o.best_epoch, 0), coalesce(o.parameter_count, 0), coalesce(o.weights_digest, ''),
		coalesce(o.kernel_level, ''), coalesce(o.seconds, 0), coalesce(o.flops, 0), coalesce(o.error, ''), coalesce(o.stderr, ''),
		coalesce(o.digest, '')
	FROM trials AS t
	JOIN sweeps AS s USING (sweep_no)
	LEFT JOIN trials AS rt ON rt.trial_no = t.source_no
	LEFT JOIN sweeps AS rs ON rs.sweep_no = rt.sweep_no
	LEFT JOIN outcomes AS o ON o.trial_no = t.trial_no`

func scanTrial(rows pgx.Rows) (*sweep.TrialRecord, error) {
	var r sweep.TrialRecord
	var result sweep.Result
	var queued, started, finished *time.Time
	var sourceSweep *string
	var sourceIndex *int64
	var parameters, summary []byte
	err := rows.Scan(&r.Sweep, &r.SweepName, &r.Index, &r.State, &result.Diverged, &r.Executions, &r.Charged, &r.Worker, &queued, &started,
		&finished, &r.Fingerprint, &r.DatasetDigest, &parameters,
		&sourceSweep, &sourceIndex,
		&summary, &result.BestEpoch, &result.ParameterCount, &result.WeightsDigest, &result.KernelLevel, &result.Seconds, &result.Flops,
		&result.Error, &result.Stderr, &result.Digest)
	if err != nil {
		return nil, err
	}
	if err := r.Parameters.UnmarshalJSON(parameters); err != nil {
		return nil, fmt.Errorf("parameters of trial %v: %w", r.TrialID, err)
	}
	r.QueuedAt, r.StartedAt, r.FinishedAt = utc(queued), utc(started), utc(finished)
	if sourceSweep != nil && sourceIndex != nil {
		r.ReusedFrom = &sweep.TrialID{Sweep: *sourceSweep, Index: *sourceIndex}
	}
	if !r.State.Terminal() {
		return &r, nil
	}
	result.State = r.State
	if string(summary) != "{}" {
		if err := json.Unmarshal(summary, &result.Summary); err != nil {
			return nil, fmt.Errorf("summary of trial %v: %w", r.TrialID, err)
		}
	}
	r.Result = &result
	return &r, nil
}

// Trial implements sweep.Store.
func (s *Store) Trial(ctx context.Context, id sweep.TrialID) (*sweep.TrialRecord, error) {
	var record *sweep.TrialRecord
	err := s.view(ctx, "load trial "+id.String(), func(tx pgx.Tx) error {
		number, err := s.number(ctx, tx, id.Sweep)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, trialColumns+` WHERE t.sweep_no = $1 AND t.trial_index = $2`, number, id.Index)
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
	return s.view(ctx, "list trials", func(tx pgx.Tx) error {
		var numbers []int64
		for _, id := range query.Sweeps {
			number, err := s.number(ctx, tx, id)
			if err != nil {
				return err
			}
			numbers = append(numbers, number)
		}
		text, args, err := selection(query, numbers)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, text, args...)
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
	err := s.view(ctx, "load the curves of trial "+id.String(), func(tx pgx.Tx) error {
		number, err := s.number(ctx, tx, id.Sweep)
		if err != nil {
			return err
		}
		var key int64
		err = tx.QueryRow(ctx, `SELECT coalesce(source_no, trial_no) FROM trials WHERE sweep_no = $1 AND trial_index = $2`,
			number, id.Index).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return sweep.ErrNotFound
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx,
			`SELECT c.metric, f.step_array, c.value_array
			FROM curve_arrays AS c JOIN curve_arrays AS f ON f.trial_no = c.trial_no
				AND f.ordinal = CASE WHEN cardinality(c.step_array) = 0 AND cardinality(c.value_array) > 0 THEN 0 ELSE c.ordinal END
			WHERE c.trial_no = $1 AND ($2::text[] IS NULL OR c.metric = ANY($2)) ORDER BY c.ordinal`, key, metrics)
		return each(rows, err, func() error {
			var curve sweep.Curve
			if err := rows.Scan(&curve.Metric, &curve.Steps, &curve.Values); err != nil {
				return err
			}
			curves = append(curves, curve)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return curves, nil
}
