package schedule

import (
	"maps"
	"slices"
	"time"

	"sweep/sweep"
)

// deliveredGrace is how long a delivered job counts as starting; after that the worker may have
// returned it. It is also how long idle workers have to start jobs that were withdrawn for them,
// before jobs are withdrawn again.
const deliveredGrace = 2 * time.Second

// queueGrace is how many heartbeats a queue without workers is kept: the jobs that they had may
// be returned to it.
const queueGrace = 2

// withdraw withdraws jobs of queues without workers, and jobs that delay others unfairly. Pools
// with pending actions are skipped.
func (s *State) withdraw() {
	idle, busy, before := s.idle(), maps.Clone(s.underway), maps.Clone(s.rebalanced)
	for _, q := range s.sortedQueues() {
		state := s.queues[q]
		if busy[q.Pool] > 0 || s.backsOff(q.Pool) || !state.open || state.opening {
			continue
		}
		if state.offer == nil {
			gone := s.now.Sub(state.since) > queueGrace*s.options.Heartbeat
			if s.discovered && gone {
				s.doNext(Remove{q, sortedKeys(state.jobs)})
			} else if s.discovered && !state.cleared && state.total > 0 {
				s.doNext(Withdraw{Queue: q, Sweeps: sortedKeys(state.jobs)})
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
			s.doNext(Withdraw{Queue: q, Sweeps: back})
		}
	}
}

// blocking returns the sweeps in a queue whose jobs must be assigned again, because another sweep
// could use the queue and has a higher priority, or the same one and a smaller share of it.
func (s *State) blocking(q Queue, state *queueState) (ids []string) {
	others := s.ordered(q.Pool)
	for id, has := range state.jobs {
		own := s.sweeps[id]
		blocks := own == nil || own.Budget != nil && own.Budget.Spent() // it is over, paused, or may use no more
		for _, other := range others {
			if own == nil || other == own || other.Priority < own.Priority || !s.couldUse(state, other) {
				continue
			}
			blocks = blocks || other.Priority > own.Priority || state.jobs[other.Sweep]+1 < has
		}
		if blocks {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// couldUse reports whether a sweep has pending trials for a queue, or may have unwritten ones.
func (s *State) couldUse(state *queueState, sw *sweepState) bool {
	if sw.free() == 0 {
		return false
	}
	for i := range sw.Classes {
		if class := &sw.Classes[i]; sw.ready(i) > 0 && state.meets(class) {
			return true
		}
	}
	return sw.Unwritten > 0 && len(sw.Classes) == 0
}

// idle returns the queues with idle workers for which there are neither jobs nor pending trials.
func (s *State) idle() (queues []Queue) {
	for q, state := range s.queues {
		if state.offer != nil && state.total == 0 && state.busy < state.slots && s.choice(q.Pool, state) == 0 {
			queues = append(queues, q)
		}
	}
	return queues
}

// idleElsewhere returns the sweeps in a queue with jobs that could start at once in an idle queue.
// When they are assigned again, each queue gets a share by its slots. Otherwise the last jobs of a
// sweep would wait for a few slow workers.
func (s *State) idleElsewhere(q Queue, state *queueState, queues []Queue) []string {
	startHere := max(state.slots-state.busy, 0)
	if state.total <= startHere {
		return nil
	}
	var idle []*queueState // those that could start a job of this queue
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

// startsQueued reports whether a queue's workers can run a class of a sweep; for anyClass, any
// class with queued trials.
func (s *State) startsQueued(state *queueState, id string, class int) bool {
	sw := s.sweeps[id]
	return sw != nil && slices.ContainsFunc(sw.Classes, func(c sweep.ClassBacklog) bool {
		return (c.Class == class || class == anyClass && c.Queued > 0) && state.meets(&c)
	})
}
