package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"

	"sweep/sweep"
)

// verdict is what becomes of an execution.
type verdict struct {
	// event is the result, the release or the refusal.
	event sweep.Event
	// takenBack are earlier executions whose charge was the machine's after all.
	takenBack []failure
	// broken, a *BrokenError, stops the worker.
	broken error
}

// machineError is a failure that is the machine's without doubt.
type machineError struct{ err error }

func (e *machineError) Error() string { return e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

// judge decides whose failure it was, if it was one: nobody's if the worker lacks
// what the trial needs, the machine's if its disk is full, a trainer that ran
// before does not start, or a signal that nobody sent killed it; the trial's
// otherwise. Whoever it was, an execution that ended without a result is charged
// to the trial, so that one that keeps dying ends; what was the machine's is
// taken back when the machine is known to be broken.
func (e *execution) judge(result *sweep.Result, err error) verdict {
	w := e.slot.worker
	if err == nil {
		if err = check(result); err == nil {
			err = e.store(result)
		}
		if err == nil {
			w.health.succeeded()
			w.offer.read(&e.delivery.Requirement)
			return e.resulted(result)
		}
	}
	var parameter *sweep.ParameterError
	var data *sweep.DataError
	var machine *machineError
	var hungry *memoryError
	cause := context.Cause(e.ctx)
	known := e.delivery.DatasetDigest != ""
	switch {
	case errors.As(cause, &hungry):
		return e.released(true, "killed: "+hungry.Error())
	case errors.Is(cause, errTimedOut):
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: fmt.Sprintf("timed out after %s (limits.timeout)",
			e.delivery.Limits.Timeout)})
	case errors.Is(cause, errCancelled):
		return e.released(false, "cancelled")
	case cause != nil:
		return e.released(false, "the worker was stopped")
	case isRefusal(err) != nil:
		return e.refused(err)
	case errors.As(err, &parameter), errors.As(err, &data) && !known:
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: err.Error()})
	case errors.As(err, &data), errors.Is(err, sweep.ErrDatasetChanged):
		w.offer.otherData(&e.delivery.Requirement, e.foundDigest())
		return e.refused(err)
	case errors.As(err, &machine):
		return e.failed(err)
	}
	if hungry := e.starved(err); hungry != nil {
		return e.released(true, err.Error()+": "+hungry.Error())
	}
	if e.killed(err) || e.diskFull(err) {
		return e.failed(err)
	}
	w.log.Warn("trial failed", "trial", e.delivery.TrialID, "error", err)
	return e.released(true, err.Error())
}

// check reports what is wrong with what a trainer calls a result.
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

// resulted completes a result: thinned curves, finite numbers, digest.
func (e *execution) resulted(r *sweep.Result) verdict {
	e.recorder.Add(r.Curves)
	r.Curves = e.recorder.Curves()
	for name, value := range r.Summary {
		if !finite(value) {
			delete(r.Summary, name)
		}
	}
	if !finite(r.Seconds) {
		r.Seconds = 0
	}
	if !finite(r.Flops) {
		r.Flops = 0
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

// stderr is the end of what the trial's trainer wrote to standard error.
func (e *execution) stderr() string {
	if process := e.process.Load(); process != nil {
		return (*process).Stderr()
	}
	return ""
}

// refused gives the trial to another worker. The coordinator hears of what this
// one lacks before it hears of the trial.
func (e *execution) refused(err error) verdict {
	w := e.slot.worker
	w.log.Warn("trial refused", "trial", e.delivery.TrialID, "reason", err)
	w.offer.refused(e.delivery.TrialID, err.Error())
	w.heartbeats.soon()
	event := e.event(sweep.EventRefused)
	event.Refusal = &sweep.Refusal{Reason: err.Error()}
	return verdict{event: event}
}

// foundDigest is the digest of the data that the worker has in the place of
// those that the trial needs; "" if it has none.
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
	row := w.health.failed(failure{e.delivery.TrialID, e.id})
	if row == nil {
		return v
	}
	v.event.Release.Charged = false
	for _, f := range row {
		if f.execution != e.id {
			v.takenBack = append(v.takenBack, f)
		}
	}
	v.broken = &BrokenError{Worker: w.options.Name, Failures: len(row), Last: err}
	return v
}

// death is the error of a trainer process that died, if it tells how.
type death interface {
	error
	// Killed reports whether a signal from outside ended the process, which this
	// worker did not send.
	Killed() bool
}

// killed reports whether a signal that nobody here sent ended the trainer.
func (e *execution) killed(err error) bool {
	var d death
	return errors.As(err, &d) && d.Killed()
}

// starved returns what the trial used of memory, if its trainer was killed and
// had more than its slot has: then it is the trial's doing that memory ran out.
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

// diskFull reports whether a trainer says that the disk is full, and it is.
func (e *execution) diskFull(err error) bool {
	full := syscall.ENOSPC.Error()
	if !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), full) && !strings.Contains(e.stderr(), full) {
		return false
	}
	return errors.Is(e.probeDisk(), syscall.ENOSPC)
}
