package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"sweep/sweep/wire"
)

// backlog holds jobs that were pulled and do not run yet.
type backlog struct {
	mu sync.Mutex
	// jobs are in the order in which they came.
	jobs []waitingJob
	// free is how many slots wait for a job.
	free int
	wake sync.Cond
}

type waitingJob struct {
	delivery *wire.Delivery
	since    time.Time
}

func newBacklog() *backlog {
	b := &backlog{}
	b.wake.L = &b.mu
	return b
}

// push adds a job.
func (b *backlog) push(d *wire.Delivery) {
	b.mu.Lock()
	b.jobs = append(b.jobs, waitingJob{d, time.Now()})
	b.mu.Unlock()
	b.wake.Signal()
}

// pop waits for a job and returns it; nil when ctx ends. It calls idle, without locks, if it has
// to wait.
func (b *backlog) pop(ctx context.Context, idle func()) *wire.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) == 0 && ctx.Err() == nil {
		b.free++
		b.mu.Unlock()
		idle()
		stop := context.AfterFunc(ctx, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.wake.Broadcast()
		})
		b.mu.Lock()
		for len(b.jobs) == 0 && ctx.Err() == nil {
			b.wake.Wait()
		}
		b.free--
		stop()
	}
	if len(b.jobs) == 0 || ctx.Err() != nil {
		return nil
	}
	return b.first()
}

// next removes and returns the first job if it suits, else nil. It leaves one job to each of the
// others.
func (b *backlog) next(others int, suits func(d *wire.Delivery) bool) *wire.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) <= others || !suits(b.jobs[0].delivery) {
		return nil
	}
	return b.first()
}

// first removes and returns the first job.
func (b *backlog) first() *wire.Delivery {
	d := b.jobs[0].delivery
	b.jobs[0] = waitingJob{}
	b.jobs = b.jobs[1:]
	return d
}

// room returns how many slots wait for a job, and how many jobs for a slot.
func (b *backlog) room() (free, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free, len(b.jobs)
}

// remove removes and returns the jobs that fit.
func (b *backlog) remove(fits func(d *wire.Delivery, waited time.Duration) bool) (removed []*wire.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.jobs = slices.DeleteFunc(b.jobs, func(j waitingJob) bool {
		if !fits(j.delivery, now.Sub(j.since)) {
			return false
		}
		removed = append(removed, j.delivery)
		return true
	})
	return removed
}

// each calls do for each job.
func (b *backlog) each(do func(d *wire.Delivery)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		do(j.delivery)
	}
}
