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
	errCancelled = errors.New("cancelled")
)

const (
	// elsewhereDelay is how long a job that cannot run here waits before it is
	// offered again: to another worker, if there is one.
	elsewhereDelay = 5 * time.Second
	// lostDelay paces attempts to find streams that are not there.
	lostDelay = 500 * time.Millisecond
)

// slot runs one trial at a time, in a trainer process that it keeps.
type slot struct {
	worker *Worker
	number int

	process sweep.Process
	trainer string // the name of process
	version string // its result version

	mu        sync.Mutex
	since     time.Time
	execution *execution // that runs, nil if none
}

func newSlot(w *Worker, number int) *slot { return &slot{worker: w, number: number, since: time.Now()} }

func (s *slot) status() SlotStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := SlotStatus{Slot: s.number, Since: s.since}
	if s.execution != nil {
		status.Trial = s.execution.delivery.TrialID
	}
	return status
}

// begin notes the execution that the slot runs, end that it runs none.
func (s *slot) begin(e *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.execution, s.since = e, e.started.Time
}

func (s *slot) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.execution, s.since = nil, time.Now()
}

// cancel stops the running trial if it is one of the named.
func (s *slot) cancel(id string, indices []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.execution == nil {
		return
	}
	trial := s.execution.delivery.TrialID
	if trial.Sweep == id && (len(indices) == 0 || slices.Contains(indices, trial.Index)) {
		s.execution.abandon(errCancelled)
	}
}

// run takes jobs until pulling ends; running bounds the trials themselves. Its
// error is a *BrokenError.
func (s *slot) run(pulling, running context.Context) error {
	defer s.closeTrainer()
	trouble := false
	for pulling.Err() == nil {
		jobs, err := s.worker.wire.Jobs(pulling, s.worker.options.Pool)
		if err == nil {
			if trouble {
				s.worker.log.Info("jobs can be had again", "slot", s.number)
			}
			trouble = false
			err = s.work(pulling, running, jobs)
			jobs.Close()
		}
		if broken := (*BrokenError)(nil); errors.As(err, &broken) {
			return err
		}
		if pulling.Err() == nil {
			if !trouble {
				s.worker.log.Warn("no jobs can be had; trying again until it works", "slot", s.number, "error", err)
			}
			trouble = true
			sleep(pulling, lostDelay)
		}
	}
	return nil
}

// work runs jobs until one cannot be had or the worker is broken.
func (s *slot) work(pulling, running context.Context, jobs *wire.JobConsumer) error {
	for {
		d, err := jobs.Next(pulling)
		if err != nil {
			return err
		}
		ask := func() {
			if pulling.Err() == nil {
				_ = jobs.Ask() // else Next does, and says why it cannot
			}
		}
		if err := newExecution(running, s, d).run(running, ask); err != nil {
			return err
		}
	}
}

// ensureTrainer returns the slot's process of a job's trainer, starting it if
// it is not running. A trainer of another result version than the sweep was
// submitted with would give other bits under the same fingerprint: it is refused.
func (s *slot) ensureTrainer(ctx context.Context, job *wire.Job) (sweep.Process, error) {
	name := job.Trainer
	if s.process != nil && !s.process.Alive() {
		s.worker.metrics.restarts.Inc()
		s.closeTrainer()
	}
	if s.process != nil && s.trainer != name {
		s.closeTrainer()
	}
	if s.process == nil {
		process, err := s.worker.options.Launcher.Launch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("start trainer %s: %w", name, err)
		}
		s.worker.metrics.starts.Inc()
		description, err := process.Describe(ctx)
		if err != nil {
			s.closeProcess(process)
			return nil, fmt.Errorf("start trainer %s: %w", name, err)
		}
		s.process, s.trainer, s.version = process, name, description.ResultVersion
	}
	if job.ResultVersion != "" && job.ResultVersion != s.version {
		here := s.version
		s.closeTrainer() // it may be replaced while the worker runs
		return nil, fmt.Errorf("trainer %s gives results of version %q here, the sweep was submitted for version %q: install the same release", name, here, job.ResultVersion)
	}
	return s.process, nil
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

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
