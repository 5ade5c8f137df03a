package coordinator

import (
	"context"
	"errors"
	"testing"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// What a command does to the broker's jobs comes after Run has adopted them, and nothing
// changes after Run has ended.
func TestCommandsOutsideRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, stop := b.start(Options{})
	id := b.submit(first, submission("x", 0, 3))
	stop()
	before, err := b.store.Sweep(t.Context(), id) // it may wait for a worker
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Store: b.store, Wire: b.wire, Logger: logger(t)})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Pause(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("pausing before Run: %v", err)
	}
	k := &brokerCommand{pool: "cpu", done: make(chan error, 1)}
	err = c.carryOutCommand(gone, k, schedule.Cancelled{Command: k, Pool: "cpu", Sweep: id})
	if facts := c.facts.drain(); !errors.Is(err, context.Canceled) || len(facts) != 0 {
		t.Errorf("a command before Run: %v, with facts %v", err, facts)
	}
	// While it runs, a command is carried out even if its client has gone.
	close(c.ready)
	for range 20 {
		_ = c.carryOutCommand(gone, k, schedule.Cancelled{Command: k, Pool: "cpu", Sweep: id}) // nobody waits for it
		if facts := c.facts.drain(); len(facts) != 1 {
			t.Fatalf("a command of a client that has gone: facts %v", facts)
		}
	}
	for range 20 {
		if err := first.Pause(t.Context(), id); !errors.Is(err, errEnded) {
			t.Fatalf("pausing after Run: %v", err)
		}
	}
	if record, err := b.store.Sweep(t.Context(), id); err != nil || record.State != before.State {
		t.Errorf("the sweep was %s and is %s, %v", before.State, record.State, err)
	}
}

// Run waits for a change that is being made, and ends it.
func TestRunEndsChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, stop := b.start(Options{})
	id := b.submit(c, submission("x", 0, 3))
	began, done := make(chan struct{}), make(chan error, 1)
	gone, cancel := context.WithCancel(t.Context())
	ended := false
	go func() {
		done <- c.change(gone, "changing", id, func(ctx context.Context, _ *sweep.SweepRecord) error {
			close(began)
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}, nil)
	}()
	sweeptest.Receive(t, "the change to begin", began)
	cancel() // its client goes away, which does not end it
	stop()
	if !ended {
		t.Error("Run ended before a change")
	}
	if err := sweeptest.Receive(t, "the end of the change", done); !errors.Is(err, context.Canceled) {
		t.Errorf("the change: %v", err)
	}
}

// A command from which no action follows does not wait for what its pool's executor does.
func TestCommandWithoutActions(t *testing.T) {
	s := &scheduler{executors: executors{last: map[string]chan struct{}{}}}
	leave := make(chan struct{})
	s.executors.do("cpu", func() { <-leave })
	idle := &brokerCommand{pool: "cpu", done: make(chan error, 1)}
	busy := &brokerCommand{pool: "cpu", done: make(chan error, 1)}
	s.finishCommands([]schedule.Fact{schedule.Paused{Command: idle}, schedule.Paused{Command: busy}},
		[]schedule.Action{schedule.Withdraw{Command: busy}})
	if err := sweeptest.Receive(t, "the end of the command without actions", idle.done); err != nil {
		t.Error(err)
	}
	select {
	case <-busy.done:
		t.Error("a command ended before its action")
	default:
	}
	close(leave)
	if err := sweeptest.Receive(t, "the end of the other command", busy.done); err != nil {
		t.Error(err)
	}
	s.executors.working.Wait()
}
