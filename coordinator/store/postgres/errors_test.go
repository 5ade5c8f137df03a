package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"sweep/coordinator/store/postgres"
	"sweep/sweep"
)

// TestExplain holds whom an error blames: the data, the server, or nobody.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                        error
		refused, unavailable, full bool
	}{
		{err: &pgconn.PgError{Code: "53100"}, unavailable: true, full: true},
		{err: &pgconn.PgError{Code: "57P01"}, unavailable: true},
		{err: &pgconn.PgError{Code: "40001"}, unavailable: true},
		{err: &pgconn.PgError{Code: "54000"}, refused: true},
		{err: &pgconn.PgError{Code: "22021"}, refused: true},
		{err: &pgconn.PgError{Code: "XX000"}},
		{err: &pgconn.PgError{Code: "42501"}},
		{err: &pgconn.PgError{}},
		{err: io.ErrUnexpectedEOF, unavailable: true},
		{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, unavailable: true},
		{err: context.DeadlineExceeded},
		{err: errors.New("cannot encode")},
	} {
		got := new(postgres.Database).Explain(fmt.Errorf("record: %w", c.err))
		var trouble *sweep.UnavailableError
		if errors.Is(got, sweep.ErrRefused) != c.refused || errors.As(got, &trouble) != c.unavailable ||
			errors.Is(got, syscall.ENOSPC) != c.full || !errors.Is(got, c.err) {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
