package schedule

import (
	"fmt"
	"time"
)

// NextPause returns the pause after one more failure of the store or the broker: the pause before it
// doubled, from firstPause up to lastPause.
func NextPause(pause time.Duration) time.Duration {
	return max(min(2*pause, lastPause), firstPause)
}

// backoff is a pool with a failing queue. The pool is tried again after a pause. Other pools are
// not affected.
type backoff struct {
	// queue failed first; the backoff ends when it works again.
	queue Queue
	why   string
	pause time.Duration
	until time.Time
	// assigned is when jobs were first assigned after until: the pool could be tried then.
	assigned time.Time
}

// noteOutcome handles the outcome of an action of the broker on a queue; all means that an error
// affects all pools.
func (s *State) noteOutcome(q Queue, err error, all bool) {
	b := s.backoffs[q.Pool]
	if err == nil {
		if b != nil && b.queue == q {
			s.recovered(q.Pool)
		}
		return
	}
	if b == nil {
		b = &backoff{queue: q}
		s.backoffs[q.Pool] = b
	}
	err = fmt.Errorf("pool %s: %w", q.Pool, err)
	b.why, b.pause = err.Error(), NextPause(b.pause)
	b.until, b.assigned = s.now.Add(b.pause), time.Time{}
	s.do(Report{q.Pool, err, all})
}

// recovered ends a pool's backoff.
func (s *State) recovered(pool string) {
	delete(s.backoffs, pool)
	s.do(Report{Pool: pool})
}

// backsOff reports whether a pool must not be tried now.
func (s *State) backsOff(pool string) bool {
	b := s.backoffs[pool]
	return b != nil && s.now.Before(b.until)
}

// noteAssigned notes that jobs were assigned, to all pools whose pauses are over.
func (s *State) noteAssigned() {
	for _, b := range s.backoffs {
		if b.assigned.IsZero() && !s.now.Before(b.until) {
			b.assigned = s.now
		}
	}
}

// overAt returns when a backoff ends unless there is a further failure; zero if it could not be tried yet.
func (b *backoff) overAt() time.Time {
	if b.assigned.IsZero() {
		return time.Time{}
	}
	return b.assigned.Add(lastPause)
}

// endBackoffs ends the backoffs of queues that are no longer needed, and of pools that had no
// further failure after they could be tried again.
func (s *State) endBackoffs() {
	for _, pool := range sortedKeys(s.backoffs) {
		b := s.backoffs[pool]
		at := b.overAt()
		over := !at.IsZero() && !s.now.Before(at) && s.underway[pool] == 0 && !s.opens(pool)
		if over || !s.wanted(b.queue) {
			s.recovered(pool)
		}
	}
}
