package coordinator

import (
	"sync"

	"sweep/coordinator/schedule"
)

// facts are what happened and what the scheduler has not seen yet. Anybody may
// add some.
type facts struct {
	mu   sync.Mutex
	list []schedule.Fact
	// wake holds a token when there are some.
	wake chan struct{}
}

func newFacts() *facts { return &facts{wake: make(chan struct{}, 1)} }

// add tells the scheduler of something and wakes it.
func (f *facts) add(list ...schedule.Fact) {
	f.mu.Lock()
	f.list = append(f.list, list...)
	f.mu.Unlock()
	signal(f.wake)
}

// signal leaves a token in a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is there already
	}
}

// drain returns what has happened and forgets it.
func (f *facts) drain() []schedule.Fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.list
	f.list = nil
	return list
}
