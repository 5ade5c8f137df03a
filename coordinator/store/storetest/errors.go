package storetest

import (
	"fmt"
	"testing"

	"sweep/sweep"
)

// testErrors tests what the scheduler reads of errors: whether a trial of a class has completed, and the errors in a row.
func testErrors(t *testing.T, open func(t *testing.T) sweep.Store) {
	// queue makes a sweep of 60 trials of two classes, with an even and an odd index, all of which are queued.
	queue := func(t *testing.T) *fixture {
		f := newFixture(t, open(t))
		s := submission("canary")
		s.Spec.Canary, s.Spec.Limits.Errors = true, 3
		f.makeSweep("s1", s, 60)
		page := trials("s1", 0, 60)
		for i := range page {
			page[i].Class = i % 2
		}
		f.write("s1", 0, 0, page)
		for class := range 2 {
			_, err := f.TakePending(f.ctx, "s1", class, 60)
			f.must(err)
		}
		return f
	}
	ended := func(f *fixture, index int64, result *sweep.Result) sweep.Event {
		e := f.finished(trialID("s1", index), fmt.Sprint("x", index), result)
		e.Worker = "w"
		return e
	}
	// want is about failures that the schedule has confirmed.
	failed := func(f *fixture, index int64, text string) sweep.Event {
		return ended(f, index, &sweep.Result{State: sweep.Failed, Error: text})
	}
	want := func(f *fixture, class int, tried bool, count, trial int64, last string) {
		f.t.Helper()
		f.must(f.ConfirmFailures(f.ctx, "s1", -1, ""))
		backlogs, err := f.Backlog(f.ctx, "s1")
		f.must(err)
		c := backlogs[0].Classes[class]
		errors := sweep.Errors{Count: count, Trial: trial, Last: last, Cause: sweep.FailureCause(last)}
		if c.Tried != tried || c.Errors != errors {
			f.t.Errorf("class %d: tried %v, %+v; want %v, %+v", class, c.Tried, c.Errors, tried, errors)
		}
	}

	t.Run("Settings", func(t *testing.T) {
		f := queue(t)
		settings := func(id string, canary bool, errors int64) {
			t.Helper()
			backlogs, err := f.Backlog(f.ctx, id)
			f.must(err)
			if b := backlogs[0]; b.Canary != canary || b.MaxErrors != errors {
				t.Errorf("sweep %s: %+v", id, b)
			}
		}
		settings("s1", true, 3)
		more := submission("more")
		_, err := f.AddGrid(f.ctx, "s1", more, 5)
		f.must(err)
		settings("s1", false, 0)
		more = submission("small")
		more.Spec.Canary = true
		f.makeSweep("s2", more, sweep.CanaryPoints)
		settings("s2", false, 0)
		_, err = f.AddGrid(f.ctx, "s2", more, 1)
		f.must(err)
		settings("s2", true, 0)
	})

	t.Run("Row", func(t *testing.T) {
		f := queue(t)
		want(f, 0, false, 0, 0, "")
		first := []sweep.Event{failed(f, 0, "no file /a/1.csv"), failed(f, 2, "no file /b/22.csv"), ended(f, 1, completed(1, "a"))}
		f.record(first...)
		want(f, 0, false, 2, 2, "no file /b/22.csv")
		want(f, 1, true, 0, 0, "")
		f.record(first...) // a batch that comes again
		want(f, 0, false, 2, 2, "no file /b/22.csv")
		f.record(failed(f, 4, "no file /c/3.csv"), failed(f, 3, "no file"))
		want(f, 0, false, 3, 4, "no file /c/3.csv")
		want(f, 1, true, 1, 3, "no file")
		f.record(failed(f, 6, "no file /c/3.csv"), failed(f, 8, "out of memory"), failed(f, 10, "out of memory"))
		want(f, 0, false, 2, 10, "out of memory")
		f.record(failed(f, 12, "out of disk"))
		want(f, 0, false, 1, 12, "out of disk")
		f.record(failed(f, 14, "out of disk"), ended(f, 16, &sweep.Result{State: sweep.Completed, Diverged: true}))
		want(f, 0, true, 0, 0, "")
		f.record(failed(f, 18, ""), failed(f, 20, ""))
		f.record(failed(f, 22, ""))
		want(f, 0, true, 3, 22, "")
		f.record(ended(f, 24, completed(1, "b")), failed(f, 26, "\xff long"), ended(f, 28, &sweep.Result{State: sweep.Cancelled}))
		want(f, 0, true, 1, 26, "\uFFFD long")
	})

	t.Run("Release", func(t *testing.T) { // a trial fails by its last attempt
		f := queue(t)
		var events []sweep.Event
		for i := range 3 {
			x := fmt.Sprint("x", i)
			events = append(events, f.started(trialID("s1", 0), x), f.released(trialID("s1", 0), x, true, "it died"))
		}
		f.record(events...)
		f.wantState(trialID("s1", 0), sweep.Failed)
		want(f, 0, false, 1, 0, "3 executions ended without a result, the last: it died")
		f.must(f.Suspend(f.ctx, "s1", sweep.ErrorReason+" of trial 0"))
		// Then the machine turns out to be at fault: the sweep goes on.
		f.record(f.released(trialID("s1", 0), "x2", false, "the machine is broken"))
		f.wantState(trialID("s1", 0), sweep.Pending)
		f.wantSweep("s1", sweep.SweepActive)
		want(f, 0, false, 0, 0, "")
	})

	t.Run("Resume", func(t *testing.T) {
		f := queue(t)
		f.record(failed(f, 0, "no file"))
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepActive, "")) // it is active already: a coordinator was killed
		want(f, 0, false, 1, 0, "no file")
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepPaused, "")) // a person's pause overlooks nothing
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepActive, ""))
		want(f, 0, false, 1, 0, "no file")
		f.must(f.Suspend(f.ctx, "s1", sweep.ErrorReason+" of trial 0: no file"))
		if record := f.sweep("s1"); !record.Halted() {
			t.Errorf("%+v", record)
		}
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepActive, ""))
		want(f, 0, true, 0, 0, "")
		want(f, 1, false, 0, 0, "")
	})

	t.Run("Retry", func(t *testing.T) {
		f := queue(t)
		f.record(ended(f, 0, completed(1, "a")), failed(f, 2, "no file"), ended(f, 1, completed(1, "b")))
		n, err := f.RetrySome(f.ctx, "s1", []int64{2}) // of an active sweep
		f.must(err)
		want(f, 0, true, 0, 0, "")
		f.mark([]sweep.TrialID{trialID("s1", 2)})
		f.record(f.started(trialID("s1", 2), "again"),
			f.finished(trialID("s1", 2), "again", &sweep.Result{State: sweep.Failed, Error: "no file"}))
		f.must(f.Suspend(f.ctx, "s1", sweep.ErrorReason+" of 3 trials"))
		m, err := f.RetryTrials(f.ctx, "s1")
		f.must(err)
		if n != 1 || m != 1 {
			t.Errorf("%d and %d trials", n, m)
		}
		f.wantSweep("s1", sweep.SweepActive)
		want(f, 0, false, 0, 0, "") // the first trial runs alone again
		want(f, 1, true, 0, 0, "")
		// Trials that were queued before report the error that has been mended.
		f.record(failed(f, 4, "no file"), failed(f, 6, "no file"), failed(f, 3, "no file"))
		want(f, 0, false, 0, 0, "")
		want(f, 1, true, 0, 0, "")
		taken, err := f.TakePending(f.ctx, "s1", 0, 1)
		f.must(err)
		if len(taken) != 1 || taken[0].Index != 2 {
			t.Errorf("took %v", taken)
		}
		f.record(f.finished(trialID("s1", 2), "anew", &sweep.Result{State: sweep.Failed, Error: "no file"}))
		want(f, 0, false, 1, 2, "no file")
	})

	t.Run("Extend", func(t *testing.T) {
		f := queue(t)
		f.record(failed(f, 0, "no file"))
		s := submission("more")
		s.Spec.Canary, s.Spec.Limits.Errors = true, 3
		extend := func() {
			t.Helper()
			_, err := f.AddGrid(f.ctx, "s1", s, 5)
			f.must(err)
		}
		extend()
		want(f, 0, false, 1, 0, "no file")
		f.must(f.Suspend(f.ctx, "s1", sweep.ErrorReason+" of trial 0: no file"))
		extend()
		f.wantSweep("s1", sweep.SweepActive)
		want(f, 0, false, 0, 0, "")
	})

	t.Run("Reuse", func(t *testing.T) {
		f := queue(t)
		f.record(ended(f, 0, completed(1, "a")))
		s := submission("again")
		s.Spec.Canary = true
		f.makeSweep("s2", s, 60)
		page := trials("s2", 0, 60)
		page[0].Fingerprint = trials("s1", 0, 1)[0].Fingerprint
		page[1].Class = 1
		f.write("s2", 0, 0, page)
		backlogs, err := f.Backlog(f.ctx, "s2")
		f.must(err)
		if c := backlogs[0].Classes; !c[0].Tried || c[1].Tried {
			t.Errorf("%+v", c)
		}
	})
}
