package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"sweep/coordinator/store/database"
)

// lock is an exclusive transaction on an empty file next to the database, whose name ends in
// .lead. It is a lock of the operating system, which releases it however the process ends.
//
// The leader holds it, so others see at once that a leader was killed. A process that is
// stopped (SIGSTOP) keeps the lock and the lead, but everything is on one machine, where you
// can kill it. A leader that cannot do its work releases the lock.
type lock struct{ conn *conn }

// lockSuffix ends the name of the lock's file.
const lockSuffix = ".lead"

var _ database.Locking = (*Database)(nil)

// Lock implements database.Locking.
func (d *Database) Lock(ctx context.Context) (database.Lock, error) {
	c, err := open(&plain, d.path+lockSuffix, nil, "busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	if err = c.Script(ctx, `BEGIN EXCLUSIVE`); err == nil {
		return &lock{conn: c}, nil
	}
	if isBusy(err) {
		err = nil
	}
	return nil, errors.Join(err, c.Close())
}

// Held implements database.Locking. A file cannot be read during an exclusive transaction.
func (d *Database) Held(ctx context.Context) (bool, error) {
	if _, err := os.Stat(d.path + lockSuffix); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	c, err := open(&plain, d.path+lockSuffix, nil, "busy_timeout(0)", "query_only(1)")
	if err != nil {
		return false, err
	}
	err = errors.Join(c.Script(ctx, `SELECT count(*) FROM sqlite_schema`), c.Close())
	if isBusy(err) {
		return true, nil
	}
	return false, err
}

// Release implements database.Lock.
func (l *lock) Release(context.Context) error { return l.conn.Close() }

// UpdateLead implements database.Database: the transactions of all processes take turns.
func (d *Database) UpdateLead(ctx context.Context, _ database.Step, do func(tx database.Tx) error) error {
	return d.Update(ctx, do)
}

// Renew implements database.Database.
func (d *Database) Renew(ctx context.Context, term int64, _ time.Duration) (held bool, err error) {
	err = d.View(ctx, func(tx database.Tx) error {
		return tx.Query(ctx, func(row database.Row) error { return row.Scan(&held) },
			`SELECT term = $1 FROM cluster`, term)
	})
	return held, err
}

// Resign implements database.Database.
func (d *Database) Resign(ctx context.Context, term int64) error {
	return d.Update(ctx, func(tx database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE cluster SET leader = '', expires_at = NULL WHERE term = $1`, term)
		return err
	})
}

// Now implements database.Database: all processes that use the file are on one host.
func (d *Database) Now(context.Context, database.Tx) (time.Time, error) { return time.Now(), nil }
