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
	// slots take jobs, free is how many of them wait for one.
	slots, free int
	// alone means that a job runs beside which none may. While it waits for the slots to be free, no
	// other job is begun.
	alone bool
	wake  sync.Cond
}

type waitingJob struct {
	delivery *wire.Delivery
	since    time.Time
}

func newBacklog(slots int) *backlog {
	b := &backlog{slots: slots}
	b.wake.L = &b.mu
	return b
}

// push adds a job.
func (b *backlog) push(d *wire.Delivery) {
	b.mu.Lock()
	b.jobs = append(b.jobs, waitingJob{d, time.Now()})
	b.mu.Unlock()
	b.wake.Broadcast()
}

// pushFirst adds a job that begins before the others.
func (b *backlog) pushFirst(d *wire.Delivery) {
	b.mu.Lock()
	b.jobs = slices.Insert(b.jobs, 0, waitingJob{d, time.Now()})
	b.mu.Unlock()
	b.wake.Broadcast()
}

// pop waits for a job that may begin and returns it; nil when ctx ends. It calls idle, without locks, if it
// has to wait. A job that runs alone begins when all slots are free; end must be called when it has ended.
func (b *backlog) pop(ctx context.Context, idle func()) *wire.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free++
	defer func() { b.free-- }()
	if b.begins() < 0 && ctx.Err() == nil {
		b.mu.Unlock()
		idle()
		stop := context.AfterFunc(ctx, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.wake.Broadcast()
		})
		b.mu.Lock()
		for b.begins() < 0 && ctx.Err() == nil {
			b.wake.Wait()
		}
		stop()
	}
	if ctx.Err() != nil {
		return nil
	}
	i := b.begins()
	b.alone = b.jobs[i].delivery.Alone()
	return b.take(i)
}

// begins returns the position of the job that may begin now, -1 if there is none.
func (b *backlog) begins() int {
	i := b.suspect()
	switch {
	case b.alone, len(b.jobs) == 0, i >= 0 && b.free < b.slots:
		return -1
	case i >= 0:
		return i
	}
	return 0
}

// suspect returns the position of the first job that runs alone, -1 if there is none.
func (b *backlog) suspect() int {
	return slices.IndexFunc(b.jobs, func(j waitingJob) bool { return j.delivery.Alone() })
}

// blocked reports whether no further jobs may begin because one runs alone, or is to.
func (b *backlog) blocked() bool { return b.alone || b.suspect() >= 0 }

// end says that a job has ended that ran alone.
func (b *backlog) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alone = false
	b.wake.Broadcast()
}

// next removes and returns the first job if it suits, else nil. It leaves one job to each of the
// others.
func (b *backlog) next(others int, suits func(d *wire.Delivery) bool) *wire.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) <= others || b.blocked() || !suits(b.jobs[0].delivery) {
		return nil
	}
	return b.take(0)
}

// take removes and returns a job.
func (b *backlog) take(i int) *wire.Delivery {
	d := b.jobs[i].delivery
	if i == 0 {
		b.jobs[0] = waitingJob{}
		b.jobs = b.jobs[1:]
	} else {
		b.jobs = slices.Delete(b.jobs, i, i+1)
	}
	return d
}

// room returns how many slots wait for a job, and how many jobs for a slot. No slot does if none may begin.
func (b *backlog) room() (free, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocked() {
		return 0, len(b.jobs)
	}
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
	b.wake.Broadcast() // others may begin if one of them was to run alone
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
