package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// The stream may hold the job of a pending trial already. Either the trial was
// given back this instant, and its worker has yet to acknowledge the old job:
// then it is published again after heldPause. Or a coordinator was killed
// between publishing the job and marking the trial: what is held for heldFor
// is marked.
const (
	heldPause = 100 * time.Millisecond
	heldFor   = 2 * time.Second
)

// dispatch fills a pool's queue from its lanes. The window bounds the trials
// that wait, not those that run, so it does not depend on the number of workers.
//
// A job is published before its trial is marked as queued: if the coordinator
// dies in between it is published again, which the stream refuses. dispatch
// reports whether the stream held jobs of pending trials.
func (c *Coordinator) dispatch(ctx context.Context, pool string, lanes []*lane) (held bool, err error) {
	window := int64(c.options.Window)
	room := window
	for _, l := range lanes {
		room -= l.progress.Queued
	}
	if room <= window/4 {
		return false, nil // one by one would cost as much as many at once
	}
	places := deal(room, lanes)
	shares := map[*lane]int{}
	for _, l := range places {
		shares[l]++
	}
	trials := make(map[*lane][]sweep.Trial, len(shares))
	for l, share := range shares {
		page, err := c.store.PendingTrials(ctx, l.record.ID, share)
		if err != nil {
			return false, fmt.Errorf("looking for pending trials of sweep %s: %w", l.record.ID, err)
		}
		if len(page) < share {
			c.reloaded = time.Time{} // somebody else has changed the sweep
		}
		trials[l] = page
	}
	jobs := make([]wire.Job, 0, len(places))
	from := make([]*lane, 0, len(places))
	for _, l := range places {
		if len(trials[l]) > 0 {
			jobs = append(jobs, l.job(trials[l][0]))
			from = append(from, l)
			trials[l] = trials[l][1:]
		}
	}
	if len(jobs) == 0 {
		return false, nil
	}
	return c.publish(ctx, pool, jobs, from)
}

// publish publishes jobs, each from the lane beside it, and marks their trials.
func (c *Coordinator) publish(ctx context.Context, pool string, jobs []wire.Job, from []*lane) (held bool, err error) {
	// A broker that loses the stream meanwhile never answers. A slow one that
	// syncs every message gets the time for it.
	bound, cancel := context.WithTimeout(ctx, 2*time.Second+time.Duration(len(jobs))*10*time.Millisecond)
	defer cancel()
	refused, err := c.wire.PublishJobs(bound, jobs)
	tooLarge, err := splitTooLarge(err)
	if err != nil {
		return false, err
	}
	if len(tooLarge) > 0 {
		if err := c.refuse(ctx, tooLarge); err != nil {
			return false, err
		}
	}
	now := time.Now()
	waiting := make(map[sweep.TrialID]time.Time, len(refused))
	for _, id := range refused {
		since, again := c.held[pool][id]
		if !again {
			since = now
		}
		if now.Sub(since) < heldFor {
			waiting[id] = since
		}
	}
	c.held[pool] = waiting
	queued := make([]sweep.TrialID, 0, len(jobs))
	for i := range jobs {
		id := jobs[i].TrialID
		if _, wait := waiting[id]; wait {
			continue
		}
		queued = append(queued, id)
		from[i].progress.Pending--
		from[i].progress.Queued++
	}
	if err := c.store.MarkQueued(ctx, queued); err != nil {
		return false, fmt.Errorf("marking %d trials of pool %s as queued: %w", len(queued), pool, err)
	}
	return len(waiting) > 0, nil
}

// splitTooLarge takes the jobs that no message can carry out of an error of
// PublishJobs.
func splitTooLarge(err error) (tooLarge []*wire.TooLargeError, rest error) {
	if joined := interface{ Unwrap() []error }(nil); errors.As(err, &joined) {
		var others []error
		for _, e := range joined.Unwrap() {
			found, other := splitTooLarge(e)
			tooLarge = append(tooLarge, found...)
			others = append(others, other)
		}
		return tooLarge, errors.Join(others...)
	}
	if e := (*wire.TooLargeError)(nil); errors.As(err, &e) {
		return []*wire.TooLargeError{e}, nil
	}
	return nil, err
}

// refuse records the failure of trials whose jobs cannot be sent.
func (c *Coordinator) refuse(ctx context.Context, tooLarge []*wire.TooLargeError) error {
	var events []sweep.Event
	for _, e := range tooLarge {
		events = append(events, failure(e.TrialID, e))
	}
	report, err := c.store.Record(ctx, events)
	if err != nil {
		return fmt.Errorf("recording %d trials that are too large: %w", len(events), err)
	}
	c.note(events, report)
	return nil
}

// dealAnew takes back what waits in a pool, so that a sweep that has come or
// has another priority now does not wait behind it.
func (c *Coordinator) dealAnew(ctx context.Context, lanes []*lane) error {
	if len(lanes) < 2 {
		return nil
	}
	for _, l := range lanes {
		if l.progress.Queued == 0 {
			continue
		}
		if err := c.recall(ctx, l.record.ID); err != nil {
			return err
		}
		if err := c.count(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// recall takes an active sweep's waiting jobs back; its running trials go on.
// The store comes first: a job left in the queue does no harm.
func (c *Coordinator) recall(ctx context.Context, id string) error {
	waiting, running, err := c.outstandingOf(ctx, id)
	if err != nil || len(waiting) == 0 {
		return err
	}
	if err := c.requeue(ctx, waiting); err != nil {
		return err
	}
	return c.withdraw(ctx, id, running)
}

// withdraw removes a sweep's jobs from the queue, but not those of the trials
// that run: if their worker dies, the job comes back by itself.
func (c *Coordinator) withdraw(ctx context.Context, id string, running []sweep.TrialID) error {
	if c.wire == nil {
		return nil
	}
	// A slow broker that syncs every change gets the time for a whole window.
	ctx, cancel := context.WithTimeout(ctx, brokerWait+time.Duration(c.options.Window)*10*time.Millisecond)
	defer cancel()
	return c.wire.PurgeJobs(ctx, id, running...)
}
