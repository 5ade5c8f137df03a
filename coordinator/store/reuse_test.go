package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// eachKind runs a test over a new store of each kind.
func eachKind(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Run("SQLite", func(t *testing.T) { test(t, openEmpty(t, filepath.Join(t.TempDir(), "sweep.db"))) })
	t.Run("Postgres", func(t *testing.T) { test(t, openEmpty(t, postgrestest.Start(t).Database(t))) })
}

// TestHiddenResults: while a deleted sweep's rows are removed, which takes many
// transactions, no trial takes a result of it over, whatever it is to leave.
func TestHiddenResults(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		write := func(id string, artifacts ...string) (reused int) {
			t.Helper()
			_, err := s.CreateSweep(ctx, id, &sweep.Submission{Spec: sweep.Spec{Pool: "cpu", Artifacts: artifacts},
				Reuse: true}, 1)
			must(err)
			reused, err = s.AddTrials(ctx, id, 0,
				0, []sweep.Trial{{TrialID: sweep.TrialID{Sweep: id}, Parameters: sweep.Parameters{},
					Fingerprint: "same"}}, nil)
			must(err)
			return reused
		}
		write("first", "weights")
		digest := "0123456789012345678901234567890123456789012345678901234567890123"
		_, err := s.Record(ctx, []sweep.Event{{
			Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: "first"}, Execution: "x", Worker: "w",
			Time: time.Now(),
			Result: &sweep.Result{State: sweep.Completed,
				Artifacts: []sweep.Artifact{{Name: "weights", Digest: digest, Size: 1}}},
		}})
		must(err)
		for _, artifacts := range [][]string{nil, {"weights"}} {
			if n := write("before"+digest[:len(artifacts)], artifacts...); n != 1 {
				t.Errorf("with artifacts %v: %d results taken over", artifacts, n)
			}
		}
		if n := write("lacking", "weights", "probabilities"); n != 0 {
			t.Error("a result was taken over without an artifact that is asked for")
		}
		must(s.update(ctx, "hide", func(tx *transaction) {
			tx.run(`UPDATE sweeps SET deleted_at = $1 WHERE sweep_id = 'first'`, time.Now())
		}))
		for _, artifacts := range [][]string{nil, {"weights"}} {
			if n := write("after"+digest[:len(artifacts)], artifacts...); n != 0 {
				t.Errorf("with artifacts %v: a result was taken over that is being removed", artifacts)
			}
		}
	})
}
