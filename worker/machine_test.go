package worker_test

import (
	"context"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/worker"
)

// Trials that panic, exit, crash or use up their memory are their own fault,
// however many there are in a row; the same deaths by a signal that nobody sent
// make the machine seem broken.
func TestPanicsAreTheTrialsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 20 {
			return outcome(request), nil
		}
		if request.Index > 20 {
			_, _ = p.die()
			return nil, killedError{}
		}
		return p.die()
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
	if err := w.wait(); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("after three deaths by signals the worker ended with %v", err)
	}
}
