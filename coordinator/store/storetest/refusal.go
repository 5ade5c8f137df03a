package storetest

import (
	"testing"
	"time"

	"sweep/sweep"
)

func testRefusal(t *testing.T, open func(t *testing.T) sweep.Store) {
	refused := func(f *fixture, id sweep.TrialID, worker, execution, reason string) sweep.Event {
		e := f.event(sweep.EventRefused, id, execution)
		e.Worker = worker
		e.Refusal = &sweep.Refusal{Reason: reason}
		return e
	}

	t.Run("Queued", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		f.mark([]sweep.TrialID{id})
		first := refused(f, id, "w1", "", "no such trainer")
		if report := f.record(first); report != (sweep.RecordReport{Refused: 1}) {
			t.Errorf("%+v", report)
		}
		// It is no execution, and nobody is charged.
		got := f.trial(id)
		if got.State != sweep.Pending || got.Executions != 0 || got.Charged != 0 || got.Worker != "" ||
			got.Result != nil ||
			got.Refusals != 1 || got.LastRefusal != "no such trainer" || got.RefusedBy != "w1" {
			t.Errorf("%+v", got)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2, Refused: 1})
		// The same event again changes nothing, also when the trial is queued again.
		f.mark([]sweep.TrialID{id})
		if report := f.record(first, first); report != (sweep.RecordReport{}) {
			t.Errorf("%+v", report)
		}
		f.wantState(id, sweep.Queued)
		f.record(refused(f, id, "w1", "", "still none"), refused(f, id, "w2", "", "other data"))
		got = f.trial(id)
		if got.State != sweep.Pending || got.Refusals != 3 || got.LastRefusal != "other data" || got.RefusedBy != "w2" {
			t.Errorf("%+v", got)
		}
		want := [][]any{{"s1", int64(0), "w1", "still none", int64(2)}, {"s1", int64(0), "w2", "other data", int64(1)}}
		if rows := f.rows(`SELECT sweep_id, trial_index, worker, reason, refusals FROM refusals
			ORDER BY worker`); !equalRows(rows, want) {
			t.Errorf("%v", rows)
		}
		if rows := f.rows(`SELECT count(*) FROM executions`); rows[0][0] != int64(0) {
			t.Errorf("%v executions", rows[0][0])
		}
		// Others' refusals do not keep it from being run.
		f.complete(id, completed(1, "a"))
		f.record(refused(f, id, "w3", "", "late"))
		if got := f.trial(id); got.State != sweep.Completed || got.Refusals != 4 {
			t.Errorf("%+v", got)
		}
	})

	t.Run("Running", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(f.started(id, "x"))
		f.record(refused(f, id, "w2", "y", "not mine"))
		f.wantState(id, sweep.Running) // under another execution
		f.record(refused(f, id, "worker-x", "x", "not enough memory"))
		got := f.trial(id)
		if got.State != sweep.Pending || got.Executions != 1 || got.Charged != 0 ||
			got.LastRefusal != "not enough memory" {
			t.Errorf("%+v", got)
		}
		if rows := f.rows(`SELECT outcome, charged, reason FROM executions`); !equalRows(rows,
			[][]any{{"released", false, "not enough memory"}}) {
			t.Errorf("%v", rows)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Refused: 2})
	})

	t.Run("Malformed", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		odd := refused(f, id, "w\x00\xff", "\x00", "no\x00\xff")
		odd.Time = time.Time{}
		report := f.record(f.event(sweep.EventRefused, id, "x"), refused(f, trialID("s1", 9), "w", "", "unknown"), odd)
		if report != (sweep.RecordReport{Malformed: 1, Unknown: 1, Refused: 1}) {
			t.Errorf("%+v", report)
		}
		if got := f.trial(id); got.LastRefusal != "no\uFFFD\uFFFD" || got.State != sweep.Pending {
			t.Errorf("%+v", got)
		}
	})

	t.Run("Note", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		began := f.clock.Add(-time.Hour)
		started := f.started(id, "x")
		started.Note = "checkpoint of kernel level avx2 set aside\x00"
		later := f.started(id, "x")
		later.Note = "another"
		f.record(started, later)
		result := f.finished(id, "y", completed(1, "a")) // its start was left out
		result.Started = began
		f.record(result)
		want := [][]any{{"x", "checkpoint of kernel level avx2 set aside\uFFFD"}, {"y", ""}}
		if rows := f.rows(`SELECT execution, note FROM executions ORDER BY execution`); !equalRows(rows, want) {
			t.Errorf("%v", rows)
		}
		if got := f.trial(id); !got.StartedAt.Equal(began) || !got.FinishedAt.Equal(result.Time) {
			t.Errorf("%+v", got)
		}
	})
}
