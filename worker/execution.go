package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// A trial's started event is sent after announceAfter; that of a shorter trial
// travels with its result, and so do the curves of one shorter than
// firstPoints. Later curves are sent at intervals that double up to longestPoints.
const (
	announceAfter = 200 * time.Millisecond
	firstPoints   = time.Second
	longestPoints = 30 * time.Second
)

const (
	// reportTimeout bounds the sending of what may be lost.
	reportTimeout = 5 * time.Second
	// resultTimeout bounds one attempt to send what must not be lost.
	resultTimeout = 10 * time.Second
)

// execution is one attempt at one trial.
type execution struct {
	slot     *slot
	delivery *wire.Delivery
	id       string
	started  sweep.Event
	// ctx ends when the trial is to stop; abandon ends it for a reason.
	ctx     context.Context
	abandon context.CancelCauseFunc
	process sweep.Process // nil until it runs

	// The sink is called from one goroutine of the trainer while train waits.
	recorder   *sweep.Recorder
	nextPoints time.Time
	pointsWait time.Duration
	kept       bool // a checkpoint of this execution

	announcing sync.Mutex // guards announced
	announced  bool       // the server has the started event, or it travels with the report
}

// newExecution begins an execution, which running bounds.
func newExecution(running context.Context, s *slot, d *wire.Delivery) *execution {
	e := &execution{slot: s, delivery: d, id: wire.NewExecution(), recorder: sweep.NewRecorder(d.Limits.Points), pointsWait: firstPoints}
	e.ctx, e.abandon = context.WithCancelCause(running)
	e.started = e.event(sweep.EventStarted)
	e.nextPoints = e.started.Time.Add(firstPoints)
	return e
}

// run trains the trial, reports, and acknowledges the job once the server has
// the report; ask is called in time for the next job. A report that cannot be
// sent leaves the job to be delivered again.
// Its error is a *BrokenError.
func (e *execution) run(running context.Context, ask func()) error {
	defer e.abandon(nil)
	e.slot.begin(e)
	defer e.slot.end()
	stop := e.heartbeat()
	defer stop()

	result, err := e.train()
	v := e.judge(e.ctx, result, err)
	defer func() {
		e.slot.worker.metrics.ended(v.event)
		e.slot.worker.metrics.seconds.Observe(time.Since(e.started.Time).Seconds())
	}()
	if v.event == nil {
		if err := e.delivery.Later(v.later); err != nil {
			e.slot.worker.log.Warn("job not given back", "trial", e.delivery.TrialID, "error", err)
		}
	} else {
		if v.broken != nil {
			ask = func() {}
		}
		e.conclude(running, *v.event, ask)
	}
	for _, f := range v.takenBack {
		correction := e.event(sweep.EventReleased)
		correction.TrialID, correction.Execution = f.id, f.execution
		correction.Release = &sweep.Release{Reason: "taken back: the worker's machine seems broken"}
		if err := e.deliver(running, correction); err != nil {
			e.slot.worker.log.Error("charge not taken back", "trial", f.id, "error", err)
		}
	}
	return v.broken
}

// event returns an event of the execution, now.
func (e *execution) event(kind sweep.EventKind) sweep.Event {
	return sweep.Event{
		Kind: kind, TrialID: e.delivery.TrialID, Execution: e.id,
		Worker: e.slot.worker.options.Name, Time: time.Now().UTC(),
	}
}

// heartbeat tells the server every third of AckWait that the job is in
// progress, and announces the execution, until stop is called, which waits.
func (e *execution) heartbeat() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		announce := time.NewTimer(announceAfter)
		defer announce.Stop()
		ticker := time.NewTicker(e.slot.worker.wire.AckWait() / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-announce.C:
				wait.Go(func() { e.announce(ctx) })
			case <-ticker.C:
				if err := e.delivery.InProgress(); err != nil {
					e.slot.worker.metrics.missed.Inc()
					e.slot.worker.log.Warn("heartbeat not sent", "trial", e.delivery.TrialID, "error", err)
				}
			}
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}

