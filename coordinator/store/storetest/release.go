package storetest

import (
	"strings"
	"testing"

	"sweep/sweep"
)

func testRelease(t *testing.T, open func(t *testing.T) sweep.Store) {
	// run starts an execution and releases it.
	run := func(f *fixture, id sweep.TrialID, execution string, charged bool) sweep.RecordReport {
		f.t.Helper()
		f.mark([]sweep.TrialID{id})
		f.record(f.started(id, execution))
		return f.record(f.released(id, execution, charged, "end of "+execution))
	}

	t.Run("Charged", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		for i, execution := range []string{"a", "b"} {
			if report := run(f, id, execution, true); report != (sweep.RecordReport{Released: 1}) {
				t.Errorf("%+v", report)
			}
			if got := f.trial(id); got.State != sweep.Pending || got.Charged != i+1 || got.Executions != i+1 {
				t.Errorf("%+v", got)
			}
		}
		if report := run(f, id, "c", true); report != (sweep.RecordReport{Terminal: 1}) {
			t.Errorf("%+v", report)
		}
		got := f.trial(id)
		if got.State != sweep.Failed || got.Charged != 3 || got.Result.State != sweep.Failed ||
			!strings.Contains(got.Result.Error, "end of c") || got.Result.Stderr != "stderr of end of c" ||
			got.FinishedAt.IsZero() {
			t.Errorf("%+v %+v", got, got.Result)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Failed: 1})
		// Nothing that comes late changes it.
		f.record(f.released(id, "d", true, "late"), f.started(id, "e"), f.finished(id, "e", completed(1, "a")))
		if got := f.trial(id); got.State != sweep.Failed || !strings.Contains(got.Result.Error, "end of c") {
			t.Errorf("%+v", got)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Failed: 1})
	})

	t.Run("LimitOfItsGrid", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		more := submission("more")
		more.Spec.Limits.Attempts = 1
		_, err := f.AddGrid(f.ctx, "s1", submission("nothing"), 0)
		f.must(err)
		grid, err := f.AddGrid(f.ctx, "s1", more, 1)
		f.must(err)
		last := submission("last")
		last.Spec.Limits.Attempts = 0 // the default
		lastGrid, err := f.AddGrid(f.ctx, "s1", last, 1)
		f.must(err)
		f.write("s1", grid.Ordinal, 0, trials("s1", 2, 1))
		f.write("s1", lastGrid.Ordinal, 0, trials("s1", 3, 1))
		for index, want := range []sweep.State{sweep.Pending, sweep.Pending, sweep.Failed, sweep.Pending} {
			id := trialID("s1", int64(index))
			run(f, id, id.String(), true)
			f.wantState(id, want)
		}
	})

	t.Run("Uncharged", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		for _, execution := range []string{"a", "b", "c", "d", "e"} {
			run(f, id, execution, false)
		}
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 0 || got.Executions != 5 {
			t.Errorf("%+v", got)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1})
	})

	t.Run("TakenBack", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		run(f, id, "a", true)
		run(f, id, "b", true)
		f.mark([]sweep.TrialID{id})
		// The worker of a and b finds that it is broken, while the trial runs elsewhere.
		f.record(f.started(id, "c"))
		f.record(f.released(id, "a", false, "no memory"), f.released(id, "b", false, "no memory"))
		if got := f.trial(id); got.State != sweep.Running || got.Charged != 0 || got.Worker != "worker-c" {
			t.Errorf("%+v", got)
		}
		f.record(f.released(id, "a", true, "after all")) // and again
		if got := f.trial(id); got.State != sweep.Running || got.Charged != 1 {
			t.Errorf("%+v", got)
		}
		f.record(f.released(id, "c", true, "c"))
		f.wantState(id, sweep.Pending)
		run(f, id, "d", true)
		f.wantState(id, sweep.Failed)
		f.must(f.ConfirmFailures(f.ctx, "s1", -1, ""))
		// Not too late: the trial failed by its charges alone.
		f.wantSweep("s1", sweep.SweepFinished)
		if report := f.record(f.released(id, "d", false, "taken back")); report != (sweep.RecordReport{Released: 1}) {
			t.Errorf("%+v", report)
		}
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 2 || got.Result != nil ||
			!got.FinishedAt.IsZero() {
			t.Errorf("%+v %+v", got, got.Result)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1})
		f.wantSweep("s1", sweep.SweepActive)
		f.record(f.finished(id, "e", completed(1, "a")))
		f.wantProgress("s1", sweep.Progress{Completed: 1})
		f.wantSweep("s1", sweep.SweepFinished)
	})

	t.Run("TakenBackAndFailedAgain", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		var events []sweep.Event
		for _, execution := range []string{"a", "b", "c"} {
			events = append(events, f.started(id, execution), f.released(id, execution, true, "killed"))
		}
		// Within one batch, and again.
		events = append(events, f.released(id, "a", false, "broken"), f.started(id, "d"),
			f.released(id, "d", true, "killed too"))
		for range 2 {
			f.record(events...)
			got := f.trial(id)
			if got.State != sweep.Failed || got.Charged != 3 || !strings.Contains(got.Result.Error, "killed too") {
				t.Errorf("%+v %+v", got, got.Result)
			}
			f.wantProgress("s1", sweep.Progress{Failed: 1})
		}
		// One charge less than failed it is not enough to fail it again.
		f.record(f.released(id, "b", false, "broken"), f.released(id, "c", false, "broken"))
		f.wantState(id, sweep.Pending)
	})

	t.Run("ResultsStay", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		run(f, id, "a", true)
		f.record(f.started(id, "b"), f.finished(id, "b", &sweep.Result{State: sweep.Failed, Error: "refused"}))
		f.record(f.released(id, "a", false, "broken"))
		if got := f.trial(id); got.State != sweep.Failed || got.Charged != 0 || got.Result.Error != "refused" {
			t.Errorf("%+v %+v", got, got.Result)
		}
	})

	t.Run("WhileAnotherRuns", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(f.started(id, "slow"), f.started(id, "new"))
		if report := f.record(f.released(id, "slow", true, "gone")); report != (sweep.RecordReport{}) {
			t.Errorf("%+v", report)
		}
		if got := f.trial(id); got.State != sweep.Running || got.Charged != 1 || got.Worker != "worker-new" {
			t.Errorf("%+v", got)
		}
		// The lost one's being cancelled does not cancel the trial.
		f.record(f.started(id, "newer"), f.finished(id, "new", &sweep.Result{State: sweep.Cancelled}))
		f.wantState(id, sweep.Running)
		f.record(f.finished(id, "newer", completed(1, "a")))
		f.wantState(id, sweep.Completed)
		want := [][]any{{"new", "result"}, {"newer", "result"}, {"slow", "released"}}
		if got := f.rows(`SELECT execution, outcome FROM executions ORDER BY execution`); !equalRows(got, want) {
			t.Errorf("executions %v, want %v", got, want)
		}
	})

	t.Run("BeforeStart", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.mark([]sweep.TrialID{id})
		if report := f.record(f.released(id, "x", false, "trainer cannot start")); report != (sweep.RecordReport{Released: 1}) {
			t.Errorf("%+v", report)
		}
		if got := f.trial(id); got.State != sweep.Pending || got.Executions != 1 || got.Charged != 0 {
			t.Errorf("%+v", got)
		}
		if report := f.record(f.released(id, "y", false, "and again")); report != (sweep.RecordReport{}) {
			t.Errorf("a pending trial was released: %+v", report)
		}
	})
}
