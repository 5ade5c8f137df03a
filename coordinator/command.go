package coordinator

import (
	"context"
	"errors"
	"slices"
	"sync"

	"sweep/coordinator/schedule"
)

// errEnded means that the coordinator no longer runs.
var errEnded = errors.New("the coordinator is stopping")

// started waits until Run has adopted the broker's jobs: what happens to them comes after that.
func (c *Coordinator) started(ctx context.Context) error {
	if c.wire == nil { // there is no Run
		return nil
	}
	select {
	case <-c.ready: // even if the client has gone: what it began is carried out
		return nil
	default:
	}
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return errEnded
	}
}

// between calls do between two steps of the schedule, in the order in which callers arrive. do may
// read the plan. It must not wait for the broker.
func (c *Coordinator) between(ctx context.Context, do func() error) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	return do()
}

// take waits for the caller's turn, which ends with release.
func (c *Coordinator) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		c.alive(scheduling) // the scheduler waits for this caller
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return errEnded
	}
}

func (c *Coordinator) release() { <-c.turn }

// brokerCommand is a command to the schedule, from which actions on the broker of one pool follow.
type brokerCommand struct {
	pool string
	done chan error

	mu   sync.Mutex
	errs []error
}

// carryOutCommand passes a command to the schedule as a fact, and waits until the actions that follow
// from it have ended.
func (c *Coordinator) carryOutCommand(ctx context.Context, k *brokerCommand, fact schedule.Fact) error {
	if c.wire == nil {
		return nil
	}
	if err := c.started(ctx); err != nil {
		return err
	}
	c.facts.add(fact)
	select {
	case err := <-k.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return errEnded
	}
}

// finishCommands ends the commands among the facts of a step when the actions that follow from them
// have ended: an executor carries them out in order.
func (s *scheduler) finishCommands(facts []schedule.Fact, actions []schedule.Action) {
	for _, f := range facts {
		var command any
		switch f := f.(type) {
		case schedule.Paused:
			command = f.Command
		case schedule.Cancelled:
			command = f.Command
		}
		k, is := command.(*brokerCommand)
		if !is {
			continue
		}
		if slices.ContainsFunc(actions, func(a schedule.Action) bool { return commandOf(a) == command }) {
			s.executors.do(k.pool, func() { k.done <- errors.Join(k.errs...) })
		} else {
			k.done <- nil
		}
	}
}

// commandOf is the command from which an action follows, nil if there is none.
func commandOf(action schedule.Action) any {
	switch a := action.(type) {
	case schedule.Withdraw:
		return a.Command
	case schedule.Purge:
		return a.Command
	}
	return nil
}
