package coordinator

import (
	"context"
	"errors"
	"sync"

	"sweep/coordinator/schedule"
)

// command is a function to be called in the scheduler's goroutine.
type command struct {
	do   func(ctx context.Context, s *scheduler) error
	done chan error
}

// errEnded means that the coordinator no longer runs.
var errEnded = errors.New("the coordinator is stopping")

// command calls do between two steps of the schedule. do must not wait for the broker.
func (c *Coordinator) command(ctx context.Context, do func(ctx context.Context, s *scheduler) error) error {
	if c.wire == nil { // there is no scheduler
		return do(ctx, newScheduler(c, schedule.New(schedule.Options{})))
	}
	k := command{do, make(chan error, 1)}
	select {
	case c.commands <- k:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return errEnded
	}
	select {
	case err := <-k.done:
		return err
	case <-c.ended:
		return errEnded
	}
}

// answer carries out the waiting commands.
func (s *scheduler) answer(ctx context.Context) {
	for {
		s.alive(scheduling)
		select {
		case k := <-s.commands:
			k.done <- k.do(ctx, s)
		default:
			return
		}
	}
}

// pendingCommands are commands to the schedule whose actions on the broker are not finished.
type pendingCommands struct {
	mu   sync.Mutex
	last int64
	list map[int64]*pendingCommand
}

// pendingCommand is one of them: left counts its unfinished actions.
type pendingCommand struct {
	left int
	errs []error
	done chan error
}

// carryOutCommand passes a command to the schedule as a fact with a number, and waits until the
// actions that follow from it are finished.
func (c *Coordinator) carryOutCommand(ctx context.Context, fact func(number int64) schedule.Fact) error {
	if c.wire == nil {
		return nil
	}
	o := &pendingCommand{done: make(chan error, 1)}
	c.pending.mu.Lock()
	c.pending.last++
	number := c.pending.last
	c.pending.list[number] = o
	c.pending.mu.Unlock()
	c.facts.add(fact(number))
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return errEnded
	}
}

// expect notes how many actions follow from each command of a step.
func (s *scheduler) expect(facts []schedule.Fact, actions []schedule.Action) {
	for _, f := range facts {
		var number int64
		switch f := f.(type) {
		case schedule.Paused:
			number = f.Command
		case schedule.Cancelled:
			number = f.Command
		default:
			continue
		}
		s.pending.mu.Lock()
		o := s.pending.list[number]
		for _, a := range actions {
			withdraw, isWithdraw := a.(schedule.Withdraw)
			purge, isPurge := a.(schedule.Purge)
			if isWithdraw && withdraw.Command == number || isPurge && purge.Command == number {
				o.left++
			}
		}
		if o.left == 0 {
			delete(s.pending.list, number)
			o.done <- nil
		}
		s.pending.mu.Unlock()
	}
}

// commandDone notes that an action of a command is finished; 0 is no command.
func (c *Coordinator) commandDone(number int64, err error) {
	c.pending.mu.Lock()
	defer c.pending.mu.Unlock()
	o := c.pending.list[number]
	if o == nil {
		return
	}
	if err != nil {
		o.errs = append(o.errs, err)
	}
	if o.left--; o.left == 0 {
		delete(c.pending.list, number)
		o.done <- errors.Join(o.errs...)
	}
}
