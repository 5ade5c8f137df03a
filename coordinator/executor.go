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

// executors carry out actions on the broker: those of one pool one after another, in a
// goroutine that lasts as long as there are some, beside those of the other pools. What
// waits is bounded: the schedule gives a pool no further jobs before its answers are there,
// so that it is one batch for each of the pool's queues, and what people's commands, of which
// the control service takes a number at a time, add to it.
type executors struct {
	mu      sync.Mutex
	waiting map[string][]func()
	working sync.WaitGroup
}

// do has something done after all that was asked for the pool before.
func (e *executors) do(pool string, action func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, working := e.waiting[pool]
	e.waiting[pool] = append(before, action)
	if !working {
		e.working.Go(func() { e.work(pool) })
	}
}

// work does what there is to do for a pool.
func (e *executors) work(pool string) {
	for {
		e.mu.Lock()
		waiting := e.waiting[pool]
		if len(waiting) == 0 {
			delete(e.waiting, pool)
			e.mu.Unlock()
			return
		}
		next := waiting[0]
		e.waiting[pool] = waiting[1:]
		e.mu.Unlock()
		next()
	}
}

// execute has the executor of a pool carry an action out, and tells the schedule what came
// of it. It decides nothing.
func (s *scheduler) execute(ctx context.Context, pool string, command int64, do deed) {
	s.executors.do(pool, func() { s.carry(ctx, command, do) })
}

// deed carries out one action on the broker.
type deed = func(ctx context.Context) (schedule.Fact, error)

// carry carries one action out.
func (s *scheduler) carry(ctx context.Context, command int64, do deed) {
	fact, err := do(ctx)
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
	s.facts.add(fact)
	s.commandDone(command, err)
}

// outcomeOf is what came of an action on a queue.
func outcomeOf(q schedule.Queue, err error) schedule.Outcome {
	full := (*wire.FullError)(nil)
	return schedule.Outcome{Queue: q, Err: err, All: errors.As(err, &full)}
}

// open makes a queue.
func (s *scheduler) open(ctx context.Context, a schedule.Open) (schedule.Fact, error) {
	err := s.wire.OpenQueue(ctx, wire.Queue(a.Queue))
	switch {
	case err != nil:
	case a.Again:
		s.log.Warn("recreated a lost queue", "queue", wire.Queue(a.Queue))
		s.lose() // its jobs may be, too
	default:
		s.log.Info("opened a queue for a new kind of worker", "queue", wire.Queue(a.Queue), "worker", a.Worker)
	}
	return schedule.Opened{Open: a, Outcome: outcomeOf(a.Queue, err)}, err
}

// together returns the actions at the beginning of a list, all of them Withdraws, that can be
// carried out side by side: those of one pool, each for another queue.
func together(actions []schedule.Action) (list []schedule.Withdraw) {
	for _, action := range actions {
		a, is := action.(schedule.Withdraw)
		apart := func(other schedule.Withdraw) bool {
			return other.Queue == a.Queue || other.Queue.Pool != a.Queue.Pool
		}
		if !is || slices.ContainsFunc(list, apart) {
			break
		}
		list = append(list, a)
	}
	return list
}

// withdrawAll takes jobs back from several queues of a pool.
func (s *scheduler) withdrawAll(ctx context.Context, pool string, list []schedule.Withdraw) {
	s.executors.do(pool, func() {
		var withdrawing sync.WaitGroup
		for _, a := range list {
			withdrawing.Go(func() {
				s.carry(ctx, a.Command, func(ctx context.Context) (schedule.Fact, error) { return s.withdraw(ctx, a) })
			})
		}
		withdrawing.Wait()
	})
}

// withdraw takes jobs back that no worker has. The broker comes first: which jobs
// these are is known then.
func (s *scheduler) withdraw(ctx context.Context, a schedule.Withdraw) (schedule.Fact, error) {
	taken, err := s.wire.Withdraw(ctx, wire.Queue(a.Queue), a.Sweeps...)
	return schedule.Withdrawn{Withdraw: a, Outcome: outcomeOf(a.Queue, err), Trials: taken}, err
}

