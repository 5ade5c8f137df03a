package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"database/sql"

	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// AddTrials implements sweep.Store.
func (s *Store) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial) (reused int, err error) {
	err = s.update(ctx, "add trials to sweep "+id, func(t *transaction) error {
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		var first, points, written int64
		var cancelled, reuse bool
		err = t.queryRow(ctx,
			`SELECT first_index, points, written, cancelled, reuse FROM grids WHERE sweep_no = ? AND ordinal = ?`,
			number, ordinal).Scan(&first, &points, &written, &cancelled, &reuse)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("grid %d: %w", ordinal, sweep.ErrNotFound)
		}
		if err != nil || written != from {
			return err
		}
		if int64(len(trials)) > points-from {
			return fmt.Errorf("%d trials from point %d on: grid %d has %d points", len(trials), from, ordinal, points)
		}
		page := page{t: t, number: number, state: sweep.Pending, reuse: reuse}
		if cancelled {
			page.state, page.reuse = sweep.Cancelled, false
		}
		for i := range trials {
			if err := ctx.Err(); err != nil {
				return err
			}
			if want := first + from + int64(i); trials[i].Index != want {
				return fmt.Errorf("trial %d where trial %d was expected", trials[i].Index, want)
			}
			if err := page.add(ctx, &trials[i]); err != nil {
				return fmt.Errorf("trial %d: %w", trials[i].Index, err)
			}
		}
		if _, err := t.exec(`UPDATE grids SET written = written + ? WHERE sweep_no = ? AND ordinal = ?`,
			len(trials), number, ordinal); err != nil {
			return err
		}
		if err := t.addCounts(number, page.counts); err != nil {
			return err
		}
		reused = int(page.counts.Reused)
		return t.finish(number)
	})
	if err != nil {
		return 0, err
	}
	return reused, nil
}

// page writes the trials of one AddTrials.
type page struct {
	t      *transaction
	number int64
	state  sweep.State
	reuse  bool
	counts sweep.Progress
}

