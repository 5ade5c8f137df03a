package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// fetchWait is how long one request for events waits. The end of Run is noticed within
	// this time.
	fetchWait = 200 * time.Millisecond
	// leastPause and maxPause bound the pause after a batch with which no events remain.
	leastPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
	// A pause may last until 1/reservePart of the jobs in the shortest queue are started,
	// so that its workers do not run out of jobs.
	reservePart = 4
	// restWait bounds the recording of the remaining events when Run ends.
	restWait = 3 * time.Second
)

// collect records events until ctx ends, and then the remaining ones. It returns an error only if it
// is fatal or if another coordinator leads.
//
// An event is acknowledged after the commit. If it is delivered again, recording it again changes
// nothing.
func (c *Coordinator) collect(ctx context.Context) error {
	err := c.persist(ctx, collecting, receivingEvents, func() error {
		for {
			if err := c.receive(ctx); !wire.IsReconnect(err) {
				return err
			}
		}
	})
	if ctx.Err() == nil {
		return err
	}
	if !c.options.Leads() { // another coordinator records them
		return nil
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), restWait)
	defer cancel()
	if err := c.collectRest(rest); err != nil {
		c.log.Info("some events remain for the next start", "error", err)
	}
	return nil
}

// receivingEvents is the activity of receive.
const receivingEvents = "receiving events"

// receive records events until something fails.
func (c *Coordinator) receive(ctx context.Context) error {
	events, err := c.events(ctx)
	if err != nil {
		return err
	}
	defer events.Close()
	pace := pace{pause: leastPause, last: time.Now()}
	for {
		c.alive(collecting)
		asked := time.Now()
		batch, err := events.Fetch(ctx, fetchWait)
		if err != nil {
			return err
		}
		c.outages.over(receivingEvents)
		if err := c.recordBatch(ctx, batch); err != nil {
			return err
		}
		if !batch.Full {
			c.received.Store(&asked)
		}
		wait(ctx, pace.after(batch, asked, c.figures.Load().Reserve)-time.Since(asked))
	}
}

// pace decides how long the collector pauses after a batch. A transaction costs the same for one
// event and for many.
type pace struct {
	pause time.Duration
	// last is when the batch was requested that the last pause followed, and events how many came
	// in full batches since: those arrived in the same time.
	last   time.Time
	events int
}

// after returns the pause after a batch that was requested at a time: 0 if more events are waiting,
// or if none came.
func (p *pace) after(batch *wire.EventBatch, asked time.Time, reserve int64) time.Duration {
	p.events += len(batch.Events)
	if batch.Full {
		return 0
	}
	p.pause = nextPause(p.pause, asked.Sub(p.last), p.events, reserve)
	p.last, p.events = asked, 0
	if len(batch.Events) == 0 {
		return 0
	}
	return p.pause
}

// nextPause returns the pause after events that arrived in the time since the last pause. During the pause no queue
// may run out of jobs, even if all events are of one queue. The pause grows step by step, because it is not known how
// fast the trials of a new sweep end.
func nextPause(pause, since time.Duration, events int, reserve int64) time.Duration {
	if events == 0 {
		return max(pause/2, leastPause)
	}
	fits := since * time.Duration(reserve/reservePart) / time.Duration(events)
	return max(min(fits, 2*pause, maxPause), leastPause)
}

// events opens the consumer, and creates the stream if it is lost.
func (c *Coordinator) events(ctx context.Context) (*wire.EventConsumer, error) {
	if _, err := c.wire.EventCount(ctx); wire.IsLost(err) {
		if err := c.setup(ctx); err != nil {
			return nil, err
		}
	}
	return c.wire.Events(ctx, c.options.Term)
}

// recordBatch records a batch and acknowledges it. It retries until it succeeds; the broker keeps
// all events that are not acknowledged.
func (c *Coordinator) recordBatch(ctx context.Context, batch *wire.EventBatch) error {
	var events []sweep.Event
	var bad []wire.BadEvent
	compared := false
	attempts := 0
	err := c.persist(ctx, collecting, "recording events", func() (err error) {
		if !compared {
			if events, bad, err = c.own(ctx, batch); err != nil {
				return err
			}
			compared = true
		}
		for ; len(bad) > 0; bad = bad[1:] {
			if err := c.setAside(ctx, bad[0].Event, bad[0].Err); err != nil {
				return err
			}
		}
		err = c.record(ctx, events)
		if attempts++; err != nil && attempts%suspicious == 0 && !unavailable(err) {
			err = c.isolate(ctx, events, err, attempts)
		}
		return err
	})
	if err != nil {
		return err
	}
	return batch.Ack()
}

