package model

import (
	"context"
	"time"

	"sweep/sweep"
)

// Speed trains the first minibatches of a trial for the given time, one at least, and
// returns how long the whole trial would take at that rate. It reports nothing and
// leaves nothing behind.
func (t *Trainer) Speed(ctx context.Context, request sweep.ValidateRequest,
	budget time.Duration) (time.Duration, error) {
	t.training.Lock()
	defer t.training.Unlock()
	s, task, err := t.open(request.Parameters, request.DataDir)
	if err != nil {
		return 0, err
	}
	run, err := newTraining(ctx, t.kernels, s, task, t.threads, t.history, time.Now())
	if err != nil {
		return 0, err
	}
	defer run.close()
	begin := time.Now()
	run.step()
	steps, elapsed := 1, time.Since(begin)
	// The first step finds memory and caches cold: it counts only where it is all
	// there is time for.
	for begin = time.Now(); elapsed < budget && run.position() < run.plan.Steps && !run.diverged; steps++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		run.step()
		elapsed = time.Since(begin)
	}
	if steps > 1 {
		steps--
	}
	return run.cost.after(steps, elapsed), nil
}

// after returns how long the whole trial takes if so many steps took the time elapsed.
func (c cost) after(steps int, elapsed time.Duration) time.Duration {
	rate := c.step * float64(steps) / elapsed.Seconds()
	return time.Duration(c.flops / rate * float64(time.Second))
}
