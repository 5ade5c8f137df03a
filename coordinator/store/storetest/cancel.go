package storetest

import (
	"fmt"
	"testing"

	"sweep/sweep"
)

func testCancel(t *testing.T, open func(t *testing.T) sweep.Store) {
	// partly makes a sweep of ten trials, one of each state and four unwritten.
	partly := func(f *fixture) {
		f.t.Helper()
		f.create("s1", 10, 6)
		f.mark([]sweep.TrialID{trialID("s1", 1), trialID("s1", 2)})
		f.record(f.started(trialID("s1", 2), "x2"))
		f.complete(trialID("s1", 3), completed(1, "a"))
		f.complete(trialID("s1", 4), &sweep.Result{State: sweep.Failed, Error: "refused"})
		f.complete(trialID("s1", 5), &sweep.Result{State: sweep.Cancelled})
		f.wantProgress("s1", sweep.Progress{Pending: 5, Queued: 1, Running: 1, Completed: 1, Failed: 1, Cancelled: 1})
	}

	t.Run("Cancel", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s0", 2, 1)
		partly(f)
		for _, want := range []string{"[s1/1 s1/2]", "[]"} {
			active, err := f.CancelTrials(f.ctx, "s1")
			f.must(err)
			if got := fmt.Sprint(active); got != want {
				t.Errorf("active %s, want %s", got, want)
			}
			f.wantProgress("s1", sweep.Progress{Completed: 1, Failed: 1, Cancelled: 8})
			f.wantSweep("s1", sweep.SweepCancelled)
		}
		if !expanded(f.sweep("s1")) {
			t.Error("cancelled points still wait for their rows")
		}
		got := f.trial(trialID("s1", 0))
		if got.State != sweep.Cancelled || got.FinishedAt.IsZero() || got.Result == nil ||
			got.Result.State != sweep.Cancelled {
			t.Errorf("%+v", got)
		}
		list, err := f.Executions(f.ctx, trialID("s1", 2))
		f.must(err)
		if len(list) != 1 || list[0].Outcome != sweep.ExecutionLost || list[0].EndedAt.IsZero() {
			t.Errorf("the execution of a cancelled trial: %+v", list)
		}
		// The running one ends in one way or the other.
		if report := f.record(f.finished(trialID("s1", 2), "x2", completed(1, "a"))); report != (sweep.RecordReport{Repeated: 1}) {
			t.Errorf("%+v", report)
		}
		// A page that was on its way is written as cancelled.
		f.write("s1", 0, 6, trials("s1", 6, 2))
		f.wantProgress("s1", sweep.Progress{Completed: 1, Failed: 1, Cancelled: 8})
		f.wantProgress("s0", sweep.Progress{Pending: 2})
		_, err = f.CancelTrials(f.ctx, "nil")
		wantError(t, err, sweep.ErrNotFound)
	})

	// The broker that had its job was wiped, and its worker may be gone.
	t.Run("PutBack", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(f.started(id, "a"))
		f.putBack(id)
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		list, err := f.Executions(f.ctx, id)
		f.must(err)
		if len(list) != 1 || list[0].Outcome != sweep.ExecutionLost || list[0].EndedAt.IsZero() {
			t.Errorf("the execution of a cancelled trial: %+v", list)
		}
	})

	t.Run("NothingToCancel", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		f.complete(trialID("s1", 0), completed(1, "a"))
		active, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		if len(active) != 0 {
			t.Errorf("%v", active)
		}
		f.wantSweep("s1", sweep.SweepFinished)
	})

	t.Run("ExtendCancelled", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 1)
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		grid, err := f.AddGrid(f.ctx, "s1", submission("more"), 1)
		f.must(err)
		f.wantSweep("s1", sweep.SweepActive)
		f.wantProgress("s1", sweep.Progress{Pending: 1, Cancelled: 3})
		f.write("s1", grid.Ordinal, 0, trials("s1", 3, 1))
		f.complete(trialID("s1", 3), completed(1, "a"))
		f.wantSweep("s1", sweep.SweepFinished)
	})

	t.Run("Retry", func(t *testing.T) {
		f := newFixture(t, open(t))
		partly(f)
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		for _, want := range []int64{9, 0} {
			n, err := f.RetryTrials(f.ctx, "s1")
			f.must(err)
			if n != want {
				t.Errorf("retried %d, want %d", n, want)
			}
			f.wantProgress("s1", sweep.Progress{Pending: 9, Completed: 1})
			f.wantSweep("s1", sweep.SweepActive)
		}
		got := f.trial(trialID("s1", 4))
		if got.State != sweep.Pending || got.Result != nil || !got.FinishedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		// The cancelled execution's last word comes only now: it cancels nothing.
		f.record(f.finished(trialID("s1", 2), "x2", &sweep.Result{State: sweep.Cancelled}))
		f.wantState(trialID("s1", 2), sweep.Pending)
		// And the failure that was retried, delivered again, fails nothing.
		failure := f.finished(trialID("s1", 4), "x-s1/4", &sweep.Result{State: sweep.Failed, Error: "refused"})
		f.record(failure)
		f.wantState(trialID("s1", 4), sweep.Pending)
		f.write("s1", 0, 6, trials("s1", 6, 4))
		for i := range int64(10) {
			f.record(f.finished(trialID("s1", i), fmt.Sprintf("again-%d", i), completed(1, "a")))
		}
		f.wantProgress("s1", sweep.Progress{Completed: 10})
		f.wantSweep("s1", sweep.SweepFinished)
		n, err := f.RetryTrials(f.ctx, "s1")
		f.must(err)
		if n != 0 {
			t.Errorf("retried %d", n)
		}
		f.wantSweep("s1", sweep.SweepFinished)
		_, err = f.RetryTrials(f.ctx, "nil")
		wantError(t, err, sweep.ErrNotFound)
	})

	t.Run("ChargesForgotten", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		var events []sweep.Event
		for _, execution := range []string{"a", "b", "c"} {
			events = append(events, f.started(id, execution), f.released(id, execution, true, "killed"))
		}
		f.record(events...)
		f.wantState(id, sweep.Failed)
		_, err := f.RetryTrials(f.ctx, "s1")
		f.must(err)
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 0 || got.Executions != 3 {
			t.Errorf("%+v", got)
		}
		f.record(events...) // delivered again
		f.record(f.released(id, "a", false, "broken"))
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 0 {
			t.Errorf("%+v", got)
		}
		f.record(f.started(id, "d"), f.released(id, "d", true, "killed"))
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 1 {
			t.Errorf("%+v", got)
		}
	})
}
