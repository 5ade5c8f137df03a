package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
		if err := t.claim(ctx, number); err != nil {
			return err
		}
		var first, points, written int64
		var cancelled, reuse bool
		err = t.QueryRow(ctx,
			`SELECT first_index, points, written, cancelled, reuse FROM grids WHERE sweep_no = $1 AND ordinal = $2`,
			number, ordinal).Scan(&first, &points, &written, &cancelled, &reuse)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("grid %d: %w", ordinal, sweep.ErrNotFound)
		}
		if err != nil || written != from {
			return err
		}
		if int64(len(trials)) > points-from {
			return fmt.Errorf("%d trials from point %d on: grid %d has %d points", len(trials), from, ordinal, points)
		}
		page := page{t: t, number: number, state: sweep.Pending}
		if cancelled {
			page.state = sweep.Cancelled
		} else if reuse {
			if err := page.findSources(ctx, trials); err != nil {
				return err
			}
		}
		if err := page.write(ctx, trials, first+from); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `UPDATE grids SET written = written + $1 WHERE sweep_no = $2 AND ordinal = $3`,
			len(trials), number, ordinal); err != nil {
			return err
		}
		if err := t.addCounts(ctx, number, page.counts); err != nil {
			return err
		}
		reused = int(page.counts.Reused)
		return t.finish(ctx, number)
	})
	if err != nil {
		return 0, err
	}
	return reused, nil
}

// page writes the trials of one AddTrials.
type page struct {
	t       *transaction
	number  int64
	state   sweep.State
	sources map[string]source // by fingerprint
	counts  sweep.Progress
}

// source is a trial whose result can be taken over.
type source struct {
	trialNo  int64
	diverged bool
}

const reusable = `SELECT DISTINCT ON (fingerprint) fingerprint, trial_no, diverged FROM trials
	WHERE fingerprint = ANY($1) AND state = 'completed' AND source_no IS NULL ORDER BY fingerprint, trial_no`

func (p *page) findSources(ctx context.Context, trials []sweep.Trial) error {
	p.sources = map[string]source{}
	fingerprints := make([]string, 0, len(trials))
	for i := range trials {
		if trials[i].Fingerprint != "" {
			fingerprints = append(fingerprints, string(trials[i].Fingerprint))
		}
	}
	rows, err := p.t.Query(ctx, reusable, fingerprints)
	return each(rows, err, func() error {
		var fingerprint string
		var found source
		if err := rows.Scan(&fingerprint, &found.trialNo, &found.diverged); err != nil {
			return err
		}
		p.sources[fingerprint] = found
		return nil
	})
}

func (p *page) write(ctx context.Context, trials []sweep.Trial, first int64) error {
	columns := []string{"sweep_no", "trial_index", "state", "diverged", "finished_at", "source_no", "fingerprint", "dataset_digest", "parameters"}
	row := make([]any, len(columns))
	n, err := p.t.CopyFrom(ctx, pgx.Identifier{"trials"}, columns, pgx.CopyFromSlice(len(trials), func(i int) ([]any, error) {
		trial := &trials[i]
		if want := first + int64(i); trial.Index != want {
			return nil, fmt.Errorf("trial %d where trial %d was expected", trial.Index, want)
		}
		parameters, err := ledger.EncodeParameters(trial.Parameters)
		if err != nil {
			return nil, fmt.Errorf("trial %d: %w", trial.Index, err)
		}
		state, diverged := p.state, false
		var finished *time.Time
		var sourceNo *int64
		if found, ok := p.sources[string(trial.Fingerprint)]; ok {
			state, finished, sourceNo, diverged = sweep.Completed, &p.t.now, &found.trialNo, found.diverged
			p.counts.Reused++
			if diverged {
				p.counts.Diverged++
			}
		}
		ledger.Count(&p.counts, state, 1)
		row[0], row[1], row[2], row[3], row[4] = p.number, trial.Index, string(state), diverged, finished
		row[5], row[6], row[7], row[8] = sourceNo, string(trial.Fingerprint), trial.DatasetDigest, parameters
		return row, nil
	}))
	if err != nil {
		return err
	}
	if p.counts.Reused == 0 {
		return nil
	}
	_, err = p.t.Exec(ctx,
		`INSERT INTO outcomes (trial_no, summary, best_epoch, parameter_count, weights_digest, kernel_level, seconds, flops, error, stderr, digest)
		SELECT t.trial_no, o.summary, o.best_epoch, o.parameter_count, o.weights_digest, o.kernel_level, o.seconds, o.flops, o.error, o.stderr, o.digest
		FROM trials AS t JOIN outcomes AS o ON o.trial_no = t.source_no
		WHERE t.sweep_no = $1 AND t.trial_index >= $2 AND t.trial_index < $3`, p.number, first, first+n)
	return err
}

const pendingTrials = `SELECT trial_index, parameters::text, fingerprint, dataset_digest FROM trials
	WHERE sweep_no = $1 AND state = 'pending' ORDER BY trial_index LIMIT $2`

