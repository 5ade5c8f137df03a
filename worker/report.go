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
	// reportTimeout bounds the sending of events that may be lost.
	reportTimeout = 5 * time.Second
	// resultTimeout bounds one attempt to send events that must not be lost, and all
	// attempts when everything else of a worker has ended.
	resultTimeout = 10 * time.Second
	// maxReports bounds the waiting reports: beyond it slots wait, too.
	maxReports = 1024
	// reportBytes is about the size of one message.
	reportBytes = 512 << 10
	// askFrom is the duration of an execution from which the server must confirm that the
	// job is removed: to run a shorter one again costs less than to wait.
	askFrom = time.Second
)

// report is the end of an execution: the events to be stored before its job is acknowledged.
type report struct {
	events []sweep.Event
	// delivery is acknowledged then; nil without a job.
	delivery *wire.Delivery
	took     time.Duration
	// done, if not nil, is called then.
	done func()
}

// reporter sends reports and acknowledges their jobs when the server has stored them. A message
// has all reports that came while the one before was being sent.
type reporter struct {
	worker *Worker

	mu      sync.Mutex
	waiting []report
	sending []report
	// unbounded lifts the limit maxReports: the trials are stopped, and few more will come.
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

// add adds a report. It blocks while too many wait.
func (r *reporter) add(report report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) >= maxReports && !r.unbounded {
		r.changed.Wait()
	}
	r.waiting = append(r.waiting, report)
	r.changed.Broadcast()
}

// takeAll stops add from blocking.
func (r *reporter) takeAll() { r.set(&r.unbounded) }

// close makes run return when all reports are sent.
func (r *reporter) close() { r.set(&r.closed) }

func (r *reporter) set(flag *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*flag = true
	r.changed.Broadcast()
}

// each calls do for each job whose report is not stored yet.
func (r *reporter) each(do func(*wire.Delivery)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, report := range slices.Concat(r.sending, r.waiting) {
		if report.delivery != nil {
			do(report.delivery)
		}
	}
}

// run sends reports until close is called and all are sent. It retries until sending ends.
func (r *reporter) run(sending context.Context) {
	for {
		batch := r.next()
		if batch == nil {
			return
		}
		r.deliver(sending, batch)
	}
}

// next returns the reports of one message; nil at the end.
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

// weight returns about the size of an event in a message, in bytes.
func weight(e *sweep.Event) int {
	n := 300 + len(e.Log)
	curves := e.Curves
	if e.Release != nil {
		n += len(e.Release.Stderr)
	}
	if e.Result != nil {
		n += 500 + len(e.Result.Error) + len(e.Result.Stderr) + 500*len(e.Result.Artifacts)
		curves = e.Result.Curves
		if m := e.Result.Marks; m != nil {
			n += 50 + 12*len(m.Values)
		}
		if l := e.Result.Labels; l != nil {
			n += 500 + len(l.Notes) + sweep.LongestTag*len(l.Tags)
		}
	}
	for _, c := range curves {
		n += 60 + 7*len(c.Steps)
	}
	return n
}

// deliver publishes the events of reports and acknowledges their jobs. It retries until sending
// ends: a trial may have taken a day, and a worker that cannot report does not get another job
// either. The jobs of reports that are not sent are delivered again.
func (r *reporter) deliver(sending context.Context, batch []report) {
	w := r.worker
	var events []sweep.Event
	for i := range batch {
		events = append(events, batch[i].events...)
	}
	var large []*wire.TooLargeError
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(sending, w.resultTimeout)
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

// replace fails a trial whose report is too large for a message: it would be so again.
func (r *reporter) replace(sending context.Context, batch []report, problem *wire.TooLargeError) {
	for i := range batch {
		events := batch[i].events
		last := events[len(events)-1]
		if last.TrialID != problem.TrialID {
			continue
		}
		ctx, cancel := context.WithTimeout(sending, r.worker.resultTimeout)
		defer cancel()
		if last.Result != nil && last.Result.Inputs != nil { // the list alone may be what is too large
			slim := *last.Result
			slim.Inputs = &sweep.Inputs{Unrecorded: "what the program reads"}
			last.Result = &slim
			events[len(events)-1] = last
			if r.worker.wire.Publish(ctx, r.worker.options.Pool, r.worker.id, events...) == nil {
				return
			}
		}
		last.Kind, last.Release = sweep.EventResult, nil
		last.Result = &sweep.Result{State: sweep.Failed, Error: problem.Error()}
		last.Result.Digest = last.Result.ComputeDigest(nil)
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
			ctx, cancel := context.WithTimeout(sending, r.worker.resultTimeout)
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
