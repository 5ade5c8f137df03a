package coordinator

import (
	"context"
	"fmt"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// The reconciler looks four times a lease, and every longestLook at least;
	// after it has missed jobs it looks again soon.
	longestLook = 5 * time.Second
	lookAgain   = time.Second
)

// lose says that the broker has lost a stream, and the jobs that it held.
func (c *Coordinator) lose() {
	select {
	case c.lost <- struct{}{}:
	default: // said already
	}
}

// reconcile compares the store with the broker until ctx ends: a trial that the
// store calls queued or running, that has not been heard of for a lease and
// whose job is not in the stream, goes back to pending. It returns an error only
// if the store's is fatal.
func (c *Coordinator) reconcile(ctx context.Context) error {
	trouble := outage{log: c.log, doing: "comparing the store with the broker"}
	r := reconciler{Coordinator: c}
	timer := time.NewTimer(0)
	defer timer.Stop()
	lost := c.lost
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-lost:
			r.lost = true
		case <-timer.C:
		}
		err := r.look(ctx)
		if ctx.Err() == nil {
			c.problem.Store(&err)
		}
		pause := min(c.options.Lease/4, longestLook)
		lost = c.lost
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && c.options.Fatal(err):
			return err
		case err != nil:
			r.lost = r.lost || wire.IsLost(err)
			pause = trouble.failed(err)
			lost = nil // others meet the same trouble: do not be hurried by them
		default:
			trouble.over()
			if len(r.missing) > 0 {
				pause = lookAgain
			}
		}
		timer.Reset(pause)
	}
}

// reconciler is what reconcile remembers between its looks.
type reconciler struct {
	*Coordinator
	// missing are the trials whose jobs were missing at the look before, and at
	// is when it began.
	missing map[sweep.TrialID]bool
	at      time.Time
	// lost says that the broker lost its jobs: the lease of trials that wait
	// means nothing then. Those that run may well go on running.
	lost bool
}

// look compares once. A trial is put back when it is missed for the second
// time, all events that had arrived by the first time being recorded: its
// worker may have reported its result and acknowledged the job.
func (r *reconciler) look(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, brokerWait)
	err := r.wire.Probe(bound)
	cancel()
	if err != nil && !wire.IsLost(err) {
		return err
	}
	if r.lost {
		if err := r.mend(ctx); err != nil {
			return err
		}
	}
	now := time.Now()
	missing, err := r.missed(ctx, now)
	if err != nil {
		return err
	}
	if r.received.Load() <= r.at.UnixNano() && len(r.missing) > 0 {
		return nil // the collector is behind: compare again with the same look
	}
	var gone []sweep.TrialID
	for id := range missing {
		if r.missing[id] {
			gone = append(gone, id)
			delete(missing, id)
		}
	}
	if len(gone) > 0 {
		n, err := r.store.Requeue(ctx, gone)
		if err != nil {
			return fmt.Errorf("putting %d lost trials back: %w", len(gone), err)
		}
		r.log.Warn("put trials back whose jobs were lost", "trials", n)
		ids := map[string]bool{}
		for _, id := range gone {
			ids[id.Sweep] = true
		}
		r.marks.markCounts(ids)
	}
	r.missing, r.at = missing, now
	r.lost = r.lost && len(missing) > 0
	return nil
}

// missed returns the trials that should have a job in the stream and have none.
func (r *reconciler) missed(ctx context.Context, now time.Time) (map[sweep.TrialID]bool, error) {
	missing := map[sweep.TrialID]bool{}
	compare := func(page []sweep.TrialID) error {
		bound, cancel := context.WithTimeout(ctx, brokerWait)
		defer cancel()
		held, err := r.wire.HeldJobs(bound, page)
		if err != nil {
			return err
		}
		for _, id := range page {
			if !held[id] {
				missing[id] = true
			}
		}
		return nil
	}
	// Also without a trial to compare, a lost stream is to be found.
	if err := compare(nil); err != nil {
		return nil, err
	}
	if err := r.outstanding(ctx, now.Add(-r.options.Lease), compare); err != nil {
		return nil, err
	}
	if !r.lost {
		return missing, nil
	}
	err := r.outstanding(ctx, always(), func(page []sweep.TrialID) error {
		queued, _, err := r.byState(ctx, page)
		if err != nil {
			return err
		}
		return compare(queued)
	})
	return missing, err
}
