package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
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

// heartbeatOf is a heartbeat of a worker.
func heartbeatOf(i int) wire.Heartbeat {
	id := fmt.Sprintf("id-%05d", i)
	return wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: id, Name: id, Pool: sweep.DefaultPool,
		State: wire.WorkerReady, Offer: *noopOffer(1)}}
}

// newFleet returns a coordinator to which many workers have sent heartbeats.
func newFleet(n int) *Coordinator {
	c := New(Options{})
	for i := range n {
		c.heartbeat(heartbeatOf(i))
	}
	c.facts.drain()
	return c
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newFleet(n)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				c.heartbeat(heartbeatOf(i % n))
				c.facts.drain()
			}
		})
	}
}

// A heartbeat costs the same however many workers there are.
func TestHeartbeatsOfManyWorkers(t *testing.T) {
	few, many := newFleet(20), newFleet(20000)
	// The quickest of several turns is one that other programs did not delay.
	cost := func(c *Coordinator, n int) time.Duration {
		least := time.Hour
		for turn := range 50 {
			began := time.Now()
			for i := range 20 {
				c.heartbeat(heartbeatOf((20*turn + i) % n))
				c.facts.drain()
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	if a, b := cost(few, 20), cost(many, 20000); b > 10*a {
		t.Errorf("20 heartbeats cost %v with 20 workers and %v with 20,000", a, b)
	}
}

// A worker whose heartbeats end is forgotten, and so is what it could not report, however late others came.
func TestSilentWorkersAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Logger: logger(t)})
		troubled := heartbeatOf(1)
		troubled.Problem = "the broker is full"
		c.heartbeat(troubled)
		time.Sleep(wire.HeartbeatTimeout / 2)
		c.heartbeat(heartbeatOf(2))
		c.heartbeat(heartbeatOf(3))
		if c.Outage() == nil || len(c.Workers()) != 3 {
			t.Errorf("%d workers, and the problem is %v", len(c.Workers()), c.Outage())
		}
		gone := heartbeatOf(3)
		gone.Gone = true
		c.heartbeat(gone)
		time.Sleep(wire.HeartbeatTimeout / 2)
		c.heartbeat(heartbeatOf(4))
		if left := c.Workers(); c.Outage() != nil || len(left) != 2 || left[0].ID != "id-00002" {
			t.Errorf("%+v are left, and the problem is %v", left, c.Outage())
		}
	})
}
