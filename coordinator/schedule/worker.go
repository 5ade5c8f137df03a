package schedule

import (
	"maps"
	"time"

	"sweep/sweep"
)

// worker is a worker as of its latest heartbeat.
type worker struct {
	Heartbeat
	queue Queue
	heard time.Time
}

// kind is an offer, and when a worker with it last sent a heartbeat.
type kind struct {
	offer sweep.Offer
	heard time.Time
}

// kindMemory is how long the offers of workers that are gone are remembered. Meanwhile an
// autoscaler does not start workers again and again for trials that the last ones could not run.
const kindMemory = time.Hour

func (f Heartbeat) apply(s *State) {
	q := Queue{Pool: f.Offer.Pool, Offer: f.Offer.Key()}
	before := s.workers[f.Worker]
	if f.Gone {
		delete(s.workers, f.Worker)
		delete(s.asked, f.Worker)
		if before != nil {
			s.addUp(before.queue)
		}
		return
	}
	s.workers[f.Worker] = &worker{f, q, s.now}
	if !f.Ready { // it may be told again when it takes jobs again
		delete(s.asked, f.Worker)
	}
	if s.queues[q] == nil {
		s.queues[q] = &queueState{jobs: map[string]int64{}, since: s.now}
	}
	if before != nil && before.queue != q {
		s.addUp(before.queue)
		if state := s.queues[before.queue]; state == nil || state.offer == nil { // the offer has shrunk
			delete(s.kinds, before.queue)
		}
	}
	if f.Ready {
		s.kinds[q] = kind{f.Offer, s.now}
	}
	s.addUp(q)
}

// forgetSilent forgets the workers that have not sent a heartbeat for long.
func (s *State) forgetSilent() {
	var gone []string
	for _, id := range sortedKeys(s.workers) {
		if w := s.workers[id]; s.now.Sub(w.heard) > s.options.Silence {
			delete(s.workers, id)
			delete(s.asked, id)
			s.addUp(w.queue)
			gone = append(gone, w.Name)
		}
	}
	if len(gone) > 0 {
		s.do(Gone{gone})
	}
	maps.DeleteFunc(s.kinds, func(_ Queue, k kind) bool { return s.now.Sub(k.heard) > kindMemory })
}

// addUp computes a queue's offer, slots and busy slots from its workers.
func (s *State) addUp(q Queue) {
	state := s.queues[q]
	if state == nil {
		return
	}
	had := state.offer != nil
	state.offer, state.slots, state.busy = nil, 0, 0
	for _, w := range s.workers {
		if w.queue == q && w.Ready && state.open {
			state.offer = &w.Offer
			state.slots += int64(w.Offer.Slots)
			state.busy += int64(len(w.Running))
		}
	}
	if had && state.offer == nil {
		state.since, state.cleared = s.now, false
	}
}

// workerOf returns the name of the first worker of a queue.
func (s *State) workerOf(q Queue) (name string, found bool) {
	for _, w := range s.workers {
		if w.queue == q && (!found || w.Name < name) {
			name, found = w.Name, true
		}
	}
	return name, found
}

// Discovered reports whether the workers have had the time to send a heartbeat.
func (s *State) Discovered() bool { return s.discovered }

// Offers returns the offers of those workers of a pool, of all pools for "", that take jobs.
func (s *State) Offers(pool string) (offers []sweep.Offer) {
	for _, w := range s.workers {
		if w.Ready && (pool == "" || w.queue.Pool == pool) {
			offers = append(offers, w.Offer)
		}
	}
	return offers
}

// EachRunning calls visit for each trial that a worker reports as running, or whose artifacts it stores.
func (s *State) EachRunning(visit func(sweep.TrialID)) {
	for _, w := range s.workers {
		for _, r := range w.Running {
			visit(r.TrialID)
		}
		for _, r := range w.Storing {
			visit(r.TrialID)
		}
	}
}
