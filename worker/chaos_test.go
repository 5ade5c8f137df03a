package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
)

// TestEveryTrialEndsWhateverHappens runs trials on workers that come and go,
// with trainers that die, fail, hang and keep checkpoints, and a server that
// once loses all it has. The test is the coordinator: it publishes again what was
// released or is missing. Every trial must end in its one possible result.
func TestEveryTrialEndsWhateverHappens(t *testing.T) {
	t.Parallel()
	const trials = 120
	conn := wiretest.Start(t)
	// What is lost comes back sooner than in earnest.
	r := rigOn(t, openWireOf(t, conn, 2*time.Second), func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		switch dice := rand.IntN(100); {
		case dice < 10:
			return p.die()
		case dice < 15:
			return nil, errors.New("no memory")
		case dice < 18:
			return nil, &sweep.DataError{Dataset: "CBF", Err: os.ErrNotExist} // without digest: see job
		case dice < 21:
			<-p.gone // hangs until it is ended
			return nil, errDied
		case dice < 30:
			if err := sink.Checkpoint(1, []byte("state")); err != nil {
				return nil, err
			}
			return p.until(ctx) // until the worker is stopped, or it takes too long
		case dice < 40:
			timer := time.NewTimer(time.Duration(rand.IntN(300)) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return outcome(request), nil
	})
	list := jobs(trials)
	for i := range list {
		list[i].Limits.Timeout = 400 * time.Millisecond
	}
	r.publish(list...)

	options := worker.Options{Slots: 2, MachineFailures: 1 << 20, CheckpointDir: t.TempDir()}
	workers := []*run{r.start(options), r.start(options), r.start(options)}
	results := map[int64]*sweep.Result{}
	executions := map[string]bool{}
	begin, lost, changed := time.Now(), false, time.Now()
	for len(results) < trials {
		if time.Since(begin) > 2*patience {
			sweeptest.Fail(t, fmt.Sprintf("%d results; there are %d", trials, len(results)))
		}
		batch, err := r.events.Fetch(t.Context(), 50*time.Millisecond)
		if err == nil {
			err = batch.Ack()
		}
		if err != nil {
			r.setup()
			continue
		}
		for _, e := range batch.Events {
			executions[e.Execution] = true
			switch {
			case e.Kind == sweep.EventResult && e.Result.State == sweep.Completed:
				want := outcome(sweep.TrainRequest{Trial: list[e.Index].Trial})
				if digest := want.ComputeDigest(map[string]bool{"seconds": true}); e.Result.Digest != digest {
					t.Fatalf("trial %d: another digest: %+v", e.Index, e.Result)
				}
				results[e.Index] = e.Result
			case e.Kind == sweep.EventReleased && e.Release.Charged && e.Release.Reason == "":
				t.Fatalf("trial %d: charged without a reason", e.Index)
			}
		}
		if !lost && len(results) > trials/3 {
			lost = true
			deleteStreams(t, conn)
			r.setup()
		}
		if time.Since(changed) > 300*time.Millisecond {
			changed = time.Now()
			k := rand.IntN(len(workers))
			workers[k].drain()
			workers[k] = r.start(options)
		}
		// The reconciler: what has no result (a failure is not enough here) and no
		// job is published again.
		for i := range list {
			if results[int64(i)] == nil {
				if _, err := r.wire.PublishJobs(t.Context(), r.queueName(), list[i:i+1]); !r.answered(err) {
					break // the next round tries again
				}
			}
		}
	}
	if len(executions) <= trials {
		t.Errorf("%d executions of %d trials: nothing was tried", len(executions), trials)
	}
	for _, w := range workers {
		w.drain()
	}
	// A process may only live in a worker that runs: all have been drained.
	for _, p := range r.launcher.launched() {
		if p.Alive() {
			t.Errorf("process %d outlives its worker", p.number)
		}
	}
}
