package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// The reconciler compares four times per lease, at least every longestLook, and again
	// after lookAgain if it has found a difference.
	longestLook = 5 * time.Second
	lookAgain   = time.Second
)

// lose notes that the broker has lost a stream, and the jobs in it.
func (c *Coordinator) lose() { signal(c.lost) }

// reconcile compares store and broker until ctx ends. A trial that is queued or running in the store,
// has no job and has sent no event for a lease becomes pending again. A job whose trial has ended, or
// that the broker would not deliver again, is removed. reconcile returns only fatal errors.
func (c *Coordinator) reconcile(ctx context.Context) error {
	r := reconciler{Coordinator: c, doubt: true}
	defer r.work.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.lost:
			r.lost = true
		case <-c.replaced:
			r.doubt = true
		case <-timer.C:
		}
		err := c.persist(ctx, reconciling, "comparing the store with the broker", func() error {
			err := r.look(ctx)
			r.lost = r.lost || wire.IsLost(err)
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		pause := min(c.options.Lease/4, longestLook)
		if len(r.missing)+len(r.stale)+len(r.suspects) > 0 {
			pause = lookAgain
		}
		timer.Reset(pause)
	}
}

// reconciler is the state of reconcile between two comparisons.
type reconciler struct {
	*Coordinator
	// missing are trials without jobs at the last comparison, with the times of their last
	// events; stale are jobs that no trial needed then; at is when it had listed the jobs.
	missing map[sweep.TrialID]time.Time
	stale   map[sweep.TrialID]wire.QueuedJob
	at      time.Time
	// lost means that the broker may have lost jobs. Then queued trials are requeued before
	// their lease ends; running ones may still be running.
	lost bool
	// doubt means that executions may have been replaced. suspects are replaced executions
	// that no worker has reported as running since a time.
	doubt    bool
	suspects map[string]time.Time
	// unlisted are the pools whose jobs the broker cannot list.
	unlisted map[string]error
	// tending means that tendArtifacts runs, in work.
	tending atomic.Bool
	work    sync.WaitGroup
}

// look compares once. A trial misses its job if that was published before the jobs were listed, and is not
// among them. A difference is corrected when it is found for the second time, and all events that had arrived by
// the first were recorded when the second began: a worker may have reported the result and acknowledged the job
// before the first.
func (r *reconciler) look(ctx context.Context) error {
	if err := r.wire.Probe(ctx); err != nil && !wire.IsLost(err) {
		return err
	}
	floors, failed, err := r.restore(ctx)
	if err != nil {
		return err
	}
	if err := r.confirm(ctx); err != nil {
		return err
	}
	if err := r.lookUp(ctx); err != nil {
		return err
	}
	if err := r.vanished(ctx); err != nil {
		return err
	}
	if r.behind() && len(r.missing)+len(r.stale) > 0 {
		return nil // compare again with the same differences
	}
	missing, err := r.published(ctx, time.Now())
	if err != nil {
		return err
	}
	queued, undelivered := map[sweep.TrialID]wire.QueuedJob{}, map[sweep.TrialID]wire.QueuedJob{}
	unlisted, err := r.wire.QueuedJobs(ctx, func(q wire.QueuedJob) {
		if q.Sequence > floors[q.Queue] {
			queued[q.TrialID] = q
		} else {
			undelivered[q.TrialID] = q
		}
	})
	if err != nil {
		return err
	}
	listed := time.Now() // a job that is missing may have ended until now
	maps.Copy(failed, unlisted)
	r.reportUnlisted(failed)
	if err := r.missed(ctx, missing, queued); err != nil {
		return err
	}
	stale, err := r.unneeded(ctx, queued)
	if err != nil {
		return err
	}
	maps.Copy(stale, undelivered)
	var gone []sweep.Heard
	for id, at := range missing {
		if before, again := r.missing[id]; again && before.Equal(at) {
			gone = append(gone, sweep.Heard{TrialID: id, At: at})
			delete(missing, id)
		}
	}
	if len(gone) > 0 {
		r.log.Warn("requeuing trials whose jobs were lost", "trials", len(gone))
		if gone, err = r.loseRunning(ctx, gone); err != nil {
			return err
		}
		r.facts.add(schedule.Lost{Trials: gone})
	}
	for id, h := range stale {
		if before, again := r.stale[id]; again && before.Sequence == h.Sequence {
			if err := r.wire.RemoveJob(ctx, h); err != nil {
				return err
			}
			text := "removed the job of a trial that has ended"
			if undelivered[id] == h {
				text = "removed a job that the broker would not deliver again"
			}
			r.log.Info(text, "trial", id)
			delete(stale, id)
		}
	}
	r.missing, r.stale, r.at = missing, stale, listed
	r.lost = r.lost && len(missing) > 0
	r.tendArtifacts(ctx)
	return nil
}

