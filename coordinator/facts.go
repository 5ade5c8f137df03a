package coordinator

import (
	"sync"

	"sweep/coordinator/schedule"
)

// facts are the facts that the scheduler has not seen yet. Any goroutine may add some.
type facts struct {
	mu   sync.Mutex
	list []schedule.Fact
	// wake holds a token when there are some.
	wake chan struct{}
}

func newFacts() *facts { return &facts{wake: make(chan struct{}, 1)} }

// add adds facts and wakes the scheduler.
func (f *facts) add(list ...schedule.Fact) {
	f.mu.Lock()
	f.list = append(f.list, list...)
	f.mu.Unlock()
	signal(f.wake)
}

// signal puts a token into a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is one already
	}
}

// drain returns the facts and forgets them.
func (f *facts) drain() []schedule.Fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.list
	f.list = nil
	return list
}
