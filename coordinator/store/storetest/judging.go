package storetest

import (
	"fmt"
	"reflect"
	"testing"

	"sweep/sweep"
)

// testJudging tests which failures count at once, and what becomes of the others.
func testJudging(t *testing.T, open func(t *testing.T) sweep.Store) {
	const broken = "exit status 1: libcuda.so: cannot open shared object file"
	// queue makes a sweep of 20 queued trials, all of which need the same.
	queue := func(t *testing.T) *fixture {
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("judged"), 20)
		f.write("s1", 0, 0, trials("s1", 0, 20))
		_, err := f.TakePending(f.ctx, "s1", 0, 20)
		f.must(err)
		return f
	}
	ended := func(f *fixture, worker string, index int64, result *sweep.Result) sweep.Event {
		e := f.finished(trialID("s1", index), fmt.Sprint("x", index), result)
		e.Worker = worker
		return e
	}
	failed := func(f *fixture, worker string, index int64, text string) sweep.Event {
		return ended(f, worker, index, &sweep.Result{State: sweep.Failed, Error: text})
	}
	good := func(f *fixture, worker string, index int64) sweep.Event {
		return ended(f, worker, index, completed(float64(index), "a"))
	}
	want := func(f *fixture, unconfirmed, errors int64, suspects ...sweep.Suspect) {
		f.t.Helper()
		backlogs, err := f.Backlog(f.ctx, "s1")
		f.must(err)
		b := backlogs[0]
		if c := b.Classes[0]; c.Unconfirmed != unconfirmed || c.Errors.Count != errors {
			f.t.Errorf("%d unconfirmed and %+v, want %d and %d", c.Unconfirmed, c.Errors, unconfirmed, errors)
		}
		if !reflect.DeepEqual(b.Suspects, suspects) {
			f.t.Errorf("suspects %+v, want %+v", b.Suspects, suspects)
		}
	}

	t.Run("Retracted", func(t *testing.T) {
		f := queue(t)
		f.record(good(f, "good", 0), failed(f, "bad", 1, broken), failed(f, "bad", 2, broken))
		f.record(failed(f, "bad", 3, broken))
		want(f, 3, 0, sweep.Suspect{Worker: "bad", Unconfirmed: 3, Retractable: 3, Failures: 3, Others: true})
		for _, n := range []int{3, 0} { // a repeat changes nothing
			if got, err := f.RetractFailures(f.ctx, "s1", 0, "bad", "its worker was set aside"); err != nil || got != n {
				t.Errorf("%d, %v; want %d", got, err, n)
			}
			want(f, 0, 0)
			f.wantProgress("s1", sweep.Progress{Pending: 3, Queued: 16, Completed: 1})
		}
		if got := f.trial(trialID("s1", 1)); got.State != sweep.Pending || got.Result != nil || !got.FinishedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		f.record(failed(f, "bad", 1, broken)) // the event comes again
		f.wantState(trialID("s1", 1), sweep.Pending)
		// It fails there again: it is retracted once.
		f.mark([]sweep.TrialID{trialID("s1", 1)})
		again := f.finished(trialID("s1", 1), "again", &sweep.Result{State: sweep.Failed, Error: broken})
		again.Worker = "bad"
		f.record(again)
		want(f, 1, 0, sweep.Suspect{Worker: "bad", Unconfirmed: 1, Failures: 4, Others: true})
		if got, err := f.RetractFailures(f.ctx, "s1", 0, "bad", ""); err != nil || got != 0 {
			t.Errorf("%d, %v", got, err)
		}
		f.record(sweep.Event{Kind: sweep.EventRetracted, TrialID: trialID("s1", 0)}) // it has completed
		f.wantState(trialID("s1", 0), sweep.Completed)
		n, err := f.RetrySome(f.ctx, "s1", []int64{1})
		f.must(err)
		if want(f, 0, 0); n != 1 {
			t.Errorf("%d", n)
		}
	})

	t.Run("Completes", func(t *testing.T) { // a worker that completes one is not to blame
		f := queue(t)
		f.record(failed(f, "new", 1, "bug 1"))
		want(f, 1, 0, sweep.Suspect{Worker: "new", Unconfirmed: 1, Retractable: 1, Failures: 1})
		f.record(failed(f, "new", 2, "bug 2"), good(f, "new", 3))
		want(f, 0, 0)
		f.record(failed(f, "new", 4, "bug 3"))
		want(f, 0, 1)
	})

	t.Run("SecondWorker", func(t *testing.T) {
		f := queue(t)
		f.record(failed(f, "a", 1, "no file /x/1"), failed(f, "a", 2, "another bug"))
		want(f, 2, 0, sweep.Suspect{Worker: "a", Unconfirmed: 2, Retractable: 2, Failures: 2})
		f.record(failed(f, "a", 3, "no file /x/3"))
		f.record(failed(f, "b", 4, "no file /x/4"))
		want(f, 1, 3, sweep.Suspect{Worker: "a", Unconfirmed: 1, Retractable: 1, Failures: 3})
		f.record(good(f, "c", 5), failed(f, "a", 6, "no file /x/6")) // a cause that is known
		want(f, 1, 1, sweep.Suspect{Worker: "a", Unconfirmed: 1, Retractable: 1, Failures: 4, Others: true})
	})

	t.Run("StandsOut", func(t *testing.T) { // a machine that breaks later
		f := queue(t)
		f.record(good(f, "good", 0), good(f, "bad", 1))
		f.record(failed(f, "bad", 2, "bug"), failed(f, "bad", 3, "bug"))
		want(f, 0, 2)
		f.record(failed(f, "bad", 4, "bug"))
		want(f, 1, 2, sweep.Suspect{Worker: "bad", Unconfirmed: 1, Retractable: 1, Failures: 3, Others: true})
		f.record(failed(f, "good", 5, broken)) // an error of machines is in doubt at once
		want(f, 2, 2, sweep.Suspect{Worker: "bad", Unconfirmed: 1, Retractable: 1, Failures: 3, Others: true},
			sweep.Suspect{Worker: "good", Unconfirmed: 1, Retractable: 1, Failures: 1, Others: true})
		f.must(f.ConfirmFailures(f.ctx, "s1", 0, "bad"))
		want(f, 1, 3, sweep.Suspect{Worker: "good", Unconfirmed: 1, Retractable: 1, Failures: 1, Others: true})
	})

	t.Run("Finish", func(t *testing.T) {
		f := queue(t)
		for i := range int64(19) {
			f.record(good(f, "good", i))
		}
		f.record(failed(f, "bad", 19, broken))
		f.wantSweep("s1", sweep.SweepActive)
		f.must(f.ConfirmFailures(f.ctx, "s1", -1, ""))
		f.wantSweep("s1", sweep.SweepFinished)
		if trial, err := f.GoodTrial(f.ctx, "s1", 0); err != nil || trial == nil || trial.Index > 18 || trial.Class != 0 {
			t.Errorf("%+v, %v", trial, err)
		}
		_, err := f.DeleteSweep(f.ctx, "s1")
		f.must(err)
	})

	t.Run("Charges", func(t *testing.T) { // a worker on which programs die by signals
		f := queue(t)
		f.record(good(f, "good", 0))
		id := trialID("s1", 1)
		for i := range 3 {
			x := fmt.Sprint("y", i)
			released := f.released(id, x, true, "ended by a signal")
			released.Worker = "bad"
			if i > 0 {
				f.mark([]sweep.TrialID{id})
			}
			f.record(released)
		}
		want(f, 1, 0, sweep.Suspect{Worker: "bad", Unconfirmed: 1, Retractable: 1, Failures: 1, Others: true})
		if n, err := f.RetractFailures(f.ctx, "s1", 0, "bad", ""); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 2 {
			t.Errorf("%+v", got)
		}
		f.record(f.released(id, "y2", true, "ended by a signal")) // the event comes again
		if got := f.trial(id); got.State != sweep.Pending || got.Charged != 2 {
			t.Errorf("%+v", got)
		}
	})
}
