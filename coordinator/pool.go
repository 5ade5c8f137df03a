package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/sweep/wire"
)

// poolTrouble is why the jobs of one pool do not advance. Those of the others do.
type poolTrouble struct {
	*outage
	// queue is the one that failed first: the trouble is over when it works.
	queue wire.Queue
	// until is when the pool is tried again.
	until time.Time
}

// failed notes that the broker refused something about a queue: its pool rests for a
// while. It returns the error if that is everybody's.
func (s *scheduler) failed(ctx context.Context, q wire.Queue, err error) error {
	if ctx.Err() != nil || s.final(err) {
		return err
	}
	if wire.IsLost(err) {
		s.lose()
	}
	t := s.troubles[q.Pool]
	if t == nil {
		begin := s.poolOutage
		if full := (*wire.FullError)(nil); errors.As(err, &full) { // for all pools
			begin = s.outage
		}
		t = &poolTrouble{outage: begin("scheduling trials of pool " + q.Pool), queue: q}
		s.troubles[q.Pool] = t
	}
	err = fmt.Errorf("pool %s: %w", q.Pool, err)
	t.until = time.Now().Add(t.failed(err))
	s.plan.rest(q.Pool, err.Error())
	return nil
}

// works notes that something worked with a queue.
func (s *scheduler) works(q wire.Queue) {
	if t := s.troubles[q.Pool]; t != nil && t.queue == q {
		t.over()
		delete(s.troubles, q.Pool)
		s.plan.rest(q.Pool, "")
	}
}

// rests reports whether a pool waits until it is tried again.
func (s *scheduler) rests(pool string) bool {
	t := s.troubles[pool]
	return t != nil && time.Now().Before(t.until)
}

// rouse lets pools be tried again that have rested, and returns how long until the next
// one has; longest if none rests. A trouble with a queue that nobody needs any more is over.
func (s *scheduler) rouse(longest time.Duration) time.Duration {
	for pool, t := range s.troubles {
		switch rest := time.Until(t.until); {
		case !s.plan.wanted(t.queue):
			s.works(t.queue)
		case rest > 0:
			longest = min(longest, rest)
		default:
			s.plan.resting[pool] = false
		}
	}
	return longest
}

// open makes a queue, and reports whether it did.
func (s *scheduler) open(ctx context.Context, q wire.Queue) (done bool, err error) {
	if s.rests(q.Pool) {
		return false, nil
	}
	if err := s.wire.OpenQueue(ctx, q); err != nil {
		return false, s.failed(ctx, q, err)
	}
	s.works(q)
	return true, nil
}
