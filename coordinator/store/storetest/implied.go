package storetest

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// testImplied: an execution that left nothing but its trial's result has no row, and is an execution like others.
func testImplied(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	f.create("s1", 2, 2)
	id := trialID("s1", 0)
	result := f.finished(id, "x", completed(1, "a"))
	result.Started = result.Time.Add(-5e9)
	f.record(result)
	stored := func(want int64) {
		t.Helper()
		if got := f.rows(`SELECT count(*) FROM stored_executions`)[0][0]; got != want {
			t.Errorf("%v executions have rows, want %d", got, want)
		}
	}
	executions := func(id sweep.TrialID, want ...sweep.Execution) {
		t.Helper()
		got, err := f.Executions(f.ctx, id)
		f.must(err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("executions of %v:\n%+v, want\n%+v", id, got, want)
		}
	}
	first := sweep.Execution{ID: "x", Worker: result.Worker, StartedAt: result.Started, EndedAt: result.Time,
		Outcome: sweep.ExecutionResult}
	stored(0)
	executions(id, first)
	if log, err := f.ExecutionLog(f.ctx, id, "x"); err != nil || log.Text != "" {
		t.Errorf("its log is %+v: %v", log, err)
	}
	if rows := f.rows(`SELECT outcome, charged, replaced, alone FROM executions`); !equalRows(rows,
		[][]any{{"result", false, false, nil}}) {
		t.Errorf("the view has %v", rows)
	}

	// It reports again, and another one reports the same: one repeat each, no fault.
	for _, execution := range []string{"x", "y"} {
		again := f.finished(id, execution, completed(1, "a"))
		if report := f.record(again); report.Repeated != 1 || report.Faults != 0 {
			t.Errorf("%s again: %+v", execution, report)
		}
	}
	stored(1) // y's
	if got := f.trial(id).Executions; got != 2 {
		t.Errorf("%d executions, want 2", got)
	}

	// A word that comes late is kept.
	late := f.event(sweep.EventStarted, id, "x")
	late.Note = "began without its checkpoint"
	f.record(late)
	stored(2)
	if got := f.rows(`SELECT note, outcome FROM executions WHERE execution = 'x'`); !equalRows(got,
		[][]any{{late.Note, "result"}}) {
		t.Errorf("the view has %v", got)
	}

	// A trial that takes a result over has its execution once the other is deleted.
	other := trialID("s1", 1)
	ended := f.finished(other, "z", completed(2, "b"))
	f.record(ended)
	f.makeSweep("s2", submission("again"), 2)
	page := trials("s2", 0, 2)
	for i, of := range trials("s1", 0, 2) {
		page[i].Fingerprint = of.Fingerprint
	}
	f.write("s2", 0, 0, page)
	_, err := f.DeleteSweep(f.ctx, "s1")
	f.must(err)
	executions(trialID("s2", 1), sweep.Execution{ID: "z", Worker: ended.Worker, StartedAt: ended.Time,
		EndedAt: ended.Time, Outcome: sweep.ExecutionResult})
}
