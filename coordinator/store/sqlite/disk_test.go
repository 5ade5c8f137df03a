package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// databaseOf is the database behind a store.
func databaseOf(s sweep.Store) database.Database { return s.(*store.Store).Database() }

// execute runs statements past the store.
func execute(t *testing.T, s sweep.Store, text string) {
	t.Helper()
	ctx := context.Background()
	if err := databaseOf(s).Update(ctx, func(tx database.Tx) error { return tx.Script(ctx, text) }); err != nil {
		t.Fatal(err)
	}
}

// ask returns the one value that a statement answers.
func ask(t *testing.T, s sweep.Store, text string) string {
	t.Helper()
	answer := ""
	ctx := context.Background()
	err := databaseOf(s).Update(ctx, func(tx database.Tx) error {
		return tx.Query(ctx, func(row database.Row) error { return row.Scan(&answer) }, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// fill makes a sweep of n trials with parameters, all pending.
func fill(t testing.TB, s sweep.Store, id string, n int) {
	t.Helper()
	ctx := context.Background()
	if _, err := s.CreateSweep(ctx, id, &sweep.Submission{Reuse: true}, int64(n)); err != nil {
		t.Fatal(err)
	}
	page := make([]sweep.Trial, n)
	for i := range page {
		page[i] = sweep.Trial{
			TrialID:     sweep.TrialID{Sweep: id, Index: int64(i)},
			Parameters:  sweep.Parameters{"lr": 0.1, "text": strings.Repeat("x", 100)},
			Fingerprint: sweep.Fingerprint(fmt.Sprint(id, i)),
		}
	}
	if _, err := s.AddTrials(ctx, id, 0, 0, page, nil); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk lets the file grow no further: every method fails with a clear
// error, nothing half-written stays, and the store goes on once there is room.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	s := open(t, path)
	ctx := context.Background()
	fill(t, s, "s", 500)
	pages, err := strconv.Atoi(ask(t, s, `SELECT CAST(page_count AS text) FROM pragma_page_count`))
	if err != nil {
		t.Fatal(err)
	}
	execute(t, s, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+2))
	var events []sweep.Event
	for i := range 500 {
		events = append(events, sweep.Event{
			Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: "s", Index: int64(i)}, Execution: fmt.Sprint(i),
			Result: &sweep.Result{State: sweep.Completed,
				Curves: []sweep.Curve{{Metric: "loss", Steps: make([]int64, 1000), Values: make([]float32, 1000)}}},
		})
	}
	for range 2 {
		_, err := s.Record(ctx, events)
		var trouble *sweep.UnavailableError
		if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &trouble) || !strings.Contains(err.Error(), path) {
			t.Fatalf("%v", err)
		}
		progress, err := s.Progress(ctx, "s")
		if err != nil || progress != (sweep.Progress{Pending: 500}) {
			t.Fatalf("%+v %v", progress, err)
		}
	}
	if _, err := s.CreateSweep(ctx, "t", &sweep.Submission{Source: strings.Repeat("x", 1<<20)}, 1); !errors.Is(err,
		syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	if _, err := s.Sweep(ctx, "t"); !errors.Is(err, sweep.ErrNotFound) {
		t.Fatalf("%v", err)
	}
	execute(t, s, `PRAGMA max_page_count = 1000000`)
	report, err := s.Record(ctx, events)
	if err != nil || report.Terminal != 500 {
		t.Fatalf("%+v %v", report, err)
	}
	if check := ask(t, s, `SELECT integrity_check FROM pragma_integrity_check`); check != "ok" {
		t.Error(check)
	}
}