// remove removes a queue without workers.
func (s *scheduler) remove(ctx context.Context, a schedule.Remove) (schedule.Fact, error) {
	err := s.wire.RemoveQueue(ctx, wire.Queue(a.Queue))
	if err == nil {
		s.log.Info("removed a queue without workers", "queue", wire.Queue(a.Queue), "sweeps", a.Sweeps)
	}
	return schedule.Removed{Remove: a, Outcome: outcomeOf(a.Queue, err)}, err
}

// purge removes the jobs of cancelled trials, and has workers stop those that run.
func (s *scheduler) purge(ctx context.Context, a schedule.Purge) (schedule.Fact, error) {
	var err error
	if len(a.Indices) == 0 {
		err = s.wire.RemoveJobs(ctx, a.Pool, a.Sweep)
	} else {
		err = s.wire.RemoveTrials(ctx, a.Pool, a.Sweep, a.Indices)
	}
	if err == nil {
		err = s.wire.Cancel(a.Sweep, a.Indices...)
	}
	return schedule.Purged{Purge: a}, err
}

// batch are the jobs for one queue, of trials that are marked as queued.
type batch struct {
	queue schedule.Queue
	jobs  []wire.Job
	began time.Time
}

// publishAll puts jobs into the queues of one pool. It waits for the answers of all queues
// together: one after the other, hundreds of kinds of workers would wait for each other.
func (s *scheduler) publishAll(ctx context.Context, pool string, batches []batch) {
	keepsArtifacts := func(j wire.Job) bool { return len(j.Artifacts) > 0 }
	if slices.ContainsFunc(batches, func(b batch) bool { return slices.ContainsFunc(b.jobs, keepsArtifacts) }) {
		s.prepareArtifacts(ctx, pool)
	}
	var publishing sync.WaitGroup
	for _, b := range batches {
		publishing.Go(func() {
			s.carry(ctx, 0, func(ctx context.Context) (schedule.Fact, error) { return s.publish(ctx, b) })
		})
	}
	publishing.Wait()
}

// publishTime and publishTimeEach bound the publication of some jobs: a broker that loses the
// stream meanwhile never answers, and one that syncs each message is slow.
const (
	publishTime     = 2 * time.Second
	publishTimeEach = 10 * time.Millisecond
)

// publish puts jobs into a queue.
func (s *scheduler) publish(ctx context.Context, b batch) (schedule.Fact, error) {
	done := schedule.Published{Outcome: outcomeOf(b.queue, nil)}
	for i := range b.jobs {
		done.Trials = append(done.Trials, b.jobs[i].TrialID)
	}
	if !s.options.Leads() { // the process may have been stopped since it took the trials
		done.Err, done.Withheld = errUncertain, true
		return done, nil
	}
	bound, cancel := context.WithTimeout(ctx, publishTime+time.Duration(len(b.jobs))*publishTimeEach)
	defer cancel()
	sequences, err := s.wire.PublishJobs(bound, wire.Queue(b.queue), b.jobs)
	tooLarge, err := wire.TooLarge(err)
	done.Outcome = outcomeOf(b.queue, err)
	refused := map[sweep.TrialID]bool{}
	for _, e := range tooLarge {
		refused[e.TrialID] = true
		done.TooLarge = append(done.TooLarge, schedule.Failure{TrialID: e.TrialID, Err: e})
	}
	for i, id := range done.Trials {
		if sequences != nil && sequences[i] == 0 && !refused[id] && err == nil {
			done.Duplicate = append(done.Duplicate, id)
		}
	}
	if err == nil {
		s.options.Metrics.dispatched(b.began, len(b.jobs))
	}
	return done, err
}
