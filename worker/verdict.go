package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"sweep/sweep"
)

// verdict is the end of an execution.
type verdict struct {
	// event is the result, the release or the refusal.
	event sweep.Event
	// takenBack are earlier executions whose charge is taken back: the machine failed.
	takenBack []failure
	// broken, a *BrokenError, stops the worker.
	broken error
}

// machineError is a failure of the machine.
type machineError struct{ err error }

func (e *machineError) Error() string { return e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

// judge decides what failed, if something did: nothing if the worker lacks what the trial needs;
// the machine if its disk is full, its memory is used up, a trainer that ran before does not start,
// or a signal from outside killed it; the trial otherwise. An execution without a result is charged to the trial
// in any case, so that a trial that keeps dying ends; the charges for failures of the machine are
// taken back when the machine is known to be broken.
func (e *execution) judge(result *sweep.Result, err error) verdict {
	w := e.slot.worker
	if err == nil {
		if err = check(result); err == nil && e.watch != nil { // the last samples may come with the result
			if e.record(result.Curves, true) == nil {
				result.Curves = nil
			}
		}
		if err == nil && e.stopped == "" {
			err = e.store(result)
		}
		if err == nil && e.stopped == "" && result.State == sweep.Failed {
			if lack := w.machineFailed(resultSigns(result)...); lack != nil {
				return e.lacking(fmt.Errorf("%w (%s)", lack, result.Error))
			}
		}
		if err == nil && e.stopped == "" {
			w.health.succeeded()
			if result.State == sweep.Completed {
				w.aside.good()
			}
			w.offer.read(&e.delivery.Requirement)
			return e.resulted(result)
		}
	}
	cause := context.Cause(e.ctx)
	if halt := e.halted.Load(); halt != nil && e.stopped == "" && errors.Is(cause, errStopped) {
		e.stopped = halt.Reason // between two reports of values
	}
	if e.stopped != "" {
		w.health.succeeded()
		w.log.Info("trial stopped early", "trial", e.delivery.TrialID, "reason", e.stopped)
		return e.resulted(e.stoppedResult())
	}
	if hungry, ok := errors.AsType[*memoryError](cause); ok {
		return e.released(true, "killed: "+hungry.Error())
	}
	_, isRefusal := errors.AsType[*refusal](err)
	_, isParameter := errors.AsType[*sweep.ParameterError](err)
	_, isData := errors.AsType[*sweep.DataError](err)
	_, isMachine := errors.AsType[*machineError](err)
	switch {
	case errors.Is(cause, errTimedOut):
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: fmt.Sprintf("timed out after %s (limits.timeout)",
			e.delivery.Limits.Timeout)})
	case errors.Is(cause, errStalled):
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: fmt.Sprintf("stalled: no metric, no output and no "+
			"processor time for %s (limits.silence)", e.delivery.Limits.Silence)})
	case errors.Is(cause, errCancelled):
		return e.released(false, "cancelled")
	case cause != nil:
		return e.released(false, "the worker was stopped")
	case isRefusal:
		return e.refused(err)
	case isParameter, isData && e.delivery.DatasetDigest == "":
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: err.Error()})
	case isData, errors.Is(err, sweep.ErrDatasetChanged):
		w.offer.otherData(&e.delivery.Requirement, e.foundDigest())
		return e.refused(err)
	case isMachine && w.machineFailed(err.Error()) == nil:
		return e.failed(err)
	}
	if hungry := e.starved(err); hungry != nil {
		return e.released(true, err.Error()+": "+hungry.Error())
	}
	if lack := w.machineFailed(err.Error(), e.stderr()); lack != nil {
		return e.lacking(fmt.Errorf("%w (%w)", lack, err))
	}
	if e.killed(err) {
		return e.failed(err)
	}
	w.log.Warn("trial failed", "trial", e.delivery.TrialID, "error", err)
	return e.released(true, err.Error())
}

// check returns what is wrong with a trainer's result.
func check(r *sweep.Result) error {
	switch {
	case r == nil:
		return errors.New("the trainer ended without a result")
	case r.State != sweep.Completed && r.State != sweep.Failed:
		return fmt.Errorf("the trainer's result has the state %q, which is neither %q nor %q", r.State, sweep.Completed,
			sweep.Failed)
	}
	names := slices.Collect(maps.Keys(r.Summary))
	for _, c := range r.Curves {
		if len(c.Steps) != len(c.Values) {
			return fmt.Errorf("the trainer's result has a curve %q of %d steps and %d values", c.Metric, len(c.Steps),
				len(c.Values))
		}
		names = append(names, c.Metric)
	}
	for _, name := range names {
		if err := sweep.CheckName("metric", name); err != nil {
			return fmt.Errorf("the trainer's result: %w", err)
		}
	}
	return nil
}

