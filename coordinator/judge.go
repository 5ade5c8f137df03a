package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// judge has policies decide which trials that run are stopped. A decision is stored before anybody is told, and told
// until the trial has ended: by a broadcast, and in the answers to heartbeats.
type judge struct {
	mu sync.Mutex
	// due are the sweeps with new marks since they were judged.
	due map[string]bool
}

// judgePause is how long marks wait for others to be judged with.
const judgePause = 500 * time.Millisecond

// note notes sweeps of which there are new marks, and reports whether there are any.
func (j *judge) note(events []sweep.Event) (some bool) {
	for i := range events {
		e := &events[i]
		if e.Marks == nil && (e.Result == nil || e.Result.Marks == nil || e.Result.Marks.Bands == "") {
			continue
		}
		j.mu.Lock()
		if j.due == nil {
			j.due = map[string]bool{}
		}
		j.due[e.Sweep] = true
		j.mu.Unlock()
		some = true
	}
	return some
}

// take returns the sweeps that are due, which are not any more.
func (j *judge) take() map[string]bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	due := j.due
	j.due = nil
	return due
}

// back makes sweeps due again, after an error.
func (j *judge) back(due map[string]bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.due == nil {
		j.due = map[string]bool{}
	}
	maps.Copy(j.due, due)
}

// judgeDue judges the sweeps that are due. One that was deleted meanwhile has no trials to be stopped.
func (r *reconciler) judgeDue(ctx context.Context) error {
	due := r.judge.take()
	for id := range due {
		err := r.judgeSweep(ctx, id)
		if fault := faultOf(err); fault != nil {
			r.facts.add(schedule.Broken{Sweep: id, Err: fault})
			err = nil
		}
		if err != nil && !errors.Is(err, sweep.ErrNotFound) {
			r.judge.back(due)
			return err
		}
		delete(due, id)
	}
	return nil
}

// stoppingOf returns what stops trials of a sweep by the values of all, nil if nothing does.
func (r *reconciler) stoppingOf(ctx context.Context, id string) (policy.Policy, error) {
	rule, known := r.rules[id]
	if known {
		return rule, nil
	}
	record, err := r.store.Sweep(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading sweep %s: %w", id, err)
	}
	for i := range record.Grids {
		policies, err := policy.Watching(&record.Grids[i].Submission)
		if err != nil {
			return nil, &expansionError{err}
		}
		for _, p := range policies {
			if len(p.Wants().Bands) > 0 {
				rule = p // of several grids the last one
			}
		}
	}
	if r.rules == nil || len(r.rules) >= mostRules {
		r.rules = map[string]policy.Policy{}
	}
	r.rules[id] = rule
	return rule, nil
}

// mostRules bounds the rules that are remembered.
const mostRules = 1000

// judgeSweep decides about the running trials of a sweep.
func (r *reconciler) judgeSweep(ctx context.Context, id string) (err error) {
	defer sweep.Catch(&err)
	rule, err := r.stoppingOf(ctx, id)
	if err != nil || rule == nil {
		return err
	}
	trials, err := r.store.BandMarks(ctx, id, rule.Wants().Metric, sweep.BandsText(rule.Wants().Bands))
	if err != nil {
		return err
	}
	marked := make([]policy.Marked, len(trials))
	for i := range trials {
		marked[i] = policy.Marked{Marks: trials[i].Marks,
			Running: trials[i].State == sweep.Running && !trials[i].Deciding}
	}
	step, err := rule.Step(ctx, policy.Observations{Marked: marked})
	if err != nil {
		return err
	}
	var stops []sweep.Stop
	reasons := map[int64]wire.Halt{}
	for _, d := range step.Stops {
		stop := sweep.Stop{TrialID: trials[d.Trial].TrialID, Band: d.Band, Value: d.Value, Threshold: d.Threshold,
			Trials: int64(d.Trials), Reason: d.Reason}
		stops = append(stops, stop)
		reasons[stop.Index] = wire.Halt{Band: stop.Band, Reason: stop.Reason}
	}
	if len(stops) == 0 {
		return nil
	}
	if err := r.store.AddStops(ctx, id, stops); err != nil {
		return err
	}
	for _, stop := range stops {
		r.log.Info("decided to stop a trial", "trial", stop.TrialID, "reason", stop.Reason)
	}
	if err := r.wire.Halt(id, reasons); err != nil {
		r.log.Debug("workers are told by the answers to their heartbeats only", "sweep", id, "error", err)
	}
	return nil
}

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
