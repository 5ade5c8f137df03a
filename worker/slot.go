package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Reasons for which a running trial is stopped, as context causes.
var (
	errTimedOut  = errors.New("timed out")
	errStalled   = errors.New("stalled")
	errCancelled = errors.New("cancelled")
	errStopped   = errors.New("stopped early")
)

// memoryError means that a trial used more memory than its slot has.
type memoryError struct{ used, limit int64 }

func (e *memoryError) Error() string {
	return fmt.Sprintf("it used %s of memory; its slot has %s", sweep.SizeText(e.used), sweep.SizeText(e.limit))
}

// slot runs one trial at a time, in a trainer process that it keeps.
type slot struct {
	worker *Worker
	number int

	process     sweep.Process
	trainer     string   // the name of process
	sees        []string // the variables that process was started with
	logged      int64    // how many bytes of process' output belong to earlier executions
	description *sweep.Description

	mu        sync.Mutex
	since     time.Time
	execution *execution // that runs, nil if none

	// prefetched are jobs that were sent to the trainer before they are due.
	prefetched *backlog
}

// Prefetcher is a sweep.Process that accepts trials before Train.
type Prefetcher interface {
	// Prefetch sends a trial that Train is called with soon, and reports whether it
	// did.
	Prefetch(request sweep.TrainRequest) bool
	// Forget drops the prefetched trials.
	Forget()
}

func newSlot(w *Worker, number int) *slot {
	return &slot{worker: w, number: number, since: time.Now(), prefetched: newBacklog(1)}
}

func (s *slot) status() wire.WorkerSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := wire.WorkerSlot{Since: s.since}
	if s.execution != nil {
		id := s.execution.delivery.TrialID
		status.Trial = &id
		if lease := s.execution.lease; lease != nil {
			status.Devices = lease.String()
		}
	}
	return status
}

// current returns the execution that runs, nil if none.
func (s *slot) current() *execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.execution
}

// begin records the execution that the slot runs, end that it runs none.
func (s *slot) begin(e *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.execution, s.since = e, e.began
}

func (s *slot) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.execution, s.since = nil, time.Now()
}

// run takes jobs until pulling ends; the end of running stops the trials. It returns a
// *BrokenError or nil.
func (s *slot) run(pulling, running context.Context) error {
	defer s.closeTrainer()
	for {
		d := s.next(pulling)
		if d == nil {
			return nil
		}
		s.worker.puller.demand()
		s.prefetch(d)
		err := newExecution(running, s, d).run()
		if d.Alone() {
			s.worker.backlog.end()
		}
		if s.worker.needs.lease(d) != nil {
			s.closeTrainer() // what it has left on a device ends with it
			s.worker.needs.release(d, true)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the job to run next, nil when ctx has ended.
func (s *slot) next(ctx context.Context) *wire.Delivery {
	if s.worker.isAside() {
		s.worker.returnJobs(s.prefetched, -1)
	}
	if ctx.Err() == nil {
		if d := s.prefetched.next(0, func(*wire.Delivery) bool { return true }); d != nil {
			return d
		}
	}
	if trainer, ok := s.process.(Prefetcher); ok {
		trainer.Forget()
	}
	for {
		d := s.worker.backlog.pop(ctx, s.worker.puller.demand)
		if d == nil || !s.worker.isAside() {
			return d
		}
		s.worker.returnJob(d)
	}
}

// prefetch sends the trainer short trials before they are due, so that it does not wait between
// them and both sides wake once for several. current is the trial to run now.
func (s *slot) prefetch(current *wire.Delivery) {
	trainer, ok := s.process.(Prefetcher)
	_, has := s.prefetched.room()
	want := s.worker.puller.prefetch()
	if !ok || has > want/2 || !s.process.Alive() || s.trainer != current.Requirement.Trainer {
		return
	}
	suits := func(d *wire.Delivery) bool {
		return !d.Alone() && s.worker.needs.lease(d) == nil && d.Requirement.Trainer == s.trainer && d.Script == nil &&
			s.worker.offer.unmet(&d.Requirement) == "" && d.Continues == nil && !s.worker.hasCheckpoint(d)
	}
	if has == 0 && (!suits(current) || want == 0 || !trainer.Prefetch(s.worker.request(current))) {
		return
	}
	for ; has < want; has++ {
		d := s.worker.backlog.next(len(s.worker.slots)-1, suits)
		if d == nil {
			return
		}
		s.prefetched.push(d)
		if !trainer.Prefetch(s.worker.request(d)) {
			return // Train sends it
		}
	}
}

// ensureTrainer returns the process of a job's trainer, which it starts if necessary. If the job
// cannot run here, it returns a *refusal: a trainer of another result version would give other
// bits under the same fingerprint.
func (s *slot) ensureTrainer(ctx context.Context, job *wire.Delivery) (sweep.Process, error) {
	offer := s.worker.offer
	if reason := offer.unmet(&job.Requirement); reason != "" {
		return nil, &refusal{reason}
	}
	name := job.Requirement.Trainer
	if s.process != nil && !s.process.Alive() {
		s.worker.metrics.restarts.Inc()
		s.closeTrainer()
	}
	variables := s.variables(job)
	if s.process != nil && (s.trainer != name || !slices.Equal(s.sees, variables)) {
		s.closeTrainer()
	}
	if s.process == nil {
		if err := s.launch(ctx, name, variables); err != nil {
			return nil, err
		}
		// Its program may have been replaced while the worker runs.
		if reason := offer.unmet(&job.Requirement); reason != "" {
			s.closeTrainer()
			return nil, &refusal{reason}
		}
	}
	return s.process, nil
}

// launch starts a trainer. If that fails, it returns a *refusal for a trainer that never ran on
// this host, and a *machineError for one that ran before.
func (s *slot) launch(ctx context.Context, name string, variables []string) error {
	offer := s.worker.offer
	process, err := s.worker.options.Launcher.Launch(ctx, name, variables...)
	var d *sweep.Description
	if err == nil {
		s.worker.metrics.starts.Inc()
		if d, err = process.Describe(ctx); err != nil {
			s.closeProcess(process)
		}
	}
	switch {
	case err == nil:
		offer.started(name, d)
		s.process, s.trainer, s.description, s.logged, s.sees = process, name, d, 0, variables
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !offer.hasRun(name) || errors.Is(err, sweep.ErrNotFound):
		offer.broken(name, err)
		return &refusal{fmt.Sprintf("trainer %s does not start on this host: %v", name, err)}
	default:
		return &machineError{fmt.Errorf("start trainer %s, which ran before: %w", name, err)}
	}
}

// closeTrainer ends the slot's process, if it has one.
func (s *slot) closeTrainer() {
	if s.process != nil {
		s.closeProcess(s.process)
		s.process = nil
	}
}

func (s *slot) closeProcess(process sweep.Process) {
	if err := process.Close(); err != nil {
		s.worker.log.Debug("end of the trainer process", "slot", s.number, "trainer", s.trainer, "error", err)
	}
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) { within(d, ctx.Done()) }
