package worker_test

import (
	"context"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/worker"
)

// exitError is the error of a trainer process that tells how it died.
type exitError struct{ signaled bool }

func (e exitError) Error() string  { return "the trainer died" }
func (e exitError) Signaled() bool { return e.signaled }

// Trials that panic are their own fault, however many there are in a row; the
// same deaths by a signal, or for want of memory, make the machine seem broken.
func TestPanicsAreTheTrialsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 20 {
			return outcome(request), nil
		}
		_, _ = p.die()
		return nil, exitError{signaled: request.Index > 20}
	})
	r.publish(jobs(21)...)
	w := r.start(worker.Options{})
	r.result(20)
	for i := range int64(20) {
		if got := r.release(i, 1); !got.Charged {
			t.Errorf("trial %d: %+v, want it charged", i, got)
		}
	}
	for i := int64(21); i < 24; i++ {
		r.publish(job(i))
	}
	if err := w.wait(); err == nil {
		t.Error("the worker goes on after three deaths by signals")
	}
}

// What a trial did to its trainer while others succeeded, it may do again.
func TestTrialsThatFailedAmongOthersDoNotBreakTheWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index%2 == 0 {
			return outcome(request), nil
		}
		return p.die()
	})
	r.publish(jobs(10)...) // 0 succeeds, 1 fails, 2 succeeds …
	w := r.start(worker.Options{})
	r.result(8)
	r.release(9, 1)
	r.queueEmpties()
	r.publish(job(10))
	r.result(10)
	for n := 2; n <= 3; n++ {
		r.queueEmpties()
		for i := int64(1); i < 10; i += 2 {
			r.publish(job(i))
		}
		for i := int64(1); i < 10; i += 2 {
			if got := r.release(i, n); !got.Charged {
				t.Errorf("trial %d, attempt %d: %+v, want it charged", i, n, got)
			}
		}
	}
	w.drain()
}

// A trainer of another result version must not train: its bits would differ.
func TestTrainerOfAnotherResultVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	old := job(0)
	old.ResultVersion = "0"
	r.publish(old, job(1))
	w := r.start(worker.Options{MachineFailures: 2})
	r.result(1)
	eventually(t, "trial 1 acknowledged", func() bool { return r.queue() == 1 })
	for i := int64(2); i < 4; i++ {
		old := job(i)
		old.ResultVersion = "0"
		r.publish(old)
	}
	if err := w.wait(); err == nil || !strings.Contains(err.Error(), `version "1" here`) {
		t.Errorf("the worker ended with %v", err)
	}
	if story := r.story(); story != "1:started 1:result" {
		t.Errorf("events %s", story)
	}
}
