package schedule

import (
	"fmt"
	"slices"

	"sweep/sweep"
)

// explain stores changed reasons why sweeps wait. A sweep waits if no worker can run any of its
// remaining trials.
func (s *State) explain() {
	if !s.discovered || s.options.Exclusive && !s.staffed("") {
		return
	}
	for _, sw := range s.ordered("") {
		if s.opens(sw.Pool) { // decide when its queues are open
			continue
		}
		v := Explain{Sweep: sw.Sweep}
		if b := s.backoffs[sw.Pool]; b != nil {
			v.Reason, v.Reported = b.why, true
		}
		others, unmet := s.pending(sw)
		for i := range sw.Classes {
			class := &sw.Classes[i]
			others += class.Queued + class.Running
			if v.Reason == "" && class.Pending > 0 && !s.runnable(sw.Pool, class) {
				v.Reason = s.unmet(sw, class)
			}
			if reason := s.awaitsDevices(sw, class); v.Reason == "" && reason != "" {
				v.Reason, v.Reported = reason, true
			}
		}
		if reason := sw.overBudget(); v.Reason == "" && reason != "" {
			v.Reason, v.Reported = reason, true
		}
		if reason := sw.betweenGenerations(); v.Reason == "" && reason != "" {
			v.Reason, v.Reported = reason, true
		}
		if reason := sw.awaitsFirst(); v.Reason == "" && reason != "" {
			v.Reason, v.Reported = reason, true
		}
		if reason := sw.doubts(); v.Reason == "" && reason != "" {
			v.Reason, v.Reported = reason, true
		}
		v.Waiting = unmet > 0 && others == 0 // as far as the written trials tell
		if v != sw.explained {
			s.do(v)
		}
	}
}

// betweenGenerations says what a search waits for when all its written trials have been given to workers, "" if it
// waits for nothing.
func (sw *sweepState) betweenGenerations() string {
	left, active := sw.count()
	if sw.generations == nil || active == 0 || sw.Unwritten == 0 || left > sw.Unwritten {
		return ""
	}
	return fmt.Sprintf("waits for %s of generation %d: the next ones depend on their results",
		sweep.CountText(active, "trial"), sw.generations.Generation)
}

// Figures are published figures of a State, as of the end of a cycle.
type Figures struct {
	// Reserve is how many jobs wait in the shortest queue, among those with jobs or with
	// pending trials: so many its workers can start without another job. It is 0 if there
	// is no such queue.
	Reserve int64
	// Unschedulable counts, by sweep, the trials that none of the known workers of their
	// pool can run. Pools without known workers are left out.
	Unschedulable map[string]int64
}

// Figures returns the figures of the last cycle.
func (s *State) Figures() Figures { return s.figures }

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
		if counts[id] >= s.options.Page*unmetPages { // no further rows are written
			counts[id] += sw.Unwritten
		}
	}
	return counts
}
