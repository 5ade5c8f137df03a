// Package sweeptest waits in tests: for a condition, or for a value from a channel.
// The machine may be slow and busy with other tests, so every wait ends as soon as it
// can and fails only after [Patience]. A failure says what was waited for and prints
// all goroutines of the test:
//
//	sweeptest.Until(t, "the trial runs", func() bool { return progress().Running == 1 })
//	err := sweeptest.Receive(t, "the end of Train", ended)
package sweeptest

import (
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// Patience bounds a wait. It is no measure of how long something may take: what does
// not come within it does not come.
const Patience = 5 * time.Minute

// Until returns soon after a condition holds.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		began := time.Now()
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			Fail(t, what)
		}
		time.Sleep(Pause(time.Since(began), pause))
	}
}

// Pause is how long to wait before a condition is checked again, at least some time: twice as long as its check took,
// which may have started a process. A test that waits leaves the processor to what it waits for.
func Pause(took, least time.Duration) time.Duration { return max(least, min(2*took, time.Second)) }

// Receive returns the next value of a channel, or the zero value if it is closed.
func Receive[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case value = <-from:
	case <-timer.C:
		Fail(t, what)
	}
	return value
}

// Fail ends a test that has waited too long.
func Fail(t testing.TB, what string) {
	t.Helper()
	var goroutines strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&goroutines, 2) // a Builder takes everything
	t.Fatalf("after %v still waiting for: %s\n\n%s", Patience, what, &goroutines)
}
