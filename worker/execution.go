package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/worker/device"
)

// A trial is announced after announceAfter; the result of a shorter one contains when it began.
// New points are sent from firstPoints on, at intervals that double up to longestPoints.
const (
	announceAfter = 200 * time.Millisecond
	firstPoints   = time.Second
	longestPoints = 30 * time.Second
)

// execution is one attempt at one trial.
type execution struct {
	slot *slot
	// delivery is the job. identity is which delivery of it is renewed and acknowledged, under which name: see adopt.
	delivery *wire.Delivery
	identity atomic.Pointer[identity]
	// lease is what the trial holds of the machine's devices; nil if it holds nothing.
	lease *device.Lease
	began time.Time
	// abandon stops the trial for a reason, by ending ctx.
	ctx     context.Context
	abandon context.CancelCauseFunc
	// running is the worker's: it has not ended when the trial is stopped early.
	running context.Context
	// process runs the trial; nil until it does.
	process atomic.Pointer[sweep.Process]

	// The sink is called from one goroutine of the trainer while train waits.
	recorder   *sweep.Recorder
	nextPoints time.Time
	pointsWait time.Duration
	saved      bool // a checkpoint of this execution
	found      bool // a checkpoint of another, fit or not
	artifacts  map[string]*handed
	spooled    *spooled // has the artifacts once they are in the spool, else nil
	// watch applies what stops the trial early; nil if nothing does. last are the last values of all metrics
	// then, and stopped is why it was stopped, if it was.
	watch   *sweep.Watch
	last    map[string]float32
	stopped string
	// halted is why and when the coordinator stops it, if it does; reached is how many values it has reported.
	halted  atomic.Pointer[wire.Halt]
	reached atomic.Int64
	// sent counts what the trainer has sent; silence is what it has done at last.
	sent    atomic.Int64
	silence silence

	// logFrom is where the log begins in the process' output; set before process.
	logFrom int64

	// announcing guards what follows, and the writing of identity.
	announcing sync.Mutex
	note       string        // what became of the checkpoint, until it is stored
	announced  atomic.Bool   // the started event is stored, or the report contains when it began
	former     []sweep.Event // the releases of its earlier identities, until they are stored
	ended      bool          // the report is made
}

// identity is the name of an execution in events, and the delivery that it belongs to.
type identity struct {
	id       string
	delivery *wire.Delivery
}

// newExecution begins an execution, which stops when running ends.
func newExecution(running context.Context, s *slot, d *wire.Delivery) *execution {
	e := &execution{
		slot: s, delivery: d, lease: s.worker.needs.lease(d), began: time.Now().UTC(), running: running,
		recorder: sweep.NewRecorder(d.Limits.Points), pointsWait: firstPoints,
	}
	e.identity.Store(&identity{wire.NewExecution(), d})
	e.ctx, e.abandon = context.WithCancelCause(running)
	e.nextPoints = e.began.Add(firstPoints)
	e.watchAgain()
	return e
}

// id is the execution's name in events.
func (e *execution) id() string { return e.identity.Load().id }

// adopt has the execution go on for another job of its trial, and reports whether it does. The coordinator
// issues one when it counts an execution as lost that is not: its machine was suspended, or cut off. The
// execution gets another name, because a lost one cannot make its trial running, and is announced again.
func (e *execution) adopt(d *wire.Delivery) bool {
	if e.delivery.TrialID != d.TrialID || e.delivery.Fingerprint != d.Fingerprint {
		return false
	}
	e.announcing.Lock()
	defer e.announcing.Unlock()
	if e.ended || e.ctx.Err() != nil {
		return false
	}
	release := e.event(sweep.EventReleased)
	release.Release = &sweep.Release{Reason: "its worker was out of reach; it goes on for the next job of the trial"}
	e.former = append(e.former, release)
	e.identity.Store(&identity{wire.NewExecution(), d})
	e.announced.Store(false)
	return true
}

// run trains the trial and reports its end. It returns a *BrokenError or nil.
func (e *execution) run() error {
	defer e.abandon(nil)
	w := e.slot.worker
	defer e.dropArtifacts()
	e.slot.begin(e)
	v := e.conclude()
	v.event.Use = e.use()
	e.addLog(&v.event)
	e.slot.end()

	took := time.Since(e.began)
	w.metrics.ended(&v.event)
	w.metrics.seconds.Observe(took.Seconds())
	if v.event.Kind == sweep.EventResult {
		w.puller.observe(took)
	}
	e.announcing.Lock() // a started event that is being sent comes before the report
	announced := e.announced.Swap(true)
	e.ended = true
	v.event.Execution = e.id()
	if v.event.Kind != sweep.EventRefused {
		v.event.Note = e.note
		if !announced {
			v.event.Started = e.began
		}
	}
	e.announcing.Unlock()
	r := report{events: append(e.former, v.event), delivery: e.identity.Load().delivery, took: took}
	if e.spooled != nil {
		w.spool.commit(e.spooled, r, e.saved || e.found)
	} else {
		if v.event.Kind == sweep.EventResult && (e.saved || e.found) {
			r.done = e.removeCheckpoint
		}
		w.reporter.add(r)
	}
	for _, f := range v.takenBack {
		correction := e.event(sweep.EventReleased)
		correction.TrialID, correction.Execution = f.id, f.execution
		correction.Release = &sweep.Release{Reason: "not charged: the machine of the worker seems broken"}
		w.reporter.add(report{events: []sweep.Event{correction}})
	}
	return v.broken
}