// tendArtifacts prepares artifact stores again, and removes what is not kept, unless that still runs: the artifact
// stores may be slow.
func (r *reconciler) tendArtifacts(ctx context.Context) {
	if !r.tending.CompareAndSwap(false, true) {
		return
	}
	r.work.Go(func() {
		defer r.tending.Store(false)
		r.prepareFailed(ctx)
		if err := r.removeDropped(ctx); err == nil {
			r.outages.over(removingDropped)
		} else if ctx.Err() == nil {
			r.outages.failed(removingDropped, true, err)
		}
	})
}

// reportUnlisted logs the pools whose jobs the broker cannot list. They are compared later.
func (r *reconciler) reportUnlisted(failed map[string]error) {
	doing := func(pool string) string { return "comparing the jobs of pool " + pool + " with the store" }
	for pool, err := range failed {
		r.outages.failed(doing(pool), true, fmt.Errorf("pool %s: %w", pool, err))
	}
	for pool := range r.unlisted {
		if failed[pool] == nil {
			r.outages.over(doing(pool))
		}
	}
	r.unlisted = failed
}

// behind reports whether the collector may not have recorded all events that had arrived when the last
// comparison had listed the jobs.
func (r *reconciler) behind() bool {
	received := r.received.Load()
	return received == nil || !received.After(r.at)
}

// vanishGrace is how long no worker reports a replaced execution before that counts as lost. A worker
// that had only lost its connection sends a heartbeat before.
const vanishGrace = wire.HeartbeatInterval

// vanished finds executions whose workers vanished: their trials were started elsewhere, and no worker
// reports that it still runs them.
func (r *reconciler) vanished(ctx context.Context) error {
	if !r.doubt {
		return nil
	}
	replaced, err := r.store.Replaced(ctx)
	if err != nil {
		return fmt.Errorf("reading replaced executions: %w", err)
	}
	r.doubt = len(replaced) > 0
	now, suspects := time.Now(), map[string]time.Time{}
	var lost []sweep.Event
	for _, e := range replaced {
		since, suspected := r.suspects[e.Execution]
		switch {
		case !suspected, r.workers.runs(e.Execution, since):
			suspects[e.Execution] = now
		case now.Sub(since) < vanishGrace:
			suspects[e.Execution] = since
		default:
			lost = append(lost, e)
		}
	}
	if r.suspects = suspects; len(suspects) > 0 {
		if err := r.wire.RequestHeartbeats(); err != nil {
			return err
		}
	}
	return r.count(ctx, lost)
}

// loseRunning records the running ones among the trials as lost, because their workers have vanished, and
// returns the others. If the broker has lost jobs it returns all.
func (r *reconciler) loseRunning(ctx context.Context, gone []sweep.Heard) (others []sweep.Heard, err error) {
	if r.lost {
		return gone, nil
	}
	states, err := r.store.States(ctx, trialIDs(gone))
	if err != nil {
		return nil, fmt.Errorf("reading the states of %d trials whose jobs were lost: %w", len(gone), err)
	}
	var lost []sweep.Event
	for _, h := range gone {
		if states[h.TrialID] == sweep.Running {
			lost = append(lost, sweep.Event{Kind: sweep.EventLost, TrialID: h.TrialID, Heard: h.At})
		} else {
			others = append(others, h)
		}
	}
	return others, r.count(ctx, lost)
}

func trialIDs(trials []sweep.Heard) []sweep.TrialID {
	ids := make([]sweep.TrialID, len(trials))
	for i, h := range trials {
		ids[i] = h.TrialID
	}
	return ids
}

// count records executions as lost, and stops the trials that fail by that.
func (r *reconciler) count(ctx context.Context, lost []sweep.Event) error {
	if len(lost) == 0 {
		return nil
	}
	ids := make([]sweep.TrialID, len(lost))
	for i, e := range lost {
		ids[i] = e.TrialID
		r.log.Warn("a worker vanished while it ran a trial", "trial", e.TrialID, "worker", e.Worker,
			"execution", e.Execution)
	}
	if err := r.record(ctx, lost); err != nil {
		return fmt.Errorf("recording %d lost executions: %w", len(lost), err)
	}
	states, err := r.store.States(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading the states of %d trials whose workers vanished: %w", len(ids), err)
	}
	ended := map[string][]int64{}
	for _, id := range ids {
		if states[id] == sweep.Failed {
			ended[id.Sweep] = append(ended[id.Sweep], id.Index)
			r.log.Error("a trial failed because its workers vanished", "trial", id)
		}
	}
	for id, indices := range ended {
		record, err := r.store.Sweep(ctx, id)
		if err == nil {
			err = r.stop(ctx, record, nil, indices)
		}
		if err != nil && !errors.Is(err, sweep.ErrNotFound) { // it may have been deleted
			return fmt.Errorf("stopping trials of sweep %s whose workers vanished: %w", id, err)
		}
	}
	return nil
}

