package coordinator

import (
	"context"
	"errors"
	"sync"

	"sweep/coordinator/schedule"
)

// errEnded means that the coordinator no longer runs.
var errEnded = errors.New("the coordinator is stopping")

// between calls do between two steps of the schedule, in the order in which callers arrive. do may
// read the plan. It must not wait for the broker.
func (c *Coordinator) between(ctx context.Context, do func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return errEnded
	}
	defer func() { <-c.turn }()
	return do()
}

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

// finishCommands ends the commands among the facts of a step when the actions of the step have ended:
// an executor carries them out in order.
func (s *scheduler) finishCommands(facts []schedule.Fact) {
	for _, f := range facts {
		var command any
		switch f := f.(type) {
		case schedule.Paused:
			command = f.Command
		case schedule.Cancelled:
			command = f.Command
		}
		if k, is := command.(*brokerCommand); is {
			s.executors.do(k.pool, func() { k.done <- errors.Join(k.errs...) })
		}
	}
}
