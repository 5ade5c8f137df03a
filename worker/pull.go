package worker

import (
	"context"
	"math"
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
	// lostDelay is the time between attempts to open a queue that does not exist. If the
	// coordinator has not created it within lostPatience, the log says so.
	lostDelay    = 500 * time.Millisecond
	lostPatience = 5 * time.Second
)

// puller keeps the backlog filled from the queue of the worker's offer: a job for
// each free slot and, if trials are short, some more.
type puller struct {
	worker *Worker
	jobs   atomic.Pointer[wire.JobConsumer]
	// wake holds a token when the backlog may have room.
	wake chan struct{}
	// took holds the bits of the mean duration of a trial, in nanoseconds; NaN before the
	// first.
	took atomic.Uint64
}

func newPuller(w *Worker) *puller {
	p := &puller{worker: w, wake: make(chan struct{}, 1)}
	p.took.Store(math.Float64bits(math.NaN()))
	return p
}

// observe adds a trial's duration to the moving mean.
func (p *puller) observe(d time.Duration) {
	for {
		old := p.took.Load()
		mean := math.Float64frombits(old)
		if math.IsNaN(mean) {
			mean = float64(d)
		}
		if p.took.CompareAndSwap(old, math.Float64bits(mean+(float64(d)-mean)/8)) {
			return
		}
	}
}

// lookahead returns how many jobs the backlog may hold besides those for free slots.
func (p *puller) lookahead() int {
	took := math.Float64frombits(p.took.Load())
	if math.IsNaN(took) || took > float64(lookaheadTime)/2 {
		return 0
	}
	return len(p.worker.slots) * int(min(float64(lookaheadTime)/took, maxLookahead))
}

// prefetch returns how many jobs a slot's trainer may prefetch.
func (p *puller) prefetch() int {
	took := math.Float64frombits(p.took.Load())
	if math.IsNaN(took) || took > float64(prefetchTime)/2 {
		return 0
	}
	return int(min(float64(prefetchTime)/took, maxPrefetch))
}

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
	logged := false
	for ctx.Err() == nil {
		queue := p.worker.offer.queue()
		jobs, err := p.worker.wire.Jobs(queue)
		if err == nil {
			p.jobs.Store(jobs)
			err = p.receive(ctx, jobs, queue, func() {
				if logged {
					p.worker.log.Info("jobs are received again")
				}
				since, logged = time.Time{}, false
			})
			p.jobs.Store(nil)
			jobs.Close()
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
		sleep(ctx, lostDelay)
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
		if d != nil {
			p.worker.backlog.push(d)
		}
	}
	return nil
}
