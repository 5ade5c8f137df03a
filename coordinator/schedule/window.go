package schedule

import "time"

const (
	// windowTime is how much work of short trials waits in a pool's queues: longer than it takes until results
	// are recorded and jobs follow.
	windowTime = 400 * time.Millisecond
	// rateTime is the least time over which a rate is measured.
	rateTime = 100 * time.Millisecond
)

// rate is how fast a pool's jobs leave its queues.
type rate struct {
	since time.Time
	heard int64
	// perSecond falls by half at most from one measurement to the next: a pause between batches means nothing.
	perSecond float64
}

// measure brings the rates up to date.
func (s *State) measure() {
	for _, r := range s.rates {
		if elapsed := s.now.Sub(r.since); elapsed >= rateTime {
			r.perSecond = max(float64(r.heard)/elapsed.Seconds(), r.perSecond/2)
			r.since, r.heard = s.now, 0
		}
	}
}

// leave notes that a job of a pool has left its queue.
func (s *State) leave(pool string) {
	r := s.rates[pool]
	if r == nil {
		r = &rate{since: s.now}
		s.rates[pool] = r
	}
	r.heard++
}

// window is how many jobs wait in a pool's queues besides one for each slot: Window, or as many as leave them in
// windowTime, up to MaxWindow.
func (s *State) window(pool string) int64 {
	window := s.options.Window
	if r := s.rates[pool]; r != nil {
		window = max(window, min(int64(r.perSecond*windowTime.Seconds()), s.options.MaxWindow))
	}
	return window
}
