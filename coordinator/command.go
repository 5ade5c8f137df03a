package coordinator

import (
	"context"
	"errors"
	"sync"

	"sweep/coordinator/schedule"
)

// command is something to do in the scheduler's goroutine.
type command struct {
	do   func(ctx context.Context, s *scheduler) error
	done chan error
}

// errEnded says that the coordinator does not run any more.
var errEnded = errors.New("the coordinator stops")

// command does something between two steps, which does not wait for the broker.
func (c *Coordinator) command(ctx context.Context, do func(ctx context.Context, s *scheduler) error) error {
	if c.wire == nil { // nothing is dispatched
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

// answer carries out the commands that wait.
func (s *scheduler) answer(ctx context.Context) {
	for {
		s.moves(scheduling)
		select {
		case k := <-s.commands:
			k.done <- k.do(ctx, s)
		default:
			return
		}
	}
}

// orders are commands to the schedule whose actions on the broker are under way.
type orders struct {
	mu   sync.Mutex
	last int64
	list map[int64]*order
}

// order is a command that is being carried out.
type order struct {
	left int
	errs []error
	done chan error
}

// order tells the schedule of a command, with its number, and waits until what it decides
// is carried out.
func (c *Coordinator) order(ctx context.Context, fact func(number int64) schedule.Fact) error {
	if c.wire == nil {
		return nil
	}
	o := &order{done: make(chan error, 1)}
	c.orders.mu.Lock()
	c.orders.last++
	number := c.orders.last
	c.orders.list[number] = o
	c.orders.mu.Unlock()
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

// expect notes how many actions the commands of a step have led to.
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
		s.orders.mu.Lock()
		o := s.orders.list[number]
		for _, a := range actions {
			withdraw, isWithdraw := a.(schedule.Withdraw)
			purge, isPurge := a.(schedule.Purge)
			if isWithdraw && withdraw.Command == number || isPurge && purge.Command == number {
				o.left++
			}
		}
		if o.left == 0 {
			delete(s.orders.list, number)
			o.done <- nil
		}
		s.orders.mu.Unlock()
	}
}

// obeyed notes that an action of a command is carried out; 0 is no command.
func (c *Coordinator) obeyed(number int64, err error) {
	c.orders.mu.Lock()
	defer c.orders.mu.Unlock()
	o := c.orders.list[number]
	if o == nil {
		return
	}
	if err != nil {
		o.errs = append(o.errs, err)
	}
	if o.left--; o.left == 0 {
		delete(c.orders.list, number)
		o.done <- errors.Join(o.errs...)
	}
}