// announce publishes the started event unless that is done already. If the
// server does not take it, it goes with the report.
func (e *execution) announce(ctx context.Context) {
	e.announcing.Lock()
	defer e.announcing.Unlock()
	if e.announced {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	if err := e.slot.worker.wire.Publish(ctx, e.started); err != nil {
		if ctx.Err() == nil {
			e.slot.worker.log.Warn("start not reported", "trial", e.delivery.TrialID, "error", err)
		}
		return
	}
	e.announced = true
}

// unannounced reports whether the started event is still to be sent, and has
// the caller send it.
func (e *execution) unannounced() bool {
	e.announcing.Lock()
	defer e.announcing.Unlock()
	due := !e.announced
	e.announced = true
	return due
}

// train has the slot's trainer train the trial. A checkpoint that the trainer
// cannot go on from is thrown away.
func (e *execution) train() (*sweep.Result, error) {
	process, err := e.slot.ensureTrainer(e.ctx, &e.delivery.Job)
	if err != nil {
		return nil, &launchError{err}
	}
	e.process = process
	if limit := e.delivery.Limits.Timeout; limit > 0 {
		timer := time.AfterFunc(limit, func() { e.abandon(errTimedOut) })
		defer timer.Stop()
	}
	release := e.guard(process)
	defer release()
	request := sweep.TrainRequest{
		Trial: e.delivery.Trial, DataDir: e.slot.worker.options.DataDir,
		Points: e.delivery.Limits.Points, Checkpoint: e.loadCheckpoint(),
	}
	result, err := process.Train(e.ctx, request, e)
	if err == nil || len(request.Checkpoint) == 0 || e.ctx.Err() != nil {
		return result, err
	}
	if !process.Alive() {
		if !e.kept {
			e.removeCheckpoint() // it may be what killed the trainer
		}
		return result, err
	}
	e.slot.worker.log.Warn("trial failed from its checkpoint; it starts anew", "trial", e.delivery.TrialID, "error", err)
	e.removeCheckpoint()
	request.Checkpoint = nil
	e.recorder = sweep.NewRecorder(e.delivery.Limits.Points)
	return process.Train(e.ctx, request, e)
}

// guard closes a process whose Train does not return in time when the trial is
// to stop. The caller releases the guard when Train has returned.
func (e *execution) guard(process sweep.Process) (release func()) {
	returned, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(e.ctx, func() {
		defer close(ended)
		timer := time.NewTimer(e.slot.worker.stopGrace)
		defer timer.Stop()
		select {
		case <-returned:
		case <-timer.C:
			e.slot.worker.log.Warn("the trainer does not stop: it is ended", "trial", e.delivery.TrialID, "trainer", e.delivery.Trainer)
			e.slot.closeProcess(process)
		}
	})
	return func() {
		close(returned)
		if !stop() {
			<-ended
		}
	}
}

// Points implements sweep.Sink.
func (e *execution) Points(batch []sweep.Curve) error {
	for _, c := range batch {
		if len(c.Steps) != len(c.Values) {
			return fmt.Errorf("curve %q: %d steps but %d values", c.Metric, len(c.Steps), len(c.Values))
		}
	}
	e.recorder.Add(batch)
	now := time.Now()
	if now.Before(e.nextPoints) {
		return nil
	}
	e.pointsWait = min(2*e.pointsWait, longestPoints)
	e.nextPoints = now.Add(e.pointsWait)
	event := e.event(sweep.EventPoints)
	event.Curves = e.recorder.Curves()
	e.report(event)
	return nil
}

// Checkpoint implements sweep.Sink.
func (e *execution) Checkpoint(step int64, state []byte) error {
	if err := e.saveCheckpoint(state); err != nil {
		e.slot.worker.log.Warn("checkpoint not kept", "trial", e.delivery.TrialID, "error", err)
		return nil // the trial goes on without it
	}
	e.kept = true
	event := e.event(sweep.EventCheckpoint)
	event.Checkpoint = step
	e.report(event)
	return nil
}

// report publishes an event in the middle of the trial. Losing one does no
// harm: the result carries everything.
func (e *execution) report(event sweep.Event) {
	ctx, cancel := context.WithTimeout(e.ctx, reportTimeout)
	defer cancel()
	e.announce(ctx)
	if err := e.slot.worker.wire.Publish(ctx, event); err != nil && e.ctx.Err() == nil {
		e.slot.worker.log.Warn("event not sent", "trial", e.delivery.TrialID, "kind", event.Kind, "error", err)
	}
}

// conclude sends the result or the release, then acknowledges the job.
func (e *execution) conclude(running context.Context, event sweep.Event, ask func()) {
	log := e.slot.worker.log.With("trial", e.delivery.TrialID)
	events := []sweep.Event{event}
	if e.unannounced() {
		events = []sweep.Event{e.started, event}
	}
	err := e.deliver(running, events...)
	if large := (*wire.TooLargeError)(nil); errors.As(err, &large) {
		// The trial would have no better luck another time.
		event.Result, event.Release = &sweep.Result{State: sweep.Failed, Error: err.Error()}, nil
		event.Kind = sweep.EventResult
		event.Result.Digest = event.Result.ComputeDigest(nil)
		events[len(events)-1] = event
		err = e.deliver(running, events...)
	}
	if err != nil {
		log.Error("end of the trial not reported; it will be run again", "kind", event.Kind, "error", err)
		return
	}
	ask()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(running), resultTimeout)
	defer cancel()
	if err := e.delivery.Done(ctx); err != nil {
		log.Warn("job not acknowledged; it may be run again, which changes nothing", "error", err)
	}
	if event.Kind == sweep.EventResult {
		e.removeCheckpoint()
	}
}

// deliver publishes events that must not be lost. As long as the worker may run
// trials it tries again: a trial may have taken a day, and a slot that cannot
// report could not get another job either.
func (e *execution) deliver(running context.Context, events ...sweep.Event) error {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(running), resultTimeout)
		err := e.slot.worker.wire.Publish(ctx, events...)
		cancel()
		large := (*wire.TooLargeError)(nil)
		if err == nil || running.Err() != nil || errors.As(err, &large) {
			return err
		}
		if attempt == 1 {
			e.slot.worker.log.Warn("end of a trial not reported yet; trying again until it works", "trial", e.delivery.TrialID, "error", err)
		}
		sleep(running, lostDelay)
	}
}
