package coordinator

import (
	"context"
	"math"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// confirm tells workers again which of their trials are to stop, and ends those that no worker runs any more.
func (r *reconciler) confirm(ctx context.Context) error {
	stops, err := r.store.Stops(ctx)
	if err != nil {
		return err
	}
	told := map[sweep.TrialID]wire.Halt{}
	for i := range stops {
		stop := &stops[i]
		if stop.State == sweep.Running {
			told[stop.TrialID] = wire.Halt{Band: stop.Band, Reason: stop.Reason}
			continue
		}
		result, err := r.soFar(ctx, stop)
		if err != nil {
			return err
		}
		if err := r.record(ctx, []sweep.Event{ended(stop.TrialID, result)}); err != nil {
			return err
		}
	}
	l := &r.workers
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halted = told
	return nil
}

// soFar is the result of a trial that is stopped after its execution was lost: what is stored of it.
func (r *reconciler) soFar(ctx context.Context, stop *sweep.Stop) (*sweep.Result, error) {
	record, err := r.store.Sweep(ctx, stop.Sweep)
	if err != nil {
		return nil, err
	}
	curves, err := r.store.Curves(ctx, stop.TrialID)
	if err != nil {
		return nil, err
	}
	result := &sweep.Result{State: sweep.Stopped, Error: stop.Reason, Summary: map[string]float64{}}
	description := &record.Grids[0].Submission.Description
	for _, c := range curves {
		m := description.Metric(c.Metric)
		for _, v := range c.Values {
			if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) && (m == nil || m.Summary && !m.Volatile) {
				result.Summary[c.Metric] = sweep.Widen(v)
			}
		}
	}
	result.Digest = result.ComputeDigest(nil)
	return result, nil
}
