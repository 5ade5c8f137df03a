package coordinator

import (
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Events gather the longer, the fewer come and the more jobs workers have in reserve.
func TestNextPause(t *testing.T) {
	for _, test := range []struct {
		name         string
		pause, since time.Duration
		events       int
		reserve      int64
		want         time.Duration
	}{
		{"the pause grows step by step", leastPause, time.Hour, 1, 512, 2 * leastPause},
		{"up to a bound", mostPause, time.Second, 1, 512, mostPause},
		{"workers have no job in reserve", mostPause, time.Second, 1, 0, leastPause},
		{"as many events as the reserve allows", mostPause, 100 * time.Millisecond, 64, 512, 200 * time.Millisecond},
		{"more events than that", mostPause, 20 * time.Millisecond, 5000, 512, leastPause},
		{"none came", mostPause, time.Second, 0, 512, mostPause / 2},
		{"none came for long", leastPause, time.Second, 0, 512, leastPause},
	} {
		if got := nextPause(test.pause, test.since, test.events, test.reserve); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// The reserve is that of the shortest queue that is of use.
func TestReserve(t *testing.T) {
	s := newSchedule(512, 1000)
	if got := s.reserve(); got != 0 {
		t.Errorf("without queues the reserve is %d", got)
	}
	offer := &sweep.Offer{}
	for name, total := range map[string]int64{"long": 9, "short": 4, "empty": 0} {
		s.queues[wire.Queue{Pool: "cpu", Offer: name}] = &queuePlan{offer: offer, total: total}
	}
	s.queues[wire.Queue{Pool: "cpu", Offer: "left"}] = &queuePlan{total: 1}
	if got := s.reserve(); got != 4 {
		t.Errorf("the reserve is %d, want 4: an empty queue that nothing waits for and one without workers do not count", got)
	}
}
