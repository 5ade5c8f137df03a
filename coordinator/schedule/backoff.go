package schedule

import (
	"fmt"
	"time"
)

// rest is why the jobs of one pool do not advance: the broker refused something. The pool
// is left alone for a while and tried again. Those of the others go on.
type backoff struct {
	// queue is the one that failed first: the trouble is over when it works.
	queue Queue
	why   string
	pause time.Duration
	until time.Time
}

// came takes in what came of an action on the broker.
func (s *State) noteOutcome(o Outcome) {
	r := s.backoffs[o.Queue.Pool]
	if o.Err == nil {
		if r != nil && r.queue == o.Queue {
			s.recovered(o.Queue.Pool)
		}
		return
	}
	if r == nil {
		r = &backoff{queue: o.Queue}
		s.backoffs[o.Queue.Pool] = r
	}
	err := fmt.Errorf("pool %s: %w", o.Queue.Pool, o.Err)
	r.why, r.pause = err.Error(), nextPause(r.pause)
	r.until = s.now.Add(r.pause)
	s.do(Report{o.Queue.Pool, err, o.All})
}

// works ends a pool's trouble.
func (s *State) recovered(pool string) {
	delete(s.backoffs, pool)
	s.do(Report{Pool: pool})
}

// resting reports whether a pool is left alone for now.
func (s *State) backsOff(pool string) bool {
	r := s.backoffs[pool]
	return r != nil && s.now.Before(r.until)
}

// refusal says why the broker refuses a pool's queues, "" if it does not.
func (s *State) brokerError(pool string) string {
	if r := s.backoffs[pool]; r != nil {
		return r.why
	}
	return ""
}

// endBackoffs ends the troubles with queues that nobody needs any more, and those that nothing
// has met since the pool was to be tried again.
func (s *State) endBackoffs() {
	for _, pool := range sortedKeys(s.backoffs) {
		r := s.backoffs[pool]
		if !s.wanted(r.queue) || s.underway[pool] == 0 && !s.opens(pool) && !s.now.Before(r.until.Add(lastPause)) {
			s.recovered(pool)
		}
	}
}
