package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker"
)

// A suspect trial begins when its worker runs nothing else, and nothing begins beside it.
func TestSuspectTrialRunsAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	running := map[int64]bool{}
	began := make(chan []int64)
	end := map[int64]chan struct{}{0: make(chan struct{}), 1: make(chan struct{}), 2: make(chan struct{})}
	r := newRig(t, func(ctx context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		mu.Lock()
		running[request.Index] = true
		var all []int64
		for index := range running {
			all = append(all, index)
		}
		mu.Unlock()
		began <- all
		select {
		case <-end[request.Index]:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		mu.Lock()
		delete(running, request.Index)
		mu.Unlock()
		return outcome(request), nil
	})
	suspect := job(1)
	suspect.Lost, suspect.Limits.Losses = 2, 3
	r.publish(job(0))
	w := r.start(worker.Options{Slots: 2, Grace: patience})
	if got := sweeptest.Receive(t, "trial 0 begins", began); !slices.Equal(got, []int64{0}) {
		t.Errorf("running %v", got)
	}
	r.publish(suspect)
	eventually(t, "the suspect trial waits", func() bool { return w.Waiting() == 1 })
	r.publish(job(2))
	close(end[0])
	if got := sweeptest.Receive(t, "the suspect trial begins", began); !slices.Equal(got, []int64{1}) {
		t.Errorf("running %v", got)
	}
	if e := r.last(sweep.EventStarted, 1, 1); !e.Alone {
		t.Errorf("%+v", e)
	}
	select {
	case got := <-began:
		t.Errorf("running %v", got)
	case <-time.After(300 * time.Millisecond): // a slot is free, and a job is in the queue
	}
	close(end[1])
	if got := sweeptest.Receive(t, "the last trial begins", began); !slices.Equal(got, []int64{2}) {
		t.Errorf("running %v", got)
	}
	close(end[2])
	if r.result(2); len(r.of(sweep.EventStarted, 2)) > 0 && r.of(sweep.EventStarted, 2)[0].Alone {
		t.Error("trial 2 is said to run alone")
	}
	r.queueEmpties()
}

// A job that is delivered again so often that its trial may be suspect goes back to the coordinator, uncharged.
func TestRedeliveredSuspect(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		return outcome(request), nil
	})
	again := job(0)
	again.Limits.Losses = 1
	r.publish(again, job(1))
	queue, err := r.wire.Jobs(r.queueName())
	if err != nil {
		t.Fatal(err)
	}
	if err := queue.Request(2); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 2; {
		d, err := queue.Next(t.Context(), patience)
		if err != nil {
			t.Fatal(err)
		}
		if d != nil && d.NakWithDelay(time.Millisecond) == nil {
			n++
		}
	}
	queue.Close()
	r.start(worker.Options{Slots: 2})
	if release := r.release(0, 1); release.Charged || len(r.of(sweep.EventStarted, 0)) != 1 {
		t.Errorf("%+v, %s", release, r.story())
	}
	if result := r.result(1); result.State != sweep.Completed {
		t.Errorf("%+v", result)
	}
	r.queueEmpties()
}
