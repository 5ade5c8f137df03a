package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
)

// CreateSweep implements sweep.Store.
func (s *Store) CreateSweep(ctx context.Context, id string, submission *sweep.Submission, points int64) error {
	var number int64
	err := s.update(ctx, "create sweep "+id, func(t *transaction) error {
		now := formatTime(t.now)
		spec := &submission.Spec
		result, err := t.exec(
			`INSERT INTO sweeps (sweep_id, name, trainer, pool, priority, state, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, 'active', ?, ?) ON CONFLICT (sweep_id) DO NOTHING`,
			id, spec.Name, spec.Trainer, spec.Pool, spec.Priority, now, now)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return t.sameSweep(ctx, id, submission, points)
		}
		if number, err = result.LastInsertId(); err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO counters (sweep_no) VALUES (?)`, number); err != nil {
			return err
		}
		if err := t.insertGrid(number, 0, 0, submission, points); err != nil {
			return err
		}
		return t.finish(number)
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
	err = t.queryRow(ctx,
		`SELECT g.submission = ? AND g.points = ? FROM grids AS g JOIN sweeps AS s USING (sweep_no)
		WHERE s.sweep_id = ? AND g.ordinal = 0`, string(text), points, id).Scan(&same)
	if err == nil && !same {
		err = fmt.Errorf("another sweep has this id: %w", sweep.ErrExists)
	}
	return err
}

// insertGrid writes a grid and the data sets that its submitter saw.
func (t *transaction) insertGrid(number int64, ordinal int, first int64, submission *sweep.Submission, points int64) error {
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
	if _, err := t.exec(
		`INSERT INTO grids (sweep_no, ordinal, first_index, points, written, cancelled, attempts, reuse, submission, created_at)
		VALUES (?, ?, ?, ?, 0, FALSE, ?, ?, ?, ?)`,
		number, ordinal, first, points, attempts, submission.Reuse, string(text), formatTime(t.now)); err != nil {
		return err
	}
	for key, digest := range submission.Datasets {
		if _, err := t.exec(`INSERT INTO datasets (sweep_no, ordinal, dataset_key, digest) VALUES (?, ?, ?, ?)`,
			number, ordinal, key, digest); err != nil {
			return err
		}
	}
	return nil
}

// AddGrid implements sweep.Store.
func (s *Store) AddGrid(ctx context.Context, id string, submission *sweep.Submission, points int64) (sweep.GridRecord, error) {
	grid := sweep.GridRecord{Submission: *submission, Points: points}
	err := s.update(ctx, "extend sweep "+id, func(t *transaction) error {
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		if err := t.queryRow(ctx,
			`SELECT ordinal + 1, first_index + points FROM grids WHERE sweep_no = ? ORDER BY ordinal DESC LIMIT 1`,
			number).Scan(&grid.Ordinal, &grid.First); err != nil {
			return err
		}
		if points > math.MaxInt64-grid.First {
			return fmt.Errorf("%d points and %d more: %w", grid.First, points, sweep.ErrTooManyPoints)
		}
		if err := t.insertGrid(number, grid.Ordinal, grid.First, submission, points); err != nil {
			return err
		}
		if err := t.setState(number, sweep.SweepActive); err != nil {
			return err
		}
		return t.finish(number)
	})
	return grid, err
}

// Sweep implements sweep.Store.
func (s *Store) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	var record *sweep.SweepRecord
	err := s.view(ctx, "find sweep", func(q *snapshot) error {
		id, err := q.resolve(ctx, reference)
		if err != nil {
			return err
		}
		records, err := q.sweeps(ctx, `WHERE s.sweep_id = ?`, id)
		if err != nil {
			return err
		}
		record = &records[0]
		return nil
	})
	return record, err
}

// resolve finds the id that a reference means.
func (q *snapshot) resolve(ctx context.Context, reference string) (string, error) {
	if reference == "" || reference == "latest" {
		var id string
		err := q.queryRow(ctx, `SELECT sweep_id FROM sweeps ORDER BY sweep_no DESC LIMIT 1`).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return "", fmt.Errorf("there is no sweep yet: %w", sweep.ErrNotFound)
		}
		return id, err
	}
	var exact, prefixed, named []string
	rows, err := q.query(ctx,
		`SELECT sweep_id, sweep_id = ?1, substr(sweep_id, 1, length(?1)) = ?1, name = ?1 FROM sweeps
		WHERE substr(sweep_id, 1, length(?1)) = ?1 OR name = ?1 ORDER BY sweep_no DESC`, reference)
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
	err := s.view(ctx, "list sweeps", func(q *snapshot) (err error) {
		if len(states) == 0 {
			records, err = q.sweeps(ctx, ``)
			return err
		}
		records, err = q.sweeps(ctx, `WHERE s.state IN (SELECT value FROM json_each(?))`, jsonText(states))
		return err
	})
	return records, err
}

// sweeps loads the sweeps that fit a condition on s, newest first.
func (q *snapshot) sweeps(ctx context.Context, where string, args ...any) ([]sweep.SweepRecord, error) {
	var records []sweep.SweepRecord
	rows, err := q.query(ctx,
		`SELECT s.sweep_id, s.name, s.trainer, s.pool, s.priority, s.state, s.created_at, s.updated_at,
			g.ordinal, g.first_index, g.points, g.written, g.cancelled, g.submission
		FROM sweeps AS s JOIN grids AS g USING (sweep_no) `+where+`
		ORDER BY s.sweep_no DESC, g.ordinal`, args...)
	err = each(rows, err, func() error {
		var record sweep.SweepRecord
		var grid sweep.GridRecord
		var created, updated sql.NullString
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
		if record.CreatedAt, err = parseTime(created); err != nil {
			return err
		}
		if record.UpdatedAt, err = parseTime(updated); err != nil {
			return err
		}
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
		if err := t.setState(number, state); err != nil {
			return err
		}
		return t.finish(number)
	})
}

func (t *transaction) setState(number int64, state sweep.SweepState) error {
	_, err := t.exec(`UPDATE sweeps SET state = ?, updated_at = ? WHERE sweep_no = ? AND state <> ?`,
		state, formatTime(t.now), number, state)
	return err
}

// finish makes an active sweep finished if all its trials are written and terminal.
func (t *transaction) finish(number int64) error {
	_, err := t.exec(
		`UPDATE sweeps SET state = 'finished', updated_at = ?1
		WHERE sweep_no = ?2 AND state = 'active'
			AND NOT EXISTS (SELECT 1 FROM counters WHERE sweep_no = ?2 AND pending + queued + running > 0)
			AND NOT EXISTS (SELECT 1 FROM grids WHERE sweep_no = ?2 AND written < points AND NOT cancelled)`,
		formatTime(t.now), number)
	return err
}

// SetSweepPriority implements sweep.Store.
func (s *Store) SetSweepPriority(ctx context.Context, id string, priority int) error {
	return s.update(ctx, "set the priority of sweep "+id, func(t *transaction) error {
		number, err := s.number(ctx, t, id)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE sweeps SET priority = ?, updated_at = ? WHERE sweep_no = ?`, priority, formatTime(t.now), number)
		return err
	})
}

