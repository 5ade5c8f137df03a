package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"sweep/coordinator/store/database"
)

// lock is an exclusive transaction on an empty file beside the database, whose
// name ends in .lead: a lock of the operating system, which it gives up when the
// process ends, whatever ended it.
//
// Whoever leads has it: it shows at once that a leader was killed. A process that is
// stopped keeps it, and the lead. The file is one machine's, where such a process can
// be ended; and if it was stopped inside of a transaction, SQLite lets nobody write
// anyway. A leader that cannot do its work gives it up by itself.
type lock struct {
	conn *conn
	once sync.Once
}

// lockSuffix ends the name of the lock's file.
const lockSuffix = ".lead"

// lockPoll is how often who waits for the lock asks for it.
const lockPoll = 100 * time.Millisecond

// Lock implements database.Database.
func (d *Database) Lock(ctx context.Context, waiting func(holder string) error) (database.Lock, error) {
	c, err := open(&plain, d.path+lockSuffix, "busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		holder := ""
		if err = c.Script(ctx, `BEGIN EXCLUSIVE`); err == nil {
			if holder, err = firstVersion(d.path); err != nil || holder == "" {
				break
			}
			err = c.Script(ctx, `ROLLBACK`)
		}
		if err != nil && !isBusy(err) {
			break
		}
		if err = nil; waiting != nil {
			err = waiting(holder)
		}
		if err != nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		if err = ctx.Err(); err != nil {
			break
		}
	}
	if err != nil {
		_ = c.Close() // the first error is the one that matters
		return nil, err
	}
	return &lock{conn: c}, nil
}

// Holder implements database.Database: nobody else's exclusive transaction lets a
// file be read.
func (d *Database) Holder(ctx context.Context) (holder string, held bool, err error) {
	if _, err := os.Stat(d.path + lockSuffix); errors.Is(err, fs.ErrNotExist) {
		holder, err = firstVersion(d.path)
		return holder, holder != "", err
	}
	c, err := open(&plain, d.path+lockSuffix, "busy_timeout(0)", "query_only(1)")
	if err != nil {
		return "", false, err
	}
	err = errors.Join(c.Script(ctx, `SELECT count(*) FROM sqlite_schema`), c.Close())
	if isBusy(err) {
		return "", true, nil
	}
	if err == nil {
		holder, err = firstVersion(d.path)
	}
	return holder, holder != "", err
}

// Release implements database.Lock.
func (l *lock) Release(context.Context) (err error) {
	l.once.Do(func() { err = l.conn.Close() })
	return err
}

// Fenced implements database.Database. The transactions of all processes take turns.
func (d *Database) Fenced(ctx context.Context, term int64, do func(tx database.Tx) error) error {
	return d.Update(ctx, func(tx database.Tx) error {
		if err := database.CheckTerm(ctx, tx, term); err != nil {
			return err
		}
		return do(tx)
	})
}

// Takeover implements database.Database.
func (d *Database) Takeover(ctx context.Context, do func(tx database.Tx) error) error {
	return d.Update(ctx, do)
}

// Renew implements database.Database.
func (d *Database) Renew(ctx context.Context, do func(tx database.Tx) error) error {
	return d.Update(ctx, do)
}

// Resign implements database.Database.
func (d *Database) Resign(ctx context.Context, do func(tx database.Tx) error) error {
	return d.Update(ctx, do)
}

// Now implements database.Database: all who use the file are on one host.
func (d *Database) Now(context.Context, database.Tx) (time.Time, error) { return time.Now(), nil }
