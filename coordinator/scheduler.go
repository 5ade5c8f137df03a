package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// glance is how often the scheduler looks at the store without being told to:
// for what others changed there.
const glance = 5 * time.Second

// expandFor bounds the time for which expansion keeps dispatching waiting.
const expandFor = 50 * time.Millisecond

// schedule keeps the pools' queues filled until ctx ends: it wakes when results
// arrive or sweeps change. It returns an error only if the store's is fatal.
func (c *Coordinator) schedule(ctx context.Context) error {
	trouble := outage{log: c.log, doing: "scheduling trials"}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.marks.wake:
		case <-timer.C:
		}
		pause, err := c.cycle(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && c.options.Fatal(err):
			return err
		case err != nil:
			if wire.IsLost(err) {
				c.lose()
			}
			pause = trouble.failed(err)
		default:
			trouble.over()
		}
		timer.Reset(pause)
	}
}

// cycle brings the lanes up to date, writes trial rows ahead and queues what
// there is room for. It returns when to look again if nothing is marked before.
func (c *Coordinator) cycle(ctx context.Context) (again time.Duration, err error) {
	if err := c.take(ctx); err != nil {
		return 0, err
	}
	defer c.give()
	marked := c.marks.take()
	defer func() {
		if err != nil {
			c.marks.restore(marked)
		}
	}()
	if err := c.refresh(ctx, marked); err != nil {
		return 0, err
	}
	if err := c.expandAhead(ctx); err != nil {
		return 0, err
	}
	pools := map[string][]*lane{}
	for _, l := range c.lanes {
		pools[l.record.Pool] = append(pools[l.record.Pool], l)
	}
	for pool := range marked.deal {
		if err := c.dealAnew(ctx, pools[pool]); err != nil {
			return 0, err
		}
	}
	pause := glance
	for pool, lanes := range pools {
		held, err := c.dispatch(ctx, pool, lanes)
		if err != nil {
			return 0, err
		}
		if held {
			pause = heldPause
		}
	}
	return pause, nil
}

// refresh reads again what is marked.
func (c *Coordinator) refresh(ctx context.Context, marked marked) error {
	if marked.sweeps || time.Since(c.reloaded) >= glance {
		return c.reload(ctx)
	}
	for id := range marked.counts {
		l := c.lanes[id]
		if l == nil {
			continue
		}
		if err := c.count(ctx, l); err != nil {
			return err
		}
		if l.progress.Done() < l.progress.Total() {
			continue
		}
		// The last result is in: the store has finished the sweep.
		record, err := c.store.Sweep(ctx, id)
		if err != nil {
			return fmt.Errorf("looking at sweep %s: %w", id, err)
		}
		if record.State == sweep.SweepActive {
			l.update(*record)
			continue
		}
		delete(c.lanes, id)
		c.log.Info("sweep ended", "sweep", id, "state", record.State,
			"completed", l.progress.Completed, "failed", l.progress.Failed, "cancelled", l.progress.Cancelled)
		c.waiters.notify(id)
	}
	return nil
}

// reload reads all active sweeps.
func (c *Coordinator) reload(ctx context.Context) error {
	records, err := c.store.Sweeps(ctx, sweep.SweepActive)
	if err != nil {
		return fmt.Errorf("looking for active sweeps: %w", err)
	}
	lanes := make(map[string]*lane, len(records))
	for _, record := range records {
		l := c.lanes[record.ID]
		if l == nil {
			l = &lane{}
		}
		l.update(record)
		if err := c.count(ctx, l); err != nil {
			return err
		}
		lanes[record.ID] = l
	}
	c.lanes, c.reloaded = lanes, time.Now()
	c.waiters.notifyAll(lanes)
	return nil
}

// count reads a sweep's trial counts.
func (c *Coordinator) count(ctx context.Context, l *lane) error {
	progress, err := c.store.Progress(ctx, l.record.ID)
	if err != nil {
		return fmt.Errorf("counting the trials of sweep %s: %w", l.record.ID, err)
	}
	l.progress = progress
	return nil
}

// expandAhead writes a page for every sweep whose written trials run out,
// those of the largest priority first, as long as there is time.
func (c *Coordinator) expandAhead(ctx context.Context) error {
	start := time.Now()
	for _, l := range slices.SortedFunc(maps.Values(c.lanes), byPriority) {
		if l.unwritten() == 0 || l.waiting() >= int64(c.options.Window) {
			continue
		}
		if time.Since(start) > expandFor {
			c.marks.signal() // the others' turn is after dispatching
			return nil
		}
		err := c.expand(ctx, l)
		if broken := (*expansionError)(nil); errors.As(err, &broken) {
			c.log.Error("paused a sweep that cannot be expanded", "sweep", l.record.ID, "error", err)
			if err := c.store.SetSweepState(ctx, l.record.ID, sweep.SweepPaused); err != nil {
				return fmt.Errorf("pausing sweep %s: %w", l.record.ID, err)
			}
			delete(c.lanes, l.record.ID)
			continue
		}
		if err != nil {
			return err
		}
		// Look again: some of the page, or all, may have been reused.
		c.marks.markCounts(map[string]bool{l.record.ID: true})
		if err := c.count(ctx, l); err != nil {
			return err
		}
	}
	return nil
}
