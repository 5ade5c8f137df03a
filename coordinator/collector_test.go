package coordinator

import (
	"testing"
	"time"
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
