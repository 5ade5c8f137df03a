package storetest

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
)

func testExpansion(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("Pages", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 10, 0)
		f.write("s1", 0, 0, trials("s1", 0, 4))
		f.write("s1", 0, 0, trials("s1", 0, 4)) // a page that came again
		f.write("s1", 0, 2, trials("s1", 2, 4)) // the cursor is elsewhere
		f.write("s1", 0, 8, trials("s1", 8, 2))
		if cursor := f.sweep("s1").Grids[0].Cursor; cursor != 4 {
			t.Fatalf("cursor %d, want 4", cursor)
		}
		f.write("s1", 0, 4, trials("s1", 4, 6))
		if !expanded(f.sweep("s1")) {
			t.Error("not expanded")
		}
		f.wantProgress("s1", sweep.Progress{Pending: 10})
		if got, want := f.pending("s1", 100), trials("s1", 0, 10); !reflect.DeepEqual(got, want) {
			t.Errorf("trials changed on their way:\n got %+v\nwant %+v", got, want)
		}
	})

	t.Run("Refused", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 0)
		_, err := f.AddTrials(f.ctx, "nil", 0, 0, trials("nil", 0, 1), nil)
		wantError(t, err, sweep.ErrNotFound)
		_, err = f.AddTrials(f.ctx, "s1", 1, 0, trials("s1", 0, 1), nil)
		wantError(t, err, sweep.ErrNotFound)
		if _, err = f.AddTrials(f.ctx, "s1", 0, 0, trials("s1", 0, 4), nil); err == nil {
			t.Error("more trials than points were taken")
		}
		if _, err = f.AddTrials(f.ctx, "s1", 0, 0, trials("s1", 1, 2), nil); err == nil {
			t.Error("trials with the wrong indices were taken")
		}
		zero := trials("s1", 0, 2)
		zero[1].Parameters["model"] = "a\x00b"
		_, err = f.AddTrials(f.ctx, "s1", 0, 0, zero, nil)
		wantError(t, err, sweep.ErrRefused)
		infinite := trials("s1", 0, 2)
		infinite[1].Parameters["lr"] = math.Inf(1)
		_, err = f.AddTrials(f.ctx, "s1", 0, 0, infinite, nil)
		wantError(t, err, sweep.ErrRefused)
		ended, cancel := context.WithCancel(f.ctx)
		cancel()
		_, err = f.AddTrials(ended, "s1", 0, 0, trials("s1", 0, 2), nil)
		wantError(t, err, context.Canceled)
		f.wantProgress("s1", sweep.Progress{Pending: 3}) // and nothing of it was kept
		if rows := f.rows(`SELECT count(*) FROM trials`); rows[0][0] != int64(0) {
			t.Errorf("%v rows were written", rows[0][0])
		}
	})

	t.Run("Parameters", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 0)
		trial := trials("s1", 0, 1)
		trial[0].Parameters = sweep.Parameters{
			"float": 0.1, "tiny": 1e-300, "huge": 1e300, "large": 1e20, "whole": int64(1) << 62, "negative": int64(-1),
			"rounded": 1e18,
			"text":    `quote " backslash \ naïve 日本 </script> & '`, "empty": "", "true": true,
			"false": false, "nil": nil,
			"list":    []any{int64(1), 2.5, "x", nil, []any{}},
			"mapping": map[string]any{"b": int64(1), "a": map[string]any{}},
			"a.b":     "dots", "a-b": "hyphen", `q"uo\te`: "odd name", "": "no name", "$.lr": "path", "ü": "umlaut",
		}
		f.write("s1", 0, 0, trial)
		want, err := trial[0].Parameters.Canonical()
		f.must(err)
		got, err := f.trial(trialID("s1", 0)).Parameters.Canonical()
		f.must(err)
		if string(got) != string(want) {
			t.Errorf("parameters changed on their way:\n got %s\nwant %s", got, want)
		}
	})

	t.Run("Extension", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 1)
		grid, err := f.AddGrid(f.ctx, "s1", submission("more"), 2)
		f.must(err)
		f.write("s1", grid.Ordinal, 0, trials("s1", 3, 2)) // before the first grid is written
		got := f.pending("s1", 10)
		if len(got) != 3 || got[0].Index != 0 || got[1].Index != 3 || got[2].Index != 4 {
			t.Errorf("pending: %+v", got)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 5})
	})

	t.Run("Skipped", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 4, 0)
		page := trials("s1", 0, 4)
		page[1].Skipped, page[3].Skipped = "cannot win", "cannot win either"
		f.write("s1", 0, 0, page)
		f.wantProgress("s1", sweep.Progress{Pending: 2, Skipped: 2})
		got := f.pending("s1", 10)
		if len(got) != 2 || got[0].Index != 0 || got[1].Index != 2 {
			t.Errorf("pending: %+v", got)
		}
		trial := f.trial(trialID("s1", 3))
		if trial.State != sweep.Skipped || trial.Result == nil || trial.Result.Error != "cannot win either" ||
			trial.Result.Digest == "" || trial.FinishedAt.IsZero() {
			t.Errorf("skipped: %+v, %+v", trial, trial.Result)
		}
		f.must(f.Rows(f.ctx, "s1", 0, 4, func(row *sweep.TrialRow) error {
			if want := page[row.Index].Skipped; row.Skipped != want {
				t.Errorf("row %d is skipped for %q, want %q", row.Index, row.Skipped, want)
			}
			return nil
		}))
		f.record(f.finished(trialID("s1", 0), "x0", &sweep.Result{State: sweep.Completed}),
			f.finished(trialID("s1", 2), "x2", &sweep.Result{State: sweep.Failed, Error: "broken"}),
			f.finished(trialID("s1", 3), "x3", &sweep.Result{State: sweep.Completed})) // which a worker cannot send
		f.wantProgress("s1", sweep.Progress{Completed: 1, Failed: 1, Skipped: 2})
		f.must(f.ConfirmFailures(f.ctx, "s1", -1, ""))
		f.wantSweep("s1", sweep.SweepFinished)
		retried, err := f.RetryTrials(f.ctx, "s1")
		f.must(err)
		if retried != 1 {
			t.Errorf("%d trials are retried", retried)
		}
		f.wantProgress("s1", sweep.Progress{Completed: 1, Pending: 1, Skipped: 2})
		// A skipped trial takes no result, and gives none.
		f.create("s2", 4, 0)
		again := trials("s2", 0, 4)
		again[0].Skipped = "cannot win"
		f.write("s2", 0, 0, again)
		f.wantProgress("s2", sweep.Progress{Pending: 3, Skipped: 1})
	})

	t.Run("LargePage", func(t *testing.T) {
		f := newFixture(t, open(t))
		const n = 8000
		f.create("s1", n, n)
		f.wantProgress("s1", sweep.Progress{Pending: int64(n)})
		got, err := f.TakePending(f.ctx, "s1", 0, n)
		f.must(err)
		ids := make([]sweep.TrialID, len(got))
		for i := range got {
			ids[i] = got[i].TrialID
		}
		f.wantProgress("s1", sweep.Progress{Queued: int64(n)})
		events := make([]sweep.Event, n)
		for i := range events {
			events[i] = f.finished(ids[i], "x"+ids[i].String(), &sweep.Result{State: sweep.Completed})
		}
		if report := f.record(events...); report.Terminal != n {
			t.Errorf("%+v", report)
		}
		f.wantProgress("s1", sweep.Progress{Completed: int64(n)})
		f.wantSweep("s1", sweep.SweepFinished)
	})
}

// expanded reports whether all trial rows are written; cancelled points need none.
func expanded(s *sweep.SweepRecord) bool {
	return !slices.ContainsFunc(s.Grids, func(g sweep.GridRecord) bool { return g.Cursor < g.Points && !g.Cancelled })
}
