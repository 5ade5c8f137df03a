package schedule

import (
	"cmp"
	"maps"
	"slices"

	"sweep/sweep"
)

// sweepState is an active sweep.
type sweepState struct {
	sweep.Backlog
	// explained is the latest explanation why it waits.
	explained Explain
	// generations is set when it is known that its trials are written in some; decision is what was chosen for the next
	// one, if it was.
	generations *Generations
	decision    any
	// held counts the pending trials of each class that must not be queued yet; it is empty if there are none.
	// canaries are the first trials of classes that run.
	held     []int64
	canaries map[int]canary
	// unmet says why no worker can run a class.
	unmet map[int]unmet
	// uses says of classes whether they use GPUs, where the sweep file does not say and it is known.
	uses map[int]bool
}

// left takes in the backlogs of the named sweeps, of all active ones if none is named. A named sweep without
// one does not exist any more.
func (s *State) left(backlogs []sweep.Backlog, named []string) {
	there := map[string]bool{}
	for _, b := range backlogs {
		there[b.Sweep] = true
		sw := s.sweeps[b.Sweep]
		switch {
		case b.State != sweep.SweepActive && b.State != sweep.SweepWaiting:
			delete(s.sweeps, b.Sweep)
			continue
		case sw == nil:
			sw = &sweepState{canaries: map[int]canary{}, unmet: map[int]unmet{}, uses: map[int]bool{}}
			s.sweeps[b.Sweep] = sw
			s.reassign(b.Pool)
		case sw.Priority != b.Priority || sw.Grids != b.Grids || begins(&sw.Backlog, &b), spends(&sw.Backlog, &b),
			passes(&sw.Backlog, &b):
			s.reassign(b.Pool)
		}
		sw.Backlog, sw.held = b, sw.held[:0]
		for i := range sw.Classes {
			sw.Classes[i].Need = sw.need(&sw.Classes[i])
		}
	}
	maps.DeleteFunc(s.sweeps, func(id string, _ *sweepState) bool {
		return !there[id] && (len(named) == 0 || slices.Contains(named, id))
	})
	s.needQueues()
}

// begins reports whether a sweep without written trials has some now. Then the jobs of the others
// are assigned again.
func begins(before, now *sweep.Backlog) bool {
	has := func(c sweep.ClassBacklog) bool { return c.Pending+c.Queued+c.Running > 0 }
	return !slices.ContainsFunc(before.Classes, has) && slices.ContainsFunc(now.Classes, has)
}

// spends reports whether a budget is used up now that was not before. Then the jobs in queues are withdrawn.
func spends(before, now *sweep.Backlog) bool {
	return now.Budget != nil && now.Budget.Spent() && (before.Budget == nil || !before.Budget.Spent())
}

// reassign assigns the jobs in a pool's queues again, so that a new sweep, or one with another
// priority, does not wait behind the others.
func (s *State) reassign(pool string) {
	for q, state := range s.queues {
		state.unbalanced = state.unbalanced || q.Pool == pool
	}
}

// Grids returns the number of grids of an active sweep, 0 if it is not active, as far as is known.
func (s *State) Grids(id string) int {
	if sw := s.sweeps[id]; sw != nil {
		return sw.Grids
	}
	return 0
}

// ordered returns the sweeps of a pool, of all pools for "", by priority, then by age.
func (s *State) ordered(pool string) []*sweepState {
	list := make([]*sweepState, 0, len(s.sweeps))
	for _, sw := range s.sweeps {
		if pool == "" || sw.Pool == pool {
			list = append(list, sw)
		}
	}
	slices.SortFunc(list, func(a, b *sweepState) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Sweep, b.Sweep))
	})
	return list
}

// unmetPages is how many pages of trials that no worker can run are written, in search of some
// that a worker can run.
const unmetPages = 20

// write writes a page of rows of the first sweep that is short of trials, once per sweep and
// within writeTime.
func (s *State) write() bool {
	if len(s.written) == 0 {
		s.writing = s.now
	} else if s.now.Sub(s.writing) > writeTime {
		return false // the others follow after dispatching
	}
	slots := s.poolSlots()
	for _, sw := range s.ordered("") {
		if s.written[sw.Sweep] {
			continue
		}
		runnable, _ := s.pending(sw)
		if runnable-sw.withheld() < s.window(sw.Pool)+slots[sw.Pool] && s.writable(sw) {
			s.do(Write{sw.Sweep, sw.Classes, sw.decision})
			sw.decision = nil
			return true
		}
	}
	return false
}

// withheld counts the pending trials that must not be queued yet because others come first. They do not keep further
// rows from being written, which may come before them.
func (sw *sweepState) withheld() (n int64) {
	for i := range sw.Classes {
		n += sw.Classes[i].Withheld
	}
	return n
}

// awaits returns how many trials must end before the next rows of a search are chosen, 0 for any other
// sweep.
func (sw *sweepState) awaits() (n int64) {
	if sw.generations == nil {
		return 0
	}
	for i := range sw.Classes {
		c := &sw.Classes[i]
		n += c.Pending + c.Queued + c.Running + c.Unconfirmed
	}
	return n
}

// writable reports whether further rows of a sweep may be written. It bounds the rows that no
// worker can run, to one page while there is no worker.
func (s *State) writable(sw *sweepState) bool {
	if sw.Unwritten == 0 || sw.free() == 0 || sw.generations != nil && (sw.generations.Choosing || sw.awaits() > 0) {
		return false
	}
	most := s.options.Page
	if s.staffed(sw.Pool) && !s.opens(sw.Pool) { // a queue that is being opened may suit them
		most *= unmetPages
	}
	_, unmet := s.pending(sw)
	return unmet < most
}

// pending counts a sweep's pending trials that some worker can run, and those that none can.
func (s *State) pending(sw *sweepState) (runnable, unmet int64) {
	for i := range sw.Classes {
		switch class := &sw.Classes[i]; {
		case class.Pending == 0:
		case s.runnable(sw.Pool, class):
			runnable += class.Pending
		default:
			unmet += class.Pending
		}
	}
	return runnable, unmet
}

// runnable reports whether any worker can run a class.
func (s *State) runnable(pool string, class *sweep.ClassBacklog) bool {
	for q, state := range s.queues {
		if q.Pool == pool && state.meets(class) {
			return true
		}
	}
	return false
}
