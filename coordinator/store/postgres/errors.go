package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"sweep/sweep"
)

// Explain implements database.Database.
func (d *Database) Explain(err error) error {
	var failure *pgconn.PgError
	var unreachable *pgconn.ConnectError
	switch {
	case errors.As(err, &failure):
	case errors.As(err, &unreachable):
		return sweep.Unavailable("cannot reach the database %s: is the server running, and the address right?: %w",
			d.name, err)
	case isLost(err):
		return sweep.Unavailable("the connection to the database %s is lost: %w", d.name, err)
	default:
		return err
	}
	switch failure.Code {
	case "53100": // disk_full
		return sweep.Unavailable("the disk of the database %s is full (%w): make room there; nothing of this was "+
			"kept: %w", d.name, syscall.ENOSPC, err)
	case "2BP01": // dependent_objects_still_exist
		return fmt.Errorf("database %s: %w (%s): an administrator drops what depends on it, and makes it anew when "+
			"this program has led", d.name, err, failure.Detail)
	case "42501": // insufficient_privilege
		return fmt.Errorf("the database user lacks a right: %w", err)
	}
	switch failure.Code[:min(2, len(failure.Code))] {
	case "22", "23", "54": // data exception, integrity constraint violation, program limit exceeded
		return fmt.Errorf("database %s: %w: %w", d.name, sweep.ErrRefused, err)
	// connection, read-only, rollback, resources, locks, operator, system
	case "08", "25", "40", "53", "55", "57", "58":
		return sweep.Unavailable("database %s: %w", d.name, err)
	}
	return fmt.Errorf("database %s: %w", d.name, err)
}

// isLost reports whether the server went away without a word.
func isLost(err error) bool {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) { // that is ours
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}
