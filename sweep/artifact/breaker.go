package artifact

import (
	"context"
	"sync"
	"time"
)

// breaker holds back what would be tried on a store that fails: one attempt at a time, at growing intervals, until one
// succeeds. All that use a store share its breaker.
type breaker struct {
	firstPause, lastPause time.Duration

	mu sync.Mutex
	// problem is why the last attempt failed, nil while the store works; since is when that began.
	problem error
	since   time.Time
	// only is the one location whose attempts have failed since then; empty if there are several.
	only string
	// probing is set during an attempt that was let through though the store fails; the next one is at next.
	probing bool
	next    time.Time
	pause   time.Duration
	// stored is when an attempt last succeeded.
	stored time.Time
	// changed is closed when anything changes.
	changed chan struct{}
}

// enter waits until an attempt at a location may be made, and reports whether it is a probe. While only one other
// location fails, that one may be at fault and not the store: nobody else waits for it.
func (b *breaker) enter(ctx context.Context, location string) (probe bool, err error) {
	for {
		b.mu.Lock()
		if b.problem == nil {
			b.mu.Unlock()
			return false, ctx.Err()
		}
		wait := time.Until(b.next)
		if (wait <= 0 || b.only != "" && b.only != location) && !b.probing && ctx.Err() == nil {
			b.probing = true
			b.mu.Unlock()
			return true, nil
		}
		changed, problem := b.changed, b.problem
		if b.probing {
			wait = b.lastPause // the end of the probe is told before
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return false, problem
		case <-changed:
		case <-time.After(wait):
		}
	}
}

// leave ends an attempt whose outcome says nothing about the store.
func (b *breaker) leave(probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
		b.tell()
	}
}

// failed notes that the store failed at a location, and reports whether it worked before.
func (b *breaker) failed(probe bool, location string, problem error) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if first = b.problem == nil; first {
		b.since, b.pause, b.only = now, b.firstPause, location
		b.next = now.Add(b.pause)
	} else if probe {
		b.pause = min(2*b.pause, b.lastPause)
		b.next = now.Add(b.pause)
	}
	if probe {
		b.probing = false
	}
	if b.only != location {
		b.only = ""
	}
	b.problem = problem
	b.tell()
	return first
}

// works notes that the store answered, and returns for how long it had failed.
func (b *breaker) works(probe bool) (failed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stored = time.Now()
	if probe {
		b.probing = false
	}
	if b.problem == nil {
		return 0
	}
	failed = time.Since(b.since)
	b.problem = nil
	b.tell()
	return failed
}

// tell wakes all that wait. The caller holds the lock.
func (b *breaker) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// last returns when an attempt last succeeded.
func (b *breaker) last() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored
}

// state returns since when the store fails, and why; nil if it works.
func (b *breaker) state() (since time.Time, problem error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since, b.problem
}
