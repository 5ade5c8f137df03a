package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sweep/sweep"
)

// Queue identifies the jobs for the workers of a pool whose offers have the same key, of trials that hold the same of
// their devices: Need is the key of that, empty for nothing.
type Queue struct{ Pool, Offer, Need string }

// queueState is a queue with workers or jobs.
type queueState struct {
	// open means that the broker has it, opening that it is being created.
	open, opening bool
	// offer is the offer of its workers; nil without workers.
	offer *sweep.Offer
	// need is what its trials hold of devices; nil for nothing. untold means that workers do not know of it: an earlier
	// coordinator has opened the queue.
	need   *sweep.Need
	untold bool
	slots  int64
	// busy is an upper bound of the slots in use: those of the latest heartbeats, and
	// trials that started since.
	busy int64
	// jobs counts the waiting jobs by sweep, total all of them.
	jobs  map[string]int64
	total int64
	// unbalanced means that its jobs must be assigned again. since is when the last worker
	// left, and cleared means that its waiting jobs were withdrawn since.
	unbalanced bool
	since      time.Time
	cleared    bool
}

// job is a job that waits in a queue, as far as is known.
type job struct {
	queue Queue
	// class is the class of its trial, anyClass if it is not known.
	class int
	// delivered is when it turned out that a worker has it.
	delivered time.Time
	// publishing means that its publication has no outcome yet.
	publishing bool
}

// anyClass is the class of a trial whose job another coordinator published.
const anyClass = -1

// openQueues opens the queues that have workers and that the broker does not have.
func (s *State) openQueues() {
	for _, q := range s.sortedQueues() {
		state := s.queues[q]
		if state.open && !state.untold || state.opening || s.backsOff(q.Pool) {
			continue
		}
		name, wanted := s.workerOf(q)
		if !wanted || !s.needed(q) {
			if !state.open {
				s.forgetQueue(q)
			}
			continue
		}
		state.opening = true
		s.do(Open{Queue: q, Need: state.need, Worker: name})
	}
}

// forgetQueue forgets a queue that the broker does not have.
func (s *State) forgetQueue(q Queue) {
	delete(s.queues, q)
	left := slices.DeleteFunc(s.derived[q.base()], func(other Queue) bool { return other == q })
	if s.derived[q.base()] = left; len(left) == 0 {
		delete(s.derived, q.base())
	}
}

// opens reports whether a queue of a pool is being created.
func (s *State) opens(pool string) bool {
	for q, state := range s.queues {
		if q.Pool == pool && state.opening {
			return true
		}
	}
	return false
}

// wanted reports whether a queue is open or has workers.
func (s *State) wanted(q Queue) bool {
	state := s.queues[q]
	return s.workers.crews[q.base()] != nil && s.needed(q) || state != nil && state.open
}

// Served returns the queues that workers take jobs from, and that the broker must have.
func (s *State) Served() (list []Queue) {
	for q, state := range s.queues {
		if state.offer != nil {
			list = append(list, q)
		}
	}
	return list
}

// Expects reports whether a trial's job waits in a queue.
func (s *State) Expects(id sweep.TrialID) bool {
	_, waits := s.jobs[id]
	return waits
}

// Publishing reports whether a trial's job is being published: the broker may not have it yet.
func (s *State) Publishing(id sweep.TrialID) bool { return s.jobs[id].publishing }

// waitsIn reports whether a trial that the broker says has no job in a queue may still wait for one: it
// has no other job. It may have one of which nothing is known, because a late Heard was of an earlier
// job. Requeue then moves it only if it is queued in the database.
func (s *State) waitsIn(id sweep.TrialID, q Queue) bool {
	j, there := s.jobs[id]
	return !there || j.queue == q
}

