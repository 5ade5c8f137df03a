package worker

import (
	"os"
	"path/filepath"
	"testing"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// A trial that is cancelled after its artifacts were taken over, and before its result was, is released all the same.
func TestCancelledBeforeCommit(t *testing.T) {
	w := New(Options{})
	trial := sweep.TrialID{Sweep: "s", Index: 1}
	entry := &spooled{Running: wire.Running{TrialID: trial, Execution: "e"}, dir: filepath.Join(t.TempDir(), "e")}
	if err := os.Mkdir(entry.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.spool.enter(t.Context(), entry)
	w.spool.cancel(func(r *wire.Running) bool { return r.TrialID == trial })
	w.spool.commit(entry, report{events: []sweep.Event{
		{Kind: sweep.EventResult, TrialID: trial, Execution: "e", Result: &sweep.Result{State: sweep.Completed}}}}, false)
	reports := w.reporter.waiting
	if len(reports) != 1 || len(reports[0].events) != 1 {
		t.Fatalf("reports %+v", reports)
	}
	if e := reports[0].events[0]; e.Kind != sweep.EventReleased || e.Release == nil || e.Release.Reason != "cancelled" {
		t.Errorf("event %+v", e)
	}
	if left := w.spool.running(); len(left) != 0 {
		t.Errorf("it is still to be stored: %v", left)
	}
	reports[0].done()
	if _, err := os.Stat(entry.dir); !os.IsNotExist(err) || len(w.spool.entries) != 0 {
		t.Errorf("it is still there: %v, %d entries", err, len(w.spool.entries))
	}
}
