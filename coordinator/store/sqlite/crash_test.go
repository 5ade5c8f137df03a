package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/migrations"
	"sweep/sweep"
)

// childVariable makes the test binary a process that writes to the named
// database until it is killed.
const childVariable = "SWEEP_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := child(path, os.Getenv(childVariable+"_SWEEP")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const crashPoints = 200_000

// child records trial after trial, and prints the index of each batch's last
// one after it was committed.
func child(path, id string) error {
	ctx := context.Background()
	results, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	submission := &sweep.Submission{Spec: sweep.Spec{Name: id, Limits: sweep.Limits{Attempts: 3}}}
	if _, err := results.CreateSweep(ctx, id, submission, crashPoints); err != nil {
		return err
	}
	const page = 50
	for from := int64(0); from < crashPoints; from += page {
		trials := make([]sweep.Trial, page)
		var events []sweep.Event
		for i := range trials {
			trials[i] = sweep.Trial{
				TrialID:     sweep.TrialID{Sweep: id, Index: from + int64(i)},
				Parameters:  sweep.Parameters{"seed": from + int64(i)},
				Fingerprint: sweep.Fingerprint(fmt.Sprint(id, from+int64(i))),
			}
			events = append(events, sweep.Event{
				Kind: sweep.EventResult, TrialID: trials[i].TrialID, Execution: fmt.Sprint(id, from, i), Worker: "w",
				Result: &sweep.Result{State: sweep.Completed, Digest: fmt.Sprint(i),
					Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1}, Values: []float32{1}}}},
			})
		}
		if _, err := results.AddTrials(ctx, id, 0, from, trials, nil); err != nil {
			return err
		}
		if _, err := results.Record(ctx, events); err != nil {
			return err
		}
		fmt.Println(from + page)
	}
	return results.Close()
}

// spawn starts a child and returns it with a function that waits for its next
// commit.
func spawn(t *testing.T, path, id string) (*exec.Cmd, func() int64) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childVariable+"="+path, childVariable+"_SWEEP="+id)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return cmd, func() int64 {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the child ended: %v", lines.Err())
		}
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// checkDatabase looks for damage and for counters that do not fit the rows.
func checkDatabase(t *testing.T, results sweep.Store, id string, committed int64) {
	t.Helper()
	ctx := context.Background()
	progress, err := results.Progress(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if progress.Completed < committed || progress.Total() != crashPoints {
		t.Errorf("%d trials were committed, the database has %+v", committed, progress)
	}
	query := `SELECT (SELECT count(*) FROM results WHERE state = 'completed' AND sweep_id = '` + id + `'),
		(SELECT count(*) FROM curves WHERE sweep_id = '` + id + `'), (SELECT count(*) FROM outcomes) - (SELECT count(*) FROM executions)`
	err = results.Query(ctx, query, func(_ []string, row []any) error {
		if row[0] != progress.Completed || row[1] != progress.Completed || row[2] != int64(0) {
			t.Errorf("%v rows for %+v", row, progress)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	for i := range 4 {
		id := fmt.Sprint("s", i)
		cmd, next := spawn(t, path, id)
		var committed int64
		for range 3 + 4*i {
			committed = next()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for { // what it still printed was committed too
			if err := cmd.Wait(); err != nil {
				break
			}
		}
		results, err := store.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		checkDatabase(t, results, id, committed)
		if err := results.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	_, nextA := spawn(t, path, "a") // both create the file
	_, nextB := spawn(t, path, "b")
	results := open(t, path)
	for range 3 {
		for id, committed := range map[string]int64{"a": nextA(), "b": nextB()} {
			progress, err := results.Progress(context.Background(), id)
			if err != nil || progress.Completed < committed {
				t.Fatalf("%d committed in sweep %s, %+v seen: %v", committed, id, progress, err)
			}
		}
	}
	if err := results.SetSweepPriority(context.Background(), "a", 7); err != nil { // a third one writes
		t.Fatal(err)
	}
}

// Several who open the same new database at once all get it.
func TestOpenedAtOnce(t *testing.T) {
	for range 6 {
		path := filepath.Join(t.TempDir(), "sweep.db")
		failures := make(chan error)
		const openers = 4
		for range openers {
			go func() {
				results, err := store.Open(context.Background(), path)
				for errors.Is(err, sweep.ErrLed) { // another one stood still for a while
					results, err = store.Open(context.Background(), path)
				}
				if err == nil {
					err = results.Close()
				}
				failures <- err
			}()
		}
		for range openers {
			if err := <-failures; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text:                              "no SQLite database",
		filepath.Join(dir, "no", "x.db"):  "its folder must exist",
		dir:                               "cannot open",
		filepath.Join(text, "x.db"):       "cannot open",
		"/proc/version":                   "/proc/version",
		filepath.Join(dir, "none\x00.db"): "none",
	} {
		results, err := store.Open(context.Background(), path)
		if err == nil {
			t.Errorf("%s was opened", path)
			_ = results.Close()
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error does not say %q: %v", path, want, err)
		}
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space.db", "100%25.db", "a?mode=ro.db", "a#b.db", "naïve.db", "a&b=c.db"} {
		path := filepath.Join(t.TempDir(), name)
		results := open(t, path)
		if _, err := results.CreateSweep(context.Background(), "s", &sweep.Submission{}, 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	ctx := context.Background()
	results, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := results.CreateSweep(ctx, "s", &sweep.Submission{Source: "x"}, 7); err != nil {
		t.Fatal(err)
	}
	if err := results.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(path + "-*")
	if err != nil || len(left) > 0 {
		t.Errorf("a closed database leaves %v (%v)", left, err)
	}
	record, err := open(t, path).Sweep(ctx, "s")
	if err != nil || record.Points() != 7 || record.Grids[0].Submission.Source != "x" {
		t.Errorf("%+v %v", record, err)
	}
	if err := results.SetSweepPriority(ctx, "s", 1); err == nil {
		t.Error("a closed store writes")
	}
	if _, err := results.Sweep(ctx, "s"); err == nil {
		t.Error("a closed store reads")
	}
}

func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	ctx := context.Background()
	results := open(t, path)
	execute(t, results, `INSERT INTO schema_migrations (number, name, applied_at) VALUES (1000, 'time_travel', '')`)
	_, err := store.Open(ctx, path)
	if !errors.Is(err, sweep.ErrNewerSchema) {
		t.Fatalf("%v", err)
	}
	all, failure := fs.Glob(migrations.Files, "*.sql")
	if failure != nil {
		t.Fatal(failure)
	}
	for _, want := range []string{path, "1000", "time_travel", fmt.Sprint("version ", len(all))} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	execute(t, results, `DELETE FROM schema_migrations WHERE number = 1000`)
	execute(t, results, `UPDATE schema_migrations SET name = 'other' WHERE number = 1`)
	if _, err = store.Open(ctx, path); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("%v", err)
	}
}
