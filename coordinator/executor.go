package coordinator

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// executors carry out actions on the broker: those of one pool in order, those of different pools
// concurrently. What waits is bounded: a batch of jobs for each queue, because the schedule gives a
// pool no further jobs before it has the outcome, and the actions of users' commands, whose number the
// control service bounds.
type executors struct {
	// last has a channel for each pool, closed when its last actions have ended.
	last    map[string]chan struct{}
	working sync.WaitGroup
}

// do carries out actions concurrently with each other, after all earlier ones of the pool. Only the
// scheduler's goroutine calls it.
func (e *executors) do(pool string, actions ...func()) {
	before, done := e.last[pool], make(chan struct{})
	e.last[pool] = done
	e.working.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		var working sync.WaitGroup
		for _, action := range actions {
			working.Go(action)
		}
		working.Wait()
	})
}

// together returns how many actions at the beginning of a list are carried out concurrently:
// withdrawals from different queues of a pool, otherwise one action.
func together(actions []schedule.Action) int {
	queues := map[schedule.Queue]bool{}
	for n, action := range actions {
		a, is := action.(schedule.Withdraw)
		if !is || queues[a.Queue] || n > 0 && schedule.Executor(a) != schedule.Executor(actions[0]) {
			return max(n, 1)
		}
		queues[a.Queue] = true
	}
	return len(actions)
}

// onBroker carries out an action on the broker.
func (s *scheduler) onBroker(ctx context.Context, action schedule.Action) {
	done := schedule.Done{Action: action}
	var err error
	switch a := action.(type) {
	case schedule.Open:
		err = s.wire.OpenQueue(ctx, wire.Queue(a.Queue))
		if err == nil && a.Need != nil {
			s.workers.addNeed(wire.Queue(a.Queue), *a.Need)
			err = s.wire.RequestHeartbeats() // their answers tell the workers of the queue
		}
		switch {
		case err != nil:
		case a.Again:
			s.log.Warn("recreated a lost queue", "queue", wire.Queue(a.Queue))
			s.lose() // its jobs may be, too
		case a.Need != nil:
			s.log.Info("opened a queue for trials that hold devices", "queue", wire.Queue(a.Queue), "need", a.Need)
		default:
			s.log.Info("opened a queue for a new kind of worker", "queue", wire.Queue(a.Queue), "worker", a.Worker)
		}
	case schedule.Withdraw: // from the broker first: it knows which jobs no worker has
		done.Trials, err = s.wire.Withdraw(ctx, wire.Queue(a.Queue), a.Sweeps...)
		noteError(a.Command, err)
	case schedule.Remove:
		s.workers.dropNeed(wire.Queue(a.Queue))
		if err = s.wire.RemoveQueue(ctx, wire.Queue(a.Queue)); err == nil {
			s.log.Info("removed a queue without workers", "queue", wire.Queue(a.Queue), "sweeps", a.Sweeps)
		}
	case schedule.Purge:
		if len(a.Indices) == 0 {
			err = s.wire.RemoveJobs(ctx, a.Pool, a.Sweep)
		} else {
			err = s.wire.RemoveTrials(ctx, a.Pool, a.Sweep, a.Indices)
		}
		if err == nil {
			err = s.wire.Cancel(a.Sweep, a.Indices...)
		}
		noteError(a.Command, err)
	}
	done.Err, done.All = err, isFull(err)
	s.answer(ctx, done, err)
}

// noteError notes an error of an action that may belong to a command.
func noteError(command any, err error) {
	if k, is := command.(*brokerCommand); is && err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.errs = append(k.errs, err)
	}
}

// isFull reports whether the broker is full, which affects all pools.
func isFull(err error) bool { return errors.As(err, new(*wire.FullError)) }

// answer passes the outcome of an action on the broker to the schedule. It does not decide what follows.
func (s *scheduler) answer(ctx context.Context, outcome schedule.Fact, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
	case s.final(err):
		select {
		case s.failure <- err:
		default: // one is enough
		}
	case wire.IsLost(err):
		s.lose()
	}
	s.facts.add(outcome)
}

// publish publishes the jobs for one queue, of trials that are marked as queued since began.
func (s *scheduler) publish(ctx context.Context, q schedule.Queue, jobs []wire.Job, began time.Time) {
	done := schedule.Published{Queue: q}
	for i := range jobs {
		done.Trials = append(done.Trials, jobs[i].TrialID)
	}
	if !s.options.Leads() { // the process may have been stopped since it took the trials
		done.Err, done.Withheld = errUncertain, true
		s.facts.add(done)
		return
	}
	sequences, err := s.wire.PublishJobs(ctx, wire.Queue(q), jobs)
	tooLarge, err := wire.TooLarge(err)
	done.Err, done.All = err, isFull(err)
	if err != nil {
		done.Stored = map[sweep.TrialID]bool{}
	}
	for _, e := range tooLarge {
		done.TooLarge = append(done.TooLarge, schedule.Failure{TrialID: e.TrialID, Err: e})
	}
	for i, id := range done.Trials {
		refused := slices.ContainsFunc(tooLarge, func(e *wire.TooLargeError) bool { return e.TrialID == id })
		switch {
		case sequences == nil || refused:
		case err == nil && sequences[i] == 0:
			done.Duplicate = append(done.Duplicate, id)
		case err != nil && sequences[i] != 0:
			done.Stored[id] = true
		}
	}
	if err == nil {
		s.options.Metrics.dispatched(began, len(jobs))
	}
	s.answer(ctx, done, err)
}