// own returns the events of a batch, and the bad ones, without those that a worker of another pool
// than the trial's has sent.
func (c *Coordinator) own(ctx context.Context,
	batch *wire.EventBatch) (events []sweep.Event, bad []wire.BadEvent, err error) {
	var ids []string
	for i := range batch.Events {
		ids = append(ids, batch.Events[i].Sweep)
	}
	for _, b := range batch.Bad {
		ids = append(ids, b.Sweep)
	}
	if err := c.learnPools(ctx, ids); err != nil {
		return nil, nil, err
	}
	for i, e := range batch.Events {
		if c.mayReport(batch.Pools[i], &e) {
			events = append(events, e)
		}
	}
	bad = slices.DeleteFunc(slices.Clone(batch.Bad), func(b wire.BadEvent) bool {
		return !c.mayReport(b.Pool, &b.Event)
	})
	return events, bad, nil
}

// learnPools reads the pools of sweeps for which they are unknown, such as sweeps that were paused or
// had ended before the start.
func (c *Coordinator) learnPools(ctx context.Context, ids []string) error {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		_, known := c.pools.Load(id)
		return known || wire.CheckToken("sweep", id) != nil
	})
	if len(ids) == 0 {
		return nil
	}
	backlogs, err := c.store.Backlog(ctx, ids...)
	if err != nil {
		return fmt.Errorf("reading the pools of %d sweeps: %w", len(ids), err)
	}
	for _, b := range backlogs {
		c.pools.Store(b.Sweep, b.Pool)
	}
	return nil
}

// mayReport reports whether a worker of a pool may send an event: the sweep is of that pool, or does
// not exist.
func (c *Coordinator) mayReport(pool string, e *sweep.Event) bool {
	own, known := c.pools.Load(e.Sweep)
	if !known || pool == own {
		return true
	}
	c.log.Error("event dropped: a worker of another pool sent it", "trial", e.TrialID, "pool", pool, "worker", e.Worker)
	return false
}

// record stores events, and quarantines those that the store refuses.
func (c *Coordinator) record(ctx context.Context, events []sweep.Event) error {
	if len(events) == 0 {
		return nil
	}
	began := time.Now()
	report, err := c.store.Record(ctx, events)
	if errors.Is(err, sweep.ErrRefused) {
		return c.bisect(ctx, events, err)
	}
	if err != nil {
		return err
	}
	c.note(began, events, report)
	return nil
}

// note passes recorded events to the scheduler, the metrics and the log.
func (c *Coordinator) note(began time.Time, events []sweep.Event, report sweep.RecordReport) {
	c.options.Metrics.recorded(began, events, report)
	c.noteArtifacts(events)
	var heard []sweep.TrialID
	for i := range events {
		switch events[i].Kind {
		case sweep.EventPoints, sweep.EventCheckpoint: // no state changes
		default:
			heard = append(heard, events[i].TrialID)
		}
		if use := events[i].Use; use != nil {
			c.facts.add(schedule.Used{Sweep: events[i].Sweep, DeviceUse: *use})
		}
	}
	c.facts.add(schedule.Heard{Trials: heard})
	if further := observed(events); further != nil {
		c.facts.add(schedule.Observed{Sweeps: further})
	}
	if report.Replaced > 0 {
		signal(c.replaced)
	}
	if report.Faults > 0 {
		c.log.Warn("results of repeated executions differ from those recorded first", "results", report.Faults)
	}
	if report.Unknown > 0 || report.Malformed > 0 {
		c.log.Warn("events dropped", "of unknown trials", report.Unknown, "malformed", report.Malformed)
	}
	c.log.Debug("recorded events", "events", len(events), "ended", report.Terminal,
		"repeated", report.Repeated, "released", report.Released, "refused", report.Refused)
}

// collectRest records the waiting events until none remain, except those of a newer version, which
// stay for a newer program.
func (c *Coordinator) collectRest(ctx context.Context) error {
	events, err := c.events(ctx)
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		left, err := c.wire.EventCount(ctx)
		if err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		batch, err := events.Fetch(ctx, fetchWait)
		if err != nil {
			return err
		}
		if err := c.recordBatch(ctx, batch); err != nil {
			return fmt.Errorf("recording remaining events: %w", err)
		}
		if len(batch.Events)+len(batch.Bad) > 0 || batch.Full {
			continue
		}
		newer, problem, err := c.wire.NewerEvents(ctx)
		if err != nil {
			return err
		}
		if newer > 0 {
			c.log.Warn("messages of a newer version of sweep remain: start that version to record their events",
				"messages", newer, "problem", problem)
			return nil
		}
	}
}
