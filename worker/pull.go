package worker

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"sweep/sweep/wire"
)

const (
	// lookaheadTime is how much work the backlog holds for a slot, as time, and
	// maxLookahead as a number of jobs: other workers cannot take jobs that wait here.
	lookaheadTime = 50 * time.Millisecond
	maxLookahead  = 64
	// prefetchTime and maxPrefetch bound the jobs that a slot's trainer prefetches.
	prefetchTime = 5 * time.Millisecond
	maxPrefetch  = 16
	// longestWait is how long a job waits here for a slot before it is returned to the
	// queue: a trial before it takes longer than expected.
	longestWait = 250 * time.Millisecond
	// pullWait is how long receive waits before it checks its conditions again.
	pullWait = time.Second
	// leastLostDelay is the time until the second attempt to open a queue that does not exist. It
	// doubles up to lostDelay: a new worker looks before the coordinator has created the queue. If it
	// is not there within lostPatience, that is logged.
	leastLostDelay = 10 * time.Millisecond
	lostDelay      = 500 * time.Millisecond
	lostPatience   = 5 * time.Second
)

// puller keeps the backlog filled from the queue of the worker's offer: a job for
// each free slot and, if trials are short, some more.
type puller struct {
	worker *Worker
	jobs   atomic.Pointer[wire.JobConsumer]
	// wake holds a token when the backlog may have room.
	wake chan struct{}
	// took is the moving mean of the durations of trials, in nanoseconds; 0 before the first.
	took atomic.Int64
	// lookaheadTime and prefetchTime are the constants, but in tests.
	lookaheadTime, prefetchTime time.Duration
}

func newPuller(w *Worker) *puller {
	return &puller{worker: w, wake: make(chan struct{}, 1), lookaheadTime: lookaheadTime, prefetchTime: prefetchTime}
}

// observe adds a trial's duration to the moving mean.
func (p *puller) observe(d time.Duration) {
	for {
		old := p.took.Load()
		mean := cmp.Or(old, int64(d))
		if p.took.CompareAndSwap(old, mean+(int64(d)-mean)/8) {
			return
		}
	}
}

// trialsIn returns how many trials take a time, up to most; 0 if that is fewer than two, or no
// trial has ended.
func (p *puller) trialsIn(d time.Duration, most int) int {
	took := time.Duration(p.took.Load())
	if took == 0 || took > d/2 {
		return 0
	}
	return min(int(d/took), most)
}

// lookahead returns how many jobs the backlog may hold besides those for free slots.
func (p *puller) lookahead() int {
	return len(p.worker.slots) * p.trialsIn(p.lookaheadTime, maxLookahead)
}

// prefetch returns how many jobs a slot's trainer may prefetch.
func (p *puller) prefetch() int { return p.trialsIn(p.prefetchTime, maxPrefetch) }

// demand requests as many jobs as the backlog has room for. It may be called at any time.
func (p *puller) demand() {
	jobs := p.jobs.Load()
	if jobs == nil {
		return
	}
	free, waiting := p.worker.backlog.room()
	requested := jobs.Requested()
	var err error
	if n := free - waiting - requested; n > 0 {
		err = jobs.Request(n)
	} else if lookahead := p.lookahead(); requested == 0 && lookahead > 0 && waiting <= lookahead/2 {
		err = jobs.RequestNow(lookahead - waiting)
	} else {
		return
	}
	if err != nil {
		p.worker.log.Debug("jobs not requested", "error", err) // Next fails too, and its error is logged
	}
	select {
	case p.wake <- struct{}{}:
	default: // a token is there
	}
}

// run pulls until ctx ends.
func (p *puller) run(ctx context.Context) {
	var since time.Time // of the first failed attempt
	logged, delay := false, leastLostDelay
	for ctx.Err() == nil {
		p.waitAside(ctx)
		queue := p.worker.offer.queue()
		jobs, err := p.worker.wire.Jobs(queue)
		pulling, stop := p.worker.aside.pulling(ctx)
		if err == nil {
			p.jobs.Store(jobs)
			err = p.receive(pulling, jobs, queue, func() {
				if logged {
					p.worker.log.Info("jobs are received again")
				}
				since, logged, delay = time.Time{}, false, leastLostDelay
			})
			p.jobs.Store(nil)
			jobs.Close()
		}
		aside := pulling.Err() != nil
		if stop(); aside {
			continue
		}
		if err == nil || ctx.Err() != nil || wire.IsReconnect(err) {
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		if !logged && time.Since(since) > lostPatience {
			p.worker.log.Warn("cannot receive jobs; retrying", "error", err)
			logged = true
		}
		// A heartbeat makes the coordinator create the queue.
		p.worker.heartbeats.soon()
		sleep(ctx, delay)
		delay = min(2*delay, lostDelay)
	}
}

// waitAside waits while the worker is set aside. The jobs that wait here go back to the queue.
func (p *puller) waitAside(ctx context.Context) {
	reason, over := p.worker.aside.now()
	if reason == "" {
		return
	}
	p.worker.returnJobs(p.worker.backlog, -1)
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// receive receives jobs until a pull fails, ctx ends or the worker's offer has another
// queue. works is called when the queue answers.
func (p *puller) receive(ctx context.Context, jobs *wire.JobConsumer, queue wire.Queue, works func()) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for p.worker.offer.queue() == queue {
		p.demand()
		if jobs.Requested() == 0 { // every slot is busy, and the backlog is full
			timer.Reset(pullWait)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-p.wake:
			case <-timer.C:
			}
			continue
		}
		d, err := jobs.Next(ctx, pullWait)
		if err != nil {
			return err
		}
		works()
		if d != nil && p.accept(d) {
			p.worker.backlog.push(d)
		}
	}
	return nil
}

// accept reports whether a job is to be run: nothing here has it, or goes on for it.
func (p *puller) accept(d *wire.Delivery) bool {
	switch {
	case p.worker.has(d):
		p.worker.log.Warn("a job was delivered again to the worker that has it, which had not renewed it in time",
			"trial", d.TrialID)
	case p.worker.adopt(d):
		p.worker.log.Warn("another job came of a trial that runs here; it goes on for this one", "trial", d.TrialID)
	case p.worker.spool.adopt(d):
		p.worker.log.Info("a job came of a trial whose result waits here for the artifact store", "trial", d.TrialID)
	default:
		return true
	}
	return false
}
