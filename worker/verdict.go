package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"time"

	"sweep/sweep"
)

// verdict is what becomes of an execution.
type verdict struct {
	// event is the result or the release; nil gives the job back after later.
	event *sweep.Event
	later time.Duration
	// takenBack are earlier executions whose charge was the machine's after all.
	takenBack []failure
	// broken, a *BrokenError, stops the worker.
	broken error
}

// launchError says that a trainer process could not be started, or that it is
// not the one that the sweep was submitted for.
type launchError struct{ err error }

func (e *launchError) Error() string { return e.err.Error() }
func (e *launchError) Unwrap() error { return e.err }

// judge decides whose failure it was, if it was one.
func (e *execution) judge(ctx context.Context, result *sweep.Result, err error) verdict {
	if err == nil {
		if err = check(result); err == nil {
			e.slot.worker.health.succeeded()
			return e.resulted(result)
		}
	}
	var parameter *sweep.ParameterError
	var data *sweep.DataError
	var launch *launchError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimedOut):
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: fmt.Sprintf("timed out after %s (limits.timeout)", e.delivery.Limits.Timeout)})
	case errors.Is(cause, errCancelled):
		return e.released(false, "cancelled", "")
	case cause != nil:
		return e.released(false, "the worker was stopped", "")
	case errors.As(err, &parameter), errors.As(err, &data) && e.delivery.DatasetDigest == "":
		return e.resulted(&sweep.Result{State: sweep.Failed, Error: err.Error()})
	case errors.As(err, &launch), errors.As(err, &data), errors.Is(err, sweep.ErrDatasetChanged):
		return e.notHere(err)
	default:
		return e.crashed(err)
	}
}

// check reports what is wrong with what a trainer calls a result.
func check(r *sweep.Result) error {
	switch {
	case r == nil:
		return errors.New("the trainer ended without a result")
	case r.State != sweep.Completed && r.State != sweep.Failed:
		return fmt.Errorf("the trainer's result has the state %q, which is neither %q nor %q", r.State, sweep.Completed, sweep.Failed)
	}
	for _, c := range r.Curves {
		if len(c.Steps) != len(c.Values) {
			return fmt.Errorf("the trainer's result has a curve %q of %d steps and %d values", c.Metric, len(c.Steps), len(c.Values))
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
	return verdict{event: &event}
}

// finite reports whether JSON can carry a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// released ends the execution without a result.
func (e *execution) released(charged bool, reason, stderr string) verdict {
	event := e.event(sweep.EventReleased)
	event.Release = &sweep.Release{Charged: charged, Reason: reason, Stderr: stderr}
	return verdict{event: &event}
}

// notHere gives the job back: the failure is the machine's without doubt, and
// the trial may fare better on another one.
func (e *execution) notHere(err error) verdict {
	e.slot.worker.log.Error("trial not run here", "trial", e.delivery.TrialID, "error", err)
	v := verdict{later: elsewhereDelay}
	v.takenBack, v.broken = e.failed(false, err)
	return v
}

// crashed charges a failure to the trial. It may be the machine's all the same,
// unless the trainer ended by itself.
func (e *execution) crashed(err error) verdict {
	e.slot.worker.log.Warn("trial failed on its way", "trial", e.delivery.TrialID, "error", err)
	stderr := ""
	if e.process != nil {
		stderr = e.process.Stderr()
	}
	v := e.released(true, err.Error(), stderr)
	if endedItself(err, stderr) {
		return v
	}
	if v.takenBack, v.broken = e.failed(true, err); v.broken != nil {
		v.event.Release.Charged = false
	}
	return v
}

// death is the error of a trainer process that died, if it tells how.
type death interface {
	error
	// Signaled reports whether a signal ended the process.
	Signaled() bool
}

// endedItself reports whether a trainer died by a panic or an exit of its own,
// and not because it lacked memory or disk: what its trial did, not the machine.
func endedItself(err error, stderr string) bool {
	var d death
	if !errors.As(err, &d) || d.Signaled() {
		return false
	}
	for _, lack := range []error{syscall.ENOMEM, syscall.ENOSPC} {
		if strings.Contains(stderr, lack.Error()) {
			return false
		}
	}
	return !strings.Contains(stderr, "out of memory")
}

// failed counts a failure that may be the machine's.
func (e *execution) failed(charged bool, err error) (takenBack []failure, broken error) {
	w := e.slot.worker
	row := w.health.failed(failure{e.delivery.TrialID, e.id, charged})
	if row == nil {
		return nil, nil
	}
	for _, f := range row {
		if f.charged && f.execution != e.id {
			takenBack = append(takenBack, f)
		}
	}
	return takenBack, &BrokenError{Worker: w.options.Name, Failures: len(row), Last: err}
}
