package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// transaction is a running transaction of the method whose context it has. It
// keeps its first error, after which its methods do nothing; the transaction is
// then rolled back.
type transaction struct {
	ctx context.Context
	tx  database.Tx
	s   *Store
	// now is its one time.
	now time.Time
	err error
}

// update runs do in a transaction that writes. what names the work in errors.
func (s *Store) update(ctx context.Context, what string, do func(t *transaction)) error {
	return s.explain(what, s.write(ctx, func(tx database.Tx) error {
		t := &transaction{ctx: ctx, tx: tx, s: s, now: time.Now().UTC().Truncate(time.Microsecond)}
		do(t)
		return t.err
	}))
}

// updateSweep is update for one sweep, which it claims.
func (s *Store) updateSweep(ctx context.Context, what, id string, do func(t *transaction, number int64)) error {
	return s.update(ctx, what+" sweep "+id, func(t *transaction) {
		number := t.number(id)
		t.claim(number)
		if t.err == nil {
			do(t, number)
		}
	})
}

// view runs do in a transaction that reads from one snapshot.
func (s *Store) view(ctx context.Context, what string, do func(t *transaction)) error {
	return s.explain(what, s.db.View(ctx, func(tx database.Tx) error {
		t := &transaction{ctx: ctx, tx: tx, s: s}
		do(t)
		return t.err
	}))
}

// viewSweep is view for one sweep.
func (s *Store) viewSweep(ctx context.Context, what, id string, do func(t *transaction, number int64)) error {
	return s.view(ctx, what, func(t *transaction) {
		if number := t.number(id); t.err == nil {
			do(t, number)
		}
	})
}

// yieldError marks an error of the caller's yield, and others that say everything: they are returned unchanged.
type yieldError struct{ error }

// notFound returns an ErrNotFound whose text says what is missing, whatever the work that needs it.
func notFound(format string, arguments ...any) error {
	return yieldError{sweep.NotFound(format, arguments...)}
}

// yielded marks an error of the caller's yield, if there is one.
func yielded(err error) error {
	if err != nil {
		return yieldError{err}
	}
	return nil
}

// explain says what failed, in which database, and what to do.
func (s *Store) explain(what string, err error) error {
	var own yieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	}
	return fmt.Errorf("%s: %w", what, s.db.Explain(err))
}

// fail ends the transaction with an error, unless it has one.
func (t *transaction) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// idle reports whether there is nothing to run: the transaction has failed, or the
// statement's batch has no rows.
func (t *transaction) idle(args []any) bool {
	empty := false
	if len(args) > 0 {
		batch, ok := args[len(args)-1].(database.Batch)
		empty = ok && batch.Count == 0
	}
	return empty || t.err != nil
}

// run runs a statement and returns how many rows it changed.
func (t *transaction) run(text string, args ...any) (changed int64) {
	if !t.idle(args) {
		changed, t.err = t.tx.Exec(t.ctx, text, args...)
	}
	return changed
}

// insert writes new rows, if there are any.
func (t *transaction) insert(table string, rows database.Batch) {
	if t.err == nil && rows.Count > 0 {
		t.err = t.tx.Insert(t.ctx, table, rows)
	}
}

// save writes rows of a table, those that it has in place of what they were. The
// first columns of a batch are their key.
func save[T any](t *transaction, table string, key int, rows []T, stored func(T) bool, batch func([]T) database.Batch) {
	var added, changed []T
	for _, row := range rows {
		if stored(row) {
			changed = append(changed, row)
		} else {
			added = append(added, row)
		}
	}
	t.insert(table, batch(added))
	t.change(table, key, batch(changed))
}

// change writes rows in place of those with the same key, which are there.
func (t *transaction) change(table string, key int, rows database.Batch) {
	t.run(changing(table, key, rows.Names()), rows)
}

// changing is the UPDATE of change.
func changing(table string, key int, columns []string) string {
	var same, set []string
	for i, name := range columns {
		if i < key {
			same = append(same, "t."+name+" = v."+name)
		} else {
			set = append(set, name+" = v."+name)
		}
	}
	return "UPDATE " + table + " AS t SET " + strings.Join(set, ", ") + " FROM {v} WHERE " + strings.Join(same, " AND ")
}

// qualified writes the name of a table before each of a list of columns.
func qualified(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// each calls scan for every row of a statement's answer. An error of scan ends
// the transaction.
func (t *transaction) each(scan func(row database.Row) error, text string, args ...any) {
	if !t.idle(args) {
		t.err = t.tx.Query(t.ctx, scan, text, args...)
	}
}

// collect returns the rows of a statement's answer. columns returns where those of a row go.
func collect[T any](t *transaction, columns func(row *T) []any, text string, args ...any) (all []T) {
	t.each(func(row database.Row) error {
		var one T
		err := row.Scan(columns(&one)...)
		all = append(all, one)
		return err
	}, text, args...)
	return all
}

// integers returns the rows of an answer that are one number each.
func (t *transaction) integers(text string, args ...any) []int64 {
	return collect(t, func(number *int64) []any { return []any{number} }, text, args...)
}

// one reads a row into dest, and reports whether there is one.
func (t *transaction) one(dest []any, text string, args ...any) (found bool) {
	t.each(func(row database.Row) error {
		found = true
		return row.Scan(dest...)
	}, text, args...)
	return found && t.err == nil
}

// claim locks sweeps until the transaction ends.
func (t *transaction) claim(numbers ...int64) {
	if t.err == nil {
		t.err = t.tx.Claim(t.ctx, numbers...)
	}
}

// number finds a sweep's internal number.
func (t *transaction) number(id string) int64 {
	number, found := t.lookup(id)
	if !found {
		t.fail(fmt.Errorf("sweep %q: %w", id, sweep.ErrNotFound))
	}
	return number
}

func (t *transaction) lookup(id string) (number int64, found bool) {
	if known, ok := t.s.numbers.Load(id); ok {
		return known.(int64), true
	}
	found = t.one([]any{&number}, `SELECT sweep_no FROM sweeps WHERE sweep_id = $1 AND deleted_at IS NULL`, id)
	if found {
		t.s.numbers.Store(id, number)
	}
	return number, found
}
