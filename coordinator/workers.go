package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// notices are what workers are told with their next beats, and what they have
// told that is to be looked up.
type notices struct {
	mu sync.Mutex
	// stop and ended are answers by worker.
	answers map[string]wire.BeatAnswer
	// asked are the trials that workers run or keep checkpoints of, by worker.
	asked map[string]wire.Beat
	// workers is what each worker said last of itself.
	workers map[string]presence
	// reports follows whether workers can report.
	reports *outage
}

// presence is what a worker said of itself, and when.
type presence struct {
	wire.WorkerStatus
	at time.Time
}

// Workers lists the workers by pool and name, as each said last that it is; those
// that have been silent for too long are gone.
func (c *Coordinator) Workers() []wire.WorkerStatus {
	n := &c.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []wire.WorkerStatus
	for _, p := range n.workers {
		if time.Since(p.at) < wire.BeatLost {
			list = append(list, p.WorkerStatus)
		}
	}
	slices.SortFunc(list, func(a, b wire.WorkerStatus) int {
		return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return list
}

// heardOf notes what a worker says of itself, and forgets those that are gone.
func (n *notices) heardOf(b *wire.Beat) {
	if n.workers == nil {
		n.workers = map[string]presence{}
	}
	n.workers[b.ID] = presence{b.WorkerStatus, time.Now()}
	if b.Gone {
		delete(n.workers, b.ID)
	}
	n.forget()
}

// forget removes the workers that are gone.
func (n *notices) forget() {
	for id, p := range n.workers {
		if time.Since(p.at) >= wire.BeatLost {
			delete(n.workers, id)
		}
	}
}

// noteReports finds out whether some worker cannot report what its trials came to, as
// with a full broker. The caller holds the notices.
func (c *Coordinator) noteReports() {
	n := &c.notices
	if n.reports == nil {
		n.reports = c.outage("hearing of results")
	}
	for _, p := range n.workers {
		if p.Problem != "" {
			n.reports.failed(fmt.Errorf("worker %s cannot report the ends of its trials: %s", p.Name, p.Problem))
			return
		}
	}
	n.reports.over()
}

// beat takes a worker's word and answers it, unless another coordinator may lead and
// do so. It never waits.
func (c *Coordinator) beat(b wire.Beat) *wire.BeatAnswer {
	if !c.options.Leads() {
		return nil
	}
	c.facts.add(heartbeat(b))
	n := &c.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heardOf(&b)
	c.noteReports()
	answer := n.answers[b.ID]
	delete(n.answers, b.ID)
	if n.asked == nil {
		n.asked = map[string]wire.Beat{}
	}
	if delete(n.asked, b.ID); !b.Gone && len(b.Running)+len(b.Checkpoints) > 0 {
		n.asked[b.ID] = b
	}
	return &answer
}

// heartbeat is what the schedule is told of a worker.
func heartbeat(b wire.Beat) schedule.Heartbeat {
	h := schedule.Heartbeat{Worker: b.ID, Name: b.Name, Offer: b.Offer, Ready: b.State == wire.WorkerReady,
		Gone: b.Gone}
	for _, r := range b.Running {
		h.Running = append(h.Running, schedule.Running(r))
	}
	return h
}

// lookUp finds out which trials that workers run have ended, so that they are
// stopped although the broadcast of their cancellation was missed, and which
// checkpoints can be removed.
func (c *Coordinator) lookUp(ctx context.Context) error {
	n := &c.notices
	n.mu.Lock()
	asked := n.asked
	n.asked = nil
	n.forget()
	c.noteReports()
	n.mu.Unlock()
	var ids []sweep.TrialID
	for _, b := range asked {
		for _, r := range b.Running {
			ids = append(ids, r.TrialID)
		}
		ids = append(ids, b.Checkpoints...)
	}
	if len(ids) == 0 {
		return nil
	}
	states, err := c.store.States(ctx, ids)
	if err != nil {
		return fmt.Errorf("looking at %d trials that workers have in hand: %w", len(ids), err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers = map[string]wire.BeatAnswer{}
	for worker, b := range asked {
		var answer wire.BeatAnswer
		for _, r := range b.Running {
			if states[r.TrialID].Terminal() {
				answer.Stop = append(answer.Stop, r)
			}
		}
		answer.Ended = slices.DeleteFunc(slices.Clone(b.Checkpoints), func(id sweep.TrialID) bool {
			return !states[id].Terminal()
		})
		if len(answer.Stop)+len(answer.Ended) > 0 {
			n.answers[worker] = answer
		}
	}
	return nil
}
