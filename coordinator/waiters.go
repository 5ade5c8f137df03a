package coordinator

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"sweep/sweep"
)

// waiters are the callers of Wait.
type waiters struct {
	mu sync.Mutex
	// ended holds a channel for each awaited sweep, closed when the sweep may have ended.
	ended map[string]chan struct{}
}

// of returns the channel that the next notify of a sweep closes.
func (w *waiters) of(id string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended[id] == nil {
		w.ended[id] = make(chan struct{})
	}
	return w.ended[id]
}

// notify wakes the waiters of the sweeps that may have ended.
func (w *waiters) notify(ended func(id string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, c := range w.ended {
		if ended(id) {
			close(c)
			delete(w.ended, id)
		}
	}
}

// Wait waits until a sweep is finished, cancelled, or paused because its budget is used up or its trials fail, or until
// ctx ends, and returns its record.
// Otherwise a paused sweep is waited for. The coordinator must be running.
func (c *Coordinator) Wait(ctx context.Context, id string) (*sweep.SweepRecord, error) {
	for {
		ended := c.waiters.of(id) // before the read, so that no end is missed
		record, err := c.store.Sweep(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("waiting for sweep %s: %w", id, err)
		}
		spent := record.State == sweep.SweepPaused && strings.HasPrefix(record.Reason, sweep.BudgetReason)
		if record.State == sweep.SweepFinished || record.State == sweep.SweepCancelled || spent || record.Halted() {
			return record, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
