package storetest

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

func testSweeps(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("CreateAndLoad", func(t *testing.T) {
		f := newFixture(t, open(t))
		before := time.Now().Add(-time.Second)
		want := submission("one")
		f.makeSweep("s1", want, 1_000_000_000)
		got := f.sweep("s1")
		if got.ID != "s1" || got.Name != "one" || got.Trainer != "noop" || got.Pool != "cpu" || got.Priority != 3 ||
			got.State != sweep.SweepActive {
			t.Errorf("wrong sweep: %+v", got)
		}
		if got.CreatedAt.Before(before) || time.Since(got.CreatedAt) < -time.Second ||
			!got.UpdatedAt.Equal(got.CreatedAt) {
			t.Errorf("created at %v, updated at %v", got.CreatedAt, got.UpdatedAt)
		}
		if len(got.Grids) != 1 || got.Points() != 1_000_000_000 || got.Grids[0].Cursor != 0 || expanded(got) {
			t.Fatalf("wrong grids: %+v", got.Grids)
		}
		if !reflect.DeepEqual(&got.Grids[0].Submission, want) {
			t.Errorf("submission changed on its way:\n got %+v\nwant %+v", got.Grids[0].Submission, *want)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1_000_000_000})
	})

	t.Run("CreateAgain", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("one"), 5)
		f.makeSweep("s1", submission("one"), 5) // a repeat of the same is harmless
		_, err := f.CreateSweep(f.ctx, "s1", submission("two"), 5)
		wantError(t, err, sweep.ErrExists)
		_, err = f.CreateSweep(f.ctx, "s1", submission("one"), 6)
		wantError(t, err, sweep.ErrExists)
		f.wantProgress("s1", sweep.Progress{Pending: 5})
	})

	t.Run("References", func(t *testing.T) {
		f := newFixture(t, open(t))
		_, err := f.Sweep(f.ctx, "latest")
		wantError(t, err, sweep.ErrNotFound)
		for _, s := range [][2]string{{"ab1", "uno"}, {"ab2", "due"}, {"cd3", "uno"}, {"ef4", "ab"}, {"ab", "tre"},
			{"gh5", "six"}, {"gh6", "gh5x"}, {"gh5xy", "six"}, {"ij7", "c"}} {
			f.makeSweep(s[0], submission(s[1]), 1)
		}
		for reference, want := range map[string]string{
			"ab1": "ab1", "ab": "ab", "c": "ij7", "cd": "cd3", "ef": "ef4", "uno": "cd3", "due": "ab2", "": "ij7",
			"latest": "ij7", "tre": "ab", "gh5": "gh5", "gh5x": "gh6", "six": "gh5xy",
		} {
			if got := f.sweep(reference).ID; got != want {
				t.Errorf("reference %q finds %s, want %s", reference, got, want)
			}
		}
		for _, reference := range []string{"a", "zz", "un", "%", "a_1", "AB1"} {
			_, err := f.Sweep(f.ctx, reference)
			wantError(t, err, sweep.ErrNotFound)
			if reference != "a" && !strings.Contains(err.Error(), reference) {
				t.Errorf("the error does not name the reference %q: %v", reference, err)
			}
		}
	})

	t.Run("List", func(t *testing.T) {
		f := newFixture(t, open(t))
		for _, id := range []string{"s1", "s2", "s3"} {
			f.makeSweep(id, submission("same"), 2)
		}
		f.must(f.SetSweepState(f.ctx, "s2", sweep.SweepPaused, ""))
		_, err := f.AddGrid(f.ctx, "s1", submission("more"), 4)
		f.must(err)
		ids := func(states ...sweep.SweepState) string {
			records, err := f.Sweeps(f.ctx, states...)
			f.must(err)
			var all []string
			for _, r := range records {
				all = append(all, r.ID)
			}
			return strings.Join(all, " ")
		}
		records, err := f.Sweeps(f.ctx)
		f.must(err)
		first := records[2]
		if first.Points() != 6 || len(first.Grids) != 2 || first.Grids[1].First != 2 ||
			!reflect.DeepEqual(first.Grids[1].Submission, sweep.Submission{}) {
			t.Errorf("listed %+v", first) // submissions may be large: lists leave them out
		}
		for _, test := range []struct{ got, want string }{
			{ids(), "s3 s2 s1"},
			{ids(sweep.SweepActive), "s3 s1"},
			{ids(sweep.SweepPaused, sweep.SweepCancelled), "s2"},
			{ids(sweep.SweepFinished), ""},
		} {
			if test.got != test.want {
				t.Errorf("listed %q, want %q", test.got, test.want)
			}
		}
	})

	t.Run("StateAndPriority", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 0)
		created := f.sweep("s1").UpdatedAt
		for _, state := range []sweep.SweepState{sweep.SweepPaused, sweep.SweepActive, sweep.SweepCancelled} {
			f.must(f.SetSweepState(f.ctx, "s1", state, ""))
			f.must(f.SetSweepState(f.ctx, "s1", state, ""))
			f.wantSweep("s1", state)
		}
		f.must(f.SetSweepPriority(f.ctx, "s1", -7))
		got := f.sweep("s1")
		if got.Priority != -7 {
			t.Errorf("priority %d, want -7", got.Priority)
		}
		if !got.UpdatedAt.After(created) {
			t.Errorf("updated at %v, created at %v", got.UpdatedAt, created)
		}
		if err := f.SetSweepState(f.ctx, "s1", "sleeping", ""); err == nil {
			t.Error("a state that does not exist was taken")
		}
		wantError(t, f.SetSweepState(f.ctx, "nil", sweep.SweepActive, ""), sweep.ErrNotFound)
		wantError(t, f.SetSweepPriority(f.ctx, "nil", 1), sweep.ErrNotFound)
		_, err := f.Progress(f.ctx, "nil")
		wantError(t, err, sweep.ErrNotFound)
	})

	t.Run("Rename", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		f.must(f.RenameSweep(f.ctx, "s1", "valley"))
		if got := f.sweep("valley"); got.ID != "s1" || got.Name != "valley" {
			t.Errorf("found %s, called %q", got.ID, got.Name)
		}
		if got := f.rows(`SELECT DISTINCT sweep_name FROM results`); !equalRows(got, [][]any{{"valley"}}) {
			t.Errorf("the view has %v", got)
		}
		_, err := f.Sweep(f.ctx, "name-s1")
		wantError(t, err, sweep.ErrNotFound)
		wantError(t, f.RenameSweep(f.ctx, "nil", "valley"), sweep.ErrNotFound)
	})

	t.Run("Grids", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 10, 3)
		more := submission("more")
		more.Spec.Limits.Attempts = 1
		grid, err := f.AddGrid(f.ctx, "s1", more, 5)
		f.must(err)
		if grid.Ordinal != 1 || grid.First != 10 || grid.Points != 5 || grid.Cursor != 0 ||
			!reflect.DeepEqual(&grid.Submission, more) {
			t.Errorf("wrong grid: %+v", grid)
		}
		got := f.sweep("s1")
		if len(got.Grids) != 2 || !reflect.DeepEqual(got.Grids[1], grid) || got.Grids[0].Cursor != 3 ||
			got.Points() != 15 {
			t.Errorf("wrong grids: %+v", got.Grids)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 15})
		_, err = f.AddGrid(f.ctx, "s1", more, math.MaxInt64-10)
		wantError(t, err, sweep.ErrTooManyPoints)
		_, err = f.AddGrid(f.ctx, "s1", more, -1)
		if err == nil {
			t.Error("a grid of -1 points was taken")
		}
		_, err = f.AddGrid(f.ctx, "nil", more, 5)
		wantError(t, err, sweep.ErrNotFound)
		f.wantProgress("s1", sweep.Progress{Pending: 15})
	})

	t.Run("Finished", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 1)
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.wantSweep("s1", sweep.SweepActive) // a point is not written yet
		f.write("s1", 0, 1, trials("s1", 1, 1))
		f.wantSweep("s1", sweep.SweepActive)
		f.complete(trialID("s1", 1), completed(1, "b"))
		f.wantSweep("s1", sweep.SweepFinished)
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepActive, ""))
		f.wantSweep("s1", sweep.SweepFinished) // nothing is left to do

		grid, err := f.AddGrid(f.ctx, "s1", submission("more"), 1)
		f.must(err)
		f.wantSweep("s1", sweep.SweepActive)
		f.write("s1", grid.Ordinal, 0, trials("s1", 2, 1))
		f.complete(trialID("s1", 2), &sweep.Result{State: sweep.Failed, Error: "refused"})
		f.must(f.ConfirmFailures(f.ctx, "s1", -1, ""))
		f.wantSweep("s1", sweep.SweepFinished)

		_, err = f.AddGrid(f.ctx, "s1", submission("nothing new"), 0)
		f.must(err)
		f.wantSweep("s1", sweep.SweepFinished)
	})

	t.Run("PausedEnds", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		f.record(f.started(trialID("s1", 0), "x"))
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepPaused, ""))
		f.record(f.finished(trialID("s1", 0), "x", completed(1, "a")))
		f.wantSweep("s1", sweep.SweepPaused)
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepActive, ""))
		f.wantSweep("s1", sweep.SweepFinished)
	})
}
