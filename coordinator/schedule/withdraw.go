package schedule

import (
	"maps"
	"slices"
	"time"

	"sweep/sweep"
)

// deliveredGrace is how long a job that a worker has counts as one that starts: the worker
// may return it. It is also how long idle workers of a pool of which nothing is heard are
// expected to take the jobs that were assigned anew for them.
const deliveredGrace = 2 * time.Second

// queueGrace is how many heartbeats a queue stays whose workers are all gone: what they
// were given may come back to them.
const queueGrace = 2

// withdraw has jobs taken back: those of queues without workers, and those that others
// should not have to wait behind. A pool whose answers are awaited has its turn later.
func (s *State) withdraw() {
	idle, busy, before := s.idle(), maps.Clone(s.underway), maps.Clone(s.rebalanced)
	for _, q := range s.sortedQueues() {
		state := s.queues[q]
		if busy[q.Pool] > 0 || s.backsOff(q.Pool) || !state.open || state.opening {
			continue
		}
		if state.offer == nil {
			gone := s.now.Sub(state.since) > queueGrace*s.heartbeat
			if s.discovered && gone {
				s.doOnBroker(q.Pool, Remove{q, sortedKeys(state.jobs)})
			} else if s.discovered && !state.cleared && state.total > 0 {
				s.doOnBroker(q.Pool, Withdraw{Queue: q, Sweeps: sortedKeys(state.jobs)})
			}
			state.cleared = state.cleared || s.discovered
			continue
		}
		var back []string
		if s.now.Sub(before[q.Pool]) >= deliveredGrace {
			if back = s.idleElsewhere(q, state, idle); len(back) > 0 {
				s.rebalanced[q.Pool] = s.now
			}
		}
		if state.unbalanced {
			state.unbalanced = false
			back = slices.Compact(slices.Sorted(slices.Values(append(back, s.blocking(q, state)...))))
		}
		if len(back) > 0 {
			s.doOnBroker(q.Pool, Withdraw{Queue: q, Sweeps: back})
		}
	}
}

// unbalance has the jobs of a queue assigned anew, those of one without workers taken
// back.
func (s *State) unbalance(q Queue) {
	if state := s.queues[q]; state != nil {
		state.unbalanced, state.cleared = true, false
	}
}

// blocking returns the sweeps in a queue whose jobs are to be assigned anew: for
// each there is another that could use the queue and has a larger priority, or an
// equal one and a smaller part of it.
func (s *State) blocking(q Queue, state *queueState) (ids []string) {
	others := s.ordered(q.Pool)
	for id, has := range state.jobs {
		own := s.sweeps[id]
		inWay := own == nil // it is over, or paused
		for _, other := range others {
			if own == nil || other == own || other.Priority < own.Priority || !s.couldUse(state, other) {
				continue
			}
			inWay = inWay || other.Priority > own.Priority || state.jobs[other.Sweep]+1 < has
		}
		if inWay {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// couldUse reports whether a sweep has trials for a queue that are not in one, or
// may have.
func (s *State) couldUse(state *queueState, sw *sweepState) bool {
	for i := range sw.Classes {
		if class := &sw.Classes[i]; class.Pending > 0 && state.meets(class) {
			return true
		}
	}
	return sw.Unwritten > 0 && len(sw.Classes) == 0
}

// idle returns the queues whose workers have nothing to do, and for which no pending
// trial waits.
func (s *State) idle() (queues []Queue) {
	for q, state := range s.queues {
		if state.offer != nil && state.total == 0 && state.busy < state.slots && s.choice(q.Pool, state) == 0 {
			queues = append(queues, q)
		}
	}
	return queues
}

// idleElsewhere returns the sweeps in a queue with jobs that could start at once in an
// idle one: assigned anew, each queue gets its part by its slots. Without that the last
// jobs of a sweep would wait for a few slow workers.
func (s *State) idleElsewhere(q Queue, state *queueState, queues []Queue) []string {
	startHere := max(state.slots-state.busy, 0)
	if state.total <= startHere {
		return nil
	}
	var idle []*queueState // that could start what some sweep has in a queue
	for _, other := range queues {
		if other.Pool != q.Pool {
			continue
		}
		for id := range state.jobs {
			if s.startsQueued(s.queues[other], id, anyClass) {
				idle = append(idle, s.queues[other])
				break
			}
		}
	}
	if len(idle) == 0 {
		return nil
	}
	found, waiting := map[string]bool{}, int64(0)
	for id, j := range s.jobs {
		if j.queue != q || s.now.Sub(j.delivered) < deliveredGrace {
			continue
		}
		waiting++
		if !found[id.Sweep] && slices.ContainsFunc(idle, func(has *queueState) bool {
			return s.startsQueued(has, id.Sweep, j.class)
		}) {
			found[id.Sweep] = true
		}
	}
	if waiting <= startHere {
		return nil
	}
	return sortedKeys(found)
}

// startsQueued reports whether a queue's workers can run the class of a sweep, or for
// anyClass one of which trials are queued.
func (s *State) startsQueued(state *queueState, id string, class int) bool {
	sw := s.sweeps[id]
	return sw != nil && slices.ContainsFunc(sw.Classes, func(c sweep.ClassBacklog) bool {
		return (c.Class == class || class == anyClass && c.Queued > 0) && state.meets(&c)
	})
}
