package sweeptest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sweep/sweep/sweeptest"
)

// recorder is a test whose failure is wanted.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure runs a wait that never ends and returns how it fails.
func failure(t *testing.T, wait func(t testing.TB)) (text string) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			wait(r)
		}()
		<-done
		text = r.failure
	})
	return text
}

func TestFailureTellsWhatWasWaitedFor(t *testing.T) {
	for name, wait := range map[string]func(t testing.TB){
		"Until":   func(t testing.TB) { sweeptest.Until(t, "an eclipse", func() bool { return false }) },
		"Receive": func(t testing.TB) { sweeptest.Receive(t, "an eclipse", make(chan int)) },
	} {
		text := failure(t, wait)
		for _, want := range []string{"still waiting for: an eclipse", "goroutine ", "sweeptest_test.go"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the failure lacks %q:\n%s", name, want, text)
			}
		}
	}
}

func TestWaitsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, values := time.Now(), make(chan int, 1)
		time.AfterFunc(time.Minute, func() { values <- 7 })
		sweeptest.Until(t, "a minute", func() bool { return time.Since(begin) >= time.Minute })
		if got := sweeptest.Receive(t, "the value", values); got != 7 {
			t.Errorf("received %d", got)
		}
		if took := time.Since(begin); took > time.Minute+time.Second {
			t.Errorf("the waits took %v", took)
		}
	})
}
