package coordinator

import (
	"log/slog"
	"time"
)

// The pauses after failures of the store or the broker: doubled each time.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// outage follows one dependency's failures: it says in the log when they
// begin and when they end, and not in between.
type outage struct {
	log *slog.Logger
	// doing is what fails, as in "recording results".
	doing string
	since time.Time
	pause time.Duration
}

// failed notes a failure and returns how long to wait before the next attempt.
func (o *outage) failed(err error) time.Duration {
	if o.since.IsZero() {
		o.since, o.pause = time.Now(), firstPause
		o.log.Warn("failed "+o.doing+"; trying again until it works", "error", err)
		return o.pause
	}
	o.pause = min(2*o.pause, lastPause)
	o.log.Debug("still failing "+o.doing, "error", err)
	return o.pause
}

// over notes a success.
func (o *outage) over() {
	if o.since.IsZero() {
		return
	}
	o.log.Info("works again: "+o.doing, "after", time.Since(o.since).Round(time.Millisecond))
	o.since = time.Time{}
}
