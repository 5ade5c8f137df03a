package postgres

import (
	"errors"
	"fmt"
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
		return fmt.Errorf("cannot reach the database %s: is the server running, and the address right?: %w", d.name, err)
	default:
		return err
	}
	switch failure.Code {
	case "53100": // disk_full
		return fmt.Errorf("the disk of the database %s is full (%w): nothing of this was kept: %w", d.name, syscall.ENOSPC, err)
	case "42501": // insufficient_privilege
		return fmt.Errorf("the database user lacks a right: %w", err)
	}
	switch failure.Code[:min(2, len(failure.Code))] {
	case "22", "23", "54": // data exception, integrity constraint violation, program limit exceeded
		return fmt.Errorf("database %s: %w: %w", d.name, sweep.ErrRefused, err)
	}
	return fmt.Errorf("database %s: %w", d.name, err)
}
