package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// A leader that brings the schema up to date is waited for, however slow it is; one that
// leaves the schema as it is, is not.
func TestPatience(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	opened, err := Connect(ctx, filepath.Join(t.TempDir(), "sweep.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*Store)
	defer s.Close()
	p, err := s.patience(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	later := func() error {
		p.since = time.Now().Add(-time.Hour)
		return p.wait(ctx, "another")
	}
	if err := errors.Join(p.wait(ctx, "another"), p.waitForSchema(ctx, "another")); err != nil {
		t.Errorf("at once: %v", err)
	}
	if err := later(); !errors.Is(err, sweep.ErrLed) {
		t.Errorf("no progress: %v", err)
	}
	err = s.schema.Up(ctx, s.db, func(ctx context.Context, do func(tx database.Tx) error) error {
		if err := s.db.Update(ctx, do); err != nil {
			return err
		}
		before := p.missing
		if err := later(); errors.Is(err, sweep.ErrLed) != (p.missing == before) {
			t.Errorf("%d migrations are missing after %d: %v", p.missing, before, err)
		}
		return nil
	})
	if err := p.waitForSchema(ctx, "another"); !errors.Is(err, sweep.ErrLed) {
		t.Errorf("the schema is up to date: %v", err)
	}
	if err != nil || p.missing != 0 {
		t.Errorf("%d migrations are missing: %v", p.missing, err)
	}
}
