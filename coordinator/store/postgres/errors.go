package postgres

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// passed marks an error of the caller's own yield, which is handed back as it is.
type passed struct{ err error }

func (p passed) Error() string { return p.err.Error() }
func (p passed) Unwrap() error { return p.err }

// explain says what failed, in which database, and what to do. A full disk of
// the server is syscall.ENOSPC, wrapped.
func (s *Store) explain(what string, err error) error {
	var own passed
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.err
	}
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) {
		return fmt.Errorf("%s: cannot reach the database %s: is the server running, and the address right?: %w", what, s.name, err)
	}
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch failure.Code {
	case "53100": // disk_full
		return fmt.Errorf("%s: the disk of the database %s is full (%w): nothing of this was kept: %w", what, s.name, syscall.ENOSPC, err)
	case "57014": // query_canceled
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			break
		}
		return fmt.Errorf("%s: the server ended it after %v: %w", what, queryTimeout, err)
	case "42501": // insufficient_privilege
		return fmt.Errorf("%s: the database user lacks a right: %w", what, err)
	}
	return fmt.Errorf("%s: database %s: %w", what, s.name, err)
}