// conclude trains the trial and judges what came of it. A trial that has become suspect while its job waited is not
// trained: the coordinator, which knows its losses, has it run alone if need be.
func (e *execution) conclude() verdict {
	if e.delivery.Suspect() {
		e.announce() // the execution before it is replaced
		return e.released(false, "its job was delivered again: it runs alone if its executions before were lost")
	}
	result, err := e.train()
	return e.judge(result, err)
}

// addLog puts the execution's log into its last event.
func (e *execution) addLog(event *sweep.Event) {
	if event.Kind == sweep.EventRefused {
		return
	}
	text, start := e.takeLog()
	event.LogStart = start
	if r := event.Release; r != nil && r.Charged {
		r.Stderr = text
	} else {
		event.Log = text
	}
}

// event returns an event of the execution, now.
func (e *execution) event(kind sweep.EventKind) sweep.Event {
	return sweep.Event{
		Kind: kind, TrialID: e.delivery.TrialID, Execution: e.id(),
		Worker: e.slot.worker.options.Name, Time: time.Now().UTC(),
		Alone: e.delivery.Alone() || len(e.slot.worker.slots) == 1,
	}
}

// look is called from time to time while the execution runs.
func (e *execution) look(helping *sync.WaitGroup) {
	if !e.announced.Load() && time.Since(e.began) > e.slot.worker.announceAfter && e.announcing.TryLock() {
		helping.Go(func() {
			defer e.announcing.Unlock()
			e.announceLocked()
		})
	}
	process := e.process.Load()
	if limit := e.slot.worker.options.Memory; limit > 0 && process != nil {
		if now, _ := (*process).Memory(); now > limit {
			e.abandon(&memoryError{now, limit})
		}
	}
	if limit := e.delivery.Limits.Silence; limit > 0 && process != nil && e.silence.passed(*process, e.sent.Load(), limit) {
		e.abandon(errStalled)
	}
}

// announce publishes the started event, once. If the server does not store it, the report
// contains when the execution began.
func (e *execution) announce() {
	e.announcing.Lock()
	defer e.announcing.Unlock()
	e.announceLocked()
}

func (e *execution) announceLocked() {
	if e.announced.Load() {
		return
	}
	event := e.event(sweep.EventStarted)
	event.Time, event.Note = e.began, e.note
	if e.report(append([]sweep.Event{event}, e.former...)...) {
		e.announced.Store(true)
		e.note = "" // one that comes after a slow start of the trainer is in the report
		e.former = nil
	}
}

// report publishes events of a running trial, and reports whether they were stored. Lost ones do
// no harm: the result contains everything.
func (e *execution) report(events ...sweep.Event) bool {
	w := e.slot.worker
	ctx, cancel := context.WithTimeout(e.ctx, w.reportTimeout)
	defer cancel()
	err := w.wire.Publish(ctx, w.options.Pool, w.id, events...)
	if err != nil && e.ctx.Err() == nil {
		w.log.Warn("event not sent", "trial", e.delivery.TrialID, "kind", events[0].Kind, "error", err)
	}
	return err == nil
}

// train trains the trial in the slot's trainer. A checkpoint with which that fails is removed.
func (e *execution) train() (*sweep.Result, error) {
	w := e.slot.worker
	process, err := e.slot.ensureTrainer(e.ctx, e.delivery)
	if err != nil {
		return nil, err
	}
	e.logFrom = e.slot.logged
	e.process.Store(&process)
	e.announcing.Lock() // the announcement has the note on the checkpoint
	checkpoint := e.loadCheckpoint()
	if e.delivery.Redelivered() || e.delivery.Again { // the trial may have killed a worker before it was announced
		e.announceLocked()
	}
	e.announcing.Unlock()
	if checkpoint == nil && e.delivery.Continues != nil {
		checkpoint = e.fetchCheckpoint()
	}
	if limit := e.delivery.Limits.Timeout; limit > 0 {
		timer := time.AfterFunc(limit, func() { e.abandon(errTimedOut) })
		defer timer.Stop()
	}
	release := e.guard(process)
	defer release()
	request := w.request(e.delivery)
	request.Checkpoint = checkpoint
	result, err := process.Train(e.ctx, request, e)
	if err == nil || len(request.Checkpoint) == 0 || e.ctx.Err() != nil {
		return result, err
	}
	if !process.Alive() {
		if !e.saved {
			e.removeCheckpoint() // it may have killed the trainer
		}
		return result, err
	}
	w.log.Warn("trial failed after it resumed; it starts over", "trial", e.delivery.TrialID, "error", err)
	e.setNote(fmt.Sprintf("starts over: it failed from a checkpoint: %v", err))
	e.removeCheckpoint()
	request.Checkpoint = nil
	e.recorder = sweep.NewRecorder(e.delivery.Limits.Points)
	e.watchAgain()
	e.dropArtifacts()
	return process.Train(e.ctx, request, e)
}

