package lead

import (
	"fmt"
	"sync"
	"time"

	"sweep/sweep"
)

// slowness is what answers the leader slowly.
type slowness struct {
	mu sync.Mutex
	// database and broker say so; nil if it answers quickly.
	database, broker error
}

const (
	// slowAnswer is from when on an answer is slow. It is over at half of that.
	slowAnswer = 300 * time.Millisecond
	// checkAnswers is how many answers a check waits for.
	checkAnswers = 2
)

// Slow says what answers slowly, nil if nothing does.
func (s *slowness) Slow() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.database != nil {
		return s.database
	}
	return s.broker
}

// watch notes how quickly the database and NATS answer, and logs when that changes.
func (c *Candidate) watch(leader sweep.Lead) {
	renewal, check := leader.Pace()
	check /= checkAnswers
	if c.Metrics != nil {
		c.Metrics.Answers(renewal, check)
	}
	c.slow.mu.Lock()
	defer c.slow.mu.Unlock()
	c.note(&c.slow.database, "the database", renewal)
	c.note(&c.slow.broker, "NATS", check)
}

// note notes how quickly something answers. was is what was noted before.
func (c *Candidate) note(was *error, what string, took time.Duration) {
	switch before := *was; {
	case took == 0: // it is not known yet
	case took >= slowAnswer:
		*was = fmt.Errorf("%s is slow: an answer takes %v, so trials start and are recorded later", what,
			took.Round(10*time.Millisecond))
		if before == nil {
			c.Logger.Warn(what+" is slow; continuing", "an answer takes", took.Round(time.Millisecond))
		}
	case before != nil && took < slowAnswer/2:
		*was = nil
		c.Logger.Info(what + " answers quickly again")
	}
}
