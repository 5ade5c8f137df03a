package schedule

import (
	"slices"

	"sweep/sweep"
)

// explain has noted what has changed of why sweeps wait: a sweep waits when no worker can
// run what is left of it.
func (s *State) explain() {
	if !s.discovered || s.exclusive && !s.hasWorkers() {
		return
	}
	for _, sw := range s.ordered("") {
		if s.opens(sw.Pool) { // what its workers can run is known soon
			continue
		}
		v := Explain{Sweep: sw.Sweep, Reason: s.brokerError(sw.Pool)}
		var unmet, others int64
		for i := range sw.Classes {
			class := &sw.Classes[i]
			others += class.Queued + class.Running
			if class.Pending == 0 {
				continue
			}
			if s.runnable(sw.Pool, class) {
				others += class.Pending
				continue
			}
			if unmet += class.Pending; v.Reason == "" {
				v.Reason = s.unmet(sw.Pool, class)
			}
		}
		v.Waiting = unmet > 0 && others == 0 // of the unwritten it is not known yet
		if !sw.explained || v.Waiting != sw.waiting || v.Reason != sw.reason {
			s.do(v)
		}
	}
}

// unmet says why no worker can run a class.
func (s *State) unmet(pool string, class *sweep.ClassBacklog) string {
	return class.Requirement.Unmet(pool, s.Offers(pool))
}

// Figures are what others are told of the state at the end of a cycle.
type Figures struct {
	// Reserve is how many jobs wait in the shortest of the queues that have some or that
	// a pending trial waits for: what its workers can start before they need another job.
	// It is 0 if no queue has any.
	Reserve int64
	// Unschedulable counts, by sweep, the trials that workers are known of in their pool
	// and none of these can run. Of a pool of which no worker is known none is counted.
	Unschedulable map[string]int64
}

// Figures returns those of the last cycle.
func (s *State) Figures() Figures { return s.figures }

func (s *State) updateFigures() { s.figures = Figures{s.reserve(), s.unschedulable()} }

func (s *State) reserve() int64 {
	least := int64(-1)
	for q, state := range s.queues {
		if state.offer != nil && (state.total > 0 || s.choice(q.Pool, state) > 0) &&
			(least < 0 || state.total < least) {
			least = state.total
		}
	}
	return max(least, 0)
}

func (s *State) unschedulable() map[string]int64 {
	counts := map[string]int64{}
	if !s.discovered {
		return counts
	}
	kinds := map[string][]*sweep.Offer{}
	for q, k := range s.kinds {
		kinds[q.Pool] = append(kinds[q.Pool], &k.offer)
	}
	for id, sw := range s.sweeps {
		known := kinds[sw.Pool]
		if len(known) == 0 {
			continue
		}
		for i := range sw.Classes {
			class := &sw.Classes[i]
			if class.Pending > 0 && !slices.ContainsFunc(known, func(o *sweep.Offer) bool {
				return o.Meets(&class.Requirement)
			}) {
				counts[id] += class.Pending
			}
		}
		if counts[id] >= s.page*unmetPages { // no further ones are written
			counts[id] += sw.Unwritten
		}
	}
	return counts
}
