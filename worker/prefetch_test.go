package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker"
)

// prefetchRig is a rig whose trainer prefetches trials.
func prefetchRig(t *testing.T, train behaviour) *rig {
	r := newRig(t, train)
	r.launcher.prefetch, r.launcher.t = true, t
	return r
}

// done awaits results of n trials, and reports whether none was executed twice.
func (r *rig) done(n int) {
	r.t.Helper()
	count := 0
	r.await("all results", func() bool {
		results := map[int64]int{}
		for _, e := range r.seen {
			if e.Kind == sweep.EventResult {
				results[e.Index]++
			}
		}
		count = 0
		for _, times := range results {
			count += times
		}
		return len(results) == n
	})
	if count != n {
		r.t.Errorf("%d results of %d trials", count, n)
	}
}

// Short trials are prefetched, and each is run once.
func TestShortTrialsArePrefetched(t *testing.T) {
	t.Parallel()
	var within *worker.Worker
	var begun atomic.Int64
	r := prefetchRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		// Once the worker knows that trials are short, each waits for jobs to prefetch, as long as there are
		// enough in the queue.
		if begun.Add(1) > 2 {
			for begun.Load() < 400 && within.Waiting() < 64 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}
		return succeed(ctx, p, request, sink)
	})
	r.adjust = func(w *worker.Worker) {
		within = w
		w.SetPrefetchTimes(patience) // trials are short, however slow the machine is
		w.SetLongestWait(patience)
	}
	r.publish(jobs(600)...)
	w := r.start(worker.Options{Slots: 2, CheckpointDir: t.TempDir()})
	r.done(600)
	if n := r.launcher.prefetched.Load(); n < 100 {
		t.Errorf("%d of 600 trials were prefetched", n)
	}
	w.drain()
	r.queueEmpties()
}

// What waits behind a trial that takes long goes to another slot.
func TestPrefetchedBehindALongTrial(t *testing.T) {
	t.Parallel()
	const long, all = 150, 300
	stuck := make(chan struct{})
	var begun atomic.Bool
	r := prefetchRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		if request.Index == long {
			begun.Store(true)
			select {
			case <-stuck:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return succeed(ctx, p, request, sink)
	})
	r.publish(jobs(all)...)
	r.start(worker.Options{Slots: 2})
	r.done(all - 1)
	eventually(t, "the long trial under way", begun.Load)
	if len(r.of(sweep.EventResult, long)) != 0 {
		t.Error("the long trial ended before it could")
	}
	close(stuck)
	r.done(all)
	r.queueEmpties()
}

// A trainer that dies takes none of the trials with it that it has prefetched.
func TestPrefetchedByATrainerThatDies(t *testing.T) {
	t.Parallel()
	var died atomic.Int64
	r := prefetchRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		if request.Index%100 == 99 && died.Add(1) <= 3 {
			return p.die()
		}
		return succeed(ctx, p, request, sink)
	})
	r.adjust = func(w *worker.Worker) { w.SetLongestWait(patience) } // or a busy machine gives back what waits
	r.publish(jobs(400)...)
	r.start(worker.Options{Slots: 1})
	released := 0
	r.await("what the dead trainers had", func() bool {
		results := 0
		released = 0
		for _, e := range r.seen {
			switch e.Kind {
			case sweep.EventResult:
				results++
			case sweep.EventReleased:
				released++
			}
		}
		return results+released >= 400
	})
	if released != 3 {
		t.Errorf("%d trials were given back, want the 3 that killed their trainers", released)
	}
}

// A trial that has a checkpoint is not sent without it.
func TestCheckpointIsNotPrefetched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := prefetchRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		if got := string(request.Checkpoint); (got == "state") != (request.Index%10 == 0) {
			t.Errorf("trial %d has the checkpoint %q", request.Index, got)
		}
		return succeed(ctx, p, request, sink)
	})
	header := `{"trainer":"fake","result_version":"1","kernel_level":"go"}` + "\n"
	for i := int64(0); i < 300; i += 10 {
		if err := os.WriteFile(filepath.Join(dir, string(job(i).Fingerprint)+".checkpoint"), []byte(header+"state"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.publish(jobs(300)...)
	r.start(worker.Options{Slots: 1, CheckpointDir: dir})
	r.done(300)
}

// A cancelled trial that was prefetched is not run.
func TestCancelPrefetched(t *testing.T) {
	t.Parallel()
	holds := make(chan struct{})
	var cancelled atomic.Bool
	r := prefetchRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		if request.Index == 200 {
			close(holds)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if request.Index > 200 && cancelled.Load() {
			t.Errorf("trial %d was trained after it was cancelled", request.Index)
		}
		return succeed(ctx, p, request, sink)
	})
	r.adjust = func(w *worker.Worker) { w.SetLongestWait(patience) } // what waits here stays, in its order
	r.publish(jobs(260)...)
	w := r.start(worker.Options{Slots: 1})
	sweeptest.Receive(t, "the trial that holds", holds)
	var taken []sweep.TrialID
	sweeptest.Until(t, "the jobs withdrawn that the worker was not given", func() bool {
		some, err := r.wire.Withdraw(t.Context(), r.queueName(), "s")
		taken = append(taken, some...)
		return err == nil
	})
	sweeptest.Until(t, "all that the worker was given", func() bool { return w.Waiting() == 59-len(taken) })
	cancelled.Store(true)
	// As the coordinator does: what the worker has returned meanwhile must not come again.
	if err := r.wire.RemoveJobs(t.Context(), sweep.DefaultPool, "s"); err != nil {
		t.Fatal(err)
	}
	if err := r.wire.Cancel("s"); err != nil {
		t.Fatal(err)
	}
	r.release(200, 1)
	r.queueEmpties()
}
