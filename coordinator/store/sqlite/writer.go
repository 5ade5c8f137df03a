package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// writer is the one connection that writes. Its transactions take turns; its
// statements are prepared once.
type writer struct {
	turn       chan struct{}
	closed     chan struct{}
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

func newWriter(conn *sql.Conn) *writer {
	return &writer{turn: make(chan struct{}, 1), closed: make(chan struct{}), conn: conn, statements: map[string]*sql.Stmt{}}
}

// errClosed is the error of every method after Close.
var errClosed = errors.New("the store is closed")

// close waits for the running transaction and keeps the turn.
func (w *writer) close() error {
	select {
	case w.turn <- struct{}{}:
	case <-w.closed:
		return nil
	}
	close(w.closed)
	var errs []error
	for _, statement := range w.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// querier reads: inside a write transaction, or from a snapshot.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	queryRow(ctx context.Context, text string, args ...any) *sql.Row
}

// transaction is a running write transaction; now is its one time.
type transaction struct {
	w   *writer
	now time.Time
}

// update runs do in a transaction, which is kept only if do returns nil. what
// names the work in errors.
func (s *Store) update(ctx context.Context, what string, do func(t *transaction) error) error {
	select {
	case s.writer.turn <- struct{}{}:
	case <-s.writer.closed:
		return s.explain(what, errClosed)
	case <-ctx.Done():
		return s.explain(what, ctx.Err())
	}
	defer func() { <-s.writer.turn }()
	return s.explain(what, s.writer.update(ctx, do))
}

func (w *writer) update(ctx context.Context, do func(t *transaction) error) (err error) {
	if err := w.begin(ctx); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			// SQLite may have rolled back by itself (disk full), which is no error here.
			_, _ = w.conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
		}
	}()
	t := &transaction{w: w, now: time.Now().UTC().Truncate(time.Microsecond)}
	if err := do(t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := t.exec(`COMMIT`); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// begin takes the write lock, for which it waits up to busyTimeout.
//
// IMMEDIATE takes it at once: a transaction that starts by reading could not
// wait for it later. SQLite's own waiting looks every 100 ms, which misses the
// moments between the transactions of a process that writes one after another:
// it was seen to starve the others for longer than busyTimeout.
func (w *writer) begin(ctx context.Context) error {
	for start := time.Now(); ; {
		_, err := w.conn.ExecContext(ctx, `BEGIN IMMEDIATE`)
		if !isBusy(err) || time.Since(start) > busyTimeout {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyPause/2 + rand.N(busyPause)): // in step with nobody
		}
	}
}

// prepare prepares a statement once for all transactions.
func (t *transaction) prepare(text string) (*sql.Stmt, error) {
	if statement := t.w.statements[text]; statement != nil {
		return statement, nil
	}
	statement, err := t.w.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	t.w.statements[text] = statement
	return statement, nil
}

// exec runs a fixed statement. It has no context because one that can end
// costs a goroutine a statement: the callers look at theirs between statements.
func (t *transaction) exec(text string, args ...any) (sql.Result, error) {
	statement, err := t.prepare(text)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(context.Background(), args...)
}

// changed runs a fixed statement and returns how many rows it changed.
func (t *transaction) changed(text string, args ...any) (int64, error) {
	result, err := t.exec(text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *transaction) query(_ context.Context, text string, args ...any) (*sql.Rows, error) {
	statement, err := t.prepare(text)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(context.Background(), args...)
}

func (t *transaction) queryRow(_ context.Context, text string, args ...any) *sql.Row {
	statement, err := t.prepare(text)
	if err != nil {
		// The row repeats the error of preparing it.
		return t.w.conn.QueryRowContext(context.Background(), text, args...)
	}
	return statement.QueryRowContext(context.Background(), args...)
}

// snapshot reads in one read transaction.
type snapshot struct{ tx *sql.Tx }

// view runs do in a read transaction.
func (s *Store) view(ctx context.Context, what string, do func(q *snapshot) error) error {
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.explain(what, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return s.explain(what, do(&snapshot{tx}))
}

func (q *snapshot) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return q.tx.QueryContext(ctx, text, args...)
}

func (q *snapshot) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	return q.tx.QueryRowContext(ctx, text, args...)
}

// each calls scan for every row and closes the rows.
func each(rows *sql.Rows, err error, scan func() error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
