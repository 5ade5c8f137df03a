package store

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/migrations"
	"sweep/sweep"
)

// TestRenamedTables: a database with the names before migration 15 is brought up to date by
// renaming alone: every row is kept, none is copied, and the views answer as before.
func TestRenamedTables(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		testRenamedTables(t, filepath.Join(t.TempDir(), "sweep.db"),
			`SELECT group_concat(rootpage) FROM (SELECT rootpage FROM sqlite_schema WHERE name IN ($1, $2)
				ORDER BY rootpage)`)
	})
	t.Run("Postgres", func(t *testing.T) {
		testRenamedTables(t, postgrestest.Start(t).Database(t),
			`SELECT pg_relation_filenode($1::text::regclass) || ' ' || pg_relation_filenode($2::text::regclass)`)
	})
}

// testRenamedTables takes where the rows of two tables are stored from a query.
func testRenamedTables(t *testing.T, address, files string) {
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func() *Store {
		t.Helper()
		s, err := Open(ctx, address)
		must(err)
		return s.(*Store)
	}
	s := open()
	const trials = 40
	_, err := s.CreateSweep(ctx, "a", &sweep.Submission{}, trials)
	must(err)
	page := make([]sweep.Trial, trials)
	var events []sweep.Event
	for i := range page {
		page[i] = sweep.Trial{TrialID: sweep.TrialID{Sweep: "a", Index: int64(i)}, Parameters: sweep.Parameters{
			"dataset": "CBF", "model": fmt.Sprint("m", i%3), "lr": float64(i % 4), "seed": int64(i)}}
		events = append(events, sweep.Event{Kind: sweep.EventResult, TrialID: page[i].TrialID, Execution: "x",
			Result: &sweep.Result{State: sweep.Completed, Diverged: i%7 == 0, Summary: map[string]float64{
				"validation_loss": float64(i%5) / 8, "test_accuracy": float64(i%8) / 8}}})
	}
	_, err = s.AddTrials(ctx, "a", 0, 0, page, nil)
	must(err)
	_, err = s.Record(ctx, events)
	must(err)

	rows := func(text string, args ...any) (all []string) {
		t.Helper()
		must(s.db.View(ctx, func(tx database.Tx) error {
			return tx.Query(ctx, func(row database.Row) error {
				var line string
				err := row.Scan(&line)
				all = append(all, line)
				return err
			}, text, args...)
		}))
		return all
	}
	answers := func() (all []string) {
		for _, view := range []string{"accuracy_table", "ucr_table", "best_trials"} {
			must(s.Query(ctx, `SELECT * FROM `+view, func(_ []string, row []any) error {
				all = append(all, view+fmt.Sprint(row...))
				return nil
			}))
		}
		slices.Sort(all)
		return all
	}
	want, before := answers(), rows(files, "point_aggregates", "groups")

	// The names before, by the migration read backwards.
	all, err := migrate.Load(migrations.Files, s.db.Dialect().Folder)
	must(err)
	renamed := regexp.MustCompile(`ALTER (TABLE|INDEX) (\w+) RENAME (COLUMN )?(?:(\w+) )?TO (\w+);`)
	backwards := `DROP VIEW point_means; DELETE FROM schema_migrations WHERE number >= 15;`
	statements := renamed.FindAllStringSubmatch(all[14].SQL, -1)
	for _, m := range slices.Backward(statements) {
		if m[3] == "" { // the relation itself
			backwards += fmt.Sprintf("ALTER %s %s RENAME TO %s;", m[1], m[5], m[2])
		} else {
			backwards += fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s;", m[2], m[5], m[4])
		}
	}
	must(s.db.Update(ctx, func(tx database.Tx) error { return tx.Script(ctx, backwards) }))
	count := `SELECT CAST(count(*) AS text) || ' ' || CAST(sum(%s) AS text) FROM %s`
	earlier := append(rows(fmt.Sprintf(count, "sample_no", "points")),
		rows(fmt.Sprintf(count, "lead_key % 1000", "contests"))...)
	if got := rows(files, "points", "contests"); !slices.Equal(got, before) {
		t.Fatalf("read backwards the rows are in %v, were in %v", got, before)
	}
	must(s.Close())

	s = open()
	defer func() { must(s.Close()) }()
	if got := rows(files, "point_aggregates", "groups"); !slices.Equal(got, before) {
		t.Errorf("the rows were copied: they are in %v, were in %v", got, before)
	}
	if got := append(rows(fmt.Sprintf(count, "trial_no", "point_aggregates")),
		rows(fmt.Sprintf(count, "best_point_key % 1000", "groups"))...); !slices.Equal(got, earlier) {
		t.Errorf("rows %v, want %v", got, earlier)
	}
	if got := answers(); !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}
