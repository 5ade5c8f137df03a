package storetest

import (
	"fmt"
	"reflect"
	"testing"

	"sweep/sweep"
)

func testClasses(t *testing.T, open func(t *testing.T) sweep.Store) {
	requirements := map[int]sweep.Requirement{
		0: {Trainer: "noop", ResultVersion: "1", Labels: map[string]string{"gpu": "a100"}},
		1: {Trainer: "noop", ResultVersion: "1", Dataset: `{"dataset":"CBF"}`, DatasetDigest: "d1", Memory: 8 << 30},
		7: {Trainer: "noop"},
	}
	// classed writes trials of a sweep's points, whose classes alternate.
	classed := func(f *fixture, id string, from, n int64, classes ...int) {
		f.t.Helper()
		page := trials(id, from, n)
		for i := range page {
			page[i].Class = classes[int(page[i].Index)%len(classes)]
		}
		_, err := f.AddTrials(f.ctx, id, 0, from, page, requirements)
		f.must(err)
	}
	backlog := func(f *fixture, ids ...string) []sweep.Backlog {
		f.t.Helper()
		all, err := f.Backlog(f.ctx, ids...)
		f.must(err)
		return all
	}
	class := func(number int, pending, queued, running int64) sweep.ClassBacklog {
		return sweep.ClassBacklog{Class: number, Requirement: requirements[number], Pending: pending, Queued: queued,
			Running: running}
	}

	t.Run("Backlog", func(t *testing.T) {
		f := newFixture(t, open(t))
		if got := backlog(f); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		f.makeSweep("s1", submission("one"), 20)
		classed(f, "s1", 0, 9, 0, 1, 7)
		f.create("s2", 4, 0)
		f.create("s3", 2, 2)
		f.must(f.SetSweepState(f.ctx, "s3", sweep.SweepPaused, ""))
		_, err := f.AddGrid(f.ctx, "s1", submission("more"), 5)
		f.must(err)
		want := []sweep.Backlog{
			{Sweep: "s1", Pool: "cpu", Priority: 3, State: sweep.SweepActive, Grids: 2, Unwritten: 16,
				Classes: []sweep.ClassBacklog{class(0, 3, 0, 0), class(1, 3, 0, 0), class(7, 3, 0, 0)}},
			{Sweep: "s2", Pool: "cpu", Priority: 3, State: sweep.SweepActive, Grids: 1, Unwritten: 4},
		}
		if got := backlog(f); !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if got := backlog(f, "s2"); !reflect.DeepEqual(got, want[1:]) {
			t.Errorf("%+v", got)
		}
		// A class whose requirement nobody told requires the sweep's trainer.
		got := backlog(f, "s3", "nil")
		if len(got) != 1 || got[0].State != sweep.SweepPaused ||
			!reflect.DeepEqual(got[0].Classes, []sweep.ClassBacklog{
				{Requirement: sweep.Requirement{Trainer: "noop"}, Pending: 2}}) {
			t.Errorf("%+v", got)
		}
		// What is known stays as it is; a trial's class is read with it.
		requirements[1] = sweep.Requirement{Trainer: "other"}
		classed(f, "s1", 9, 1, 1)
		requirements[1] = want[0].Classes[1].Requirement
		if got := backlog(f, "s1")[0].Classes[1]; !reflect.DeepEqual(got, class(1, 4, 0, 0)) {
			t.Errorf("%+v", got)
		}
		if got := f.trial(trialID("s1", 5)).Class; got != 7 {
			t.Errorf("class %d", got)
		}
		f.checkCounters("s1")
	})

	t.Run("Counters", func(t *testing.T) { // through every change of state
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("one"), 12)
		classed(f, "s1", 0, 8, 0, 1)
		want := func(classes ...sweep.ClassBacklog) {
			t.Helper()
			if got := backlog(f, "s1")[0].Classes; !reflect.DeepEqual(got, classes) {
				t.Errorf("%+v, want %+v", got, classes)
			}
			f.checkCounters("s1")
		}
		tried := func(pending, queued, running int64) sweep.ClassBacklog { // class 0, of which a trial has completed
			c := class(0, pending, queued, running)
			c.Tried = true
			return c
		}
		f.mark([]sweep.TrialID{trialID("s1", 0), trialID("s1", 1), trialID("s1", 2)})
		want(class(0, 2, 2, 0), class(1, 3, 1, 0))
		f.record(f.started(trialID("s1", 1), "x"), f.finished(trialID("s1", 2), "y", completed(1, "a")))
		want(tried(2, 1, 0), class(1, 3, 0, 1))
		f.putBack(trialID("s1", 0), trialID("s1", 1))
		want(tried(3, 0, 0), class(1, 4, 0, 0))
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		want(tried(0, 0, 0), class(1, 0, 0, 0))
		classed(f, "s1", 8, 2, 0, 1) // as cancelled
		want(tried(0, 0, 0), class(1, 0, 0, 0))
		_, err = f.RetryTrials(f.ctx, "s1")
		f.must(err)
		want(tried(4, 0, 0), class(1, 5, 0, 0))
	})

	t.Run("TakePending", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("one"), 12)
		classed(f, "s1", 0, 12, 0, 1, 1)
		f.create("s2", 3, 3)
		f.mark([]sweep.TrialID{trialID("s1", 2)})
		taken := func(class, limit int) string {
			all, err := f.TakePending(f.ctx, "s1", class, limit)
			f.must(err)
			var indices []int64
			for _, trial := range all {
				want := trials("s1", trial.Index, 1)[0]
				if want.Class = class; !reflect.DeepEqual(trial, want) {
					t.Errorf("%+v, want %+v", trial, want)
				}
				indices = append(indices, trial.Index)
				if r := f.trial(trial.TrialID); r.State != sweep.Queued || r.QueuedAt.IsZero() {
					t.Errorf("%+v", r)
				}
			}
			return fmt.Sprint(indices)
		}
		for _, test := range []struct{ got, want string }{
			{taken(1, 3), "[1 4 5]"}, {taken(0, 2), "[0 3]"}, {taken(1, 0), "[]"}, {taken(1, 100), "[7 8 10 11]"},
			{taken(1, 1), "[]"}, {taken(9, 1), "[]"},
		} {
			if test.got != test.want {
				t.Errorf("took %s, want %s", test.got, test.want)
			}
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2, Queued: 10})
		f.wantProgress("s2", sweep.Progress{Pending: 3})
		for _, state := range []sweep.SweepState{sweep.SweepPaused, sweep.SweepActive} {
			f.must(f.SetSweepState(f.ctx, "s2", state, ""))
			if all, err := f.TakePending(f.ctx, "s2", 0, 2); err != nil ||
				len(all) > 0 != (state == sweep.SweepActive) {
				t.Errorf("took %d trials of a sweep that is %s, %v", len(all), state, err)
			}
		}
	})

	t.Run("States", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 3)
		f.create("s2", 1, 1)
		f.mark([]sweep.TrialID{trialID("s1", 1), trialID("s2", 0)})
		f.complete(trialID("s1", 2), completed(1, "a"))
		got, err := f.States(f.ctx, []sweep.TrialID{
			trialID("s2", 0), trialID("s1", 2), trialID("s1", 0), trialID("s1", 1), trialID("s1", 99),
			trialID("nil", 0), trialID("s1", 0),
		})
		f.must(err)
		want := map[sweep.TrialID]sweep.State{
			trialID("s1", 0): sweep.Pending, trialID("s1", 1): sweep.Queued, trialID("s1", 2): sweep.Completed,
			trialID("s2", 0): sweep.Queued,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if got, err := f.States(f.ctx, nil); err != nil || len(got) != 0 {
			t.Errorf("%v %v", got, err)
		}
	})
}
