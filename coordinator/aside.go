package coordinator

import (
	"context"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep/wire"
)

// asideWait is how long a pool gets no jobs while a worker has not said that it takes none.
const asideWait = 3 * time.Second

// standAside tells a worker to take no jobs until it completes a trial that is known to be good, and waits until it
// confirms it. good is that trial, nil if there is none.
func (c *Coordinator) standAside(ctx context.Context, a schedule.Aside, good *wire.Job) {
	c.log.Warn("setting a worker aside: others complete the trials that fail there", "worker", a.Name, "sweep", a.Sweep)
	l := &c.workers
	o := &order{wire.Aside{Reason: a.Reason, Trial: good}, make(chan struct{})}
	l.mu.Lock()
	if l.asides == nil {
		l.asides = map[string]*order{}
	}
	l.asides[a.Worker] = o
	l.mu.Unlock()
	err := c.wire.RequestHeartbeats()
	if err == nil {
		timer := time.NewTimer(asideWait)
		defer timer.Stop()
		select {
		case <-o.obeyed:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	if l.asides[a.Worker] == o {
		delete(l.asides, a.Worker)
	}
	l.mu.Unlock()
	c.facts.add(schedule.Done{Action: a})
}

// probeJob returns a job of the class of an action that has completed elsewhere; nil if there is none, or none was
// found because of an error: then the worker's disk alone is probed.
func (s *scheduler) probeJob(ctx context.Context, a schedule.Aside) *wire.Job {
	active, err := s.sweep(ctx, a.Sweep)
	if err == nil {
		trial, found := s.store.GoodTrial(ctx, a.Sweep, a.Class)
		if err = found; err == nil && trial != nil {
			job := active.job(*trial, nil)
			job.Requirement, job.Artifacts = *a.Requirement, nil
			return &job
		}
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("no trial to probe a worker with", "worker", a.Name, "error", err)
	}
	return nil
}

// retract puts trials back to pending whose worker was set aside.
func (s *scheduler) retract(ctx context.Context, a schedule.Retract) error {
	n, err := s.store.RetractFailures(ctx, a.Sweep, a.Class, a.Worker,
		"its failure does not count: worker "+a.Worker+" failed trials that others complete")
	if err == nil && n > 0 {
		s.log.Warn("trials that failed on a worker that was set aside run again", "sweep", a.Sweep, "trials", n,
			"worker", a.Worker)
	}
	return wrap(err, "retracting failures of sweep %s", a.Sweep)
}
