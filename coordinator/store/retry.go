package store

import (
	"context"
	"slices"

	"sweep/sweep"
)

// retried are the trials of a batch that a retry puts back.
const retried = `SELECT t.trial_no FROM {v} JOIN trials AS t USING (trial_index)
	WHERE t.sweep_no = $1 AND t.state IN ('failed', 'cancelled')`

const forgetExecutions = `UPDATE stored_executions
	SET forgotten = TRUE, outcome = CASE outcome WHEN 'running' THEN 'lost' ELSE outcome END
	WHERE trial_no IN (SELECT v.trial_no FROM {v})`

const retrySome = `UPDATE trials SET state = 'pending', charged = 0, losses = 0, finished_at = NULL, heard_at = NULL,
		retracted = FALSE
	FROM {v} WHERE trials.sweep_no = $1 AND trials.trial_index = v.trial_index AND trials.state = $2
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// ended are the states that a retry leads out of.
var ended = []sweep.State{sweep.Failed, sweep.Cancelled}

// retry makes failed and cancelled trials pending, and their sweep active.
func (t *transaction) retry(number int64, indices []int64) (total int64) {
	list := t.integers(retried, number, ints("trial_index", indices))
	t.confirm(t.unconfirmed(class{Sweep: number, Number: -1}, func(f *failure) bool {
		return slices.Contains(list, f.trial)
	}), false)
	trials := ints("trial_no", list)
	t.forget(trials)
	t.run(deleteOf("curve_arrays"), trials)
	t.startAgain(trials)
	t.run(forgetExecutions, trials)
	for _, state := range ended {
		moved := t.move(state, sweep.Pending, retrySome, number, string(state), ints("trial_index", indices))
		total += int64(len(moved))
	}
	if total > 0 {
		t.forgetErrors(number)
		t.setState(number, sweep.SweepActive, "")
	}
	return total
}

// RetrySome implements sweep.Store.
func (s *Store) RetrySome(ctx context.Context, id string, indices []int64) (total int64, err error) {
	err = s.updateSweep(ctx, "retry trials of", id, func(t *transaction, number int64) {
		t.known(number, indices)
		total = t.retry(number, indices)
	})
	return total, err
}

// RetryTrials implements sweep.Store.
func (s *Store) RetryTrials(ctx context.Context, id string) (total int64, err error) {
	var sweepNo, written int64
	err = s.updateSweep(ctx, "retry the trials of", id, func(t *transaction, number int64) {
		sweepNo = number
		t.one([]any{&written, &total},
			`SELECT c.failed + c.cancelled,
				CAST(coalesce(sum(g.points - g.written) FILTER (WHERE g.cancelled), 0) AS bigint)
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = $1 GROUP BY c.sweep_no`, number)
		t.run(`UPDATE grids SET cancelled = FALSE WHERE sweep_no = $1 AND cancelled`, number)
		if total > 0 {
			t.forgetErrors(number)
			t.setState(number, sweep.SweepActive, "")
		}
	})
	if err != nil || written == 0 {
		return total, err
	}
	err = s.pages(ctx, "retry the trials of sweep "+id, sweepNo, ended, func(t *transaction, _, indices []int64) {
		t.claim(sweepNo)
		total += t.retry(sweepNo, indices)
	})
	return total, err
}
