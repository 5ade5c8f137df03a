package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for database/sql

	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// leaseTime is more than a lease lasts.
const leaseTime = 4 * time.Second

// However long somebody writes, the leader's lease holds: it is renewed without a turn
// to write.
func TestLongTransactionLeavesTheLease(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sweep.db")
	s, err := store.Connect(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	lead, err := s.Lead(t.Context(), sweep.LeadOptions{Holder: "host 1"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // it reads and writes nothing
	writer, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	// On a slow machine it may run out for a moment.
	sweeptest.Until(t, "the lease to hold long after the transaction began", func() bool {
		return time.Since(began) > leaseTime && lead.Holds()
	})
	if _, err := writer.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := lead.Resign(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
