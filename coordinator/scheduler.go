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

// scheduler is the goroutine that takes the steps of the schedule. It passes facts to it and carries out
// its actions.
type scheduler struct {
	*Coordinator
	// active caches the active sweeps, by id.
	active map[string]*activeSweep
	// answers are the outcomes of the last step's actions on the database.
	answers []schedule.Fact
	// looked means that answers include the backlogs of sweeps.
	looked    bool
	executors executors
	// failures counts, by sweep, how often in a row an action failed because of it, as it seems.
	failures map[string]int
	// failure holds an error of the broker that ends Run.
	failure chan error
}

// errUncertain is why a coordinator with an expired lease dispatches nothing.
var errUncertain = errors.New("the lease has expired, and another coordinator may lead")

// schedule runs the schedule until ctx ends. It returns only fatal errors.
func (c *Coordinator) schedule(ctx context.Context) error {
	s := &scheduler{
		Coordinator: c, active: map[string]*activeSweep{},
		executors: executors{last: map[string]chan struct{}{}}, failures: map[string]int{},
		failure: make(chan error, 1),
	}
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
		case <-c.facts.wake:
		case <-timer.C:
		}
		for more := true; more; more = len(s.answers) > 0 {
			if s.take(ctx) != nil {
				return nil
			}
			err := s.step(ctx)
			s.release()
			if ctx.Err() != nil {
				return nil
			} else if err != nil {
				return err
			}
		}
		timer.Reset(time.Until(s.plan.Wake()))
	}
}

// step takes a step and carries its actions out. It returns the errors that end Run.
func (s *scheduler) step(ctx context.Context) error {
	s.alive(scheduling)
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
	s.figures.Store(&figures)
	if err := s.carryOut(ctx, actions); err != nil {
		return err
	}
	s.finishCommands(added, actions)
	return nil
}

// forgetEnded forgets the sweeps that are no longer active, and wakes those who wait for their ends.
func (s *scheduler) forgetEnded() {
	s.looked = false
	ended := func(id string) bool { return s.plan.Grids(id) == 0 }
	for id := range s.active {
		if ended(id) {
			delete(s.active, id)
			delete(s.failures, id)
			s.log.Info("sweep is no longer active", "sweep", id)
		}
	}
	s.waiters.notify(ended)
}

// carryOut carries out actions: those on the database here, until one fails, and those on the broker
// by the executor of their pool.
func (s *scheduler) carryOut(ctx context.Context, actions []schedule.Action) error {
	failed := false
	for len(actions) > 0 {
		n := 1
		switch a := actions[0].(type) {
		case schedule.Report:
			s.report(a)
		case schedule.Choose:
			s.choose(ctx, a)
		case schedule.Learn:
			s.learned(a)
		case schedule.Gone:
			s.log.Warn("workers sent no heartbeats and count as gone", "workers", a.Workers)
		case schedule.Aside:
			good := s.probeJob(ctx, a)
			s.executors.do(a.Pool, func() { s.standAside(ctx, a, good) })
		case schedule.Open, schedule.Withdraw, schedule.Remove, schedule.Purge:
			n = together(actions)
			var list []func()
			for _, a := range actions[:n] {
				list = append(list, func() { s.onBroker(ctx, a) })
			}
			s.executors.do(schedule.Executor(a), list...)
		default:
			if failed {
				break
			}
			fact, err := s.onStore(ctx, a)
			if err != nil && ctx.Err() == nil && s.final(err) {
				return err
			}
			failed = err != nil
			s.answers = append(s.answers, fact)
		}
		actions = actions[n:]
	}
	return nil
}

// report reports what keeps trials from advancing, and its end.
func (s *scheduler) report(r schedule.Report) {
	doing := "scheduling trials"
	if r.Pool != "" {
		doing += " of pool " + r.Pool
	}
	if r.Err == nil {
		s.outages.over(doing)
	} else {
		s.outages.failed(doing, r.Pool != "" && !r.All, r.Err)
	}
}

