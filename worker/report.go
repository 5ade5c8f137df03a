package worker

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// reportTimeout bounds the sending of what may be lost.
	reportTimeout = 5 * time.Second
	// resultTimeout bounds one attempt to send what must not be lost, and all of them
	// when everything else of a worker has ended.
	resultTimeout = 10 * time.Second
	// mostReports bounds what waits to be sent: then slots wait too.
	mostReports = 1024
	// reportBytes is about how much goes into one message.
	reportBytes = 512 << 10
	// askFrom is the time of an execution from which the server's word is awaited
	// that the job is gone: to run a shorter one again costs less than to ask.
	askFrom = time.Second
)

// report is the end of an execution: what the server must have before its job is
// acknowledged.
type report struct {
	events []sweep.Event
	// delivery is acknowledged then; nil for what belongs to no job in hand.
	delivery *wire.Delivery
	took     time.Duration
	// done, if not nil, is called then.
	done func()
}

// reporter sends reports, as many in a message as have come while the one before
// was on its way, and acknowledges their jobs when the server has stored them.
type reporter struct {
	worker *Worker

	mu      sync.Mutex
	waiting []report
	sending []report
	// unbounded lets any number wait: the trials are stopped, and few more will come.
	unbounded bool
	closed    bool
	changed   sync.Cond
	// problem is why the latest attempt to send failed, nil if it did not.
	problem atomic.Pointer[string]
}

func newReporter(w *Worker) *reporter {
	r := &reporter{worker: w}
	r.changed.L = &r.mu
	return r
}

// add hands a report over. It waits while too many are not sent yet.
func (r *reporter) add(report report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) >= mostReports && !r.unbounded {
		r.changed.Wait()
	}
	r.waiting = append(r.waiting, report)
	r.changed.Broadcast()
}

// takeAll has add wait no longer.
func (r *reporter) takeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unbounded = true
	r.changed.Broadcast()
}

// close has run return when all is sent.
func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.changed.Broadcast()
}

// each calls do for each job whose report is not sent yet.
func (r *reporter) each(do func(*wire.Delivery)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, report := range slices.Concat(r.sending, r.waiting) {
		if report.delivery != nil {
			do(report.delivery)
		}
	}
}

// run sends reports until close is called and all are sent. As long as sending lasts it
// tries again what does not work.
func (r *reporter) run(sending context.Context) {
	for {
		batch := r.next()
		if batch == nil {
			return
		}
		r.deliver(sending, batch)
	}
}

// next takes the reports of one message; nil at the end.
func (r *reporter) next() []report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sending = nil
	for len(r.waiting) == 0 && !r.closed {
		r.changed.Wait()
	}
	if len(r.waiting) == 0 {
		return nil
	}
	n, size := 0, 0
	for n < len(r.waiting) && (n == 0 || size < reportBytes) {
		for i := range r.waiting[n].events {
			size += weight(&r.waiting[n].events[i])
		}
		n++
	}
	r.sending = slices.Clone(r.waiting[:n])
	r.waiting = slices.Delete(r.waiting, 0, n)
	r.changed.Broadcast()
	return r.sending
}

// weight is about the size of an event in a message.
func weight(e *sweep.Event) int {
	n := 300 + len(e.Log)
	curves := e.Curves
	if e.Release != nil {
		n += len(e.Release.Stderr)
	}
	if e.Result != nil {
		n += 500 + len(e.Result.Error) + len(e.Result.Stderr) + 500*len(e.Result.Artifacts)
		curves = e.Result.Curves
	}
	for _, c := range curves {
		n += 60 + 7*len(c.Steps)
	}
	return n
}

// deliver publishes the events of reports and acknowledges their jobs. A report
// that cannot be sent leaves the job to be delivered again. A trial may have taken
// a day, and a worker that cannot report could not get another job either: so it
// tries until sending ends.
func (r *reporter) deliver(sending context.Context, batch []report) {
	w := r.worker
	var events []sweep.Event
	for i := range batch {
		events = append(events, batch[i].events...)
	}
	var large []*wire.TooLargeError
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(sending, resultTimeout)
		var err error
		large, err = wire.TooLarge(w.wire.Publish(ctx, w.options.Pool, w.id, events...))
		cancel()
		if err == nil {
			if r.problem.Swap(nil) != nil {
				w.heartbeats.soon()
			}
			break
		}
		problem := err.Error()
		if r.problem.Swap(&problem) == nil {
			w.heartbeats.soon()
		}
		if sending.Err() != nil {
			w.log.Error("results not reported; the trials will run again", "trials", len(batch), "error", err)
			return
		}
		if attempt == 1 {
			w.log.Warn("results not reported yet; retrying", "trials", len(batch),
				"error", err)
		}
		sleep(sending, lostDelay)
	}
	for _, e := range large {
		r.replace(sending, batch, e)
	}
	for i := range batch {
		r.acknowledge(sending, &batch[i])
	}
}

// replace fails a trial whose report fits no message: it would have no better
// luck another time.
func (r *reporter) replace(sending context.Context, batch []report, problem *wire.TooLargeError) {
	for i := range batch {
		events := batch[i].events
		last := events[len(events)-1]
		if last.TrialID != problem.TrialID {
			continue
		}
		last.Kind, last.Release = sweep.EventResult, nil
		last.Result = &sweep.Result{State: sweep.Failed, Error: problem.Error()}
		last.Result.Digest = last.Result.ComputeDigest(nil)
		ctx, cancel := context.WithTimeout(sending, resultTimeout)
		defer cancel()
		if err := r.worker.wire.Publish(ctx, r.worker.options.Pool, r.worker.id, last); err != nil {
			r.worker.log.Error("failure of a trial not reported; it will run again", "trial", problem.TrialID,
				"error", err)
			batch[i].delivery = nil
		}
		return
	}
}

// acknowledge removes a job from the queue.
func (r *reporter) acknowledge(sending context.Context, report *report) {
	if d := report.delivery; d != nil {
		var err error
		if report.took < askFrom {
			err = d.Ack()
		} else {
			ctx, cancel := context.WithTimeout(sending, resultTimeout)
			err = d.DoubleAck(ctx)
			cancel()
		}
		if err != nil {
			r.worker.log.Warn("job not acknowledged; the trial may run again", "trial", d.TrialID,
				"error", err)
		}
	}
	if report.done != nil {
		report.done()
	}
}
