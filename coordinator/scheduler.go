package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// scheduler is the goroutine that owns the schedule. It passes facts to it and carries out its
// actions.
type scheduler struct {
	*Coordinator
	plan *schedule.State
	// active caches the active sweeps, by id.
	active map[string]*activeSweep
	// answers are the outcomes of the last step's actions on the database.
	answers []schedule.Fact
	// looked means that answers include the backlogs of sweeps.
	looked bool
	// troubles are the reported outages, by pool.
	troubles  map[string]*outage
	executors executors
	// failure holds an error of the broker that ends Run.
	failure chan error
}

func newScheduler(c *Coordinator, plan *schedule.State) *scheduler {
	return &scheduler{
		Coordinator: c, plan: plan, active: map[string]*activeSweep{}, troubles: map[string]*outage{},
		executors: executors{waiting: map[string][]func(){}}, failure: make(chan error, 1),
	}
}

// errUncertain is why a coordinator with an expired lease dispatches nothing.
var errUncertain = errors.New("the lease has expired, and another coordinator may lead")

// schedule runs the schedule until ctx ends. It returns only fatal errors.
func (c *Coordinator) schedule(ctx context.Context) error {
	s := newScheduler(c, c.plan)
	timer := time.NewTimer(0)
	defer timer.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer s.leave(ctx)
	defer cancel()
	for {
		c.alive(scheduling)
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.failure:
			return err
		case k := <-c.commands:
			k.done <- k.do(ctx, s)
			continue
		case <-c.facts.wake:
		case <-timer.C:
		}
		if err := s.advance(ctx); err != nil {
			return err
		}
		timer.Reset(time.Until(s.plan.Wake()))
	}
}

// advance takes steps until there is nothing more to do.
func (s *scheduler) advance(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; more = len(s.answers) > 0 {
		s.answer(ctx) // commands come first: select would choose at random
		added := s.facts.drain()
		facts := append(s.answers, added...)
		if !s.options.Leads() {
			facts = append(facts, schedule.Uncertain{Err: errUncertain})
		}
		s.answers = nil
		actions := s.plan.Step(time.Now(), facts...)
		if s.looked {
			s.forgetEnded()
		}
		figures := s.plan.Figures()
		s.reserve.Store(figures.Reserve)
		s.unschedulable.Store(&figures.Unschedulable)
		s.expect(added, actions)
		if err := s.carryOut(ctx, actions); err != nil {
			return err
		}
	}
	return nil
}

// forgetEnded forgets the sweeps that are no longer active, and wakes those who wait for their ends.
func (s *scheduler) forgetEnded() {
	s.looked = false
	for id := range s.active {
		if !s.plan.Active(id) {
			delete(s.active, id)
			s.log.Info("sweep is no longer active", "sweep", id)
		}
	}
	s.waiters.notifyExcept(s.plan.Active)
}

// carryOut carries out actions: those on the database here, until one fails, and those on the broker
// by the executor of their pool. It returns the errors that end Run.
func (s *scheduler) carryOut(ctx context.Context, actions []schedule.Action) error {
	failed := false
	for i := 0; i < len(actions); i++ {
		switch a := actions[i].(type) {
		case schedule.Report:
			s.report(a)
		case schedule.Gone:
			s.log.Warn("workers sent no heartbeats and count as gone", "workers", a.Workers)
		case schedule.Open:
			s.execute(ctx, a.Queue.Pool, 0, func(ctx context.Context) (schedule.Fact, error) { return s.open(ctx, a) })
		case schedule.Withdraw:
			list := together(actions[i:])
			s.withdrawAll(ctx, a.Queue.Pool, list)
			i += len(list) - 1
		case schedule.Remove:
			s.execute(ctx, a.Queue.Pool, 0, func(ctx context.Context) (schedule.Fact, error) {
				return s.remove(ctx, a)
			})
		case schedule.Purge:
			s.execute(ctx, a.Pool, a.Command, func(ctx context.Context) (schedule.Fact, error) {
				return s.purge(ctx, a)
			})
		default:
			if failed {
				continue
			}
			fact, err := s.onStore(ctx, a)
			if err != nil && ctx.Err() == nil && s.final(err) {
				return err
			}
			failed = err != nil
			s.answers = append(s.answers, fact)
		}
	}
	return nil
}

// report logs what keeps trials from advancing, and its end.
func (s *scheduler) report(r schedule.Report) {
	trouble := s.troubles[r.Pool]
	if r.Err == nil {
		if trouble != nil {
			trouble.over()
			delete(s.troubles, r.Pool)
		}
		return
	}
	if trouble == nil {
		trouble = s.outage("scheduling trials")
		if r.Pool != "" {
			trouble.doing += " of pool " + r.Pool
		}
		if r.Pool != "" && !r.All {
			trouble.all = &s.poolOutages
		}
		s.troubles[r.Pool] = trouble
	}
	trouble.failed(r.Err)
}

// leave waits for the executors and requeues trials without jobs, which a successor would do only
// after a lease.
func (s *scheduler) leave(ctx context.Context) {
	s.executors.working.Wait()
	for _, t := range s.troubles {
		t.drop()
	}
	s.plan.Step(time.Now(), append(s.answers, s.facts.drain()...)...)
	back := s.plan.Unpublished()
	if len(back) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restWait)
	defer cancel()
	if _, err := s.store.Requeue(ctx, back); err != nil && s.options.Leads() {
		s.log.Warn("trials without jobs remain queued until the next coordinator requeues them", "trials", len(back),
			"error", err)
	}
}