// PendingTrials implements sweep.Store.
func (s *Store) PendingTrials(ctx context.Context, id string, limit int) ([]sweep.Trial, error) {
	var trials []sweep.Trial
	err := s.view(ctx, "find pending trials of sweep "+id, func(tx pgx.Tx) error {
		number, err := s.number(ctx, tx, id)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, pendingTrials, number, limit)
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

const markQueued = `UPDATE trials AS t SET state = 'queued', queued_at = $1, heard_at = $1
	FROM unnest($2::bigint[], $3::bigint[]) AS k (sweep_no, trial_index)
	WHERE t.sweep_no = k.sweep_no AND t.trial_index = k.trial_index AND t.state = 'pending' RETURNING t.sweep_no`

// MarkQueued implements sweep.Store.
func (s *Store) MarkQueued(ctx context.Context, trials []sweep.TrialID) error {
	return s.update(ctx, "mark trials as queued", func(t *transaction) error {
		numbers, indices, err := s.claimTrials(ctx, t, trials)
		if err != nil {
			return err
		}
		counts := map[int64]sweep.Progress{}
		rows, err := t.Query(ctx, markQueued, t.now, numbers, indices)
		err = each(rows, err, func() error {
			var number int64
			err := rows.Scan(&number)
			d := counts[number]
			d.Pending--
			d.Queued++
			counts[number] = d
			return err
		})
		if err != nil {
			return err
		}
		return t.addAllCounts(ctx, counts)
	})
}

const unheard = `SELECT s.sweep_id, t.trial_index FROM trials AS t JOIN sweeps AS s USING (sweep_no)
	WHERE t.state IN ('queued', 'running') AND (t.sweep_no, t.trial_index) > ($1, $2)
		AND s.state = 'active' AND t.heard_at < $3
	ORDER BY t.sweep_no, t.trial_index LIMIT $4`

// Unheard implements sweep.Store. It looks at the queued and running trials
// alone, whose number the dispatch window bounds.
func (s *Store) Unheard(ctx context.Context, before time.Time, after *sweep.TrialID, limit int) ([]sweep.TrialID, error) {
	var ids []sweep.TrialID
	err := s.view(ctx, "find trials unheard of", func(tx pgx.Tx) error {
		var number, index int64 = 0, -1
		if after != nil {
			var err error
			if number, err = s.number(ctx, tx, after.Sweep); err != nil {
				return err
			}
			index = after.Index
		}
		rows, err := tx.Query(ctx, unheard, number, index, before, limit)
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

// Requeue implements sweep.Store.
func (s *Store) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	var total int64
	err := s.update(ctx, "put trials back to pending", func(t *transaction) error {
		total = 0
		numbers, indices, err := s.claimTrials(ctx, t, trials)
		if err != nil {
			return err
		}
		counts := map[int64]sweep.Progress{}
		rows, err := t.Query(ctx,
			`UPDATE trials AS t SET state = 'pending'
			FROM (SELECT f.trial_no, f.state FROM trials AS f JOIN unnest($1::bigint[], $2::bigint[]) AS k (sweep_no, trial_index)
				USING (sweep_no, trial_index) WHERE f.state IN ('queued', 'running')) AS old
			WHERE t.trial_no = old.trial_no RETURNING t.sweep_no, old.state`, numbers, indices)
		err = each(rows, err, func() error {
			var number int64
			var state sweep.State
			err := rows.Scan(&number, &state)
			d := counts[number]
			ledger.Count(&d, state, -1)
			d.Pending++
			counts[number] = d
			total++
			return err
		})
		if err != nil {
			return err
		}
		return t.addAllCounts(ctx, counts)
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

const activeTrials = `SELECT trial_index, state FROM trials
	WHERE sweep_no = $1 AND state IN ('queued', 'running') ORDER BY trial_index`

// CancelTrials implements sweep.Store.
func (s *Store) CancelTrials(ctx context.Context, id string) ([]sweep.TrialID, error) {
	var active []sweep.TrialID
	err := s.update(ctx, "cancel the trials of sweep "+id, func(t *transaction) error {
		active = nil
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		if err := t.claim(ctx, number); err != nil {
			return err
		}
		var d sweep.Progress
		rows, err := t.Query(ctx, activeTrials, number)
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
			tag, err := t.Exec(ctx, `UPDATE trials SET state = 'cancelled', finished_at = $1 WHERE sweep_no = $2 AND `+where, t.now, number)
			if err != nil {
				return err
			}
			d.Cancelled += tag.RowsAffected()
		}
		d.Pending = -(d.Cancelled - int64(len(active)))
		grids, err := t.Exec(ctx, `UPDATE grids SET cancelled = TRUE WHERE sweep_no = $1 AND written < points AND NOT cancelled`, number)
		if err != nil {
			return err
		}
		if d.Cancelled == 0 && grids.RowsAffected() == 0 {
			return nil
		}
		if err := t.addCounts(ctx, number, d); err != nil {
			return err
		}
		return t.setState(ctx, number, sweep.SweepCancelled)
	})
	if err != nil {
		return nil, err
	}
	return active, nil
}

const retried = `(SELECT trial_no FROM trials WHERE sweep_no = $1 AND state IN ('failed', 'cancelled'))`

// RetryTrials implements sweep.Store.
func (s *Store) RetryTrials(ctx context.Context, id string) (int64, error) {
	var total int64
	err := s.update(ctx, "retry the trials of sweep "+id, func(t *transaction) error {
		total = 0
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		if err := t.claim(ctx, number); err != nil {
			return err
		}
		var d sweep.Progress
		err = t.QueryRow(ctx,
			`SELECT c.failed, c.cancelled, coalesce(sum(g.points - g.written) FILTER (WHERE g.cancelled), 0)::bigint
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = $1 GROUP BY c.sweep_no`,
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
				WHERE sweep_no = $1 AND state IN ('failed', 'cancelled')`,
			} {
				if _, err := t.Exec(ctx, text, number); err != nil {
					return err
				}
			}
			if err := t.addCounts(ctx, number, d); err != nil {
				return err
			}
		}
		if total == 0 {
			return nil
		}
		if _, err := t.Exec(ctx, `UPDATE grids SET cancelled = FALSE WHERE sweep_no = $1 AND cancelled`, number); err != nil {
			return err
		}
		return t.setState(ctx, number, sweep.SweepActive)
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}
