package coordinator

import (
	"context"
	"fmt"
	"sync"

	"sweep/sweep"
)

// waiters are those who wait for the end of a sweep.
type waiters struct {
	mu sync.Mutex
	// ended holds, for each sweep that is waited for, a channel that is closed
	// when the sweep may have ended.
	ended map[string]chan struct{}
}

// of returns the channel that is closed at the next notice about a sweep.
func (w *waiters) of(id string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = map[string]chan struct{}{}
	}
	if w.ended[id] == nil {
		w.ended[id] = make(chan struct{})
	}
	return w.ended[id]
}

// notify wakes those who wait for a sweep.
func (w *waiters) notify(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.ended[id]; c != nil {
		close(c)
		delete(w.ended, id)
	}
}

// notifyExcept wakes everybody who waits for a sweep that is not active.
func (w *waiters) notifyExcept(active func(id string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, c := range w.ended {
		if !active(id) {
			close(c)
			delete(w.ended, id)
		}
	}
}

// Wait returns when every trial of the sweep has its result, or ctx ends. The
// record is the sweep's at that time, finished or cancelled; a paused sweep is
// waited for. It needs a running coordinator.
func (c *Coordinator) Wait(ctx context.Context, id string) (*sweep.SweepRecord, error) {
	for {
		ended := c.waiters.of(id) // before looking, so that no end is missed
		record, err := c.store.Sweep(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("waiting for sweep %s: %w", id, err)
		}
		if record.State == sweep.SweepFinished || record.State == sweep.SweepCancelled {
			return record, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
