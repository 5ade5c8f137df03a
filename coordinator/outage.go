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

// outage follows one dependency's failures: it says in the log when they
// begin and when they end, and not in between, and is one of the outages meanwhile.
type outage struct {
	log *slog.Logger
	all *outages
	// doing is what fails, as in "recording results".
	doing string
	since time.Time
	pause time.Duration
	err   error // guarded by all
}

// outages are those that last, the oldest first.
type outages struct {
	mu   sync.Mutex
	list []*outage
}

// oldest returns the last error of the outage that lasts longest, nil if there is none.
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

// outage returns one that has not begun; who asks for it drops it at the end.
func (c *Coordinator) outage(doing string) *outage {
	return &outage{log: c.log, all: &c.outages, doing: doing}
}

// poolOutage returns one that is one pool's alone.
func (c *Coordinator) poolOutage(doing string) *outage {
	return &outage{log: c.log, all: &c.poolOutages, doing: doing}
}

// failed notes a failure and returns how long to wait before the next attempt.
func (o *outage) failed(err error) time.Duration {
	o.all.note(o, err)
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
	o.drop()
	o.log.Info("works again: "+o.doing, "after", time.Since(o.since).Round(time.Millisecond))
	o.since = time.Time{}
}

// drop ends what is told of it: nobody tries any more.
func (o *outage) drop() { o.all.drop(o) }
