package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweep/sweep"
)

// Exec runs a statement on the writing connection, past the interface.
func Exec(t *testing.T, store sweep.Store, text string, args ...any) {
	t.Helper()
	if _, err := store.(*Store).writer.conn.ExecContext(context.Background(), text, args...); err != nil {
		t.Fatal(err)
	}
}

func openInternal(t testing.TB) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "sweep.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fill makes a sweep of n trials with parameters, all pending.
func fill(t testing.TB, s *Store, id string, n int) {
	t.Helper()
	ctx := context.Background()
	if err := s.CreateSweep(ctx, id, &sweep.Submission{Reuse: true}, int64(n)); err != nil {
		t.Fatal(err)
	}
	page := make([]sweep.Trial, n)
	for i := range page {
		page[i] = sweep.Trial{
			TrialID: sweep.TrialID{Sweep: id, Index: int64(i)}, Parameters: sweep.Parameters{"lr": 0.1, "text": strings.Repeat("x", 100)},
			Fingerprint: sweep.Fingerprint(fmt.Sprint(id, i)),
		}
	}
	if _, err := s.AddTrials(ctx, id, 0, 0, page); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk lets the file grow no further: every method fails with a clear
// error, nothing half-written stays, and the store goes on once there is room.
func TestFullDisk(t *testing.T) {
	s := openInternal(t)
	ctx := context.Background()
	fill(t, s, "s", 500)
	var pages int
	if err := s.writer.conn.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	Exec(t, s, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+2))
	var events []sweep.Event
	for i := range 500 {
		events = append(events, sweep.Event{
			Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: "s", Index: int64(i)}, Execution: fmt.Sprint(i),
			Result: &sweep.Result{State: sweep.Completed, Curves: []sweep.Curve{{Metric: "loss", Steps: make([]int64, 1000), Values: make([]float32, 1000)}}},
		})
	}
	for range 2 {
		_, err := s.Record(ctx, events)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") || !strings.Contains(err.Error(), s.path) {
			t.Fatalf("%v", err)
		}
		progress, err := s.Progress(ctx, "s")
		if err != nil || progress != (sweep.Progress{Pending: 500}) {
			t.Fatalf("%+v %v", progress, err)
		}
	}
	if err := s.CreateSweep(ctx, "t", &sweep.Submission{Source: strings.Repeat("x", 1<<20)}, 1); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	if _, err := s.Sweep(ctx, "t"); !errors.Is(err, sweep.ErrNotFound) {
		t.Fatalf("%v", err)
	}
	Exec(t, s, `PRAGMA max_page_count = 1000000`)
	report, err := s.Record(ctx, events)
	if err != nil || report.Terminal != 500 {
		t.Fatalf("%+v %v", report, err)
	}
	var check string
	if err := s.writer.conn.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&check); err != nil || check != "ok" {
		t.Errorf("%s %v", check, err)
	}
}

// TestPlans holds the queries of the hot paths to their indices.
func TestPlans(t *testing.T) {
	s := openInternal(t)
	fill(t, s, "a", 2000)
	fill(t, s, "b", 10)
	for _, test := range []struct {
		text string
		args []any
		want []string
	}{
		{pendingTrials, []any{1, 10}, []string{"SEARCH trials USING INDEX trials_pending (sweep_no=?)"}},
		{markQueued, []any{"", 1, 1}, []string{"SEARCH trials USING INTEGER PRIMARY KEY", "SEARCH trials USING INDEX", "SEARCH trials USING COVERING INDEX"}},
		{unheard, []any{1, 1, "", 10}, []string{"trials_active"}},
		{reusable, []any{"x"}, []string{"SEARCH trials USING INDEX trials_reuse (fingerprint=?)"}},
		{activeTrials, []any{1}, []string{"SEARCH trials USING INDEX trials_active (sweep_no=?)"}},
		{trialColumns + ` WHERE t.sweep_no = ? AND t.trial_index = ?`, []any{1, 1}, []string{"SEARCH t USING INDEX sqlite_autoindex_trials_1 (sweep_no=? AND trial_index=?)"}},
		{`SELECT * FROM curves WHERE sweep_id = 'a' AND trial_index = 5 AND metric = 'loss'`, nil,
			[]string{"SEARCH t USING INDEX sqlite_autoindex_trials_1 (sweep_no=? AND trial_index=?)"}},
	} {
		rows, err := s.writer.conn.QueryContext(context.Background(), `EXPLAIN QUERY PLAN `+test.text, test.args...)
		var plan []string
		err = each(rows, err, func() error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan, "\n")
		found := false
		for _, want := range test.want {
			found = found || strings.Contains(text, want)
		}
		if !found || strings.Contains(text, "SCAN t") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s:\n%s", test.text, text)
		}
	}
}

// TestWaitingWriterStops: a writer that waits for its turn leaves when its
// context ends.
func TestWaitingWriterStops(t *testing.T) {
	s := openInternal(t)
	fill(t, s, "s", 1)
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- s.update(context.Background(), "wait", func(*transaction) error {
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
	s := openInternal(t)
	fill(t, s, "s", 1)
	ctx := context.Background()
	own := errors.New("own")
	for range 3 {
		err := s.update(ctx, "try", func(w *transaction) error {
			if _, err := w.exec(`UPDATE sweeps SET name = 'changed'`); err != nil {
				t.Error(err)
			}
			return own
		})
		if !errors.Is(err, own) {
			t.Errorf("%v", err)
		}
		if err := s.update(ctx, "try", func(w *transaction) error {
			_, err := w.exec(`INSERT INTO counters (sweep_no) VALUES (12345)`)
			return err
		}); err == nil {
			t.Error("a broken foreign key was taken")
		}
		func() {
			defer func() { _ = recover() }()
			_ = s.update(ctx, "try", func(*transaction) error { panic("own") })
		}()
	}
	record, err := s.Sweep(ctx, "s")
	if err != nil || record.Name != "" {
		t.Errorf("%+v %v", record, err)
	}
}

func FuzzSingle(f *testing.F) {
	for _, text := range []string{
		"SELECT 1", "SELECT 1;", ";", "", "SELECT ';'", `SELECT "a;b"`, "SELECT 1; SELECT 2", "-- x\n;SELECT 1", "/*;*/SELECT 1", "SELECT [;]", "SELECT `;`",
		"SELECT 'it''s;'", "/*", "--", "'", "SELECT 1;--",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := single(text)
		if strings.ContainsAny(text, "'\"`[-/") {
			return // what is added might be inside a quoted text or a comment
		}
		if again := single(text + " ;; -- end"); err == nil && again != nil {
			t.Errorf("%q: %v", text, again)
		}
		if again := single(text + "; SELECT ';'"); err == nil && again == nil {
			t.Errorf("%q with a second statement was taken", text)
		}
	})
}

// TestWaitEnds: who waits for another process's transaction can be called off,
// and has the lock once that transaction ends.
func TestWaitEnds(t *testing.T) {
	s := openInternal(t)
	ctx := context.Background()
	other, err := Open(ctx, s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.CreateSweep(ctx, "s", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	err = other.update(ctx, "hold", func(*transaction) error {
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
