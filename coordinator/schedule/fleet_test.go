package schedule

import (
	"fmt"
	"testing"
	"time"

	"sweep/sweep"
)

// fleet is a State with many workers, which run the trials of one sweep and wait for those of another, which
// none of them can run.
type fleet struct {
	*State
	now     time.Time
	workers []Heartbeat
	next    int
}

func newFleet(n int) *fleet {
	f := &fleet{State: New(Options{Window: 512, Page: 1000, Heartbeat: 5 * time.Second, Silence: 20 * time.Second}),
		now: noon}
	f.settle()
	for i := range n {
		h := Heartbeat{Worker: fmt.Sprintf("id-%05d", i), Name: fmt.Sprintf("node-%d", i), Ready: true,
			Running: []Running{{TrialID: sweep.TrialID{Sweep: "runs", Index: int64(i)}, Execution: fmt.Sprint(i)}},
			Offer: sweep.Offer{Pool: "cpu", Slots: 1, Memory: 8 << 30, Labels: map[string]string{"rack": "a"},
				Trainers: []sweep.TrainerOffer{{Name: "noop", ResultVersion: "1"}}}}
		f.workers = append(f.workers, h)
		f.settle(h)
	}
	f.now = f.now.Add(DiscoveryTime)
	f.settle()
	return f
}

// settle takes steps until the answers lead to no further actions.
func (f *fleet) settle(facts ...Fact) {
	for {
		actions := f.Step(f.now, facts...)
		facts = nil
		for _, a := range actions {
			done := Done{Action: a}
			switch a.(type) {
			case Report, Gone:
				continue
			case Read:
				done.Backlogs = []sweep.Backlog{
					{Sweep: "runs", Pool: "cpu", State: sweep.SweepActive, Grids: 1, Classes: []sweep.ClassBacklog{
						{Requirement: sweep.Requirement{Trainer: "noop"}, Running: int64(len(f.workers)), Tried: true}}},
					{Sweep: "waits", Pool: "cpu", State: sweep.SweepActive, Grids: 1, Classes: []sweep.ClassBacklog{
						{Requirement: sweep.Requirement{Trainer: "other"}, Pending: 1000, Tried: true}}},
				}
			}
			facts = append(facts, done)
		}
		if len(facts) == 0 {
			return
		}
	}
}

// heartbeat is the next worker's.
func (f *fleet) heartbeat() {
	f.settle(f.workers[f.next%len(f.workers)])
	f.next++
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFleet(n)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				f.heartbeat()
			}
		})
	}
}

// TestHeartbeatsOfManyWorkers: a heartbeat, and the step that it leads to, costs the same however many workers
// there are.
func TestHeartbeatsOfManyWorkers(t *testing.T) {
	few, many := newFleet(20), newFleet(20000)
	// The quickest of several turns is one that other programs did not delay.
	cost := func(f *fleet) time.Duration {
		least := time.Hour
		for range 50 {
			began := time.Now()
			for range 20 {
				f.heartbeat()
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	if a, b := cost(few), cost(many); b > 10*a {
		t.Errorf("20 heartbeats cost %v with 20 workers and %v with 20,000", a, b)
	}
}
