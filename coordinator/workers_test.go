package coordinator

import (
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// An answer waits for its worker's next heartbeat, however often other workers are looked up before.
func TestAnswersWaitForTheirWorkers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.store.CreateSweep(t.Context(), "ended", submission("ended", 0, 2), 2); err != nil {
		t.Fatal(err)
	}
	trial := func(index int64) sweep.TrialID { return sweep.TrialID{Sweep: "ended", Index: index} }
	_, err := b.store.AddTrials(t.Context(), "ended", 0, 0, []sweep.Trial{
		{TrialID: trial(0), Fingerprint: "0"}, {TrialID: trial(1), Fingerprint: "1"},
	}, map[int]sweep.Requirement{0: {Trainer: "noop", ResultVersion: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Record(t.Context(), []sweep.Event{{Kind: sweep.EventResult, TrialID: trial(0), Execution: "x",
		Worker: "w", Result: outcome(trial(0))}}); err != nil {
		t.Fatal(err)
	}
	c := New(Options{Store: b.store, Wire: b.wire, Logger: logger(t)})
	heartbeat := func(id string, runs sweep.TrialID) *wire.HeartbeatAnswer {
		return c.heartbeat(wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: id, Name: id, Pool: sweep.DefaultPool,
			State: wire.WorkerReady, Offer: *noopOffer(1)}, Running: []wire.Running{{TrialID: runs, Execution: "x"}}})
	}
	lookUp := func() {
		t.Helper()
		if err := c.lookUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	heartbeat("missed it", trial(0))
	lookUp()
	heartbeat("another", trial(1))
	lookUp()
	if answer := heartbeat("missed it", trial(0)); len(answer.Stop) != 1 {
		t.Errorf("a worker that runs a trial that has ended is answered %+v", answer)
	}
}

// An execution whose artifacts wait is alive, and is stopped if its trial ends elsewhere; why it waits is told until the
// worker says that it no longer does.
func TestExecutionsThatStoreArtifacts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.store.CreateSweep(t.Context(), "one", submission("one", 0, 1), 1); err != nil {
		t.Fatal(err)
	}
	id := sweep.TrialID{Sweep: "one"}
	_, err := b.store.AddTrials(t.Context(), "one", 0, 0, []sweep.Trial{{TrialID: id, Fingerprint: "0"}},
		map[int]sweep.Requirement{0: {Trainer: "noop", ResultVersion: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Store: b.store, Wire: b.wire, Logger: logger(t)})
	heartbeat := func(spool *wire.WorkerSpool) *wire.HeartbeatAnswer {
		return c.heartbeat(wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: "w", Name: "node7",
			Pool: sweep.DefaultPool, State: wire.WorkerReady, Offer: *noopOffer(1), Spool: spool},
			Storing: []wire.Running{{TrialID: id, Execution: "x"}}})
	}
	before := time.Now()
	heartbeat(&wire.WorkerSpool{Results: 1, Problem: "the store is out of order"})
	if !c.workers.runs("x", before.Add(-time.Hour)) {
		t.Error("the execution is not alive")
	}
	if err := c.Problem(); err == nil || !strings.Contains(err.Error(), "node7: the store is out of order") {
		t.Errorf("problem: %v", err)
	}
	heartbeat(&wire.WorkerSpool{Results: 1})
	if err := c.Problem(); err != nil {
		t.Errorf("problem: %v", err)
	}
	if _, err := b.store.Record(t.Context(), []sweep.Event{{Kind: sweep.EventResult, TrialID: id, Execution: "y",
		Worker: "other", Result: outcome(id)}}); err != nil {
		t.Fatal(err)
	}
	if err := c.lookUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if answer := heartbeat(nil); len(answer.Stop) != 1 || answer.Stop[0].Execution != "x" {
		t.Errorf("%+v", answer)
	}
}
