package storetest

import (
	"strings"
	"testing"

	"sweep/sweep"
)

// testWaiting: sweeps that wait, and the reasons of states.
func testWaiting(t *testing.T, open func(t *testing.T) sweep.Store) {
	want := func(f *fixture, id string, state sweep.SweepState, reason string) {
		f.t.Helper()
		if got := f.sweep(id); got.State != state || got.Reason != reason {
			f.t.Fatalf("sweep %s is %s for %q, want %s for %q", id, got.State, got.Reason, state, reason)
		}
	}

	t.Run("Waiting", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 1)
		f.create("s2", 2, 1)
		f.must(f.SetWaiting(f.ctx, "s1", true, "no worker offers it"))
		want(f, "s1", sweep.SweepWaiting, "no worker offers it")
		list := func(states ...sweep.SweepState) string {
			records, err := f.Sweeps(f.ctx, states...)
			f.must(err)
			var all []string
			for _, r := range records {
				all = append(all, r.ID+" "+string(r.State))
			}
			return strings.Join(all, ", ")
		}
		for _, test := range []struct{ got, want string }{
			{list(), "s2 active, s1 waiting"},
			{list(sweep.SweepActive), "s2 active, s1 waiting"}, // one that waits is active
			{list(sweep.SweepWaiting), "s1 waiting"},
			{list(sweep.SweepActive, sweep.SweepWaiting), "s2 active, s1 waiting"},
			{list(sweep.SweepWaiting, sweep.SweepPaused), "s1 waiting"},
			{list(sweep.SweepPaused), ""},
		} {
			if test.got != test.want {
				t.Errorf("listed %q, want %q", test.got, test.want)
			}
		}
		all, err := f.Backlog(f.ctx)
		f.must(err)
		if len(all) != 2 || all[0].State != sweep.SweepWaiting || all[1].State != sweep.SweepActive {
			t.Errorf("%+v", all)
		}
		// A part of it waits.
		f.must(f.SetWaiting(f.ctx, "s1", false, "2 of 3 classes"))
		want(f, "s1", sweep.SweepActive, "2 of 3 classes")
		before := f.sweep("s1").UpdatedAt
		f.must(f.SetWaiting(f.ctx, "s1", false, "2 of 3 classes"))
		if after := f.sweep("s1").UpdatedAt; !after.Equal(before) {
			t.Error("what was said already changed the sweep")
		}
		// It ends whatever it waits for.
		f.must(f.SetWaiting(f.ctx, "s1", true, "nobody"))
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.write("s1", 0, 1, trials("s1", 1, 1))
		f.complete(trialID("s1", 1), completed(1, "b"))
		want(f, "s1", sweep.SweepFinished, "")
		wantError(t, f.SetWaiting(f.ctx, "nil", true, ""), sweep.ErrNotFound)
	})

	t.Run("Reasons", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 1)
		f.must(f.SetWaiting(f.ctx, "s1", true, "nobody"))
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepPaused, "it cannot be expanded: \x00\xff"))
		want(f, "s1", sweep.SweepPaused, "it cannot be expanded: \uFFFD\uFFFD")
		f.must(f.SetWaiting(f.ctx, "s1", true, "nobody")) // it is not active
		want(f, "s1", sweep.SweepPaused, "it cannot be expanded: \uFFFD\uFFFD")
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepPaused, "because"))
		want(f, "s1", sweep.SweepPaused, "because")
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepActive, ""))
		want(f, "s1", sweep.SweepActive, "")
		f.must(f.SetWaiting(f.ctx, "s1", true, "nobody"))
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		want(f, "s1", sweep.SweepCancelled, "")
		_, err = f.RetryTrials(f.ctx, "s1")
		f.must(err)
		want(f, "s1", sweep.SweepActive, "")
		if err := f.SetSweepState(f.ctx, "s1", sweep.SweepWaiting, ""); err == nil {
			t.Error("the state waiting was set")
		}
	})
}
