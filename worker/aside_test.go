package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/worker"
)

// failedFor is the result of a program that ended with an error.
func failedFor(text string) *sweep.Result {
	return &sweep.Result{State: sweep.Failed, Error: "exit status 1: " + text, Stderr: "working\n" + text + "\n"}
}

// A worker whose disk is full takes no jobs until there is room again. No trial fails by that, nor is one charged the
// first time.
func TestFullDiskSetsTheWorkerAside(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	full.Store(true)
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if full.Load() {
			return failedFor("head: error writing 'standard output': No space left on device"), nil
		}
		return outcome(request), nil
	})
	r.adjust = func(w *worker.Worker) {
		w.SetMachine(func() error {
			if full.Load() {
				return fmt.Errorf("write: %w", syscall.ENOSPC)
			}
			return nil
		})
	}
	r.publish(jobs(4)...)
	r.start(worker.Options{Waits: true})
	if got := r.release(0, 1); got.Charged {
		t.Errorf("%+v, want it not charged", got)
	}
	eventually(t, "the worker to be set aside", func() bool {
		b, _ := r.lastHeartbeat()
		return b.State == wire.WorkerAside && b.Reason != ""
	})
	full.Store(false)
	for i := int64(1); i < 4; i++ {
		if got := r.result(i); got.State != sweep.Completed {
			t.Errorf("trial %d: %+v", i, got)
		}
	}
	eventually(t, "the worker to take jobs", func() bool {
		b, _ := r.lastHeartbeat()
		return b.State == wire.WorkerReady && b.Reason == ""
	})
}

// A program that says that the disk is full, on a machine that has room, has failed: it may have filled the disk itself.
// One that fills it for good is charged from the second time on.
func TestTrialThatFillsTheDisk(t *testing.T) {
	t.Parallel()
	var kept atomic.Bool
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		kept.Store(request.Index == 1)
		return failedFor("no space left on device"), nil
	})
	r.adjust = func(w *worker.Worker) {
		w.SetMachine(func() error {
			if kept.Swap(false) { // the probe finds that somebody has made room
				return syscall.ENOSPC
			}
			return nil
		})
	}
	r.publish(job(0))
	r.start(worker.Options{Waits: true})
	if got := r.result(0); got.State != sweep.Failed {
		t.Errorf("%+v", got)
	}
	for n, charged := range []bool{false, true, true} {
		r.queueEmpties()
		r.publish(job(1))
		if got := r.release(1, n+1); got.Charged != charged {
			t.Errorf("release %d: %+v, want charged: %v", n+1, got, charged)
		}
	}
}

// A worker that the coordinator sets aside runs a trial that is known to be good, until it does not fail.
func TestProbeOfAKnownTrial(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	probed := make(chan sweep.TrialID, 1000)
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 99 {
			probed <- request.TrialID
		}
		if broken.Load() {
			return failedFor("libcuda.so: cannot open shared object file"), nil
		}
		return outcome(request), nil
	})
	good := job(99)
	r.adjust = func(w *worker.Worker) { w.SetMachine(func() error { return nil }) }
	w := r.start(worker.Options{})
	w.SetAside("its trials fail, those of others do not", &good)
	r.publish(job(0))
	<-probed
	broken.Store(false)
	if got := r.result(0); got.State != sweep.Completed {
		t.Errorf("%+v", got)
	}
	if n := len(r.of(sweep.EventResult, 99)); n != 0 {
		t.Errorf("the probe has %d results", n)
	}
}

// A worker that cannot wait ends after three different trials, as for any failure of the machine.
func TestFullDiskEndsARun(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(context.Context, *process, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error) {
		return failedFor("no space left on device"), nil
	})
	r.adjust = func(w *worker.Worker) { w.SetMachine(func() error { return syscall.ENOSPC }) }
	r.publish(jobs(4)...)
	var broken *worker.BrokenError
	if err := r.start(worker.Options{}).wait(); !errors.As(err, &broken) {
		t.Errorf("the worker ended with %v", err)
	}
}
