package lead

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sweep/coordinator"
	"sweep/sweep"
)

// paced is a lead whose renewals and checks take a while.
type paced struct {
	sweep.Lead
	renewal, check time.Duration
}

func (p *paced) Pace() (renewal, check time.Duration) { return p.renewal, p.check }

// TestSlowServersAreReported: the log says once that a server is slow, and when it is no longer; what the
// coordinator tells its clients lasts as long.
func TestSlowServersAreReported(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := New(Options{Options: coordinator.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	led := coordinator.New(coordinator.Options{Slow: c.slow.Slow})
	server := &paced{}
	for _, step := range []struct {
		renewal, check time.Duration
		slow, logged   string
	}{
		{0, 0, "", ""},
		{200 * time.Millisecond, 400 * time.Millisecond, "", ""},
		{400 * time.Millisecond, 400 * time.Millisecond, "the database is slow: an answer takes 400ms", "the database is slow"},
		{500 * time.Millisecond, 400 * time.Millisecond, "the database is slow: an answer takes 500ms", ""},
		{200 * time.Millisecond, 1600 * time.Millisecond, "the database is slow", "NATS is slow"},
		{time.Millisecond, 1600 * time.Millisecond, "NATS is slow: an answer takes 800ms", "the database answers quickly"},
		{time.Millisecond, time.Millisecond, "", "NATS answers quickly"},
	} {
		log.Reset()
		server.renewal, server.check = step.renewal, step.check
		c.watch(server)
		said := ""
		if err := led.Problem(); err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, step.slow) || (said == "") != (step.slow == "") {
			t.Errorf("%v, %v: it says %q", step.renewal, step.check, said)
		}
		if text := log.String(); !strings.Contains(text, step.logged) || (text == "") != (step.logged == "") {
			t.Errorf("%v, %v: it logs %q", step.renewal, step.check, text)
		}
	}
}
