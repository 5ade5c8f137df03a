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
	// publishTimeout bounds one report to the server; jobs whose report fails
	// are delivered again.
	publishTimeout = 30 * time.Second
	// datasetDelay is how long a job whose data differ here waits before it is
	// offered again: to another worker, if there is one.
	datasetDelay = 30 * time.Second
	// lostDelay paces attempts to find streams that are not there.
	lostDelay = 500 * time.Millisecond
)

// slot runs one trial at a time, in a trainer process that it keeps.
type slot struct {
	worker *Worker
	number int

	process sweep.Process
	trainer string // the name of process

	mu      sync.Mutex
	trial   sweep.TrialID
	since   time.Time
	abandon context.CancelCauseFunc // ends the running trial
}

func newSlot(w *Worker, number int) *slot { return &slot{worker: w, number: number} }

func (s *slot) status() SlotStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SlotStatus{s.number, s.trial, s.since}
}

// begin notes the trial that the slot runs, end that it runs none.
func (s *slot) begin(id sweep.TrialID, abandon context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial, s.since, s.abandon = id, time.Now(), abandon
}

func (s *slot) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial, s.since, s.abandon = sweep.TrialID{}, time.Now(), nil
}

// cancel stops the running trial if it is one of the named.
func (s *slot) cancel(id string, indices []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandon != nil && s.trial.Sweep == id && (len(indices) == 0 || slices.Contains(indices, s.trial.Index)) {
		s.abandon(errCancelled)
	}
}

// run takes jobs until pulling ends; running bounds the trials themselves.
func (s *slot) run(pulling, running context.Context) error {
	defer s.closeTrainer()
	var jobs *wire.JobConsumer
	for pulling.Err() == nil {
		if jobs == nil {
			var err error
			if jobs, err = s.worker.wire.Jobs(pulling, s.worker.options.Pool); err != nil {
				s.worker.log.Warn("no consumer of jobs yet; trying again", "error", err)
				sleep(pulling, lostDelay)
				continue
			}
		}
		d, err := jobs.Next(pulling)
		if err != nil {
			if pulling.Err() == nil {
				s.worker.log.Warn("no jobs; trying again", "error", err)
				jobs = nil
				sleep(pulling, lostDelay)
			}
			continue
		}
		if err := s.handle(running, d); err != nil {
			return err
		}
	}
	return nil
}

// handle runs one delivered job to its acknowledgement. Its error is a
// *BrokenError.
func (s *slot) handle(running context.Context, d *wire.Delivery) error {
	e := &execution{slot: s, delivery: d, id: wire.NewExecution(), recorder: sweep.NewRecorder(d.Limits.Points)}
	return e.run(running)
}

// ensureTrainer returns the slot's process of the named trainer, starting it if
// it is not running.
func (s *slot) ensureTrainer(ctx context.Context, name string) (sweep.Process, error) {
	if s.process != nil && (s.trainer != name || !s.process.Alive()) {
		s.closeTrainer()
	}
	if s.process == nil {
		process, err := s.worker.options.Launcher.Launch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("start trainer %s: %w", name, err)
		}
		s.process, s.trainer = process, name
	}
	return s.process, nil
}

func (s *slot) closeTrainer() {
	if s.process == nil {
		return
	}
	if err := s.process.Close(); err != nil {
		s.worker.log.Debug("end of the trainer process", "slot", s.number, "trainer", s.trainer, "error", err)
	}
	s.process = nil
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
