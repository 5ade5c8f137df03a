package worker

import (
	"time"

	"sweep/sweep"
)

// idleShare is the part of one processor that a trial which waits may use, for timers and signs of life.
const idleShare = 100

// silence is when a trial's process was last seen to do anything, and how far it was then. Its zero value has seen nothing.
type silence struct {
	since, seen time.Time
	sent, log   int64
	processor   time.Duration
}

// passed looks at the process, a few times within the limit, and reports whether it has done nothing for so long. sent
// is how often it has reported something.
func (s *silence) passed(process sweep.Process, sent int64, limit time.Duration) bool {
	now := time.Now()
	if now.Sub(s.seen) < min(limit/10, time.Second) {
		return false
	}
	_, _, log := process.Log(s.log)
	used := process.Processor()
	if s.since.IsZero() || sent != s.sent || log != s.log || used-s.processor > now.Sub(s.since)/idleShare {
		s.since, s.sent, s.log, s.processor = now, sent, log, used
	}
	s.seen = now
	return now.Sub(s.since) >= limit
}
