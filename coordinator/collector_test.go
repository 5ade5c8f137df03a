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
		{"up to a bound", maxPause, time.Second, 1, 512, maxPause},
		{"workers have no job in reserve", maxPause, time.Second, 1, 0, leastPause},
		{"as many events as the reserve allows", maxPause, 100 * time.Millisecond, 64, 512, 200 * time.Millisecond},
		{"more events than that", maxPause, 20 * time.Millisecond, 5000, 512, leastPause},
		{"none came", maxPause, time.Second, 0, 512, maxPause / 2},
		{"none came for long", leastPause, time.Second, 0, 512, leastPause},
	} {
		if got := nextPause(test.pause, test.since, test.events, test.reserve); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// A full batch and the few events after it arrived in the same time: trials end fast, however few
// come last.
func TestPaceCountsFullBatches(t *testing.T) {
	now := time.Now()
	p := pace{pause: leastPause, last: now}
	for i := range 20 {
		full := &wire.EventBatch{Events: make([]sweep.Event, 512), Full: true}
		if got := p.after(full, now, 512); got != 0 {
			t.Fatalf("cycle %d: a pause of %v though events are waiting", i, got)
		}
		now = now.Add(50 * time.Millisecond)
		pause := p.after(&wire.EventBatch{Events: make([]sweep.Event, 1)}, now, 512)
		if pause > 2*leastPause {
			t.Fatalf("cycle %d: a pause of %v after 513 events in 50 ms and with 512 jobs in reserve", i, pause)
		}
		now = now.Add(pause)
	}
}
