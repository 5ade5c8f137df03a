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

// execution is one attempt at one trial.
type execution struct {
	slot     *slot
	delivery *wire.Delivery
	id       string
	started  sweep.Event

	// The sink is called from one goroutine of the trainer while run waits.
	recorder   *sweep.Recorder
	nextPoints time.Time
	pointsWait time.Duration

	mu        sync.Mutex // of what follows, shared with the heartbeat
	announced bool       // the server has the started event
	settled   bool       // the started event goes with the report
}

// A trial's started event is sent after announceAfter; that of a shorter trial
// travels with its result, and so do the curves of one shorter than
// firstPoints. Later curves are sent at intervals that double up to longestPoints.
const (
	announceAfter = 200 * time.Millisecond
	firstPoints   = time.Second
	longestPoints = 30 * time.Second
)

// heartbeat announces the execution and tells the server every third of
// AckWait that the job is in progress, until stop is called, which waits.
func (e *execution) heartbeat() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		wire := e.slot.worker.wire
		announce := time.NewTimer(announceAfter)
		defer announce.Stop()
		ticker := time.NewTicker(wire.AckWait() / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-announce.C:
				e.announce(ctx)
			case <-ticker.C:
				if err := e.delivery.InProgress(); err != nil {
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

// announce publishes the started event unless it is sent or settled already. If
// the server does not take it, it goes with the report.
func (e *execution) announce(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.announced || e.settled {
		return
	}
	if err := e.slot.worker.wire.Publish(ctx, e.started); err != nil {
		e.slot.worker.log.Warn("start not reported", "trial", e.delivery.TrialID, "error", err)
		return
	}
	e.announced = true
}

// settle ends announcing and reports whether the started event is still due.
func (e *execution) settle() (due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settled = true
	return !e.announced
}

// run trains the trial, reports, and acknowledges the job once the server has
// the report. A report that cannot be sent leaves the job to be delivered again.
func (e *execution) run(running context.Context) error {
	ctx, abandon := context.WithCancelCause(running)
	defer abandon(nil)
	if limit := e.delivery.Limits.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimedOut)
		defer cancel()
	}
	e.slot.begin(e.delivery.TrialID, abandon)
	defer e.slot.end()
	e.started = e.event(sweep.EventStarted)
	e.nextPoints, e.pointsWait = e.started.Time.Add(firstPoints), firstPoints
	stop := e.heartbeat()
	defer stop()

	result, err := e.train(ctx)
	v := e.judge(ctx, result, err)
	if v.event == nil {
		if err := e.delivery.Later(v.later); err != nil {
			e.slot.worker.log.Warn("job not given back", "trial", e.delivery.TrialID, "error", err)
		}
		return v.broken
	}
	events := []sweep.Event{*v.event}
	if e.settle() {
		events = []sweep.Event{e.started, *v.event}
	}
	publishing, cancel := context.WithTimeout(context.WithoutCancel(running), publishTimeout)
	defer cancel()
	if err := e.slot.worker.wire.Publish(publishing, events...); err != nil {
		e.slot.worker.log.Error("result not reported; the trial will be run again", "trial", e.delivery.TrialID, "error", err)
		return v.broken
	}
	if err := e.delivery.Done(publishing); err != nil {
		e.slot.worker.log.Warn("job not acknowledged; it may be run again, which changes nothing", "trial", e.delivery.TrialID, "error", err)
	}
	if v.event.Kind == sweep.EventResult {
		e.removeCheckpoint()
	}
	for _, c := range v.takenBack {
		correction := e.event(sweep.EventReleased)
		correction.TrialID, correction.Execution = c.id, c.execution
		correction.Release = &sweep.Release{Reason: "taken back: the worker's machine seems broken"}
		if err := e.slot.worker.wire.Publish(publishing, correction); err != nil {
			e.slot.worker.log.Error("charge not taken back", "trial", c.id, "error", err)
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

// train has the slot's trainer train the trial. A checkpoint that the trainer
// cannot go on from is thrown away.
func (e *execution) train(ctx context.Context) (*sweep.Result, error) {
	process, err := e.slot.ensureTrainer(ctx, e.delivery.Trainer)
	if err != nil {
		return nil, &launchError{err}
	}
	request := sweep.TrainRequest{
		Trial: e.delivery.Trial, DataDir: e.slot.worker.options.DataDir,
		Points: e.delivery.Limits.Points, Checkpoint: e.loadCheckpoint(),
	}
	result, err := process.Train(ctx, request, e)
	if err != nil && len(request.Checkpoint) > 0 && ctx.Err() == nil && process.Alive() {
		e.slot.worker.log.Warn("checkpoint refused; the trial starts anew", "trial", e.delivery.TrialID, "error", err)
		e.removeCheckpoint()
		request.Checkpoint = nil
		e.recorder = sweep.NewRecorder(e.delivery.Limits.Points)
		result, err = process.Train(ctx, request, e)
	}
	if err != nil && ctx.Err() != nil {
		// A trainer that does not stop when it is told to would hold up the next
		// trial.
		e.slot.closeTrainer()
	}
	return result, err
}

// Points implements sweep.Sink.
func (e *execution) Points(batch []sweep.Curve) error {
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
	event := e.event(sweep.EventCheckpoint)
	event.Checkpoint = step
	e.report(event)
	return nil
}

// report publishes an event in the middle of the trial. Losing one does no
// harm: the result carries everything.
func (e *execution) report(event sweep.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
	defer cancel()
	e.announce(ctx)
	if err := e.slot.worker.wire.Publish(ctx, event); err != nil {
		e.slot.worker.log.Warn("event not sent", "trial", e.delivery.TrialID, "kind", event.Kind, "error", err)
	}
}

// launchError says that a trainer process could not be started.
type launchError struct{ err error }

func (e *launchError) Error() string { return e.err.Error() }
func (e *launchError) Unwrap() error { return e.err }

// verdict is what becomes of an execution.
type verdict struct {
	// event is the result or the release; nil gives the job back after later.
	event *sweep.Event
	later time.Duration
	// takenBack are earlier charges that were the machine's after all.
	takenBack []charge
	// broken, a *BrokenError, stops the worker.
	broken error
}

// judge decides whose failure it was, if it was one.
func (e *execution) judge(ctx context.Context, result *sweep.Result, err error) verdict {
	w := e.slot.worker
	var parameter *sweep.ParameterError
	var data *sweep.DataError
	var launch *launchError
	switch {
	case err == nil:
		w.health.succeeded()
		return e.resulted(result)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimedOut):
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: fmt.Sprintf("timed out after %s (limits.timeout)", e.delivery.Limits.Timeout)})
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errCancelled):
		return e.released(false, "cancelled", "")
	case ctx.Err() != nil:
		return e.released(false, "the worker was stopped", "")
	case errors.As(err, &parameter), errors.As(err, &data) && e.delivery.DatasetDigest == "":
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: err.Error()})
	case errors.As(err, &launch), errors.Is(err, sweep.ErrDatasetChanged), errors.As(err, &data):
		// The machine's without doubt, and no other trial will fare better here.
		w.log.Error("trial not run here", "trial", e.delivery.TrialID, "error", err)
		v := verdict{later: datasetDelay}
		v.takenBack, v.broken = e.machineFailed(err)
		return v
	default:
		v := e.released(true, err.Error(), e.stderr())
		if v.takenBack, v.broken = e.machineFailed(err); v.broken != nil {
			v.event.Release.Charged = false
		}
		return v
	}
}

// machineFailed counts a failure that may be the machine's.
func (e *execution) machineFailed(err error) (takenBack []charge, broken error) {
	w := e.slot.worker
	failures := w.health.failed(e.delivery.TrialID, e.id)
	if failures == nil {
		return nil, nil
	}
	for _, c := range failures {
		if c.execution != e.id {
			takenBack = append(takenBack, c)
		}
	}
	return takenBack, &BrokenError{Worker: w.options.Name, Failures: len(failures), Last: err}
}

func (e *execution) stderr() string {
	if e.slot.process == nil {
		return ""
	}
	return e.slot.process.Stderr()
}

// resulted completes a result: thinned curves, digest.
func (e *execution) resulted(r *sweep.Result) verdict {
	e.recorder.Add(r.Curves)
	r.Curves = e.recorder.Curves()
	r.Digest = r.ComputeDigest(e.delivery.VolatileSet())
	event := e.event(sweep.EventResult)
	event.Result = r
	return verdict{event: &event}
}

func (e *execution) released(charged bool, reason, stderr string) verdict {
	event := e.event(sweep.EventReleased)
	event.Release = &sweep.Release{Charged: charged, Reason: reason, Stderr: stderr}
	return verdict{event: &event}
}
