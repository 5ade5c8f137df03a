package storetest

import (
	"context"
	"path/filepath"
	"testing"

	"sweep/coordinator/store"
	"sweep/sweep"
)

// Example is what a test of something that reads a store wants to find in it: a
// sweep, of which the first trials are queued, and what came of them.
type Example struct {
	ID         string
	Submission *sweep.Submission
	// Trials are all of the sweep, of one class.
	Trials []sweep.Trial
	Queued int
	Events []sweep.Event
}

// Open opens a new, empty SQLite database, which leads. The test's end closes it.
func Open(t testing.TB) sweep.Store {
	t.Helper()
	s := openStore(t, store.Open, "sqlite:"+filepath.Join(t.TempDir(), "sweep.db"))
	lead, err := s.Lead(context.Background(), sweep.LeadOptions{Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lead.Resign(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Add stores an example.
func (e *Example) Add(t testing.TB, s sweep.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.CreateSweep(t.Context(), e.ID, e.Submission, int64(len(e.Trials)))
	must(err)
	_, err = s.AddTrials(t.Context(), e.ID, 0, 0, e.Trials,
		map[int]sweep.Requirement{0: {Trainer: e.Submission.Spec.Trainer, ResultVersion: "1"}})
	must(err)
	if e.Queued > 0 {
		_, err = s.TakePending(t.Context(), e.ID, 0, e.Queued)
		must(err)
	}
	_, err = s.Record(t.Context(), e.Events)
	must(err)
}