// learned says whether the trials of a sweep use GPUs, whose file does not.
func (s *scheduler) learned(a schedule.Learn) {
	if a.Used {
		s.log.Warn("trials get one GPU each, because the first ones use GPUs; \"requires: {gpus: 1}\" in the sweep file "+
			"says that", "sweep", a.Sweep, "process", a.Process, "devices", a.Devices)
		return
	}
	s.log.Warn("trials get no GPU, because no process of the first one was seen on its GPU; if they use one, write "+
		"\"requires: {gpus: 1}\" in the sweep file", "sweep", a.Sweep, "devices", a.Devices)
}

// leave waits for the executors and requeues trials without jobs, which a successor would do only
// after a lease.
func (s *scheduler) leave(ctx context.Context) {
	s.executors.working.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restWait)
	defer cancel()
	var back []sweep.TrialID
	err := s.take(ctx)
	if err == nil {
		defer s.release()
		s.plan.Step(time.Now(), append(s.answers, s.facts.drain()...)...)
		if back = s.plan.Unpublished(); len(back) > 0 {
			_, err = s.store.Requeue(ctx, back)
		}
	}
	if err != nil && s.options.Leads() {
		s.log.Warn("trials without jobs remain queued until the next coordinator requeues them", "trials", len(back),
			"error", err)
	}
}

// onStore carries out an action on the database. After an error the fact is schedule.Failed, unless the error
// concerns nothing but a part of what the action is about.
func (s *scheduler) onStore(ctx context.Context, action schedule.Action) (schedule.Fact, error) {
	if a, is := action.(schedule.Dispatch); is {
		return s.dispatch(ctx, a)
	}
	done, err := s.try(ctx, action)
	if id := sweepOf(action); id != "" {
		err = s.settle(ctx, id, err)
	}
	if err != nil {
		return schedule.Failed{Err: err}, err
	}
	return done, nil
}

// sweepOf is the one sweep that an action on the database is about, "" if it may be about several.
func sweepOf(action schedule.Action) string {
	switch a := action.(type) {
	case schedule.Write:
		return a.Sweep
	case schedule.Stop:
		return a.Sweep
	case schedule.Explain:
		return a.Sweep
	case schedule.Suspend:
		return a.Sweep
	case schedule.Exhaust:
		return a.Sweep
	case schedule.Halt:
		return a.Sweep
	}
	return ""
}

// try carries out an action on the database, but for a Dispatch.
func (s *scheduler) try(ctx context.Context, action schedule.Action) (done schedule.Done, err error) {
	done.Action = action
	switch a := action.(type) {
	case schedule.Read:
		done.Backlogs, err = s.store.Backlog(ctx, a.Sweeps...)
		err = wrap(err, "reading the backlogs of sweeps")
		s.looked = err == nil
		for _, b := range done.Backlogs {
			s.pools.Store(b.Sweep, b.Pool)
		}
	case schedule.Write:
		var active *activeSweep
		if active, err = s.sweep(ctx, a.Sweep); err == nil {
			done.Generations, err = s.expand(ctx, active, a)
		}
		if broken, is := errors.AsType[*expansionError](err); is {
			done.Err, err = broken.error, nil
		}
	case schedule.Stop:
		err = wrap(s.stopTrials(ctx, a), "deciding which trials of sweep %s stop", a.Sweep)
		if fault := faultOf(err); fault != nil {
			done.Err, err = fault, nil
		}
	case schedule.Requeue:
		err = s.requeue(ctx, a)
	case schedule.Explain:
		err = wrap(s.store.SetWaiting(ctx, a.Sweep, a.Waiting, a.Reason), "storing why sweep %s waits", a.Sweep)
		if err == nil && a.Reason != "" && !a.Reported {
			s.log.Warn("trials wait for a worker", "sweep", a.Sweep, "all", a.Waiting, "reason", a.Reason)
		}
	case schedule.Fail:
		err = s.recordFailures(ctx, a)
	case schedule.Confirm:
		err = wrap(s.store.ConfirmFailures(ctx, a.Sweep, a.Class, a.Worker), "confirming failures of sweep %s", a.Sweep)
	case schedule.Retract:
		err = s.retract(ctx, a)
	case schedule.Suspend:
		s.log.Error("paused a sweep because of an error", "sweep", a.Sweep, "error", a.Err)
		if panicked, is := errors.AsType[*sweep.PanicError](a.Err); is {
			s.log.Error("the stack of the fault", "sweep", a.Sweep, "stack", panicked.Stack)
		}
		err = wrap(s.store.Suspend(ctx, a.Sweep, a.Err.Error()), "pausing sweep %s", a.Sweep)
	case schedule.Exhaust:
		s.log.Info("paused a sweep", "sweep", a.Sweep, "reason", a.Reason)
		err = wrap(s.store.Suspend(ctx, a.Sweep, a.Reason), "pausing sweep %s", a.Sweep)
	case schedule.Halt:
		s.log.Info("paused a sweep whose trials fail", "sweep", a.Sweep, "reason", a.Reason)
		err = wrap(s.store.Suspend(ctx, a.Sweep, a.Reason), "pausing sweep %s", a.Sweep)
	default:
		panic(fmt.Sprintf("an action of type %T", a))
	}
	return done, err
}

