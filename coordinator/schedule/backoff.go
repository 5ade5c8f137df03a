package schedule

import (
	"fmt"
	"time"
)

// backoff is a pool with a failing queue. The pool is tried again after a pause. Other pools are
// not affected.
type backoff struct {
	// queue failed first; the backoff ends when it works again.
	queue Queue
	why   string
	pause time.Duration
	until time.Time
}

// noteOutcome handles the outcome of an action on the broker.
func (s *State) noteOutcome(o Outcome) {
	b := s.backoffs[o.Queue.Pool]
	if o.Err == nil {
		if b != nil && b.queue == o.Queue {
			s.recovered(o.Queue.Pool)
		}
		return
	}
	if b == nil {
		b = &backoff{queue: o.Queue}
		s.backoffs[o.Queue.Pool] = b
	}
	err := fmt.Errorf("pool %s: %w", o.Queue.Pool, o.Err)
	b.why, b.pause = err.Error(), nextPause(b.pause)
	b.until = s.now.Add(b.pause)
	s.do(Report{o.Queue.Pool, err, o.All})
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

// brokerError returns why the broker refuses a pool's queues, "" if it does not.
func (s *State) brokerError(pool string) string {
	if b := s.backoffs[pool]; b != nil {
		return b.why
	}
	return ""
}

// endBackoffs ends the backoffs of queues that are no longer needed, and of pools that had no
// further failure after the pause.
func (s *State) endBackoffs() {
	for _, pool := range sortedKeys(s.backoffs) {
		b := s.backoffs[pool]
		if !s.wanted(b.queue) || s.underway[pool] == 0 && !s.opens(pool) && !s.now.Before(b.until.Add(lastPause)) {
			s.recovered(pool)
		}
	}
}
