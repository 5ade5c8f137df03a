package worker

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"sweep/sweep/wire"
)

const (
	// aheadFor is for how much time jobs are pulled ahead of the slots, and
	// mostAhead how many a slot: what waits here is taken from other workers.
	aheadFor  = 50 * time.Millisecond
	mostAhead = 64
	// prefetchFor and mostPrefetched are the same for what a slot sends its trainer.
	prefetchFor    = 5 * time.Millisecond
	mostPrefetched = 16
	// longestWait is how long a job waits here for a slot before it is returned,
	// because a trial before it takes longer than expected.
	longestWait = 250 * time.Millisecond
	// pullWait is how long a pull waits before it looks around.
	pullWait = time.Second
	// lostDelay paces attempts to find a queue that is not there. The coordinator
	// makes a new one within lostPatience, or there is something to be told.
	lostDelay    = 500 * time.Millisecond
	lostPatience = 5 * time.Second
)

// puller keeps the backlog filled from the queue of the worker's offer: a job for
// each slot that waits for one and, where trials are short, some ahead.
type puller struct {
	worker *Worker
	jobs   atomic.Pointer[wire.JobConsumer]
	// wake holds a token when there may be room for jobs.
	wake chan struct{}
	// took holds the bits of the mean time that a trial takes here, in
	// nanoseconds; of NaN before the first.
	took atomic.Uint64
}

func newPuller(w *Worker) *puller {
	p := &puller{worker: w, wake: make(chan struct{}, 1)}
	p.took.Store(math.Float64bits(math.NaN()))
	return p
}

// observe takes a trial's time into the mean.
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

// ahead is how many jobs may wait for the slots.
func (p *puller) ahead() int {
	took := math.Float64frombits(p.took.Load())
	if math.IsNaN(took) || took > float64(aheadFor)/2 {
		return 0
	}
	return len(p.worker.slots) * int(min(float64(aheadFor)/took, mostAhead))
}

// prefetch is how many jobs a slot sends its trainer ahead.
func (p *puller) prefetch() int {
	took := math.Float64frombits(p.took.Load())
	if math.IsNaN(took) || took > float64(prefetchFor)/2 {
		return 0
	}
	return int(min(float64(prefetchFor)/took, mostPrefetched))
}

// demand asks for as many jobs as there is room for. It may be called at any time.
func (p *puller) demand() {
	jobs := p.jobs.Load()
	if jobs == nil {
		return
	}
	free, waiting := p.worker.backlog.room()
	asked := jobs.Asked()
	var err error
	if n := free - waiting - asked; n > 0 {
		err = jobs.Ask(n)
	} else if ahead := p.ahead(); asked == 0 && ahead > 0 && waiting <= ahead/2 {
		err = jobs.AskNow(ahead - waiting)
	} else {
		return
	}
	if err != nil {
		p.worker.log.Debug("jobs not asked for", "error", err) // Next fails too, and says so
	}
	select {
	case p.wake <- struct{}{}:
	default: // it is awake
	}
}

// run pulls until ctx ends.
func (p *puller) run(ctx context.Context) {
	var since time.Time // when trouble began
	told := false
	for ctx.Err() == nil {
		queue := p.worker.offer.queue()
		jobs, err := p.worker.wire.Jobs(queue)
		if err == nil {
			p.jobs.Store(jobs)
			err = p.receive(ctx, jobs, queue, func() {
				if told {
					p.worker.log.Info("jobs can be had again")
				}
				since, told = time.Time{}, false
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
		if !told && time.Since(since) > lostPatience {
			p.worker.log.Warn("no jobs can be had; trying again until it works", "error", err)
			told = true
		}
		// The coordinator makes the queue when it hears of the worker.
		p.worker.heartbeats.soon()
		sleep(ctx, lostDelay)
	}
}

// receive takes jobs until something fails, ctx ends or the worker's jobs are in
// another queue. works is called when the queue answers.
func (p *puller) receive(ctx context.Context, jobs *wire.JobConsumer, queue wire.Queue, works func()) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for p.worker.offer.queue() == queue {
		p.demand()
		if jobs.Asked() == 0 { // every slot is busy, and nothing more is there
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
