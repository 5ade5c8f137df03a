package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// TestWaitingWriterStops: a writer that waits for its turn leaves when its
// context ends.
func TestWaitingWriterStops(t *testing.T) {
	s := openNew(t)
	fill(t, s, "s", 1)
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- databaseOf(s).Update(context.Background(), func(database.Tx) error {
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.SetSweepPriority(ctx, "s", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.SetSweepPriority(context.Background(), "s", 1); err != nil {
		t.Error(err)
	}
}

// TestWriterSurvivesErrors: an error, or a panic, inside a transaction leaves
// the writer usable.
func TestWriterSurvivesErrors(t *testing.T) {
	s := openNew(t)
	fill(t, s, "s", 1)
	ctx := context.Background()
	own := errors.New("own")
	for range 3 {
		err := databaseOf(s).Update(ctx, func(tx database.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE sweeps SET name = 'changed'`); err != nil {
				t.Error(err)
			}
			return own
		})
		if !errors.Is(err, own) {
			t.Errorf("%v", err)
		}
		if err := databaseOf(s).Update(ctx, func(tx database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE counters SET pending = -1`)
			return err
		}); err == nil {
			t.Error("a count below zero was taken")
		}
		func() {
			defer func() { _ = recover() }()
			_ = databaseOf(s).Update(ctx, func(database.Tx) error { panic("own") })
		}()
	}
	record, err := s.Sweep(ctx, "s")
	if err != nil || record.Name != "" {
		t.Errorf("%+v %v", record, err)
	}
}

// TestEndedContextsLeaveNoTransaction: a context that ends while a transaction
// begins leaves none open behind it, which would fail all that come later.
func TestEndedContextsLeaveNoTransaction(t *testing.T) {
	d := databaseOf(openNew(t))
	nothing := func(database.Tx) error { return nil }
	for name, begin := range map[string]func(ctx context.Context, do func(tx database.Tx) error) error{"Update": d.Update, "View": d.View} {
		for range 2000 {
			ctx, cancel := context.WithCancel(context.Background())
			go cancel()
			if err := begin(ctx, nothing); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", name, err)
			}
			cancel()
		}
		if err := begin(context.Background(), nothing); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitEnds: who waits for another process's transaction can be called off,
// and has the lock once that transaction ends.
func TestWaitEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	s, other := open(t, path), open(t, path)
	ctx := context.Background()
	if _, err := s.CreateSweep(ctx, "s", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	err := databaseOf(other).Update(ctx, func(database.Tx) error {
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		if err := s.SetSweepPriority(short, "s", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with the lock held: %v", err)
		}
		go func() { waited <- s.SetSweepPriority(ctx, "s", 2) }()
		return nil
	})
	if err := errors.Join(err, <-waited); err != nil {
		t.Fatal(err)
	}
	record, err := s.Sweep(ctx, "s")
	if err != nil || record.Priority != 2 {
		t.Errorf("%+v %v", record, err)
	}
}
