package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// lookInterval is how often the scheduler reads the database without being told
	// to: for what others changed there.
	lookInterval = 5 * time.Second
	// settleTime is how long after its start a coordinator has heard of the workers
	// that there are.
	settleTime = 2 * time.Second
	// writeTime bounds the time for which writing rows keeps dispatching waiting,
	// dispatchMost the jobs that keep commands waiting.
	writeTime    = 50 * time.Millisecond
	dispatchMost = 1000
	// backPage is how many trials are put back between two commands.
	backPage = 1000
	// duplicatePause is how long a trial waits whose old job the broker still has.
	duplicatePause = 100 * time.Millisecond
)

// scheduler is the goroutine that owns the schedule: it tells it facts and does
// what it decides.
type scheduler struct {
	*Coordinator
	plan *schedule
	// lanes are what is needed of each active sweep to write its rows and jobs.
	lanes map[string]*lane
	// back are trials without a job that the database still has as queued. They are
	// put back before anything is dispatched.
	back []sweep.TrialID
	// missing are trials whose jobs are gone: they are put back with them, unless they
	// were heard of since.
	missing []sweep.Heard
	// looked is when all sweeps were read, began when the scheduler began.
	looked, began time.Time
	// retry is when trials can be tried again whose old jobs were still there.
	retry time.Time
	// prepared are the pools whose artifacts have a place, with the zero time, and those
	// for which that failed, with the time of the next attempt.
	prepared map[string]time.Time
	// troubles are those of pools whose queues the broker refuses.
	troubles map[string]*poolTrouble
}

// command is something to do in the scheduler's goroutine.
type command struct {
	do   func(ctx context.Context, s *scheduler) error
	done chan error
}

// command does something between two decisions, when nothing is being dispatched.
func (c *Coordinator) command(ctx context.Context, do func(ctx context.Context, s *scheduler) error) error {
	if c.wire == nil { // nothing is dispatched
		return do(ctx, &scheduler{Coordinator: c, plan: newSchedule(0, 0), lanes: map[string]*lane{}, troubles: map[string]*poolTrouble{}})
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

// errEnded says that the coordinator does not run any more.
var errEnded = errors.New("the coordinator stops")

// schedule keeps the queues filled until ctx ends: it wakes when something
// happens. It returns an error only if the store's is fatal.
func (c *Coordinator) schedule(ctx context.Context) error {
	s := &scheduler{Coordinator: c, plan: c.plan, lanes: map[string]*lane{}, troubles: map[string]*poolTrouble{}, began: time.Now()}
	trouble := c.outage("scheduling trials")
	defer trouble.drop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer s.leave(ctx)
	defer func() {
		for _, t := range s.troubles {
			t.drop()
		}
	}()
	wake := c.facts.wake
	for {
		c.moves(scheduling)
		select {
		case <-ctx.Done():
			return nil
		case k := <-c.commands:
			k.done <- k.do(ctx, s)
			continue
		case <-wake:
		case <-timer.C:
		}
		s.answer(ctx) // of two that are ready, select takes any
		pause := lookInterval
		err := s.cycle(ctx)
		wake = c.facts.wake
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && c.final(err):
			return err
		case err != nil:
			if wire.IsLost(err) {
				c.lose()
			}
			c.facts.add(func(h *happened) { h.all = true })
			pause, wake = trouble.failed(err), nil // whatever happens meanwhile
			if errors.Is(err, errUncertain) {
				pause = duplicatePause // nobody is asked in vain
			}
		default:
			trouble.over()
		}
		if err == nil && !s.plan.settled {
			pause = min(pause, max(settleTime-time.Since(s.began), duplicatePause))
		}
		if err == nil && !s.retry.IsZero() {
			pause = min(pause, duplicatePause)
		}
		if err == nil {
			pause = s.rouse(pause)
		}
		timer.Reset(pause)
	}
}

// leave puts back what there is to put back: a successor would find it, a lease later.
func (s *scheduler) leave(ctx context.Context) {
	if len(s.back) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restWait)
	defer cancel()
	if _, err := s.store.Requeue(ctx, s.back); err != nil && s.options.Leads() {
		s.log.Warn("trials whose jobs were withdrawn are left to the next coordinator", "trials", len(s.back), "error", err)
	}
}