// restore creates lost streams and queues again. Nobody else notices that a queue is lost whose stream
// still exists. It returns the queues with their ack floors, and the pools whose queues the broker
// cannot list.
func (r *reconciler) restore(ctx context.Context) (there map[wire.Queue]uint64, failed map[string]error, err error) {
	if r.lost {
		if err := r.setup(ctx); err != nil {
			return nil, nil, err
		}
	}
	// The expected queues are read before the existing ones, so that a queue that is opened
	// in between does not seem lost.
	var lost []schedule.Queue
	err = r.between(ctx, func() error {
		if r.lost {
			r.unprepare()
		}
		lost = r.plan.Served()
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	there, failed, err = r.wire.Queues(ctx)
	if err != nil {
		return nil, nil, err
	}
	lost = slices.DeleteFunc(lost, func(q schedule.Queue) bool {
		_, found := there[wire.Queue(q)]
		return found || failed[q.Pool] != nil
	})
	if len(lost) > 0 {
		r.facts.add(schedule.QueuesLost{Queues: lost})
	}
	return there, failed, nil
}

// published returns the trials that should have a job by now, with the times of their last events.
func (r *reconciler) published(ctx context.Context, now time.Time) (map[sweep.TrialID]time.Time, error) {
	trials := map[sweep.TrialID]time.Time{}
	add := func(page []sweep.Heard) error {
		for _, h := range page {
			trials[h.TrialID] = h.At
		}
		return nil
	}
	err := r.outstanding(ctx, now.Add(-r.options.Lease), add)
	if err == nil && r.lost {
		err = r.outstanding(ctx, now.Add(farAhead), func(page []sweep.Heard) error {
			states, err := r.store.States(ctx, trialIDs(page))
			if err != nil {
				return fmt.Errorf("reading the states of %d queued and running trials: %w", len(page), err)
			}
			return add(slices.DeleteFunc(page, func(h sweep.Heard) bool {
				return states[h.TrialID] != sweep.Queued
			}))
		})
	}
	if err == nil {
		err = r.between(ctx, func() error {
			maps.DeleteFunc(trials, func(id sweep.TrialID, _ time.Time) bool { return r.plan.Publishing(id) })
			return nil
		})
	}
	return trials, err
}

// missed removes from the trials that should have a job those that have one, or that a worker reports as running.
func (r *reconciler) missed(ctx context.Context, trials map[sweep.TrialID]time.Time,
	queued map[sweep.TrialID]wire.QueuedJob) error {
	maps.DeleteFunc(trials, func(id sweep.TrialID, _ time.Time) bool {
		_, there := queued[id]
		return there
	})
	err := r.between(ctx, func() error {
		r.plan.EachRunning(func(id sweep.TrialID) { delete(trials, id) })
		return nil
	})
	if err == nil && len(r.unlisted) > 0 {
		err = r.passOver(ctx, trials)
	}
	if err == nil && len(trials) > 0 { // the next comparison knows what workers run
		err = r.wire.RequestHeartbeats()
	}
	return err
}

// passOver removes from missing the trials whose jobs the broker cannot list.
func (r *reconciler) passOver(ctx context.Context, missing map[sweep.TrialID]time.Time) error {
	var ids []string
	for id := range missing {
		ids = append(ids, id.Sweep)
	}
	if err := r.learnPools(ctx, ids); err != nil {
		return err
	}
	maps.DeleteFunc(missing, func(id sweep.TrialID, _ time.Time) bool {
		pool, known := r.pools.Load(id.Sweep)
		return known && r.unlisted[pool.(string)] != nil
	})
	return nil
}

// unneeded returns the jobs whose trials are neither queued nor running: an acknowledgement was lost,
// or the broker was restored from an older state.
func (r *reconciler) unneeded(ctx context.Context,
	queued map[sweep.TrialID]wire.QueuedJob) (map[sweep.TrialID]wire.QueuedJob, error) {
	strange := map[sweep.TrialID]wire.QueuedJob{}
	err := r.between(ctx, func() error {
		for id, h := range queued {
			if !r.plan.Expects(id) {
				strange[id] = h
			}
		}
		return nil
	})
	if err != nil || len(strange) == 0 {
		return strange, err
	}
	states, err := r.store.States(ctx, slices.Collect(maps.Keys(strange)))
	if err != nil {
		return nil, fmt.Errorf("reading the states of %d trials that have jobs: %w", len(strange), err)
	}
	maps.DeleteFunc(strange, func(id sweep.TrialID, _ wire.QueuedJob) bool {
		return states[id] == sweep.Queued || states[id] == sweep.Running
	})
	return strange, nil
}

const (
	// outstandingPage is how many trials outstanding reads at once.
	outstandingPage = 1000
	// farAhead from now is after any event.
	farAhead = 24 * time.Hour
)

// outstanding calls visit for pages of the queued and running trials without an event since before. The
// window and the workers' slots bound their number, so that the cost does not grow with the sweeps.
func (c *Coordinator) outstanding(ctx context.Context, before time.Time, visit func(page []sweep.Heard) error) error {
	var after *sweep.TrialID
	for {
		c.alive(reconciling)
		page, err := c.store.Unheard(ctx, before, after, outstandingPage)
		if err != nil {
			return fmt.Errorf("reading queued and running trials: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		last := page[len(page)-1].TrialID // visit may change the page
		after = &last
		if err := visit(page); err != nil {
			return err
		}
	}
}
