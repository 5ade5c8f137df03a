package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	engine "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// passed marks an error of the caller's own yield, which is handed back as it is.
type passed struct{ err error }

func (p passed) Error() string { return p.err.Error() }
func (p passed) Unwrap() error { return p.err }

// explain says what failed, in which database, and what to do. A full disk is
// syscall.ENOSPC, wrapped.
func (s *Store) explain(what string, err error) error {
	var own passed
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.err
	}
	var failure *engine.Error
	if !errors.As(err, &failure) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch code := failure.Code(); {
	case code == codes.SQLITE_FULL || code == codes.SQLITE_IOERR_WRITE || code == codes.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%s: the disk of %s is full (%w): nothing of this was kept; free some space and start again: %w",
			what, s.path, syscall.ENOSPC, err)
	case isBusy(err):
		return fmt.Errorf("%s: another process has been writing to %s for %v: wait for it, or end it: %w", what, s.path, busyTimeout, err)
	case code&0xff == codes.SQLITE_CANTOPEN:
		return fmt.Errorf("%s: cannot open or create %s: its folder must exist and be writable: %w", what, s.path, err)
	case code&0xff == codes.SQLITE_READONLY:
		return fmt.Errorf("%s: %s cannot be written: look at its permissions: %w", what, s.path, err)
	case code&0xff == codes.SQLITE_NOTADB:
		return fmt.Errorf("%s: %s is no SQLite database: %w", what, s.path, err)
	case code&0xff == codes.SQLITE_CORRUPT:
		return fmt.Errorf("%s: %s is damaged: restore it from a copy, or salvage it with sqlite3's .recover: %w", what, s.path, err)
	}
	return fmt.Errorf("%s: %s: %w", what, s.path, err)
}

// isBusy says whether another process holds a lock that is needed.
func isBusy(err error) bool {
	var failure *engine.Error
	return errors.As(err, &failure) && failure.Code()&0xff == codes.SQLITE_BUSY
}
