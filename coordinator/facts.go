package coordinator

import (
	"sync"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// facts are what happened and what the scheduler has not seen yet. Anybody may
// add some.
type facts struct {
	mu sync.Mutex
	happened
	// wake holds a token when there are some.
	wake chan struct{}
}

// happened is what has happened since the scheduler last looked.
type happened struct {
	// heard are trials that do not wait any more, changed the sweeps whose counts
	// are to be read again.
	heard   []sweep.TrialID
	changed map[string]bool
	// lost are trials whose jobs are gone, unless they were heard of since.
	lost []sweep.Heard
	// all says that the set of active sweeps is to be read again.
	all   bool
	beats []wire.Beat
}

func newFacts() *facts {
	return &facts{happened: happened{changed: map[string]bool{}}, wake: make(chan struct{}, 1)}
}

// add has change note something and wakes the scheduler.
func (f *facts) add(change func(h *happened)) {
	f.mu.Lock()
	change(&f.happened)
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

// sweepsChanged says that active sweeps came, went or changed.
func (f *facts) sweepsChanged() { f.add(func(h *happened) { h.all = true }) }

// drain returns what has happened and forgets it.
func (f *facts) drain() happened {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.happened
	f.happened = happened{changed: map[string]bool{}}
	return all
}
