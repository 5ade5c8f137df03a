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
type lock struct {
	conn *conn
	once sync.Once
	lost chan struct{}
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
			if holder, err = firstEdition(d.path); err != nil || holder == "" {
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
	return &lock{conn: c, lost: make(chan struct{})}, nil
}

// Holder implements database.Database: nobody else's exclusive transaction lets a
// file be read.
func (d *Database) Holder(ctx context.Context) (holder string, held bool, err error) {
	if _, err := os.Stat(d.path + lockSuffix); errors.Is(err, fs.ErrNotExist) {
		holder, err = firstEdition(d.path)
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
		holder, err = firstEdition(d.path)
	}
	return holder, holder != "", err
}

// Lost implements database.Lock.
func (l *lock) Lost() <-chan struct{} { return l.lost }

// Release implements database.Lock.
func (l *lock) Release(context.Context) (err error) {
	l.once.Do(func() {
		close(l.lost)
		err = l.conn.Close()
	})
	return err
}
