package coordinator

import (
	"testing"

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