// guard kills a process whose Train does not return in time after ctx has ended; at once if it
// uses too much memory. The caller releases the guard when Train has returned.
func (e *execution) guard(process sweep.Process) (release func()) {
	returned, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(e.ctx, func() {
		defer close(ended)
		grace := e.slot.worker.stopGrace
		if _, hungry := errors.AsType[*memoryError](context.Cause(e.ctx)); hungry {
			grace = 0
		}
		if !within(grace, returned) {
			e.slot.worker.log.Warn("the trainer does not stop and is killed", "trial", e.delivery.TrialID, "trainer",
				e.slot.trainer)
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

// live reports whether the coordinator decides by the marks of the running trial.
func (e *execution) live() bool { return e.watch != nil && len(e.delivery.Stop.Bands) > 0 }

// watchAgain begins to apply what stops the trial early.
func (e *execution) watchAgain() {
	if rule := e.delivery.Stop; rule != nil {
		e.watch, e.last = sweep.NewWatch(rule), map[string]float32{}
		e.reached.Store(0)
	}
}

// record adds samples to the curves, up to where the trial is stopped early. Then it returns errStopped, and the
// trainer is asked to end. The last samples come with the result: what the coordinator decided comes too late then.
func (e *execution) record(batch []sweep.Curve, last bool) error {
	if e.watch == nil {
		e.recorder.Add(batch)
		return nil
	}
	if e.stopped != "" {
		return errStopped
	}
	reached := len(e.watch.Marks().Values)
	batch, e.stopped = e.watch.Cut(batch)
	if e.live() {
		if len(e.watch.Marks().Values) > reached {
			e.nextPoints = time.Time{} // others are compared with it
		}
		e.reached.Store(e.watch.Marks().Count)
		if h := e.halted.Load(); h != nil && !last && e.watch.Marks().Count >= h.Band {
			e.stopped = h.Reason
		}
	}
	for _, c := range batch {
		for _, v := range c.Values {
			if finite(float64(v)) {
				e.last[c.Metric] = v
			}
		}
	}
	e.recorder.Add(batch)
	if e.stopped == "" {
		return nil
	}
	e.abandon(errStopped)
	return errStopped
}

// halt stops the trial early, because the coordinator has decided so by the values of this execution or of one
// before. It stops when it has reported as many.
func (e *execution) halt(reason wire.Halt) {
	if e.delivery.Stop == nil {
		return
	}
	e.halted.CompareAndSwap(nil, &reason)
	if e.reached.Load() >= reason.Band {
		e.abandon(errStopped)
	}
}

// stoppedResult is the result of a trial that was stopped early. Its summary has the last values of the metrics that
// those of completed trials have.
func (e *execution) stoppedResult() *sweep.Result {
	r := &sweep.Result{State: sweep.Stopped, Error: e.stopped, Seconds: time.Since(e.began).Seconds(),
		Summary: map[string]float64{}}
	volatile := e.delivery.VolatileSet()
	for name, v := range e.last {
		if m := e.slot.description.Metric(name); !volatile[name] && (m == nil || m.Summary) {
			r.Summary[name] = sweep.Widen(v)
		}
	}
	e.storeStopped(r)
	return r
}

// Points implements sweep.Sink.
func (e *execution) Points(batch []sweep.Curve) error {
	e.sent.Add(1)
	for _, c := range batch {
		if len(c.Steps) != len(c.Values) {
			return fmt.Errorf("curve %q: %d steps but %d values", c.Metric, len(c.Steps), len(c.Values))
		}
		if err := sweep.CheckName("metric", c.Metric); err != nil {
			return err
		}
	}
	if err := e.record(batch, false); err != nil {
		return err
	}
	if time.Now().Before(e.nextPoints) {
		return nil
	}
	e.announce()
	event := e.event(sweep.EventPoints)
	event.Curves = e.recorder.News()
	if e.live() {
		marks := *e.watch.Marks()
		event.Marks = &marks
	}
	if !e.report(event) {
		e.recorder.Forget()
	}
	e.pointsWait = min(2*e.pointsWait, longestPoints)
	e.nextPoints = time.Now().Add(e.pointsWait)
	return nil
}

// Checkpoint implements sweep.Sink.
func (e *execution) Checkpoint(step int64, state []byte) error {
	e.sent.Add(1)
	if err := e.saveCheckpoint(step, state); err != nil {
		e.slot.worker.log.Warn("checkpoint not saved", "trial", e.delivery.TrialID, "error", err)
		return nil // the trial continues without it
	}
	e.saved = true
	e.announce()
	event := e.event(sweep.EventCheckpoint)
	event.Checkpoint = step
	e.report(event)
	return nil
}
