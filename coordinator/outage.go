package coordinator

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// The pauses after failures of the store or the broker: doubled each time.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// outage tracks the failures of one activity. It logs their begin and their end, and is in a list of
// outages meanwhile.
type outage struct {
	log *slog.Logger
	all *outages
	// doing names the activity, as in "recording results".
	doing string
	since time.Time
	pause time.Duration
	err   error // guarded by all
}

// outages are the current outages, the oldest first.
type outages struct {
	mu   sync.Mutex
	list []*outage
}

// oldest returns the latest error of the oldest outage, nil if there is none.
func (a *outages) oldest() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 0 {
		return nil
	}
	return a.list[0].err
}

func (a *outages) note(o *outage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.list, o) {
		a.list = append(a.list, o)
	}
	o.err = err
}

func (a *outages) drop(o *outage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = slices.DeleteFunc(a.list, func(other *outage) bool { return other == o })
}

// outage returns an outage that has not begun. The caller drops it at the end.
func (c *Coordinator) outage(doing string) *outage {
	return &outage{log: c.log, all: &c.outages, doing: doing}
}

// poolOutage is outage for an activity of one pool.
func (c *Coordinator) poolOutage(doing string) *outage {
	return &outage{log: c.log, all: &c.poolOutages, doing: doing}
}

// failed notes a failure and returns the pause before the next attempt.
func (o *outage) failed(err error) time.Duration {
	o.all.note(o, err)
	if o.since.IsZero() {
		o.since, o.pause = time.Now(), firstPause
		o.log.Warn("failed "+o.doing+"; retrying", "error", err)
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
	o.drop()
	o.log.Info("recovered: "+o.doing, "after", time.Since(o.since).Round(time.Millisecond))
	o.since = time.Time{}
}

// drop removes the outage from its list, because the activity ends.
func (o *outage) drop() { o.all.drop(o) }
