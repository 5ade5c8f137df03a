package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	engine "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"sweep/sweep"
)

// Explain implements database.Database.
func (d *Database) Explain(err error) error {
	var failure *engine.Error
	if !errors.As(err, &failure) {
		return err
	}
	switch code := failure.Code(); {
	case code == codes.SQLITE_FULL || code == codes.SQLITE_IOERR_WRITE || code == codes.SQLITE_IOERR_SHMSIZE:
		return sweep.Unavailable("the disk of %s is full (%w): nothing of this was kept: %w", d.path,
			syscall.ENOSPC, err)
	case isBusy(err):
		return sweep.Unavailable("another process has been writing to %s for %v: wait for it, or end it: %w", d.path,
			busyTimeout, err)
	case code&0xff == codes.SQLITE_CANTOPEN:
		return sweep.Unavailable("cannot open or create %s: its folder must exist and be writable: %w", d.path, err)
	case code&0xff == codes.SQLITE_READONLY:
		return sweep.Unavailable("%s cannot be written: look at its permissions: %w", d.path, err)
	case code&0xff == codes.SQLITE_NOTADB:
		return sweep.Unavailable("%s is no SQLite database: %w", d.path, err)
	case code&0xff == codes.SQLITE_CORRUPT:
		return fmt.Errorf("%s is damaged: restore it from a copy, or salvage it with sqlite3's .recover: %w", d.path,
			err)
	case code&0xff == codes.SQLITE_CONSTRAINT || code == codes.SQLITE_TOOBIG || code == codes.SQLITE_MISMATCH:
		return fmt.Errorf("%s: %w: %w", d.path, sweep.ErrRefused, err)
	case code&0xff == codes.SQLITE_IOERR || code&0xff == codes.SQLITE_NOMEM:
		return sweep.Unavailable("%s: %w", d.path, err)
	}
	return fmt.Errorf("%s: %w", d.path, err)
}

// isBusy says whether another process holds a lock that is needed.
func isBusy(err error) bool {
	var failure *engine.Error
	return errors.As(err, &failure) && failure.Code()&0xff == codes.SQLITE_BUSY
}
