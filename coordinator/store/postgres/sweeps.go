package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/sweep"
)

// CreateSweep implements sweep.Store.
func (s *Store) CreateSweep(ctx context.Context, id string, submission *sweep.Submission, points int64) error {
	var number int64
	err := s.update(ctx, "create sweep "+id, func(t *transaction) error {
		spec := &submission.Spec
		err := t.QueryRow(ctx,
			`INSERT INTO sweeps (sweep_id, name, trainer, pool, priority, state, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, 'active', $6, $6) ON CONFLICT (sweep_id) DO NOTHING RETURNING sweep_no`,
			id, spec.Name, spec.Trainer, spec.Pool, spec.Priority, t.now).Scan(&number)
		if errors.Is(err, pgx.ErrNoRows) {
			return t.sameSweep(ctx, id, submission, points)
		}
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `INSERT INTO counters (sweep_no) VALUES ($1)`, number); err != nil {
			return err
		}
		if err := t.insertGrid(ctx, number, 0, 0, submission, points); err != nil {
			return err
		}
		return t.finish(ctx, number)
	})
	if err == nil && number != 0 {
		s.remember(id, number)
	}
	return err
}

// sameSweep accepts a repeat of the same CreateSweep.
func (t *transaction) sameSweep(ctx context.Context, id string, submission *sweep.Submission, points int64) error {
	text, err := json.Marshal(submission)
	if err != nil {
		return err
	}
	var same bool
	err = t.QueryRow(ctx,
		`SELECT g.submission::text = $1 AND g.points = $2 FROM grids AS g JOIN sweeps AS s USING (sweep_no)
		WHERE s.sweep_id = $3 AND g.ordinal = 0`, string(text), points, id).Scan(&same)
	if err == nil && !same {
		err = fmt.Errorf("another sweep has this id: %w", sweep.ErrExists)
	}
	return err
}

// insertGrid writes a grid and the data sets that its submitter saw.
func (t *transaction) insertGrid(ctx context.Context, number int64, ordinal int, first int64, submission *sweep.Submission, points int64) error {
	if points < 0 {
		return fmt.Errorf("a grid of %d points", points)
	}
	text, err := json.Marshal(submission)
	if err != nil {
		return err
	}
	attempts := submission.Spec.Limits.Attempts
	if attempts <= 0 {
		attempts = sweep.DefaultAttempts
	}
	if _, err := t.Exec(ctx,
		`INSERT INTO grids (sweep_no, ordinal, first_index, points, written, cancelled, attempts, reuse, submission, created_at)
		VALUES ($1, $2, $3, $4, 0, FALSE, $5, $6, $7, $8)`,
		number, ordinal, first, points, attempts, submission.Reuse, string(text), t.now); err != nil {
		return err
	}
	var keys, digests []string
	for key, digest := range submission.Datasets {
		keys, digests = append(keys, key), append(digests, digest)
	}
	_, err = t.Exec(ctx, `INSERT INTO datasets (sweep_no, ordinal, dataset_key, digest) SELECT $1, $2, * FROM unnest($3::text[], $4::text[])`,
		number, ordinal, keys, digests)
	return err
}

// AddGrid implements sweep.Store.
func (s *Store) AddGrid(ctx context.Context, id string, submission *sweep.Submission, points int64) (sweep.GridRecord, error) {
	grid := sweep.GridRecord{Submission: *submission, Points: points}
	err := s.update(ctx, "extend sweep "+id, func(t *transaction) error {
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		if err := t.claim(ctx, number); err != nil {
			return err
		}
		if err := t.QueryRow(ctx,
			`SELECT ordinal + 1, first_index + points FROM grids WHERE sweep_no = $1 ORDER BY ordinal DESC LIMIT 1`,
			number).Scan(&grid.Ordinal, &grid.First); err != nil {
			return err
		}
		if points > math.MaxInt64-grid.First {
			return fmt.Errorf("%d points and %d more: %w", grid.First, points, sweep.ErrTooManyPoints)
		}
		if err := t.insertGrid(ctx, number, grid.Ordinal, grid.First, submission, points); err != nil {
			return err
		}
		if err := t.setState(ctx, number, sweep.SweepActive); err != nil {
			return err
		}
		return t.finish(ctx, number)
	})
	return grid, err
}

