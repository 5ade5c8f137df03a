package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
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

// takeJobs has somebody else take jobs, and does with each what it likes.
func (r *rig) takeJobs(n int, do func(d *wire.Delivery) error) {
	r.t.Helper()
	queue, err := r.wire.Jobs(r.queueName())
	if err != nil {
		r.t.Fatal(err)
	}
	defer queue.Close()
	if err := queue.Request(n); err != nil {
		r.t.Fatal(err)
	}
	for n > 0 {
		d, err := queue.Next(r.t.Context(), patience)
		if err != nil {
			r.t.Fatal(err)
		}
		if d == nil {
			continue
		}
		if err := do(d); err != nil {
			r.t.Fatal(err)
		}
		n--
	}
}

// A job of which nobody heard any more so often that its trial may be suspect goes back to the coordinator, uncharged.
func TestRedeliveredSuspect(t *testing.T) {
	t.Parallel()
	r := rigOn(t, openWireOf(t, wiretest.Start(t), 3*time.Second), succeed)
	again := job(0)
	again.Limits.Losses = 1
	r.publish(again, job(1))
	r.takeJobs(2, func(*wire.Delivery) error { return nil })
	r.start(worker.Options{Slots: 2})
	if release := r.release(0, 1); release.Charged || len(r.of(sweep.EventStarted, 0)) != 1 {
		t.Errorf("%+v, %s", release, r.story())
	}
	if result := r.result(1); result.State != sweep.Completed {
		t.Errorf("%+v", result)
	}
	r.queueEmpties()
}

// A job that others have returned is trained at once, however often.
func TestReturnedJobIsTrained(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	again := job(0)
	again.Limits.Losses = 1
	r.publish(again)
	for range 3 {
		r.takeJobs(1, func(d *wire.Delivery) error { return d.NakWithDelay(time.Millisecond) })
	}
	r.start(worker.Options{})
	if result := r.result(0); result.State != sweep.Completed || len(r.of(sweep.EventReleased, 0)) > 0 {
		t.Errorf("%+v, %s", result, r.story())
	}
	r.queueEmpties()
}