// put notes that a trial's job is in a queue, or being published.
func (s *State) put(id sweep.TrialID, j job) {
	s.drop(id)
	state := s.queues[j.queue]
	if state == nil { // published by an earlier coordinator for workers that are gone
		state = &queueState{open: true, jobs: map[string]int64{}}
		s.queues[j.queue] = state
	}
	s.jobs[id] = j
	state.jobs[id.Sweep]++
	state.total++
}

// heard notes that a trial no longer waits.
func (s *State) heard(id sweep.TrialID) {
	if state := s.drop(id); state != nil {
		state.busy++
	}
}

// drop forgets a trial's job and returns its queue, nil if it has no job.
func (s *State) drop(id sweep.TrialID) *queueState {
	j, there := s.jobs[id]
	if !there {
		return nil
	}
	delete(s.jobs, id)
	state := s.queues[j.queue]
	state.total--
	if state.jobs[id.Sweep]--; state.jobs[id.Sweep] == 0 {
		delete(state.jobs, id.Sweep)
	}
	return state
}

// removed notes that a queue was removed and returns the trials whose jobs were in it. The queue
// is opened again if it has workers by now.
func (s *State) removed(q Queue) (back []sweep.TrialID) {
	maps.DeleteFunc(s.jobs, func(id sweep.TrialID, j job) bool {
		if j.queue == q {
			back = append(back, id)
		}
		return j.queue == q
	})
	slices.SortFunc(back, compareTrials)
	s.queues[q] = &queueState{need: s.queues[q].need, jobs: map[string]int64{}, since: s.now}
	return back
}

// withdrawn notes that the jobs of some trials were withdrawn from a queue, and returns these
// trials. The other jobs of the sweeps were delivered to workers.
func (s *State) withdrawn(q Queue, taken []sweep.TrialID, sweeps []string) (back []sweep.TrialID) {
	waited := make(map[sweep.TrialID]bool, len(taken))
	for _, id := range taken {
		waited[id] = true
	}
	for id := range waited {
		if s.waitsIn(id, q) {
			back = append(back, id)
			s.drop(id)
		}
	}
	for id, j := range s.jobs {
		if j.queue == q && slices.Contains(sweeps, id.Sweep) {
			j.delivered = s.now
			s.jobs[id] = j
		}
	}
	slices.SortFunc(back, compareTrials)
	return back
}

// meets reports whether the workers of a queue can run a class.
func (q *queueState) meets(class *sweep.ClassBacklog) bool {
	return q.offer != nil && q.takes(class.Need) && q.offer.Meets(&class.Requirement)
}

// takes reports whether the queue is that of trials with a need.
func (q *queueState) takes(need *sweep.Need) bool {
	if need = q.offer.Holding(need); need == nil || q.need == nil {
		return need == nil && q.need == nil
	}
	return need == q.need || need.Key() == q.need.Key()
}

// places returns how many jobs a queue of a pool may hold: one for each slot, and its share by slots of the
// pool's window. The share is at least one more for each slot, if the window is that large. The
// jobs of a pool at the broker therefore do not grow with the number of its queues.
func (s *State) places(pool string, q *queueState, poolSlots int64) int64 {
	if q.offer == nil {
		return 0
	}
	window := s.window(pool)
	return q.slots + max(window*q.slots/max(poolSlots, 1), min(q.slots, window))
}

// poolSlots counts the slots of each pool's workers.
func (s *State) poolSlots() map[string]int64 {
	slots := map[string]int64{}
	for q, state := range s.queues {
		if q.Need == "" {
			slots[q.Pool] += state.slots
		}
	}
	return slots
}

func (s *State) sortedQueues() []Queue { return slices.SortedFunc(maps.Keys(s.queues), compareQueues) }

func compareQueues(a, b Queue) int {
	return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Offer, b.Offer), cmp.Compare(a.Need, b.Need))
}

func compareTrials(a, b sweep.TrialID) int {
	return cmp.Or(cmp.Compare(a.Sweep, b.Sweep), cmp.Compare(a.Index, b.Index))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