// wrap puts what was being done before an error; nil remains nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
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

// continueTrials adds to the jobs of a sweep the checkpoints from which their trials can continue.
func (s *scheduler) continueTrials(ctx context.Context, id string, jobs []wire.Job) error {
	var trials []sweep.Trial
	for i := range jobs {
		if jobs[i].Lineage != "" {
			trials = append(trials, jobs[i].Trial)
		}
	}
	if len(trials) == 0 {
		return nil
	}
	found, err := s.store.Checkpoints(ctx, id, trials)
	if err != nil {
		return fmt.Errorf("looking for checkpoints of sweep %s: %w", id, err)
	}
	for i := range jobs {
		if r, ok := found[jobs[i].Index]; ok {
			jobs[i].Continues = &r
		}
	}
	return nil
}

// takeJobs marks up to share trials of a class as queued, and returns them with their jobs.
func (s *scheduler) takeJobs(ctx context.Context, id string, class, share int) (jobs []wire.Job, marked []sweep.TrialID,
	err error) {
	defer sweep.Catch(&err)
	active, err := s.sweep(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	trials, err := s.store.TakePending(ctx, id, class, share)
	if err != nil {
		return nil, nil, wrap(err, "taking pending trials of sweep %s", id)
	}
	for i := range trials {
		marked = append(marked, trials[i].TrialID)
	}
	for i := range trials {
		stop, err := s.rule(ctx, active, trials[i].Index)
		if err != nil {
			return nil, marked, err
		}
		jobs = append(jobs, active.job(trials[i], stop))
	}
	return jobs, marked, s.continueTrials(ctx, id, jobs)
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
	done := schedule.Done{Action: a}
	taken := map[class][]wire.Job{}
	for from, share := range shares {
		jobs, marked, err := s.takeJobs(ctx, from.sweep, from.class, share)
		if fault := faultOf(err); fault != nil {
			delete(s.active, from.sweep)
			s.answers = append(s.answers, schedule.Broken{Sweep: from.sweep, Err: fault, Unused: marked})
			continue
		}
		if err != nil {
			done.Unused = append(done.Unused, marked...)
		}
		if err := s.settle(ctx, from.sweep, err); err != nil {
			for _, list := range taken {
				for i := range list {
					done.Unused = append(done.Unused, list[i].TrialID)
				}
			}
			return schedule.Failed{Err: err, Unused: done.Unused}, err
		}
		taken[from] = jobs
	}
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
	keepsArtifacts := false
	var publications []func()
	for q, list := range jobs {
		for i := range list {
			// programs leave media unasked
			keepsArtifacts = keepsArtifacts || len(list[i].Artifacts) > 0 || list[i].Script != nil
		}
		publications = append(publications, func() { s.publish(ctx, q, list, began) })
	}
	if keepsArtifacts {
		s.executors.do(a.Pool, func() { s.prepareArtifacts(ctx, a.Pool) })
	}
	s.executors.do(a.Pool, publications...)
	return done, nil
}