// resulted ends the execution with a result, whose curves it thins, whose numbers it makes finite,
// and whose digest it computes.
func (e *execution) resulted(r *sweep.Result) verdict {
	e.recorder.Add(r.Curves)
	r.Curves = e.recorder.Curves()
	for name, value := range r.Summary {
		if !finite(value) {
			r.NotFinite = append(r.NotFinite, name)
			delete(r.Summary, name)
		}
	}
	slices.Sort(r.NotFinite)
	if !finite(r.Seconds) {
		r.Seconds = 0
	}
	if e.watch != nil && r.State != sweep.Failed {
		r.Marks = e.watch.Marks()
	}
	r.Digest = r.ComputeDigest(e.delivery.VolatileSet())
	event := e.event(sweep.EventResult)
	event.Result = r
	return verdict{event: event}
}

// finite reports whether JSON can carry a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// released ends the execution without a result.
func (e *execution) released(charged bool, reason string) verdict {
	event := e.event(sweep.EventReleased)
	event.Release = &sweep.Release{Charged: charged, Reason: reason}
	return verdict{event: event}
}

// stderr returns the end of the trainer's standard error.
func (e *execution) stderr() string {
	if process := e.process.Load(); process != nil {
		return (*process).Stderr()
	}
	return ""
}

// refused ends the execution so that another worker runs the trial. The coordinator learns what
// this worker lacks before it learns of the refusal.
func (e *execution) refused(err error) verdict {
	w := e.slot.worker
	w.log.Warn("trial refused", "trial", e.delivery.TrialID, "reason", err)
	w.offer.refused(e.delivery.TrialID, err.Error())
	w.heartbeats.soon()
	event := e.event(sweep.EventRefused)
	event.Refusal = &sweep.Refusal{Reason: err.Error()}
	return verdict{event: event}
}

// foundDigest returns the digest of the data that the worker has instead of those that the trial
// needs; "" if it has none.
func (e *execution) foundDigest() string {
	process := e.process.Load()
	if process == nil {
		return ""
	}
	v, err := (*process).Validate(e.ctx, sweep.ValidateRequest{
		Parameters: e.delivery.Parameters, DataDir: e.slot.worker.options.DataDir, Script: e.delivery.Script,
	})
	if err != nil {
		return "" // it cannot be read
	}
	return v.DatasetDigest
}

// failed counts a failure of the machine.
func (e *execution) failed(err error) verdict {
	w := e.slot.worker
	w.log.Error("trial failed because of the machine", "trial", e.delivery.TrialID, "error", err)
	v := e.released(true, err.Error())
	row := w.health.failed(failure{e.delivery.TrialID, e.id()})
	if row == nil {
		return v
	}
	v.event.Release.Charged = false
	for _, f := range row {
		if f.execution != e.id() {
			v.takenBack = append(v.takenBack, f)
		}
	}
	v.broken = &BrokenError{Worker: w.options.Name, Failures: len(row), Last: err}
	return v
}

// death is the error of a trainer process that died.
type death interface {
	error
	// Killed reports whether a signal from outside ended the process, but not this worker's.
	Killed() bool
}

// killed reports whether a signal that this worker did not send ended the trainer.
func (e *execution) killed(err error) bool {
	d, ok := errors.AsType[death](err)
	return ok && d.Killed()
}

// starved returns the memory of a killed trainer if it exceeded the slot's: then the trial caused
// the lack of memory.
func (e *execution) starved(err error) *memoryError {
	limit := e.slot.worker.options.Memory
	process := e.process.Load()
	if !e.killed(err) || process == nil || limit == 0 {
		return nil
	}
	if _, peak := (*process).Memory(); peak > limit {
		return &memoryError{peak, limit}
	}
	return nil
}

// lacking ends an execution that failed because the machine has no room on its disk or no memory. A worker that can
// wait for them is set aside until it has them.
func (e *execution) lacking(err error) verdict {
	w := e.slot.worker
	if !w.options.Waits {
		return e.failed(err)
	}
	w.setAside(err.Error(), nil)
	return e.released(!w.aside.spare(e.delivery.TrialID), err.Error())
}