// onStore carries out an action on the database.
func (s *scheduler) onStore(ctx context.Context, a schedule.Action) (schedule.Fact, error) {
	switch a := a.(type) {
	case schedule.Read:
		return s.read(ctx, a)
	case schedule.Write:
		return s.write(ctx, a)
	case schedule.Requeue:
		return s.requeue(ctx, a)
	case schedule.Dispatch:
		return s.dispatch(ctx, a)
	case schedule.Explain:
		return s.explain(ctx, a)
	case schedule.Fail:
		var events []sweep.Event
		for _, f := range a.Failures {
			events = append(events, failure(f.TrialID, f.Err))
		}
		_, err := s.store.Record(ctx, events)
		return failedUnless(schedule.Recorded{Fail: a}, err, "recording %d trials that are too large", len(events))
	case schedule.Suspend:
		s.log.Error("paused a sweep that cannot be expanded", "sweep", a.Sweep, "error", a.Err)
		err := s.store.SetSweepState(ctx, a.Sweep, sweep.SweepPaused, a.Err.Error())
		return failedUnless(schedule.Changed{}, err, "pausing sweep %s", a.Sweep)
	}
	panic(fmt.Sprintf("an action of type %T", a))
}

// failedUnless returns a fact, or schedule.Failed if there is an error.
func failedUnless(fact schedule.Fact, err error, format string, args ...any) (schedule.Fact, error) {
	if err == nil {
		return fact, nil
	}
	err = fmt.Errorf(format+": %w", append(args, err)...)
	return schedule.Failed{Err: err}, err
}

// read reads the backlogs of sweeps.
func (s *scheduler) read(ctx context.Context, a schedule.Read) (schedule.Fact, error) {
	backlogs, err := s.store.Backlog(ctx, a.Sweeps...)
	s.looked = err == nil
	for _, b := range backlogs {
		s.pools.Store(b.Sweep, b.Pool)
	}
	return failedUnless(schedule.Left{Read: a, Backlogs: backlogs}, err, "reading the backlogs of sweeps")
}

// sweep returns an active sweep, from the cache if that is current.
func (s *scheduler) sweep(ctx context.Context, id string) (*activeSweep, error) {
	if a := s.active[id]; a != nil && len(a.record.Grids) == s.plan.Grids(id) {
		return a, nil
	}
	record, err := s.store.Sweep(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading sweep %s: %w", id, err)
	}
	a := newActiveSweep(record)
	s.active[id] = a
	return a, nil
}

// write writes a page of trial rows.
func (s *scheduler) write(ctx context.Context, a schedule.Write) (schedule.Fact, error) {
	active, err := s.sweep(ctx, a.Sweep)
	if err == nil {
		err = s.expand(ctx, active, a.Classes)
	}
	if broken := (*expansionError)(nil); errors.As(err, &broken) {
		return schedule.Written{Write: a, Broken: broken.err}, nil
	}
	if err != nil {
		return schedule.Failed{Err: err}, err
	}
	return schedule.Written{Write: a}, nil
}

// requeue makes trials without jobs pending again.
func (s *scheduler) requeue(ctx context.Context, a schedule.Requeue) (schedule.Fact, error) {
	n, err := s.store.Requeue(ctx, a.Trials)
	doing := "requeuing %d trials"
	if err == nil && len(a.Lost) > 0 {
		doing += " whose jobs were lost"
		n, err = s.store.RequeueUnheard(ctx, a.Lost)
	}
	s.options.Metrics.putBack(n)
	return failedUnless(schedule.Requeued{Requeue: a}, err, doing, len(a.Trials)+len(a.Lost))
}

// dispatch marks trials as queued and has their jobs published.
func (s *scheduler) dispatch(ctx context.Context, a schedule.Dispatch) (schedule.Fact, error) {
	began := time.Now()
	type class struct {
		sweep string
		class int
	}
	shares := map[class]int{}
	for _, p := range a.Places {
		shares[class{p.Sweep, p.Class}]++
	}
	taken := map[class][]wire.Job{}
	var unused []sweep.TrialID
	for from, share := range shares {
		active, err := s.sweep(ctx, from.sweep)
		if err != nil {
			return schedule.Failed{Err: err, Unused: unused}, err
		}
		trials, err := s.store.TakePending(ctx, from.sweep, from.class, share)
		if err != nil {
			err = fmt.Errorf("taking pending trials of sweep %s: %w", from.sweep, err)
			return schedule.Failed{Err: err, Unused: unused}, err
		}
		for i := range trials {
			unused = append(unused, trials[i].TrialID)
			taken[from] = append(taken[from], active.job(trials[i]))
		}
	}
	done := schedule.Taken{Dispatch: a}
	jobs := map[schedule.Queue][]wire.Job{}
	for _, p := range a.Places {
		from := class{p.Sweep, p.Class}
		if list := taken[from]; len(list) > 0 { // the sweep may have changed meanwhile
			list[0].Requirement = *p.Requirement
			jobs[p.Queue] = append(jobs[p.Queue], list[0])
			done.Jobs = append(done.Jobs, schedule.Job{Queue: p.Queue, TrialID: list[0].TrialID, Class: p.Class})
			taken[from] = list[1:]
		}
	}
	batches := make([]batch, 0, len(jobs))
	for q, list := range jobs {
		batches = append(batches, batch{q, list, began})
	}
	s.executors.do(a.Pool, func() { s.publishAll(ctx, a.Pool, batches) })
	return done, nil
}

// explain stores why a sweep waits.
func (s *scheduler) explain(ctx context.Context, a schedule.Explain) (schedule.Fact, error) {
	err := s.store.SetWaiting(ctx, a.Sweep, a.Waiting, a.Reason)
	if err == nil && a.Reason != "" {
		s.log.Warn("trials wait for a worker", "sweep", a.Sweep, "all", a.Waiting, "reason", a.Reason)
	}
	return failedUnless(schedule.Explained{Explain: a}, err, "storing why sweep %s waits", a.Sweep)
}