// cycle learns what has happened and does what there is to do.
func (s *scheduler) cycle(ctx context.Context) error {
	if !s.options.Leads() {
		return errUncertain
	}
	s.rouse(0)
	if err := s.learn(ctx); err != nil {
		return err
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	for _, w := range s.plan.withdraw(time.Now()) {
		if s.rests(w.queue.Pool) {
			s.plan.unbalance(w.queue) // later
			continue
		}
		if err := s.withdraw(ctx, w); err == nil {
			s.works(w.queue)
		} else if err := s.failed(ctx, w.queue, err); err != nil {
			return err
		}
	}
	if err := s.putBack(ctx); err != nil {
		return err
	}
	s.answer(ctx)
	if err := s.dispatch(ctx); err != nil {
		return err
	}
	s.reserve.Store(s.plan.reserve())
	return s.explain(ctx)
}

// errUncertain is why a coordinator dispatches nothing whose lease has run out.
var errUncertain = errors.New("the lease of the lead has run out, and another coordinator may lead")

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

// learn tells the schedule what has happened.
func (s *scheduler) learn(ctx context.Context) error {
	happened := s.facts.drain()
	now := time.Now()
	for _, id := range happened.heard {
		s.plan.heard(id)
	}
	for _, h := range happened.lost {
		s.plan.heard(h.TrialID)
	}
	s.missing = append(s.missing, happened.lost...)
	for _, b := range happened.beats {
		q, opened := s.plan.beat(now, b)
		if opened {
			done, err := s.open(ctx, q)
			if err != nil {
				return err
			}
			if !done { // the worker's next beat finds it new again
				s.back = append(s.back, s.plan.removed(q)...)
				continue
			}
			s.log.Info("a queue for workers of a further kind", "queue", q, "worker", b.Name)
		}
	}
	if gone := s.plan.silent(now, now.Add(-wire.BeatLost)); gone > 0 {
		s.log.Warn("workers are silent and count as gone", "workers", gone)
	}
	// Of a coordinator that is alone with its workers they are sure to come.
	awaited := s.options.Exclusive && len(s.plan.workers) == 0
	s.plan.settled = s.plan.settled || now.Sub(s.began) >= settleTime && !awaited
	switch {
	case happened.all || now.Sub(s.looked) >= lookInterval:
		return s.read(ctx)
	case len(happened.changed) == 0:
		return nil
	}
	return s.read(ctx, slices.Collect(maps.Keys(happened.changed))...)
}

// read reads what is left of sweeps, of all active ones if none is named.
func (s *scheduler) read(ctx context.Context, ids ...string) error {
	all := len(ids) == 0
	if all {
		s.looked = time.Now()
	}
	backlogs, err := s.store.Backlog(ctx, ids...)
	if err != nil {
		return fmt.Errorf("looking for what is left of sweeps: %w", err)
	}
	s.plan.left(backlogs, all)
	for _, b := range backlogs {
		s.pools.Store(b.Sweep, b.Pool)
	}
	for id := range s.lanes {
		if s.plan.sweeps[id] == nil {
			delete(s.lanes, id)
			s.log.Info("sweep is over or paused", "sweep", id)
		}
	}
	s.waiters.notifyExcept(s.plan.sweeps)
	return nil
}

// lane is what is needed of a sweep to write its rows and jobs.
func (s *scheduler) lane(ctx context.Context, id string) (*lane, error) {
	plan := s.plan.sweeps[id]
	if l := s.lanes[id]; l != nil && len(l.record.Grids) == plan.Grids {
		return l, nil
	}
	record, err := s.store.Sweep(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("looking at sweep %s: %w", id, err)
	}
	l := newLane(record)
	s.lanes[id] = l
	return l, nil
}

// write writes pages of trial rows, as long as there is time.
func (s *scheduler) write(ctx context.Context) error {
	start := time.Now()
	for _, id := range s.plan.write() {
		if time.Since(start) > writeTime {
			signal(s.facts.wake) // the others' turn is after dispatching
			return nil
		}
		l, err := s.lane(ctx, id)
		if err != nil {
			return err
		}
		err = s.expand(ctx, l, s.plan.sweeps[id].Classes)
		if broken := (*expansionError)(nil); errors.As(err, &broken) {
			s.log.Error("paused a sweep that cannot be expanded", "sweep", id, "error", err)
			if err := s.store.SetSweepState(ctx, id, sweep.SweepPaused, broken.err.Error()); err != nil {
				return fmt.Errorf("pausing sweep %s: %w", id, err)
			}
			return s.read(ctx)
		}
		if err != nil {
			return err
		}
		signal(s.facts.wake) // there may be more to write
		if err := s.read(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// dispatch fills the queues. Trials are marked as queued before their jobs are
// published: if the coordinator dies in between, its successor finds no job of
// theirs, and puts them back.
func (s *scheduler) dispatch(ctx context.Context) error {
	began := time.Now()
	assignments := s.plan.assign(dispatchMost)
	if len(assignments) == 0 {
		return nil
	}
	shares := map[source]int{}
	for i := range assignments {
		shares[assignments[i].source]++
	}
	taken, jobs := map[source][]wire.Job{}, map[wire.Queue][]wire.Job{}
	defer func() {
		for _, unpublished := range slices.AppendSeq(slices.Collect(maps.Values(taken)), maps.Values(jobs)) {
			s.putBackLater(unpublished)
		}
	}()
	for from, share := range shares {
		l, err := s.lane(ctx, from.sweep)
		if err != nil {
			return err
		}
		trials, err := s.store.TakePending(ctx, from.sweep, from.class, share)
		if err != nil {
			return fmt.Errorf("taking pending trials of sweep %s: %w", from.sweep, err)
		}
		for i := range trials {
			taken[from] = append(taken[from], l.job(trials[i]))
		}
	}
	for _, p := range assignments {
		if list := taken[p.source]; len(list) > 0 { // fewer if the sweep has changed meanwhile
			list[0].Requirement = *p.requirement
			jobs[p.queue] = append(jobs[p.queue], list[0])
			taken[p.source] = list[1:]
		}
	}
	s.retry = time.Time{}
	for q, list := range jobs {
		delete(jobs, q)
		if err := s.publish(ctx, q, list); err != nil {
			return err
		}
	}
	s.options.Metrics.dispatched(began, len(assignments))
	if s.retry.IsZero() {
		s.facts.add(func(h *happened) { // and look for more
			for from := range shares {
				h.changed[from.sweep] = true
			}
		})
	}
	return nil
}

// publish puts jobs into a queue. What cannot be published goes back to pending,
// and what no message can carry fails.
func (s *scheduler) publish(ctx context.Context, q wire.Queue, jobs []wire.Job) error {
	if slices.ContainsFunc(jobs, func(j wire.Job) bool { return len(j.Artifacts) > 0 }) {
		s.prepareArtifacts(ctx, q.Pool)
	}
	if !s.options.Leads() { // the process may have been stopped since it took the trials
		s.putBackLater(jobs)
		return errUncertain
	}
	// A broker that loses the stream meanwhile never answers. A slow one that
	// syncs every message gets the time for it.
	bound, cancel := context.WithTimeout(ctx, 2*time.Second+time.Duration(len(jobs))*10*time.Millisecond)
	defer cancel()
	sequences, err := s.wire.PublishJobs(bound, q, jobs)
	tooLarge, err := wire.TooLarge(err)
	if err != nil { // what the broker has of them all the same is found by the reconciler
		s.putBackLater(jobs)
		return s.failed(ctx, q, err)
	}
	s.works(q)
	var events []sweep.Event
	refused := map[sweep.TrialID]bool{}
	for _, e := range tooLarge {
		refused[e.TrialID] = true
		events = append(events, failure(e.TrialID, e))
	}
	for i := range jobs {
		switch id := jobs[i].TrialID; {
		case sequences[i] > 0:
			s.plan.published(q, id, jobs[i].Class)
		case !refused[id]: // its last worker has given it up and not yet acknowledged the job
			s.retry = time.Now().Add(duplicatePause)
			s.putBackLater(jobs[i : i+1])
		}
	}
	if len(events) > 0 {
		if _, err := s.store.Record(ctx, events); err != nil {
			return fmt.Errorf("recording %d trials that are too large: %w", len(events), err)
		}
	}
	return nil
}

// withdraw takes jobs back that no worker has. The broker comes first: which jobs
// these are is known then.
func (s *scheduler) withdraw(ctx context.Context, w withdrawal) error {
	if w.all {
		if err := s.wire.RemoveQueue(ctx, w.queue); err != nil {
			return err
		}
		s.log.Info("removed a queue without workers", "queue", w.queue, "sweeps", w.sweeps)
		s.back = append(s.back, s.plan.removed(w.queue)...)
		return nil
	}
	taken, err := s.wire.Withdraw(ctx, w.queue, w.sweeps...)
	s.back = append(s.back, s.plan.withdrawn(time.Now(), w.queue, taken, w.sweeps)...)
	if err != nil {
		s.plan.unbalance(w.queue)
	}
	return err
}

// putBackLater has trials put back to pending that were marked as queued and not
// published.
func (s *scheduler) putBackLater(jobs []wire.Job) {
	for i := range jobs {
		s.back = append(s.back, jobs[i].TrialID)
	}
}

// putBack puts trials back to pending that have no job. Commands are carried out
// meanwhile: they must not wait until thousands are back.
func (s *scheduler) putBack(ctx context.Context) error {
	changed := map[string]bool{}
	for len(s.back) > 0 {
		page := s.back[:min(len(s.back), backPage)]
		n, err := s.store.Requeue(ctx, page)
		if err != nil {
			return fmt.Errorf("putting %d trials back: %w", len(page), err)
		}
		s.options.Metrics.putBack(n)
		for _, id := range page {
			changed[id.Sweep] = true
		}
		s.back = s.back[len(page):]
		s.answer(ctx)
	}
	for len(s.missing) > 0 {
		page := s.missing[:min(len(s.missing), backPage)]
		n, err := s.store.RequeueUnheard(ctx, page)
		if err != nil {
			return fmt.Errorf("putting %d trials back whose jobs were lost: %w", len(page), err)
		}
		s.options.Metrics.putBack(n)
		for _, h := range page {
			changed[h.Sweep] = true
		}
		s.missing = s.missing[len(page):]
		s.answer(ctx)
	}
	s.back, s.missing = nil, nil
	if len(changed) == 0 {
		return nil
	}
	return s.read(ctx, slices.Collect(maps.Keys(changed))...)
}

// explain records why sweeps wait.
func (s *scheduler) explain(ctx context.Context) error {
	unschedulable := s.plan.unschedulable()
	s.unschedulable.Store(&unschedulable)
	for _, v := range s.plan.explain() {
		if err := s.store.SetWaiting(ctx, v.sweep, v.waiting, v.reason); err != nil {
			return fmt.Errorf("noting why sweep %s waits: %w", v.sweep, err)
		}
		if v.reason != "" {
			s.log.Warn("trials wait for a worker", "sweep", v.sweep, "all", v.waiting, "reason", v.reason)
		}
		s.plan.said(v)
	}
	return nil
}
