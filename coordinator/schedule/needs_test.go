package schedule

import (
	"testing"
	"time"

	"sweep/sweep"
)

// TestAdoptedNeed opens a queue again that an earlier coordinator has opened for trials that hold devices: the answers to
// heartbeats then tell the workers of it.
func TestAdoptedNeed(t *testing.T) {
	s := New(Options{Window: 4, Page: 10, Heartbeat: 5 * time.Second, Silence: 20 * time.Second})
	need := &sweep.Need{GPUs: sweep.WholeDevice}
	offer := sweep.Offer{Pool: "cpu", Slots: 1, Trainers: []sweep.TrainerOffer{{Name: "t"}},
		Devices: []sweep.DeviceOffer{{Name: sweep.GPUDevice, Count: 1}}}
	q := Queue{Pool: "cpu", Offer: offer.Key(), Need: need.Key()}
	id := sweep.TrialID{Sweep: "a"}
	backlogs := []sweep.Backlog{{Sweep: "a", Pool: "cpu", State: sweep.SweepActive, Grids: 1,
		Classes: []sweep.ClassBacklog{{Requirement: sweep.Requirement{Trainer: "t", Need: need}, Queued: 1}}}}
	s.Step(noon, Adopted{q, id}, Heartbeat{Worker: "w", Name: "w", Offer: offer, Ready: true})
	opened := 0
	for range 3 {
		for _, a := range s.Step(noon, Done{Action: Read{}, Backlogs: backlogs}) {
			if open, is := a.(Open); is && open.Queue == q && open.Need.Key() == q.Need {
				opened++
				s.Step(noon, Done{Action: a})
			}
		}
	}
	if opened != 1 {
		t.Errorf("opened %d times, want once", opened)
	}
	if state := s.queues[q]; state.offer == nil || state.slots != 1 || !s.Expects(id) {
		t.Errorf("the queue after that: %+v", state)
	}
}
