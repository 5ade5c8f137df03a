package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// stopGrace is longer than trainer processes that watch themselves take.
const stopGrace = 8 * time.Second

// Options are the settings of a Worker.
type Options struct {
	Wire     *wire.Wire
	Launcher sweep.Launcher
	// Name identifies the worker in events; the host's name and the process if empty.
	Name string
	// Pool is the pool whose jobs the worker takes; sweep.DefaultPool if empty.
	Pool string
	// Slots is the number of trials run at a time; 1 if not positive.
	Slots int
	// DataDir holds the data sets, CheckpointDir the checkpoints of trials that
	// were interrupted here.
	DataDir, CheckpointDir string
	// Grace is how long a drain lets running trials go on.
	Grace time.Duration
	// MachineFailures is how many of the machine's failures in a row, over
	// different trials, make the worker stop; 3 if not positive.
	MachineFailures int
	Logger          *slog.Logger
}

// Worker runs trials. Create one with New and run it once.
type Worker struct {
	options Options
	wire    *wire.Wire
	log     *slog.Logger
	health  *health
	// stopGrace is how long a trainer may take to stop a trial before it is ended.
	stopGrace time.Duration
	slots     []*slot
	metrics   *metrics
}

// BrokenError says that a worker stopped because its machine seems broken.
type BrokenError struct {
	Worker   string
	Failures int
	// Last is the failure that made it stop.
	Last error
}

// Error implements error.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("worker %s stopped after %d failures of the machine in a row, over different trials (not charged to them); the last: %v",
		e.Worker, e.Failures, e.Last)
}

// Unwrap returns the last failure.
func (e *BrokenError) Unwrap() error { return e.Last }

// New returns a worker.
func New(options Options) *Worker {
	if options.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown-host"
		}
		options.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if options.Pool == "" {
		options.Pool = sweep.DefaultPool
	}
	if options.Slots < 1 {
		options.Slots = 1
	}
	if options.MachineFailures < 1 {
		options.MachineFailures = 3
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Worker{
		options: options, wire: options.Wire, log: options.Logger.With("worker", options.Name),
		health: newHealth(options.MachineFailures), stopGrace: stopGrace,
		metrics: newMetrics(),
	}
	for i := range options.Slots {
		w.slots = append(w.slots, newSlot(w, i))
	}
	return w
}

// Run pulls and runs trials until ctx ends, which drains: no further job is
// pulled, running trials may go on for Grace, then they are stopped, their
// checkpoints kept, and given back. It returns nil after a drain, a
// *BrokenError if the worker stopped itself.
func (w *Worker) Run(ctx context.Context) error {
	pulling, stopPulling := context.WithCancel(ctx)
	defer stopPulling()
	running, stopRunning := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRunning()

	w.removeOldCheckpoints(time.Now())
	unsubscribe, err := w.wire.Cancellations(func(id string, indices []int64) {
		for _, s := range w.slots {
			s.cancel(id, indices)
		}
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := unsubscribe(); err != nil {
			w.log.Debug("end of the subscription to cancellations", "error", err)
		}
	}()

	var wait sync.WaitGroup
	failures := make([]error, len(w.slots))
	for i, s := range w.slots {
		wait.Go(func() {
			failures[i] = s.run(pulling, running)
			if failures[i] != nil {
				stopPulling() // the others end too, after what they run
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-pulling.Done():
		timer := time.NewTimer(w.options.Grace)
		select {
		case <-done:
		case <-timer.C:
			stopRunning()
			<-done
		}
		timer.Stop()
	}
	return errors.Join(failures...)
}

// SlotStatus is what a slot is doing.
type SlotStatus struct {
	Slot  int
	Trial sweep.TrialID // zero if it waits for a job
	Since time.Time
}

// Status tells what each slot is doing.
func (w *Worker) Status() []SlotStatus {
	status := make([]SlotStatus, len(w.slots))
	for i, s := range w.slots {
		status[i] = s.status()
	}
	return status
}
