package storetest

import (
	"testing"
	"time"

	"sweep/sweep"
)

func testBudget(t *testing.T, open func(t *testing.T) sweep.Store) {
	bounded := func(id string, budget *sweep.Budget) *sweep.Submission {
		s := submission("name-" + id)
		s.Spec.Budget, s.AskedBy, s.Purpose = budget, "ada", "a look at it"
		return s
	}
	// queue makes a sweep of six trials, which are queued.
	queue := func(f *fixture, id string, budget *sweep.Budget) {
		f.t.Helper()
		f.makeSweep(id, bounded(id, budget), 6)
		f.write(id, 0, 0, trials(id, 0, 6))
		_, err := f.TakePending(f.ctx, id, 0, 6)
		f.must(err)
	}
	// want compares what was used of the budget of a sweep, as it is shown and as the scheduler reads it.
	want := func(f *fixture, id string, trials int64, used time.Duration, active int64) {
		f.t.Helper()
		backlogs, err := f.Backlog(f.ctx, id)
		f.must(err)
		for _, b := range []*sweep.BudgetState{f.sweep(id).Budget, backlogs[0].Budget} {
			if b == nil || b.SpentTrials != trials || b.SpentTime != used || b.Active != active {
				f.t.Errorf("budget of %s: %+v, want %d trials, %v, %d active", id, b, trials, used, active)
			}
		}
	}

	t.Run("Spending", func(t *testing.T) {
		f := newFixture(t, open(t))
		queue(f, "s1", &sweep.Budget{Trials: 4, Time: time.Hour})
		f.create("s2", 1, 1)
		if record := f.sweep("s1"); record.AskedBy != "ada" || record.Purpose != "a look at it" ||
			record.Budget.Budget != (sweep.Budget{Trials: 4, Time: time.Hour}) || f.sweep("s2").Budget != nil || f.sweep("s2").Purpose != "" {
			t.Errorf("%+v", record)
		}
		want(f, "s1", 0, 0, 6)
		at := func(event sweep.Event, after time.Duration) sweep.Event {
			event.Time = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(after)
			return event
		}
		first := []sweep.Event{
			at(f.started(trialID("s1", 0), "x0"), 0), at(f.finished(trialID("s1", 0), "x0", completed(1, "a")), 3*time.Second),
			at(f.started(trialID("s1", 1), "x1"), 0), at(f.released(trialID("s1", 1), "x1", true, "it failed"), time.Second),
			at(f.started(trialID("s1", 2), "x2"), 0),
		}
		f.record(first...)
		want(f, "s1", 1, 4*time.Second, 4) // a trial that goes back costs time, and is none of those that ended
		f.record(first...)
		want(f, "s1", 1, 4*time.Second, 4) // a batch that comes again costs nothing
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		want(f, "s1", 2, 4*time.Second, 0) // one of them ran
		f.record(at(f.finished(trialID("s1", 2), "x2", &sweep.Result{State: sweep.Cancelled}), 5*time.Second))
		want(f, "s1", 2, 9*time.Second, 0)
		_, err = f.RetryTrials(f.ctx, "s1") // what was used stays used
		f.must(err)
		want(f, "s1", 2, 9*time.Second, 0)
	})

	t.Run("Shared", func(t *testing.T) {
		f := newFixture(t, open(t))
		for _, id := range []string{"s1", "s2"} {
			queue(f, id, &sweep.Budget{Name: "session", Trials: 3})
		}
		queue(f, "s3", &sweep.Budget{Trials: 3})
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.complete(trialID("s2", 0), &sweep.Result{State: sweep.Failed, Error: "refused"})
		f.complete(trialID("s3", 0), completed(1, "b"))
		for _, id := range []string{"s1", "s2"} {
			if b := f.sweep(id).Budget; b.SpentTrials != 2 || b.Active != 10 || b.Name != "session" {
				t.Errorf("budget of %s: %+v", id, b)
			}
		}
		if b := f.sweep("s3").Budget; b.SpentTrials != 1 || b.Active != 5 {
			t.Errorf("budget of its own: %+v", b)
		}
		f.must(f.Suspend(f.ctx, "s1", sweep.BudgetReason+"3 trials is used up"))
		f.must(f.Suspend(f.ctx, "s2", "it cannot be expanded"))
		f.must(f.SetSweepBudget(f.ctx, "s2", sweep.Budget{Trials: 7}))
		f.wantSweep("s1", sweep.SweepActive)
		f.wantSweep("s2", sweep.SweepPaused)
		if b := f.sweep("s1").Budget; b.Trials != 7 || b.SpentTrials != 2 {
			t.Errorf("a larger budget: %+v", b)
		}
	})

	t.Run("Suspend", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		f.must(f.SetSweepBudget(f.ctx, "s1", sweep.Budget{Trials: 1}))
		want(f, "s1", 0, 0, 0)
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		f.must(f.Suspend(f.ctx, "s1", "too late"))
		if record := f.sweep("s1"); record.State != sweep.SweepCancelled || record.Reason != "" {
			t.Errorf("a cancelled sweep is %s: %s", record.State, record.Reason)
		}
		wantError(t, f.Suspend(f.ctx, "none", ""), sweep.ErrNotFound)
		wantError(t, f.SetSweepBudget(f.ctx, "none", sweep.Budget{}), sweep.ErrNotFound)
	})
}
