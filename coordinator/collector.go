package coordinator

import (
	"context"
	"fmt"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// largestBatch bounds the messages, largestPoints about the points of curves
	// that are recorded in one transaction and held in memory.
	largestBatch, smallestBatch = 512, 16
	largestPoints               = 1 << 20
	// fetchWait is how long the broker waits for an event before it is asked
	// again, and how long the end of Run may take to be seen.
	fetchWait = 200 * time.Millisecond
	// batchWait is the least time between small batches.
	batchWait = 20 * time.Millisecond
	// restWait bounds the recording of what has arrived when Run ends.
	restWait = 3 * time.Second
)

// collect records events until ctx ends, and then what has arrived by then. It
// returns an error only if the store's is fatal.
//
// An event is acknowledged after the commit. Whatever happens before that, it
// comes again, and the store takes it calmly.
func (c *Coordinator) collect(ctx context.Context) error {
	trouble := outage{log: c.log, doing: "receiving events"}
	for {
		err := c.receive(ctx, &trouble)
		if ctx.Err() != nil {
			break
		}
		if c.options.Fatal(err) {
			return err
		}
		if wire.IsLost(err) {
			c.lose()
		}
		wait(ctx, trouble.failed(err))
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), restWait)
	defer cancel()
	if err := c.collectRest(rest); err != nil {
		c.log.Info("events are left for the next start", "error", err)
	}
	return nil
}

// receive records events until something fails.
func (c *Coordinator) receive(ctx context.Context, trouble *outage) error {
	events, err := c.events(ctx)
	if err != nil {
		return err
	}
	limit := smallestBatch
	for {
		asked := time.Now()
		batch, err := events.Fetch(ctx, limit, fetchWait)
		if err != nil {
			return err
		}
		trouble.over()
		if err := c.record(ctx, batch); err != nil {
			return err
		}
		if len(batch.Events) < limit {
			c.received.Store(asked.UnixNano())
		}
		if n := len(batch.Events); n > 0 && n < limit/2 {
			// A transaction costs the same for one event and for many: let some come.
			wait(ctx, batchWait-time.Since(asked))
		}
		limit = nextLimit(batch.Events)
	}
}

// events opens the consumer, and the streams if need be. There is one
// coordinator at a time: what an earlier one has not acknowledged comes at once.
func (c *Coordinator) events(ctx context.Context) (*wire.EventConsumer, error) {
	if err := c.mend(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, brokerWait)
	defer cancel()
	return c.wire.Events(ctx, true)
}

// nextLimit returns how many messages to ask for after a batch, so that long
// curves do not fill the memory when there is a backlog.
func nextLimit(events []sweep.Event) int {
	if len(events) == 0 {
		return largestBatch
	}
	points := 0
	for i := range events {
		for _, curve := range events[i].Curves {
			points += len(curve.Steps)
		}
		if events[i].Result != nil {
			for _, curve := range events[i].Result.Curves {
				points += len(curve.Steps)
			}
		}
	}
	return min(max(largestPoints*len(events)/max(points, 1), smallestBatch), largestBatch)
}

// record stores a batch and acknowledges it. It tries until it can: nothing is
// lost meanwhile, as the broker keeps what is not acknowledged.
func (c *Coordinator) record(ctx context.Context, batch *wire.EventBatch) error {
	if len(batch.Events) > 0 {
		var report sweep.RecordReport
		recorded := false
		err := c.persist(ctx, "recording events", func(ctx context.Context) (err error) {
			report, err = c.store.Record(ctx, batch.Events)
			recorded = err == nil
			return err
		})
		if err != nil {
			return err
		}
		if !recorded {
			return ctx.Err()
		}
		c.note(batch.Events, report)
	}
	return batch.Ack()
}

// note tells the scheduler and the log what events did.
func (c *Coordinator) note(events []sweep.Event, report sweep.RecordReport) {
	ids := map[string]bool{}
	for i := range events {
		switch events[i].Kind {
		case sweep.EventPoints, sweep.EventCheckpoint: // no state changes
		default:
			ids[events[i].Sweep] = true
		}
	}
	if len(ids) > 0 {
		c.marks.markCounts(ids)
	}
	if report.Faults > 0 {
		c.log.Warn("results of repeated executions differ from those recorded first", "results", report.Faults)
	}
	if report.Unknown > 0 || report.Malformed > 0 {
		c.log.Warn("events dropped", "of unknown trials", report.Unknown, "malformed", report.Malformed)
	}
	c.log.Debug("recorded events", "events", len(events), "ended", report.Terminal,
		"repeated", report.Repeated, "released", report.Released)
}

// collectRest records the events that are there and returns when none is left.
func (c *Coordinator) collectRest(ctx context.Context) error {
	events, err := c.events(ctx)
	if err != nil {
		return err
	}
	for {
		left, err := c.wire.EventCount(ctx)
		if err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		batch, err := events.Fetch(ctx, smallestBatch, fetchWait)
		if err != nil {
			return err
		}
		if len(batch.Events) > 0 {
			report, err := c.store.Record(ctx, batch.Events)
			if err != nil {
				return fmt.Errorf("recording events that were left: %w", err)
			}
			c.note(batch.Events, report)
		}
		if err := batch.Ack(); err != nil {
			return err
		}
	}
}