func (p *page) add(ctx context.Context, trial *sweep.Trial) error {
	parameters, err := ledger.EncodeParameters(trial.Parameters)
	if err != nil {
		return err
	}
	state, diverged, source := p.state, false, sql.NullInt64{}
	var finished any
	if p.reuse && trial.Fingerprint != "" {
		err := p.t.queryRow(ctx, reusable, string(trial.Fingerprint)).Scan(&source, &diverged)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	if source.Valid {
		state, finished = sweep.Completed, formatTime(p.t.now)
		p.counts.Reused++
		if diverged {
			p.counts.Diverged++
		}
	}
	ledger.Count(&p.counts, state, 1)
	result, err := p.t.exec(
		`INSERT INTO trials (sweep_no, trial_index, state, diverged, finished_at, source_no, fingerprint, dataset_digest, parameters)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.number, trial.Index, string(state), diverged, finished, source, string(trial.Fingerprint), trial.DatasetDigest, parameters)
	if err != nil || !source.Valid {
		return err
	}
	trialNo, err := result.LastInsertId()
	if err != nil {
		return err
	}
	_, err = p.t.exec(
		`INSERT INTO outcomes (trial_no, summary, best_epoch, parameter_count, weights_digest, kernel_level, seconds, flops, error, stderr, digest)
		SELECT ?, summary, best_epoch, parameter_count, weights_digest, kernel_level, seconds, flops, error, stderr, digest
		FROM outcomes WHERE trial_no = ?`, trialNo, source.Int64)
	return err
}

const reusable = `SELECT trial_no, diverged FROM trials
	WHERE fingerprint = ? AND state = 'completed' AND source_no IS NULL ORDER BY trial_no LIMIT 1`

// PendingTrials implements sweep.Store.
func (s *Store) PendingTrials(ctx context.Context, id string, limit int) ([]sweep.Trial, error) {
	var trials []sweep.Trial
	err := s.view(ctx, "find pending trials of sweep "+id, func(q *snapshot) error {
		number, err := s.number(ctx, q, id)
		if err != nil {
			return err
		}
		rows, err := q.query(ctx, pendingTrials, number, limit)
		return each(rows, err, func() error {
			trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id}}
			var parameters []byte
			if err := rows.Scan(&trial.Index, &parameters, &trial.Fingerprint, &trial.DatasetDigest); err != nil {
				return err
			}
			if err := trial.Parameters.UnmarshalJSON(parameters); err != nil {
				return fmt.Errorf("parameters of trial %v: %w", trial.TrialID, err)
			}
			trials = append(trials, trial)
			return nil
		})
	})
	return trials, err
}

const pendingTrials = `SELECT trial_index, parameters, fingerprint, dataset_digest FROM trials
	WHERE sweep_no = ? AND state = 'pending' ORDER BY trial_index LIMIT ?`

// MarkQueued implements sweep.Store.
func (s *Store) MarkQueued(ctx context.Context, trials []sweep.TrialID) error {
	return s.update(ctx, "mark trials as queued", func(t *transaction) error {
		counts := map[int64]sweep.Progress{}
		for _, id := range trials {
			number, err := s.number(ctx, t, id.Sweep)
			if err != nil {
				return err
			}
			n, err := t.changed(markQueued, formatTime(t.now), number, id.Index)
			if err != nil {
				return err
			}
			d := counts[number]
			d.Pending -= n
			d.Queued += n
			counts[number] = d
		}
		return t.addAllCounts(counts)
	})
}

const markQueued = `UPDATE trials SET state = 'queued', queued_at = ?1, heard_at = ?1
	WHERE sweep_no = ?2 AND trial_index = ?3 AND state = 'pending'`

func (t *transaction) addAllCounts(counts map[int64]sweep.Progress) error {
	for number, d := range counts {
		if err := t.addCounts(number, d); err != nil {
			return err
		}
	}
	return nil
}

// Unheard implements sweep.Store. It looks at the queued and running trials
// alone, whose number the dispatch window bounds.
func (s *Store) Unheard(ctx context.Context, before time.Time, after *sweep.TrialID, limit int) ([]sweep.TrialID, error) {
	var ids []sweep.TrialID
	err := s.view(ctx, "find trials unheard of", func(q *snapshot) error {
		var number, index int64 = 0, -1
		if after != nil {
			var err error
			if number, err = s.number(ctx, q, after.Sweep); err != nil {
				return err
			}
			index = after.Index
		}
		rows, err := q.query(ctx, unheard, number, index, formatTime(before), limit)
		return each(rows, err, func() error {
			var id sweep.TrialID
			if err := rows.Scan(&id.Sweep, &id.Index); err != nil {
				return err
			}
			ids = append(ids, id)
			return nil
		})
	})
	return ids, err
}

const unheard = `SELECT s.sweep_id, t.trial_index FROM trials AS t JOIN sweeps AS s USING (sweep_no)
	WHERE t.state IN ('queued', 'running') AND (t.sweep_no, t.trial_index) > (?1, ?2)
		AND s.state = 'active' AND t.heard_at < ?3
	ORDER BY t.sweep_no, t.trial_index LIMIT ?4`

// Requeue implements sweep.Store.
func (s *Store) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	var total int64
	err := s.update(ctx, "put trials back to pending", func(t *transaction) error {
		counts := map[int64]sweep.Progress{}
		total = 0
		for _, id := range trials {
			number, err := s.number(ctx, t, id.Sweep)
			if err != nil {
				return err
			}
			d := counts[number]
			for _, state := range []sweep.State{sweep.Queued, sweep.Running} {
				n, err := t.changed(
					`UPDATE trials SET state = 'pending' WHERE sweep_no = ? AND trial_index = ? AND state = ?`,
					number, id.Index, string(state))
				if err != nil {
					return err
				}
				ledger.Count(&d, state, -n)
				d.Pending += n
				total += n
			}
			counts[number] = d
		}
		return t.addAllCounts(counts)
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

// CancelTrials implements sweep.Store.
func (s *Store) CancelTrials(ctx context.Context, id string) ([]sweep.TrialID, error) {
	var active []sweep.TrialID
	err := s.update(ctx, "cancel the trials of sweep "+id, func(t *transaction) error {
		active = nil
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		var d sweep.Progress
		rows, err := t.query(ctx, activeTrials, number)
		err = each(rows, err, func() error {
			trial := sweep.TrialID{Sweep: id}
			var state sweep.State
			if err := rows.Scan(&trial.Index, &state); err != nil {
				return err
			}
			active = append(active, trial)
			ledger.Count(&d, state, -1)
			return nil
		})
		if err != nil {
			return err
		}
		for _, where := range []string{`state = 'pending'`, `state IN ('queued', 'running')`} {
			n, err := t.changed(
				`UPDATE trials SET state = 'cancelled', finished_at = ? WHERE sweep_no = ? AND `+where, formatTime(t.now), number)
			if err != nil {
				return err
			}
			d.Cancelled += n
		}
		d.Pending = -(d.Cancelled - int64(len(active)))
		grids, err := t.changed(`UPDATE grids SET cancelled = TRUE WHERE sweep_no = ? AND written < points AND NOT cancelled`, number)
		if err != nil {
			return err
		}
		if d.Cancelled == 0 && grids == 0 {
			return nil
		}
		if err := t.addCounts(number, d); err != nil {
			return err
		}
		return t.setState(number, sweep.SweepCancelled)
	})
	if err != nil {
		return nil, err
	}
	return active, nil
}

const activeTrials = `SELECT trial_index, state FROM trials
	WHERE sweep_no = ? AND state IN ('queued', 'running') ORDER BY trial_index`

// RetryTrials implements sweep.Store.
func (s *Store) RetryTrials(ctx context.Context, id string) (int64, error) {
	var total int64
	err := s.update(ctx, "retry the trials of sweep "+id, func(t *transaction) error {
		total = 0
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		var d sweep.Progress
		err = t.queryRow(ctx,
			`SELECT c.failed, c.cancelled, coalesce(sum(g.points - g.written) FILTER (WHERE g.cancelled), 0)
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = ? GROUP BY c.sweep_no`,
			number).Scan(&d.Failed, &d.Cancelled, &total)
		if err != nil {
			return err
		}
		d.Pending = d.Failed + d.Cancelled
		d.Failed, d.Cancelled = -d.Failed, -d.Cancelled
		total += d.Pending
		if d.Pending > 0 {
			for _, text := range []string{
				`DELETE FROM outcomes WHERE trial_no IN ` + retried,
				`DELETE FROM curve_arrays WHERE trial_no IN ` + retried,
				`UPDATE executions SET forgotten = TRUE, outcome = CASE outcome WHEN 'running' THEN 'lost' ELSE outcome END
				WHERE trial_no IN ` + retried,
				`UPDATE trials SET state = 'pending', charged = 0, finished_at = NULL, heard_at = NULL
				WHERE sweep_no = ? AND state IN ('failed', 'cancelled')`,
			} {
				if _, err := t.exec(text, number); err != nil {
					return err
				}
			}
			if err := t.addCounts(number, d); err != nil {
				return err
			}
		}
		if total == 0 {
			return nil
		}
		if _, err := t.exec(`UPDATE grids SET cancelled = FALSE WHERE sweep_no = ? AND cancelled`, number); err != nil {
			return err
		}
		return t.setState(number, sweep.SweepActive)
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

const retried = `(SELECT trial_no FROM trials WHERE sweep_no = ? AND state IN ('failed', 'cancelled'))`
