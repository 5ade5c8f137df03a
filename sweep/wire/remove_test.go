package wire_test

import (
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// The removal of a job that a worker has does not keep another, whose worker died, from
// being delivered again.
func TestRemovalLeavesOtherJobs(t *testing.T) {
	for name, remove := range map[string]func(w *wire.Wire, id sweep.TrialID) error{
		"RemoveJob": func(w *wire.Wire, id sweep.TrialID) error { return w.RemoveJob(t.Context(), jobOf(t, w, id)) },
		"RemoveTrials": func(w *wire.Wire, id sweep.TrialID) error {
			return w.RemoveTrials(t.Context(), "cpu", id.Sweep, []int64{id.Index})
		},
		"RemoveJobs": func(w *wire.Wire, id sweep.TrialID) error { return w.RemoveJobs(t.Context(), "cpu", id.Sweep) },
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); testRemoval(t, remove) })
	}
}

// jobOf finds a trial's job.
func jobOf(t testing.TB, w *wire.Wire, id sweep.TrialID) wire.QueuedJob {
	t.Helper()
	for _, q := range queued(t, w) {
		if q.TrialID == id {
			return q
		}
	}
	t.Fatalf("trial %s has no job", id)
	return wire.QueuedJob{}
}

func testRemoval(t *testing.T, remove func(w *wire.Wire, id sweep.TrialID) error) {
	w, err := wire.New(wiretest.Start(t), wire.Options{AckWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Setup(t.Context(), sweep.Cluster{ID: "c"}, false); err != nil {
		t.Fatal(err)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	list := jobsOf(3)
	list[1].Sweep = "s2"
	publish(t, w, list...)
	jobs, err := w.Jobs(queue("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Close()
	var taken []*wire.Delivery
	for range 3 {
		d, err := take(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, d)
	}
	if err := remove(w, list[1].TrialID); err != nil {
		t.Fatal(err)
	}
	if err := taken[2].DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	var again *wire.Delivery
	eventually(t, "the job of the worker that died", func() bool {
		if jobs.Requested() == 0 {
			if err := jobs.Request(1); err != nil {
				t.Fatal(err)
			}
		}
		again, err = jobs.Next(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return again != nil
	})
	if again.TrialID != taken[0].TrialID {
		t.Errorf("trial %s is delivered again, want %s", again.TrialID, taken[0].TrialID)
	}
}
