package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

func testExecutions(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	f.create("s1", 3, 2)
	id := trialID("s1", 0)
	executions := func() []sweep.Execution {
		t.Helper()
		list, err := f.Executions(f.ctx, id)
		f.must(err)
		return list
	}
	log := func(execution string) sweep.Log {
		t.Helper()
		log, err := f.ExecutionLog(f.ctx, id, execution)
		f.must(err)
		return *log
	}
	if got := executions(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	_, err := f.ExecutionLog(f.ctx, id, "")
	wantError(t, err, sweep.ErrNotFound)

	lost := f.started(id, "lost")
	broken := f.started(id, "broken")
	broken.Note = "goes on from the checkpoint at step 5"
	checkpoint := f.event(sweep.EventCheckpoint, id, "broken")
	checkpoint.Checkpoint = 7
	charged := f.released(id, "broken", true, "signal: killed")
	charged.LogStart = 12
	f.record(lost, broken, checkpoint, charged)
	stopped := f.released(id, "stopped", false, "cancelled")
	stopped.Release.Stderr, stopped.Log = "", "epoch 1\n"
	result := f.finished(id, "done", completed(1, "a"))
	result.Log, result.LogStart = "x\x00é\xff"+strings.Repeat("y", sweep.LogLimit), 3
	f.record(stopped, result)
	end := func(e sweep.Event) time.Time { return e.Time }
	got := executions()
	if len(got) != 4 || got[0].EndedAt.IsZero() {
		t.Fatalf("%+v", got)
	}
	got[0].EndedAt = time.Time{} // by the store's clock
	want := []sweep.Execution{
		{ID: "lost", Worker: "worker-lost", StartedAt: end(lost), Outcome: sweep.ExecutionLost},
		{ID: "broken", Worker: "worker-broken", StartedAt: end(broken), EndedAt: end(charged),
			Outcome: sweep.ExecutionReleased, Charged: true,
			Checkpoint: 7, Reason: "signal: killed", Note: broken.Note,
			LogSize: int64(len("stderr of signal: killed"))},
		{ID: "stopped", Worker: "worker-stopped", StartedAt: end(stopped), EndedAt: end(stopped),
			Outcome: sweep.ExecutionReleased,
			Reason:  "cancelled", LogSize: int64(len("epoch 1\n"))},
		{ID: "done", Worker: "worker-done", StartedAt: end(result), EndedAt: end(result),
			Outcome: sweep.ExecutionResult, LogSize: sweep.LogLimit},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if got := log("broken"); got != (sweep.Log{Text: "stderr of signal: killed", Start: 12}) {
		t.Errorf("%+v", got)
	}
	if got := log("stopped"); got != (sweep.Log{Text: "epoch 1\n"}) {
		t.Errorf("%+v", got)
	}
	// The last one's, if none is named; cut to what is kept.
	if got := log(""); got.Text != strings.Repeat("y", sweep.LogLimit) || got.Start != 3+5 {
		t.Errorf("%d bytes behind %d", len(got.Text), got.Start)
	}
	// A word that takes a charge back leaves the log.
	back := f.event(sweep.EventReleased, id, "broken")
	back.Release = &sweep.Release{Reason: "taken back"}
	f.record(back)
	if got := log("broken"); got.Text != "stderr of signal: killed" {
		t.Errorf("%+v", got)
	}
	// A failure shows the end of its log.
	id = trialID("s1", 1)
	failed := f.finished(id, "failed", &sweep.Result{State: sweep.Failed, Error: "no"})
	failed.Log = "last words"
	f.record(failed)
	if got := f.trial(id).Result.Stderr; got != "last words" {
		t.Errorf("%q", got)
	}
	for _, id := range []sweep.TrialID{trialID("s1", 2), trialID("s1", 3), trialID("s1", -1), trialID("none", 0)} {
		_, err := f.Executions(f.ctx, id)
		wantError(t, err, sweep.ErrNotFound)
		_, err = f.ExecutionLog(f.ctx, id, "")
		wantError(t, err, sweep.ErrNotFound)
	}
}

// Some of a sweep's trials are cancelled and retried.
func testSome(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	f.create("s1", 8, 7)
	ids := func(indices ...int64) (list []sweep.TrialID) {
		for _, i := range indices {
			list = append(list, trialID("s1", i))
		}
		return list
	}
	f.mark(ids(1, 2))
	f.record(f.started(trialID("s1", 2), "x"))
	f.complete(trialID("s1", 3), completed(1, "a"))
	f.complete(trialID("s1", 4), &sweep.Result{State: sweep.Failed, Error: "no"})
	for range 2 { // again, it changes nothing
		_, _, err := f.CancelSome(f.ctx, "s1", []int64{0, 7})
		wantError(t, err, sweep.ErrNotFound)
		f.wantProgress("s1", sweep.Progress{Pending: 4, Queued: 1, Running: 1, Completed: 1, Failed: 1})
	}
	n, active, err := f.CancelSome(f.ctx, "s1", []int64{0, 1, 2, 3, 4, 4, 2})
	f.must(err)
	if n != 3 || !reflect.DeepEqual(active, ids(1, 2)) {
		t.Errorf("%d, %v", n, active)
	}
	f.wantProgress("s1", sweep.Progress{Pending: 3, Completed: 1, Failed: 1, Cancelled: 3})
	// Its worker may be gone and never report.
	if list, err := f.Executions(f.ctx, trialID("s1", 2)); err != nil || len(list) != 1 ||
		list[0].Outcome != sweep.ExecutionLost || list[0].EndedAt.IsZero() || list[0].Charged {
		t.Errorf("the execution of a cancelled trial: %+v, %v", list, err)
	}
	if n, active, err := f.CancelSome(f.ctx, "s1", []int64{0, 1, 2, 3, 4}); n != 0 || len(active) != 0 || err != nil {
		t.Errorf("again: %d, %v, %v", n, active, err)
	}
	// What its worker still says of it changes nothing.
	f.record(f.released(trialID("s1", 2), "x", false, "cancelled"),
		f.finished(trialID("s1", 2), "x", completed(2, "b")))
	f.wantState(trialID("s1", 2), sweep.Cancelled)

	m, err := f.RetrySome(f.ctx, "s1", []int64{2, 3, 4, 5})
	f.must(err)
	if m != 2 {
		t.Errorf("%d", m)
	}
	f.wantProgress("s1", sweep.Progress{Pending: 5, Completed: 1, Cancelled: 2})
	if got := f.trial(trialID("s1", 4)); got.Result != nil || got.Charged != 0 || got.State != sweep.Pending {
		t.Errorf("%+v", got)
	}
	if m, err := f.RetrySome(f.ctx, "s1", []int64{2, 3, 4, 5}); m != 0 || err != nil {
		t.Errorf("again: %d, %v", m, err)
	}
	_, err = f.RetrySome(f.ctx, "s1", []int64{0, 9})
	wantError(t, err, sweep.ErrNotFound)
	_, _, err = f.CancelSome(f.ctx, "none", []int64{0})
	wantError(t, err, sweep.ErrNotFound)

	// The last trials' end is the sweep's, and a retry takes it up again.
	f.write("s1", 0, 7, trials("s1", 7, 1))
	f.wantSweep("s1", sweep.SweepActive)
	_, _, err = f.CancelSome(f.ctx, "s1", []int64{2, 4, 5, 6, 7})
	f.must(err)
	f.wantSweep("s1", sweep.SweepFinished)
	f.wantProgress("s1", sweep.Progress{Completed: 1, Cancelled: 7})
	_, err = f.RetrySome(f.ctx, "s1", []int64{6})
	f.must(err)
	f.wantSweep("s1", sweep.SweepActive)
	f.complete(trialID("s1", 6), completed(3, "c"))
	f.wantSweep("s1", sweep.SweepFinished)
	f.wantProgress("s1", sweep.Progress{Completed: 2, Cancelled: 6})
}
