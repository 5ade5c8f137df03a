package coordinator

import (
	"testing"
	"time"
	"unsafe"
)

// setWallClock returns a time with the same reading of the monotonic clock and another
// one of the wall clock, as after the clock was set. It knows time.Time's first field:
// of a time with a monotonic reading bits 30 to 62 are the seconds of the wall clock.
func setWallClock(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	moved := at
	*(*uint64)(unsafe.Pointer(&moved)) += uint64(by/time.Second) << 30
	if got := moved.Round(0).Sub(at.Round(0)); got != by || moved.Sub(at) != 0 {
		t.Fatalf("time.Time has another form: the wall clock is %v ahead, the monotonic one %v", got, moved.Sub(at))
	}
	return moved
}

// The wall clock may be set: whether events are recorded is told by the monotonic clock.
func TestReconcilerAndWallClock(t *testing.T) {
	looked := time.Now()
	for _, by := range []time.Duration{time.Hour, 0, -time.Hour} {
		r := reconciler{Coordinator: &Coordinator{}, at: setWallClock(t, looked, by)}
		if !r.behind() {
			t.Error("the collector is not behind, though it has received nothing")
		}
		for _, test := range []struct {
			received time.Time
			behind   bool
		}{{looked.Add(time.Millisecond), false}, {looked, true}, {looked.Add(-time.Millisecond), true}} {
			r.received.Store(&test.received)
			if r.behind() != test.behind {
				t.Errorf("events received %v after the look, the wall clock %v ahead then: behind is %v",
					test.received.Sub(looked), by, !test.behind)
			}
		}
	}
}
