package coordinator

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
)

// outages are the activities that fail now. It logs their first failures and their recoveries.
type outages struct {
	log *slog.Logger

	mu sync.Mutex
	// list has the oldest first.
	list []*outage
}

// outage is an activity that fails.
type outage struct {
	// doing names the activity, as in "recording events".
	doing string
	// onePool means that only the trials of one pool are affected.
	onePool bool
	since   time.Time
	pause   time.Duration
	// err is the latest error, of which all since unchanged have the same cause.
	err       error
	unchanged time.Time
}

// failed notes a failure of an activity and returns the pause before the next attempt.
func (a *outages) failed(doing string, onePool bool, err error) time.Duration {
	a.mu.Lock()
	i := slices.IndexFunc(a.list, func(o *outage) bool { return o.doing == doing })
	first := i < 0
	if first {
		i = len(a.list)
		a.list = append(a.list, &outage{doing: doing, onePool: onePool, since: time.Now()})
	}
	o := a.list[i]
	if o.err == nil || sweep.FailureCause(o.err.Error()) != sweep.FailureCause(err.Error()) {
		o.unchanged = time.Now()
	}
	o.err, o.pause = err, schedule.NextPause(o.pause)
	pause := o.pause
	a.mu.Unlock()
	if first {
		a.log.Warn("failed "+doing+"; retrying", "error", err)
	} else {
		a.log.Debug("still failing "+doing, "error", err)
	}
	return pause
}

// over notes a success of an activity.
func (a *outages) over(doing string) {
	a.mu.Lock()
	var ended *outage
	a.list = slices.DeleteFunc(a.list, func(o *outage) bool {
		if o.doing == doing {
			ended = o
		}
		return o.doing == doing
	})
	a.mu.Unlock()
	if ended != nil {
		a.log.Info("recovered: "+doing, "after", time.Since(ended.since).Round(time.Millisecond))
	}
}

// oldest returns the latest error of the activity that has failed longest, nil if there is none: of
// those that affect one pool, or of those that affect all.
func (a *outages) oldest(onePool bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.list {
		if o.onePool == onePool {
			return o.err
		}
	}
	return nil
}

// stalled returns the error with which an activity that affects all pools has failed for longer than a time, nil if
// there is none. A full broker is as full for any other coordinator.
func (a *outages) stalled(longer time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.list {
		if !o.onePool && !isFull(o.err) && time.Since(o.unchanged) > longer {
			return fmt.Errorf("%s has failed for %v: %w", o.doing, time.Since(o.unchanged).Round(time.Second), o.err)
		}
	}
	return nil
}
