package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// The databases in testdata were made by the program of the first version,
// which also wrote down all that could be read from them.

func TestUpgrade(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "sweep.db")
		if err := os.WriteFile(path, unpack(t, "version1.db.gz"), 0o600); err != nil {
			t.Fatal(err)
		}
		testUpgrade(t, path, "version1-sqlite.json.gz")
	})
	t.Run("Postgres", func(t *testing.T) {
		address := postgrestest.Start(t).Database(t)
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(ctx, string(unpack(t, "version1.sql.gz"))); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(ctx); err != nil {
			t.Fatal(err)
		}
		testUpgrade(t, address, "version1-postgres.json.gz")
	})
}

func unpack(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// testLed: a database is not brought up to date while another process leads it.
func testLed(t *testing.T, address string) {
	ctx := context.Background()
	s, err := store.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	lock, _, err := s.(*store.Store).Database().Lock(ctx)
	if err != nil || lock == nil {
		t.Fatalf("%v, lock %v", err, lock)
	}
	_, err = store.Open(ctx, address)
	var failure *sweep.SchemaError
	if !errors.As(err, &failure) || !errors.Is(err, sweep.ErrLed) || failure.Has != 5 || failure.Needs < 8 {
		t.Errorf("%v", err)
	}
	// One that stands by can connect, and brings it up to date when it leads.
	standby, err := store.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	led := make(chan error)
	go func() {
		lead, err := standby.Lead(ctx, sweep.LeadOptions{Holder: "host"})
		if err == nil {
			err = lead.Resign(ctx)
		}
		led <- errors.Join(err, standby.Close())
	}()
	if err := lock.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := <-led; err != nil {
		t.Error(err)
	}
}

// testUpgrade opens a database and wants to read from it what its own program
// read, and to go on with it.
func testUpgrade(t *testing.T, address, name string) {
	ctx := context.Background()
	testLed(t, address)
	for range 2 { // migrated, and opened again
		s, err := store.Open(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if err := json.Unmarshal(unpack(t, name), &want); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(snapshot(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		contains(t, "", got, want)
		records, err := s.Sweeps(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range records { // their notes are at first what their files say
			r := &records[i]
			if !reflect.DeepEqual(r.Annotation, sweep.Annotation{Notes: "naïve “test”"}) || r.Purpose != "" {
				t.Errorf("sweep %s: %+v and the purpose %q, want the description as notes", r.ID, r.Annotation, r.Purpose)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	goOn(t, s)
}

// contains compares what has been decoded from JSON. There may be more in a
// mapping than is wanted.
func contains(t *testing.T, where string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
		for name, value := range want {
			contains(t, where+"/"+name, object[name], value)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s: %v, want %v", where, got, want)
			return
		}
		for i := range want {
			contains(t, fmt.Sprintf("%s/%d", where, i), list[i], want[i])
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
}

// firstColumns are columns that the first version's views had beside parameters and summary.
const firstColumns = `parameters ->> 'dataset' AS dataset, parameters ->> 'model' AS model,
	CAST(parameters ->> 'lr' AS double precision) AS lr, CAST(parameters ->> 'decay' AS double precision) AS decay,
	CAST(parameters ->> 'batch' AS bigint) AS batch,
	CAST(summary ->> 'validation_loss' AS double precision) AS validation_loss,
	CAST(summary ->> 'validation_accuracy' AS double precision) AS validation_accuracy,
	1 - CAST(summary ->> 'validation_accuracy' AS double precision) AS validation_error,
	CAST(summary ->> 'test_accuracy' AS double precision) AS test_accuracy,
	CAST(summary ->> 'train_loss' AS double precision) AS train_loss`

// snapshot is all that can be read from a store, as the first version wrote it
// down.
func snapshot(t *testing.T, s sweep.Store) map[string]any {
	t.Helper()
	ctx := context.Background()
	all := map[string]any{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	records, err := s.Sweeps(ctx)
	must(err)
	for i := range records {
		record, err := s.Sweep(ctx, records[i].ID)
		must(err)
		all["sweep "+record.ID] = record
		all["progress "+record.ID], err = s.Progress(ctx, record.ID)
		must(err)
	}
	var trials []*sweep.TrialRecord
	must(s.Trials(ctx, sweep.TrialQuery{}, func(r *sweep.TrialRecord) error {
		trials = append(trials, r)
		curves, err := s.Curves(ctx, r.TrialID)
		all["curves "+r.String()] = curves
		return err
	}))
	all["trials"] = trials
	for name, text := range map[string]string{
		"results":     `SELECT r.*, ` + firstColumns + ` FROM results AS r ORDER BY sweep_id, trial_index`,
		"curves":      `SELECT * FROM curves ORDER BY sweep_id, trial_index, metric, step`,
		"best_trials": `SELECT r.*, ` + firstColumns + ` FROM best_trials AS r ORDER BY sweep_id, dataset, model`,
		"ucr_table":   `SELECT * FROM ucr_table ORDER BY sweep_id, dataset, model, selection`,
		"executions":  `SELECT * FROM executions ORDER BY trial_no, execution`,
		"faults":      `SELECT * FROM reproducibility_faults`,
		"datasets":    `SELECT * FROM datasets ORDER BY sweep_no, ordinal`,
	} {
		rows := []map[string]any{}
		must(s.Query(ctx, text, func(columns []string, row []any) error {
			named := map[string]any{}
			for i, column := range columns {
				named[column] = row[i]
			}
			rows = append(rows, named)
			return nil
		}))
		all["view "+name] = rows
	}
	return all
}

// goOn runs a sweep of the first version to its end.
func goOn(t *testing.T, s sweep.Store) {
	t.Helper()
	ctx := context.Background()
	const id = "20260301-one"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := s.Sweep(ctx, id)
	must(err)
	_, err = s.RetryTrials(ctx, id)
	must(err)
	for _, g := range record.Grids {
		var page []sweep.Trial
		for point := g.Cursor; point < g.Points; point++ {
			page = append(page, sweep.Trial{
				TrialID: sweep.TrialID{Sweep: id, Index: g.First + point}, Parameters: sweep.Parameters{"seed": point},
				Fingerprint: sweep.Fingerprint(fmt.Sprint("new", g.First+point)),
			})
		}
		_, err := s.AddTrials(ctx, id, g.Ordinal, g.Cursor, page, nil)
		must(err)
	}
	backlogs, err := s.Backlog(ctx, id)
	must(err)
	for _, class := range backlogs[0].Classes {
		// The first version's trials need what their grid said.
		if want := (sweep.Requirement{Trainer: "noop", ResultVersion: "1"}); !reflect.DeepEqual(class.Requirement,
			want) {
			t.Errorf("class %d requires %+v, want %+v", class.Class, class.Requirement, want)
		}
		taken, err := s.TakePending(ctx, id, class.Class, 1000)
		must(err)
		if int64(len(taken)) != class.Pending || class.Pending == 0 {
			t.Errorf("%d trials of %+v were taken", len(taken), class)
		}
	}
	var events []sweep.Event
	must(s.Trials(ctx, sweep.TrialQuery{Sweeps: []string{id}, States: []sweep.State{sweep.Queued, sweep.Running}},
		func(r *sweep.TrialRecord) error {
			events = append(events, sweep.Event{
				Kind: sweep.EventResult, TrialID: r.TrialID, Execution: "late-" + r.String(), Worker: "w",
				Result: &sweep.Result{State: sweep.Completed, Digest: "d",
					Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1}, Values: []float32{1}}}},
			})
			return nil
		}))
	report, err := s.Record(ctx, events)
	must(err)
	progress, err := s.Progress(ctx, id)
	must(err)
	want := sweep.Progress{Completed: record.Points(), Reused: progress.Reused, Diverged: 1, Faults: 1}
	if report.Terminal != len(events) || progress != want {
		t.Errorf("%+v, progress %+v, want %+v", report, progress, want)
	}
	if record, err = s.Sweep(ctx, id); err != nil || record.State != sweep.SweepFinished {
		t.Errorf("the sweep is %s: %v", record.State, err)
	}
	// What the first version recorded is reused.
	again := record.Grids[0].Submission
	_, err = s.CreateSweep(ctx, "again", &again, 1)
	must(err)
	old, err := s.Trial(ctx, sweep.TrialID{Sweep: id, Index: 4})
	must(err)
	old.TrialID = sweep.TrialID{Sweep: "again"}
	reused, err := s.AddTrials(ctx, "again", 0, 0, []sweep.Trial{old.Trial}, nil)
	if err != nil || reused != 1 {
		t.Errorf("%d reused: %v", reused, err)
	}
	must(s.Query(ctx, `SELECT count(*) FROM counters AS c WHERE c.completed <>
		(SELECT count(*) FROM trials AS t WHERE t.sweep_no = c.sweep_no AND t.state = 'completed')`, func(_ []string, row []any) error {
		if row[0] != int64(0) {
			t.Errorf("the counters of %v sweeps differ from their rows", row[0])
		}
		return nil
	}))
}
