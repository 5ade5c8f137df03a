package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

func testDispatch(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("PendingAndQueued", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 5, 5)
		f.create("s2", 2, 2)
		indices := func(limit int) string {
			var all []string
			for _, p := range f.pending("s1", limit) {
				all = append(all, fmt.Sprint(p.Index))
			}
			return strings.Join(all, " ")
		}
		if got := indices(3); got != "0 1 2" {
			t.Errorf("pending %q", got)
		}
		before := time.Now().Add(-time.Second)
		marked := f.mark([]sweep.TrialID{trialID("s1", 1), trialID("s1", 3), trialID("s2", 0), trialID("s1", 99)})
		slices.SortFunc(marked, func(a, b sweep.TrialID) int { return strings.Compare(a.String(), b.String()) })
		if got := fmt.Sprint(marked); got != "[s1/1 s1/3 s2/0]" {
			t.Errorf("marked %s", got)
		}
		if again := f.mark([]sweep.TrialID{trialID("s1", 1)}); len(again) > 0 {
			t.Errorf("marked again: %v", again)
		}
		if got := indices(10); got != "0 2 4" {
			t.Errorf("pending %q", got)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 3, Queued: 2})
		f.wantProgress("s2", sweep.Progress{Pending: 1, Queued: 1})
		if queued := f.trial(trialID("s1", 1)).QueuedAt; queued.Before(before) || time.Until(queued) > time.Second {
			t.Errorf("queued at %v", queued)
		}
		f.mark(nil)

		f.complete(trialID("s1", 0), completed(1, "a"))
		f.mark([]sweep.TrialID{trialID("s1", 0)})
		f.wantState(trialID("s1", 0), sweep.Completed)
		_, err := f.TakePending(f.ctx, "nil", 0, 1)
		wantError(t, err, sweep.ErrNotFound)
	})

	// Trials that are named are taken in any order; the next ones are found all the same.
	t.Run("TakeTrials", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 6, 6)
		f.create("s2", 2, 2)
		indices := func(trials []sweep.Trial, err error) string {
			t.Helper()
			f.must(err)
			text := ""
			for i := range trials {
				trial := &trials[i]
				if full := f.trial(trial.TrialID); full.Fingerprint != trial.Fingerprint || full.Class != trial.Class ||
					!sweep.Equal(map[string]any(full.Parameters), map[string]any(trial.Parameters)) {
					t.Errorf("%+v, want %+v", trial, full.Trial)
				}
				text += fmt.Sprint(trial.Index, " ")
			}
			return text
		}
		for _, c := range []struct{ got, want string }{
			{indices(f.PendingTrials(f.ctx, "s1", 0, 3)), "0 1 2 "},
			{indices(f.TakeTrials(f.ctx, "s1", []int64{4, 1, 99})), "1 4 "},
			{indices(f.TakeTrials(f.ctx, "s1", []int64{4, 1})), ""},
			{indices(f.TakeTrials(f.ctx, "s1", nil)), ""},
			{indices(f.PendingTrials(f.ctx, "s1", 1, 3)), "2 3 5 "},
			{indices(f.PendingTrials(f.ctx, "s1", 6, 3)), ""},
			{indices(f.TakePending(f.ctx, "s1", 0, 2)), "0 2 "},
		} {
			if c.got != c.want {
				t.Errorf("%q, want %q", c.got, c.want)
			}
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2, Queued: 4})
		f.wantState(trialID("s1", 4), sweep.Queued)
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepPaused, ""))
		if got := indices(f.TakeTrials(f.ctx, "s1", []int64{3, 5})); got != "" {
			t.Errorf("%q of a paused sweep", got)
		}
		f.wantProgress("s2", sweep.Progress{Pending: 2})
		_, err := f.TakeTrials(f.ctx, "nil", []int64{0})
		wantError(t, err, sweep.ErrNotFound)
	})

	t.Run("Requeue", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 4, 4)
		f.mark([]sweep.TrialID{trialID("s1", 0), trialID("s1", 1)})
		f.record(f.started(trialID("s1", 1), "x"))
		f.complete(trialID("s1", 2), completed(1, "a"))
		all := []sweep.TrialID{trialID("s1", 0), trialID("s1", 1), trialID("s1", 2), trialID("s1", 3),
			trialID("s1", 99)}
		for _, want := range []int64{1, 0} {
			n, err := f.Requeue(f.ctx, all)
			f.must(err)
			if n != want {
				t.Errorf("requeued %d, want %d", n, want)
			}
			f.wantProgress("s1", sweep.Progress{Pending: 2, Running: 1, Completed: 1})
		}
		f.putBack(trialID("s1", 1))
		f.wantProgress("s1", sweep.Progress{Pending: 3, Completed: 1})
		// The execution that was taken for lost ends after all.
		f.record(f.finished(trialID("s1", 1), "x", completed(1, "b")))
		f.wantState(trialID("s1", 1), sweep.Completed)
	})

	// What was deleted meanwhile does not keep the others from being put back.
	t.Run("RequeueBesideDeleted", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("gone", 2, 2)
		f.create("s1", 2, 2)
		gone, own := trialID("gone", 0), trialID("s1", 0)
		f.mark([]sweep.TrialID{gone})
		f.mark([]sweep.TrialID{own})
		_, err := f.CancelTrials(f.ctx, "gone")
		f.must(err)
		_, err = f.DeleteSweep(f.ctx, "gone")
		f.must(err)
		if n, err := f.Requeue(f.ctx, []sweep.TrialID{gone, trialID("nil", 0), own}); n != 1 || err != nil {
			t.Errorf("requeued %d, want 1: %v", n, err)
		}
		f.mark([]sweep.TrialID{own})
		n, err := f.RequeueUnheard(f.ctx, []sweep.Heard{{TrialID: gone}, {TrialID: own}, {TrialID: trialID("nil", 0)}})
		if n != 1 || err != nil {
			t.Errorf("requeued %d, want 1: %v", n, err)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2})
	})

	// Trials that were heard of since somebody looked for those unheard of stay.
	t.Run("RequeueUnheard", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 5, 5)
		f.mark([]sweep.TrialID{trialID("s1", 0), trialID("s1", 1), trialID("s1", 2), trialID("s1", 3),
			trialID("s1", 4)})
		f.record(f.started(trialID("s1", 2), "a"), f.started(trialID("s1", 3), "b"))
		seen, err := f.Unheard(f.ctx, time.Now().Add(time.Hour), nil, 10)
		f.must(err)
		f.record(f.started(trialID("s1", 1), "c"), f.event(sweep.EventPoints, trialID("s1", 3), "b"))
		_, err = f.Requeue(f.ctx, []sweep.TrialID{trialID("s1", 4)})
		f.must(err)
		f.mark([]sweep.TrialID{trialID("s1", 4)})
		n, err := f.RequeueUnheard(f.ctx, seen)
		f.must(err)
		if n != 2 {
			t.Errorf("%d trials went back, want the two that nothing was heard of", n)
		}
		for i, want := range []sweep.State{sweep.Pending, sweep.Running, sweep.Pending, sweep.Running, sweep.Queued} {
			f.wantState(trialID("s1", int64(i)), want)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2, Queued: 1, Running: 2})
	})

	t.Run("Unheard", func(t *testing.T) {
		f := newFixture(t, open(t))
		for _, id := range []string{"s2", "s1", "s3", "s4"} {
			f.create(id, 4, 4)
			f.mark([]sweep.TrialID{trialID(id, 0), trialID(id, 1), trialID(id, 2)})
			f.record(f.started(trialID(id, 1), "x"+id))
			f.complete(trialID(id, 2), completed(1, "a"))
		}
		f.must(f.SetSweepState(f.ctx, "s3", sweep.SweepPaused, ""))
		f.must(f.SetSweepState(f.ctx, "s4", sweep.SweepCancelled, ""))
		list := func(before time.Time, after *sweep.TrialID, limit int) string {
			trials, err := f.Unheard(f.ctx, before, after, limit)
			f.must(err)
			ids := []sweep.TrialID{}
			for _, h := range trials {
				ids = append(ids, h.TrialID)
			}
			return fmt.Sprint(ids)
		}
		future, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
		first := trialID("s2", 1)
		for _, test := range []struct{ got, want string }{
			{list(past, nil, 10), "[]"},
			{list(future, nil, 10), "[s2/0 s2/1 s1/0 s1/1 s3/0 s3/1]"},
			{list(future, nil, 3), "[s2/0 s2/1 s1/0]"},
			{list(future, &first, 10), "[s1/0 s1/1 s3/0 s3/1]"},
		} {
			if test.got != test.want {
				t.Errorf("unheard of: %s, want %s", test.got, test.want)
			}
		}
		// Whatever the workers' clocks say, an event makes the trial heard of now.
		middle := time.Now()
		for _, kind := range []sweep.EventKind{sweep.EventPoints, sweep.EventCheckpoint} {
			e := f.event(kind, trialID("s2", 1), "xs2")
			e.Time = past
			f.record(e)
		}
		if got := list(middle, nil, 10); got != "[s2/0 s1/0 s1/1 s3/0 s3/1]" {
			t.Errorf("unheard of: %s", got)
		}
		unknown := trialID("nil", 0)
		_, err := f.Unheard(f.ctx, future, &unknown, 1)
		wantError(t, err, sweep.ErrNotFound)
	})
}