// Sweep implements sweep.Store.
func (s *Store) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	var record *sweep.SweepRecord
	err := s.view(ctx, "find sweep", func(tx pgx.Tx) error {
		id, err := resolve(ctx, tx, reference)
		if err != nil {
			return err
		}
		records, err := sweeps(ctx, tx, `WHERE s.sweep_id = $1`, id)
		if err != nil {
			return err
		}
		record = &records[0]
		return nil
	})
	return record, err
}

// resolve finds the id that a reference means.
func resolve(ctx context.Context, tx pgx.Tx, reference string) (string, error) {
	if reference == "" || reference == "latest" {
		var id string
		err := tx.QueryRow(ctx, `SELECT sweep_id FROM sweeps ORDER BY sweep_no DESC LIMIT 1`).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return "", fmt.Errorf("there is no sweep yet: %w", sweep.ErrNotFound)
		}
		return id, err
	}
	var exact, prefixed, named []string
	rows, err := tx.Query(ctx,
		`SELECT sweep_id, sweep_id = $1, left(sweep_id, length($1)) = $1, name = $1 FROM sweeps
		WHERE left(sweep_id, length($1)) = $1 OR name = $1 ORDER BY sweep_no DESC`, reference)
	err = each(rows, err, func() error {
		var id string
		var isID, isPrefix, isName bool
		if err := rows.Scan(&id, &isID, &isPrefix, &isName); err != nil {
			return err
		}
		if isID {
			exact = append(exact, id)
		}
		if isPrefix {
			prefixed = append(prefixed, id)
		}
		if isName {
			named = append(named, id)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case len(exact) > 0:
		return exact[0], nil
	case len(prefixed) == 1:
		return prefixed[0], nil
	case len(named) > 0:
		return named[0], nil
	case len(prefixed) > 1:
		return "", fmt.Errorf("sweep %q: %d ids begin with it, among them %s: %w",
			reference, len(prefixed), strings.Join(prefixed[:2], " and "), sweep.ErrNotFound)
	}
	return "", fmt.Errorf("sweep %q: no id begins with it and no sweep has that name: %w", reference, sweep.ErrNotFound)
}

// Sweeps implements sweep.Store.
func (s *Store) Sweeps(ctx context.Context, states ...sweep.SweepState) ([]sweep.SweepRecord, error) {
	var records []sweep.SweepRecord
	err := s.view(ctx, "list sweeps", func(tx pgx.Tx) (err error) {
		if len(states) == 0 {
			records, err = sweeps(ctx, tx, ``)
			return err
		}
		records, err = sweeps(ctx, tx, `WHERE s.state = ANY($1)`, states)
		return err
	})
	return records, err
}

// sweeps loads the sweeps that fit a condition on s, newest first.
func sweeps(ctx context.Context, tx pgx.Tx, where string, args ...any) ([]sweep.SweepRecord, error) {
	var records []sweep.SweepRecord
	rows, err := tx.Query(ctx,
		`SELECT s.sweep_id, s.name, s.trainer, s.pool, s.priority, s.state, s.created_at, s.updated_at,
			g.ordinal, g.first_index, g.points, g.written, g.cancelled, g.submission::text
		FROM sweeps AS s JOIN grids AS g USING (sweep_no) `+where+`
		ORDER BY s.sweep_no DESC, g.ordinal`, args...)
	err = each(rows, err, func() error {
		var record sweep.SweepRecord
		var grid sweep.GridRecord
		var created, updated time.Time
		var submission []byte
		err := rows.Scan(&record.ID, &record.Name, &record.Trainer, &record.Pool, &record.Priority, &record.State, &created, &updated,
			&grid.Ordinal, &grid.First, &grid.Points, &grid.Cursor, &grid.Cancelled, &submission)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(submission, &grid.Submission); err != nil {
			return fmt.Errorf("submission %d of sweep %s: %w", grid.Ordinal, record.ID, err)
		}
		if n := len(records); n > 0 && records[n-1].ID == record.ID {
			records[n-1].Grids = append(records[n-1].Grids, grid)
			return nil
		}
		record.CreatedAt, record.UpdatedAt = created.UTC(), updated.UTC()
		record.Grids = []sweep.GridRecord{grid}
		records = append(records, record)
		return nil
	})
	return records, err
}

// SetSweepState implements sweep.Store.
func (s *Store) SetSweepState(ctx context.Context, id string, state sweep.SweepState) error {
	return s.update(ctx, "set the state of sweep "+id, func(t *transaction) error {
		if !slices.Contains([]sweep.SweepState{sweep.SweepActive, sweep.SweepPaused, sweep.SweepCancelled, sweep.SweepFinished}, state) {
			return fmt.Errorf("no such state: %q", state)
		}
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		if err := t.claim(ctx, number); err != nil {
			return err
		}
		if err := t.setState(ctx, number, state); err != nil {
			return err
		}
		return t.finish(ctx, number)
	})
}

func (t *transaction) setState(ctx context.Context, number int64, state sweep.SweepState) error {
	_, err := t.Exec(ctx, `UPDATE sweeps SET state = $1, updated_at = $2 WHERE sweep_no = $3 AND state <> $1`, string(state), t.now, number)
	return err
}

// finish makes an active sweep finished if all its trials are written and terminal.
func (t *transaction) finish(ctx context.Context, number int64) error {
	_, err := t.Exec(ctx,
		`UPDATE sweeps SET state = 'finished', updated_at = $1
		WHERE sweep_no = $2 AND state = 'active'
			AND NOT EXISTS (SELECT FROM counters WHERE sweep_no = $2 AND pending + queued + running > 0)
			AND NOT EXISTS (SELECT FROM grids WHERE sweep_no = $2 AND written < points AND NOT cancelled)`,
		t.now, number)
	return err
}

// SetSweepPriority implements sweep.Store.
func (s *Store) SetSweepPriority(ctx context.Context, id string, priority int) error {
	return s.update(ctx, "set the priority of sweep "+id, func(t *transaction) error {
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		_, err = t.Exec(ctx, `UPDATE sweeps SET priority = $1, updated_at = $2 WHERE sweep_no = $3`, priority, t.now, number)
		return err
	})
}

// Progress implements sweep.Store.
func (s *Store) Progress(ctx context.Context, id string) (sweep.Progress, error) {
	var p sweep.Progress
	err := s.view(ctx, "count the trials of sweep "+id, func(tx pgx.Tx) error {
		number, err := s.number(ctx, tx, id)
		if err != nil {
			return err
		}
		var waiting, cancelled int64
		err = tx.QueryRow(ctx,
			`SELECT c.pending, c.queued, c.running, c.completed, c.failed, c.cancelled, c.reused, c.diverged, c.faults,
				sum(CASE WHEN g.cancelled THEN 0 ELSE g.points - g.written END)::bigint,
				sum(CASE WHEN g.cancelled THEN g.points - g.written ELSE 0 END)::bigint
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = $1 GROUP BY c.sweep_no`, number).Scan(
			&p.Pending, &p.Queued, &p.Running, &p.Completed, &p.Failed, &p.Cancelled, &p.Reused, &p.Diverged, &p.Faults,
			&waiting, &cancelled)
		p.Pending += waiting
		p.Cancelled += cancelled
		return err
	})
	return p, err
}

// addCounts adds to a sweep's counters.
func (t *transaction) addCounts(ctx context.Context, number int64, d sweep.Progress) error {
	_, err := t.Exec(ctx,
		`UPDATE counters SET pending = pending + $1, queued = queued + $2, running = running + $3, completed = completed + $4,
			failed = failed + $5, cancelled = cancelled + $6, reused = reused + $7, diverged = diverged + $8, faults = faults + $9
		WHERE sweep_no = $10`,
		d.Pending, d.Queued, d.Running, d.Completed, d.Failed, d.Cancelled, d.Reused, d.Diverged, d.Faults, number)
	return err
}

// addAllCounts adds to the counters of several sweeps.
func (t *transaction) addAllCounts(ctx context.Context, counts map[int64]sweep.Progress) error {
	for number, d := range counts {
		if err := t.addCounts(ctx, number, d); err != nil {
			return err
		}
	}
	return nil
}
