package progress

import (
	"context"
	"fmt"
	"sync"

	"sweep/sweep"
)

// Estimator says how long trials of a sweep take: the trainer's estimate of a trial's cost times the time that the
// trials of its group have taken for their cost or, until one of them has ended, that all have taken. Without estimates
// of cost every trial counts the same. It is safe for concurrent use.
type Estimator struct {
	cost   func(ctx context.Context, p sweep.Parameters) float64
	groups sweep.Select
	// mean is the mean cost of a trial, expected the speed in earlier sweeps in cost a second; 0 if unknown.
	mean, expected float64

	mu      sync.Mutex
	all     taken
	byGroup map[string]taken
	// running are the trials whose end is awaited.
	running map[sweep.TrialID]Estimate
}

// taken adds up what trials that ran to their end have taken.
type taken struct{ trials, cost, seconds float64 }

// Estimate is how long a trial takes, by what is known at the time.
type Estimate struct {
	// Seconds is 0 if nothing is known.
	Seconds float64

	group string
	cost  float64
}

// NewEstimator returns an estimator for a sweep, by its trials so far. cost returns a trainer's estimate of
// a trial's cost in flop, 0 if it has none; it is nil if the trainer estimates nothing. mean is the mean of the sweep's
// trials, and expected the trainer's speed in flop a second before any of them has ended; 0 if unknown.
func NewEstimator(ctx context.Context, store sweep.Reader, record *sweep.SweepRecord,
	cost func(ctx context.Context, p sweep.Parameters) float64, mean, expected float64) (*Estimator, error) {
	e := &Estimator{cost: cost, groups: record.Grids[0].Submission.Spec.Select, mean: mean, expected: expected,
		byGroup: map[string]taken{}, running: map[sweep.TrialID]Estimate{}}
	const text = `SELECT count(*) AS trials, sum(` + flops + `) AS flops, sum(seconds) AS seconds FROM results
		WHERE state = 'completed' AND executions > 0 AND seconds > 0 AND sweep_id = `
	err := store.Query(ctx, text+sweep.QuoteSQL(record.ID), func(_ []string, row []any) error {
		e.all = taken{number(row[0]), number(row[1]), number(row[2])}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading what trials of sweep %s have taken: %w", record.ID, err)
	}
	return e, nil
}

// Of estimates how long a trial takes.
func (e *Estimator) Of(ctx context.Context, p sweep.Parameters) Estimate {
	estimate := Estimate{}
	if canonical, err := e.groups.GroupOf(p).Canonical(); err == nil { // what is stored has a canonical form
		estimate.group = string(canonical)
	}
	if e.cost != nil {
		estimate.cost = e.cost(ctx, p)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	estimate.Seconds = e.seconds(e.byGroup[estimate.group], estimate.cost)
	return estimate
}

// seconds is how long a trial of a cost takes, by what those of its group have taken.
func (e *Estimator) seconds(group taken, cost float64) float64 {
	if group.trials == 0 {
		group = e.all
	}
	switch {
	case cost > 0 && group.cost > 0:
		return cost * group.seconds / group.cost
	case group.trials > 0:
		return group.seconds / group.trials
	case cost > 0 && e.expected > 0:
		return cost / e.expected
	}
	return 0
}

// Mean is how long a trial of the sweep takes on average, 0 if that is not known.
func (e *Estimator) Mean() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seconds(e.all, e.mean)
}

// Begin notes a trial that is to run.
func (e *Estimator) Begin(id sweep.TrialID, estimate Estimate) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running[id] = estimate
}

// End notes the result of a trial. One that did not run to its end teaches nothing.
func (e *Estimator) End(id sweep.TrialID, result *sweep.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ran, known := e.running[id]
	delete(e.running, id)
	if !known || result.State != sweep.Completed || result.Diverged || !(result.Seconds > 0) {
		return
	}
	add := func(t taken) taken { return taken{t.trials + 1, t.cost + ran.cost, t.seconds + result.Seconds} }
	e.all, e.byGroup[ran.group] = add(e.all), add(e.byGroup[ran.group])
}