// Progress implements sweep.Store.
func (s *Store) Progress(ctx context.Context, id string) (sweep.Progress, error) {
	var p sweep.Progress
	err := s.view(ctx, "count the trials of sweep "+id, func(q *snapshot) error {
		number, err := s.number(ctx, q, id)
		if err != nil {
			return err
		}
		var waiting, cancelled int64
		err = q.queryRow(ctx,
			`SELECT c.pending, c.queued, c.running, c.completed, c.failed, c.cancelled, c.reused, c.diverged, c.faults,
				sum(CASE WHEN g.cancelled THEN 0 ELSE g.points - g.written END),
				sum(CASE WHEN g.cancelled THEN g.points - g.written ELSE 0 END)
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = ? GROUP BY c.sweep_no`, number).Scan(
			&p.Pending, &p.Queued, &p.Running, &p.Completed, &p.Failed, &p.Cancelled, &p.Reused, &p.Diverged, &p.Faults,
			&waiting, &cancelled)
		p.Pending += waiting
		p.Cancelled += cancelled
		return err
	})
	return p, err
}

// addCounts adds to a sweep's counters.
func (t *transaction) addCounts(number int64, d sweep.Progress) error {
	_, err := t.exec(
		`UPDATE counters SET pending = pending + ?, queued = queued + ?, running = running + ?, completed = completed + ?,
			failed = failed + ?, cancelled = cancelled + ?, reused = reused + ?, diverged = diverged + ?, faults = faults + ?
		WHERE sweep_no = ?`,
		d.Pending, d.Queued, d.Running, d.Completed, d.Failed, d.Cancelled, d.Reused, d.Diverged, d.Faults, number)
	return err
}

// jsonText encodes a list for json_each.
func jsonText[T any](list []T) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and integers only
	}
	return string(text)
}
