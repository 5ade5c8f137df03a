package coordinator

import (
	"maps"
	"sync"
)

// marks collects what the scheduler must look at again, and wakes it.
type marks struct {
	mu sync.Mutex
	marked
	// wake holds one token when there is something to look at.
	wake chan struct{}
}

// marked is what has been marked since the scheduler last looked.
type marked struct {
	// counts names the sweeps whose trials changed their states.
	counts map[string]bool
	// sweeps says that the set of active sweeps, or one's grids or priority, changed.
	sweeps bool
	// deal names the pools whose waiting jobs are to be dealt out anew.
	deal map[string]bool
}

func newMarks() *marks {
	m := &marks{wake: make(chan struct{}, 1)}
	m.marked = marked{counts: map[string]bool{}, deal: map[string]bool{}}
	return m
}

func (m *marks) signal() {
	select {
	case m.wake <- struct{}{}:
	default: // a token is there already
	}
}

// markCounts says that trials of these sweeps changed their states.
func (m *marks) markCounts(ids map[string]bool) {
	m.mu.Lock()
	for id := range ids {
		m.counts[id] = true
	}
	m.mu.Unlock()
	m.signal()
}

// markSweeps says that active sweeps came, went or changed; the waiting jobs
// of pool, unless it is empty, are dealt out anew.
func (m *marks) markSweeps(pool string) {
	m.mu.Lock()
	m.sweeps = true
	if pool != "" {
		m.deal[pool] = true
	}
	m.mu.Unlock()
	m.signal()
}

// take returns what is marked and forgets it.
func (m *marks) take() marked {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.marked
	m.marked = marked{counts: map[string]bool{}, deal: map[string]bool{}}
	return taken
}

// restore marks again what was taken in vain. It does not wake the scheduler,
// which is to wait a while.
func (m *marks) restore(taken marked) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweeps = true // the counts included
	maps.Copy(m.deal, taken.deal)
}
