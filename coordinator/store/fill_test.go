package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// TestFill: what earlier schemas did not keep is entered when a database is
// opened, also if that was cut short before.
func TestFill(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: one thing is done after the other")
	}
	t.Run("SQLite", func(t *testing.T) { testFill(t, filepath.Join(t.TempDir(), "sweep.db")) })
	t.Run("Postgres", func(t *testing.T) { testFill(t, postgrestest.Start(t).Database(t)) })
}

func testFill(t *testing.T, address string) {
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
	const points, first = 300, 200
	for _, id := range []string{"a", "b"} {
		_, err := s.CreateSweep(ctx, id, &sweep.Submission{Reuse: true, Description: sweep.Description{Open: true}},
			points)
		must(err)
		page := make([]sweep.Trial, points)
		var events []sweep.Event
		for i := range page {
			page[i] = sweep.Trial{
				TrialID: sweep.TrialID{Sweep: id, Index: int64(i)},
				Parameters: sweep.Parameters{"dataset": "CBF", "model": fmt.Sprint("m", i%3), "lr": float64(i%50) / 8,
					"seed": int64(i / 50)},
				Fingerprint: sweep.Fingerprint(fmt.Sprintf("fill-%016d", i)),
			}
			events = append(events, sweep.Event{Kind: sweep.EventResult, TrialID: page[i].TrialID,
				Execution: fmt.Sprint("x", i), Result: &sweep.Result{
					State: sweep.Completed, Diverged: i%7 == 0, Digest: "d", ParameterCount: 5,
					Summary: map[string]float64{"validation_loss": float64(i%1009) / 1024,
						"test_accuracy": float64(i%101) / 128, "reward": float64(i)},
				}})
		}
		reused, err := s.AddTrials(ctx, id, 0, 0, page, nil)
		must(err)
		if want := map[string]int{"a": 0, "b": points}[id]; reused != want {
			t.Fatalf("%d results reused, want %d", reused, want)
		}
		if id == "a" {
			_, err = s.Record(ctx, events)
			must(err)
		}
	}
	answers := func() (all string) {
		for _, text := range []string{
			`SELECT * FROM scores ORDER BY sweep_no, trial_index`,
			`SELECT * FROM metrics ORDER BY sweep_no, metric_no, trial_index`,
			`SELECT * FROM metric_names ORDER BY sweep_no, metric_no`,
			`SELECT * FROM point_aggregates ORDER BY sweep_no, point_key`,
			`SELECT * FROM best_trials ORDER BY sweep_id, trial_index`,
			`SELECT sweep_id, model, selection, replicates, diverged, round(validation_loss * 1e9), round(test_accuracy * 1e9), round(test_accuracy_sd * 1e9)
				FROM ucr_table ORDER BY sweep_id, model, selection`,
			`SELECT trial_index, seed FROM results ORDER BY sweep_id, trial_index`,
			`SELECT count(*), sum(point_key % 1000) FROM trials`,
		} {
			must(s.Query(ctx, text, func(_ []string, row []any) error {
				all += fmt.Sprintln(row...)
				return nil
			}))
		}
		return all
	}
	want := answers()
	must(s.db.Update(ctx, func(tx database.Tx) error {
		return tx.Script(ctx,
			`DELETE FROM scores; DELETE FROM metrics; DELETE FROM point_aggregates; DELETE FROM groups;
			DELETE FROM metric_names; UPDATE trials SET point_key = NULL, seed = NULL;
			INSERT INTO unscored (sweep_no, next_index) SELECT sweep_no, 0 FROM sweeps`)
	}))
	more, err := s.fillPage(ctx, first) // and no further
	must(err)
	if !more {
		t.Fatal("nothing to fill")
	}
	must(s.Close())
	s = open()
	defer func() { must(s.Close()) }()
	if got := answers(); got != want {
		t.Errorf("filled in is\n%.2000s\nwant\n%.2000s", got, want)
	}
	if unfilled, err := s.behind(ctx); err != nil || unfilled {
		t.Errorf("unfilled %v, %v", unfilled, err)
	}
}
