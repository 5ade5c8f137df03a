package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

// Executions whose workers vanished end a trial after its limit, and nothing else
// counts as one.
func testLosses(t *testing.T, open func(t *testing.T) sweep.Store) {
	lost := func(f *fixture, id sweep.TrialID, execution string) sweep.Event {
		return f.event(sweep.EventLost, id, execution)
	}
	alone := func(f *fixture, id sweep.TrialID, execution string) sweep.Event {
		e := f.started(id, execution)
		e.Alone = true
		return e
	}
	replaced := func(f *fixture) (ids []string) {
		f.t.Helper()
		list, err := f.Replaced(f.ctx)
		f.must(err)
		for _, e := range list {
			if e.Kind != sweep.EventLost || e.Time.IsZero() || e.Worker != "worker-"+e.Execution {
				f.t.Errorf("%+v", e)
			}
			ids = append(ids, e.Execution)
		}
		return ids
	}
	want := func(f *fixture, id sweep.TrialID, state sweep.State, losses int) *sweep.TrialRecord {
		f.t.Helper()
		got := f.trial(id)
		if got.State != state || got.Losses != losses || got.Charged != 0 {
			f.t.Fatalf("trial %v is %s with %d losses and %d charges, want %s with %d losses", id, got.State,
				got.Losses, got.Charged, state, losses)
		}
		return got
	}

	t.Run("Limit", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		// Its job is delivered again: another worker starts it.
		f.mark([]sweep.TrialID{id})
		if report := f.record(f.started(id, "a"), f.started(id, "b")); report != (sweep.RecordReport{Replaced: 1}) {
			t.Errorf("%+v", report)
		}
		want(f, id, sweep.Running, 0) // nobody has looked for its worker yet
		if got := replaced(f); !reflect.DeepEqual(got, []string{"a"}) {
			t.Errorf("replaced are %v", got)
		}
		for range 2 { // the same word again changes nothing
			f.record(lost(f, id, "a"))
			if got := want(f, id, sweep.Running, 1); got.Worker != "worker-b" {
				t.Errorf("%+v", got)
			}
		}
		if got := replaced(f); len(got) > 0 {
			t.Errorf("replaced are %v", got)
		}
		// Its job is gone with its worker: the one that runs is lost.
		if report := f.record(lost(f, id, "")); report != (sweep.RecordReport{Lost: 1, Released: 1}) {
			t.Errorf("%+v", report)
		}
		f.record(lost(f, id, ""))
		want(f, id, sweep.Pending, 2)
		if next, err := f.PendingTrials(f.ctx, "s1", 0, 1); err != nil || len(next) != 1 || !next[0].Again || next[0].Lost != 2 {
			t.Errorf("%+v, %v", next, err)
		}
		rows := f.rows(
			`SELECT trial_index, state, losses, worker FROM losses WHERE sweep_id = 's1' ORDER BY started_at`)
		if !equalRows(rows, [][]any{{int64(0), "pending", int64(2), "worker-a"},
			{int64(0), "pending", int64(2), "worker-b"}}) {
			t.Errorf("%v", rows)
		}
		f.mark([]sweep.TrialID{id})
		f.record(alone(f, id, "c"))
		if report := f.record(lost(f, id, "c")); report != (sweep.RecordReport{Lost: 1, Terminal: 1}) {
			t.Errorf("%+v", report)
		}
		got := want(f, id, sweep.Failed, 3)
		wanted := "3 executions took their workers with them: worker-a, worker-b, worker-c; the last one ran nothing else"
		if got.Result.Error != wanted {
			t.Errorf("%q, want %q", got.Result.Error, wanted)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Failed: 1})
		// A result that comes later changes nothing, and a retry forgets the losses.
		f.record(f.finished(id, "c", completed(1, "a")))
		f.wantState(id, sweep.Failed)
		_, err := f.RetryTrials(f.ctx, "s1")
		f.must(err)
		want(f, id, sweep.Pending, 0)
		f.record(lost(f, id, "a"), lost(f, id, "b"), lost(f, id, ""))
		want(f, id, sweep.Pending, 0)
	})

	// A trial that was heard of since somebody looked for those unheard of is not lost.
	t.Run("HeardSince", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.mark([]sweep.TrialID{id})
		f.record(f.started(id, "a"))
		look := func() sweep.Event {
			seen, err := f.Unheard(f.ctx, time.Now().Add(time.Hour), nil, 10)
			f.must(err)
			if len(seen) != 1 {
				t.Fatalf("unheard of are %v", seen)
			}
			return sweep.Event{Kind: sweep.EventLost, TrialID: id, Heard: seen[0].At}
		}
		before := look()
		f.record(f.event(sweep.EventPoints, id, "a"))
		f.record(before)
		want(f, id, sweep.Running, 0)
		f.record(look())
		want(f, id, sweep.Pending, 1)
	})

	// No execution runs for ever in the records when a broker was wiped, and with it the word of its end.
	t.Run("EndNeverReported", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		outcomes := func(want ...sweep.ExecutionOutcome) {
			t.Helper()
			list, err := f.Executions(f.ctx, id)
			f.must(err)
			if len(list) != len(want) {
				t.Fatalf("%+v, want %v", list, want)
			}
			for i, e := range list {
				if e.Outcome != want[i] || e.EndedAt.IsZero() != (want[i] == sweep.ExecutionRunning) || e.Charged {
					t.Errorf("execution %d: %+v, want %s", i, e, want[i])
				}
			}
		}
		f.mark([]sweep.TrialID{id})
		f.record(f.started(id, "a"))
		outcomes(sweep.ExecutionRunning)
		// Its job and its result are gone: it is requeued, and a short execution is known by its result only.
		f.putBack(id)
		f.mark([]sweep.TrialID{id})
		f.record(f.finished(id, "b", completed(1, "a")))
		want(f, id, sweep.Completed, 0)
		outcomes(sweep.ExecutionLost, sweep.ExecutionResult)
		// A third one starts when the trial has ended, and never ends.
		f.record(f.started(id, "c"), f.event(sweep.EventPoints, id, "d"))
		outcomes(sweep.ExecutionLost, sweep.ExecutionResult, sweep.ExecutionLost, sweep.ExecutionLost)
		// They report their ends after all.
		f.record(f.finished(id, "a", completed(1, "a")), f.released(id, "c", false, "drained"))
		outcomes(sweep.ExecutionResult, sweep.ExecutionResult, sweep.ExecutionReleased, sweep.ExecutionLost)
		if got := want(f, id, sweep.Completed, 0); got.Executions != 4 {
			t.Errorf("%+v", got)
		}
		if got := replaced(f); len(got) > 0 {
			t.Errorf("replaced are %v", got)
		}
		// It runs, and another one, of which nobody knew, has the result.
		id = trialID("s1", 1)
		f.mark([]sweep.TrialID{id})
		f.record(f.started(id, "a"), f.finished(id, "b", completed(1, "b")))
		want(f, id, sweep.Completed, 0)
		outcomes(sweep.ExecutionLost, sweep.ExecutionResult)
	})

	t.Run("LimitOfItsGrid", func(t *testing.T) {
		f := newFixture(t, open(t))
		s := submission("s1")
		s.Spec.Limits.Losses = 1
		f.makeSweep("s1", s, 1)
		f.write("s1", 0, 0, trials("s1", 0, 1))
		id := trialID("s1", 0)
		f.record(alone(f, id, "a"), lost(f, id, ""))
		want(f, id, sweep.Failed, 1)
	})

	// A trial fails only by an execution that ran alone, and one that is taken says how often it was lost.
	t.Run("Alone", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		take := func(want int) {
			f.t.Helper()
			got, err := f.TakeTrials(f.ctx, "s1", []int64{0})
			f.must(err)
			if len(got) != 1 || got[0].Lost != want {
				f.t.Fatalf("taken %+v, want %d lost", got, want)
			}
		}
		take(0)
		for n, execution := range []string{"a", "b", "c", "d"} {
			f.record(f.started(id, execution), lost(f, id, ""))
			want(f, id, sweep.Pending, n+1)
			take(n + 1)
		}
		// One that was replaced is lost, too, before it is known that its worker vanished.
		f.record(f.started(id, "e"), f.started(id, "f"), f.released(id, "f", false, "delivered again"))
		want(f, id, sweep.Pending, 4)
		take(5)
		f.record(lost(f, id, "e"), alone(f, id, "g"), lost(f, id, ""))
		got := want(f, id, sweep.Failed, 6)
		if !strings.HasSuffix(got.Result.Error, "worker-e, worker-g; the last one ran nothing else") {
			t.Errorf("%q", got.Result.Error)
		}
		pending, err := f.PendingTrials(f.ctx, "s1", 0, 10)
		f.must(err)
		if len(pending) != 1 || pending[0].Lost != 0 {
			t.Errorf("pending %+v", pending)
		}
	})

	// The job is delivered again before it is known that the third worker vanished: no execution of a trial that failed
	// runs.
	t.Run("Next", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(f.started(id, "a"), lost(f, id, ""), f.started(id, "b"), lost(f, id, ""), alone(f, id, "c"))
		f.record(alone(f, id, "d"))
		f.record(lost(f, id, "c"))
		if got := want(f, id, sweep.Failed, 3); got.Worker != "worker-c" {
			t.Errorf("%+v", got)
		}
		list, err := f.Executions(f.ctx, id)
		f.must(err)
		for _, e := range list {
			if e.Outcome != sweep.ExecutionLost || e.EndedAt.IsZero() || e.Charged != (e.ID != "d") {
				t.Errorf("%+v", e)
			}
		}
		if got := replaced(f); len(got) > 0 {
			t.Errorf("replaced are %v", got)
		}
	})

	t.Run("PutBack", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		for _, execution := range []string{"a", "b", "c", "d"} { // as after the loss of the broker
			f.mark([]sweep.TrialID{id})
			f.record(f.started(id, execution))
			f.putBack(id)
			f.record(lost(f, id, "")) // it was put back before
			want(f, id, sweep.Pending, 0)
		}
		f.record(f.started(id, "e"), f.released(id, "e", false, "drained"), lost(f, id, "e"))
		if got := replaced(f); len(got) > 0 {
			t.Errorf("replaced are %v", got)
		}
		want(f, id, sweep.Pending, 0)
	})

	t.Run("ComesBack", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id, other := trialID("s1", 0), trialID("s1", 1)
		f.record(f.started(id, "a"), f.started(id, "b"), lost(f, id, "a"))
		want(f, id, sweep.Running, 1)
		f.record(f.released(id, "a", false, "drained")) // it was there all the time
		want(f, id, sweep.Running, 0)
		f.record(f.started(id, "c"), lost(f, id, "b"), f.finished(id, "b", completed(1, "a")))
		if got := want(f, id, sweep.Completed, 0); got.Worker != "worker-b" {
			t.Errorf("%+v", got)
		}
		// The third loss was none: the trial goes on.
		f.record(f.started(other, "d"), lost(f, other, ""), f.started(other, "e"), lost(f, other, ""),
			alone(f, other, "f"), lost(f, other, ""))
		want(f, other, sweep.Failed, 3)
		f.record(f.released(other, "f", false, "drained"))
		want(f, other, sweep.Pending, 2)
		f.wantProgress("s1", sweep.Progress{Completed: 1, Pending: 1})
	})

	// A worker that was suspended goes on for the next job, under another name, which it announces; or its trial ends
	// before it has.
	t.Run("GoesOn", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id, other := trialID("s1", 0), trialID("s1", 1)
		f.record(f.started(id, "a"), lost(f, id, ""), f.started(other, "c"), lost(f, other, ""))
		f.mark([]sweep.TrialID{id, other})
		want(f, id, sweep.Queued, 1)
		f.record(f.started(id, "b"), f.released(id, "a", false, "it goes on"))
		if got := want(f, id, sweep.Running, 0); got.Worker != "worker-b" {
			t.Errorf("%+v", got)
		}
		f.record(f.released(other, "c", false, "it goes on"), f.finished(other, "d", completed(1, "a")))
		want(f, other, sweep.Completed, 0)
		if got := replaced(f); len(got) > 0 {
			t.Errorf("replaced are %v", got)
		}
	})

	t.Run("Unknown", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(lost(f, id, "a"), lost(f, id, ""))
		if got := want(f, id, sweep.Pending, 0); got.Executions != 0 {
			t.Errorf("%+v", got)
		}
	})
}
