package schedule

import (
	"cmp"
	"slices"

	"sweep/sweep"
)

// assign gives the free places in the queues to trials, in the order in which their jobs are
// published. First comes the queue with the fewest waiting and running trials per slot, and among
// equals the one that can run the fewest classes. In a queue a sweep gets no place while one of
// higher priority has a trial for it, written or not. Among equal priorities the next place goes to
// the sweep with the fewest queued and running trials, so that all have the same share of workers.
func (s *State) assign(most int) {
	vacancies := s.vacancies()
	places := map[string][]Place{}
	candidates := map[string][]*candidate{}
	allowed := allowances{}
	for n := 0; len(vacancies) > 0 && n < most; {
		v := slices.MinFunc(vacancies, func(a, b *vacancy) int {
			return cmp.Compare(a.has*max(b.state.slots, 1), b.has*max(a.state.slots, 1))
		})
		pool := v.queue.Pool
		if candidates[pool] == nil {
			for _, sw := range s.ordered(pool) {
				candidates[pool] = append(candidates[pool], newCandidate(sw, s.writable(sw) && !sw.holds()))
			}
		}
		next, class := v.next(candidates[pool], allowed)
		if next == nil || v.room == 0 {
			vacancies = slices.DeleteFunc(vacancies, func(other *vacancy) bool { return other == v })
			continue
		}
		allowed.take(next.sweepState)
		next.pending[class]--
		next.has++
		v.has++
		v.room--
		n++
		places[pool] = append(places[pool], Place{v.queue, next.Sweep, next.Classes[class].Class,
			requirement(&next.Classes[class])})
	}
	for _, pool := range sortedKeys(places) {
		s.do(Dispatch{pool, places[pool]})
	}
}

// vacancy is a queue with free places.
type vacancy struct {
	queue Queue
	state *queueState
	// room counts its free places, has its waiting and running trials.
	room, has int64
	// choice is how many classes of pending trials the queue's workers can run.
	choice int
}

// vacancies returns the queues with free places, of pools without pending actions.
func (s *State) vacancies() (list []*vacancy) {
	slots := s.poolSlots()
	for q, state := range s.queues {
		places := s.places(q.Pool, state, slots[q.Pool])
		// A batch of one costs as much as a large one.
		room := places - state.total
		if room > 0 && room >= places/4 && s.underway[q.Pool] == 0 && !s.backsOff(q.Pool) {
			list = append(list, &vacancy{q, state, room, state.total + min(state.busy, state.slots),
				s.choice(q.Pool, state)})
		}
	}
	slices.SortFunc(list, func(a, b *vacancy) int {
		return cmp.Or(cmp.Compare(a.choice, b.choice), compareQueues(a.queue, b.queue))
	})
	return list
}

// choice counts the classes of pending trials that may be queued and that a queue's workers can run.
func (s *State) choice(pool string, state *queueState) (n int) {
	for _, sw := range s.sweeps {
		for i := range sw.Classes {
			if sw.Pool == pool && sw.ready(i) > 0 && sw.free() != 0 && state.meets(&sw.Classes[i]) {
				n++
			}
		}
	}
	return n
}

// candidate is a sweep for free places. has counts its queued and running trials, pending its
// pending ones by class.
type candidate struct {
	*sweepState
	has     int64
	pending []int64
	// more means that further rows can be written.
	more bool
}

func newCandidate(sw *sweepState, more bool) *candidate {
	c := &candidate{sweepState: sw, pending: make([]int64, len(sw.Classes)), more: more}
	for i, class := range sw.Classes {
		c.has += class.Queued + class.Running
		c.pending[i] = sw.ready(i)
	}
	return c
}

// next returns the sweep and the position of the class that get the queue's next place; nil if none
// does. The candidates are sorted by priority.
func (v *vacancy) next(candidates []*candidate, allowed allowances) (found *candidate, class int) {
	more := false // rows still to be written may suit the queue
	for i, c := range candidates {
		if i > 0 && c.Priority < candidates[i-1].Priority && (found != nil || more) {
			break
		}
		if allowed.of(c.sweepState) == 0 {
			continue
		}
		if position := c.first(v.state); position >= 0 && (found == nil || c.has < found.has) {
			found, class = c, position
		}
		more = more || c.more && slices.ContainsFunc(c.Classes, func(class sweep.ClassBacklog) bool {
			return v.state.meets(&class)
		})
	}
	return found, class
}

// first returns the position of the first class with a trial for a queue, -1 if there is none.
func (c *candidate) first(state *queueState) int {
	for i := range c.Classes {
		if c.pending[i] > 0 && state.meets(&c.Classes[i]) {
			return i
		}
	}
	return -1
}
