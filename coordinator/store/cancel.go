package store

import (
	"cmp"
	"context"
	"slices"

	"sweep/sweep"
)

const (
	// cancelPending cancels the next pending trials of a sweep, in the order of the
	// index that has them.
	cancelPending = `UPDATE trials SET state = 'cancelled', finished_at = $1
	FROM (SELECT t.trial_no FROM trials AS t
	WHERE t.sweep_no = $2 AND t.state = 'pending' AND (t.class_no, t.trial_index) > ($3, $4)
		ORDER BY t.class_no, t.trial_index LIMIT $5) AS k
	WHERE trials.trial_no = k.trial_no
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

	// cancelActive cancels those that are queued or running, whose number the
	// dispatch window bounds.
	cancelActive = `UPDATE trials SET state = 'cancelled', finished_at = $1
	WHERE sweep_no = $2 AND state IN ('queued', 'running') AND state = $3
	RETURNING sweep_no, class_no, trial_index`
)

// cancelling is why a sweep is paused between the transactions that cancel it.
const cancelling = "it is being cancelled; if that was interrupted, cancel it again"

// CancelTrials implements sweep.Store.
func (s *Store) CancelTrials(ctx context.Context, id string) (active []sweep.TrialID, err error) {
	before, found := movedTrial{index: -1}, false
	for after, more := before, true; more && err == nil; {
		err = s.updateSweep(ctx, "cancel the trials of", id, func(t *transaction, number int64) {
			pending := t.move(sweep.Pending, sweep.Cancelled, cancelPending, t.now, number, after.Number,
				after.index, pageful)
			found = found || len(pending) > 0
			for _, state := range []sweep.State{sweep.Queued, sweep.Running} {
				for _, m := range t.move(state, sweep.Cancelled, cancelActive, t.now, number, string(state)) {
					active = append(active, sweep.TrialID{Sweep: id, Index: m.index})
					found = true
				}
			}
			grids := t.run(
				`UPDATE grids SET cancelled = TRUE WHERE sweep_no = $1 AND written < points AND NOT cancelled`, number)
			found = found || grids > 0 || t.one([]any{new(int)},
				`SELECT 1 FROM sweeps WHERE sweep_no = $1 AND reason = $2`, number, cancelling)
			switch {
			case len(pending) == pageful:
				after = slices.MaxFunc(pending, func(a, b movedTrial) int {
					return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.index, b.index))
				})
			case after != before:
				after = before // trials may have become pending again behind it
			default:
				more = false
			}
			switch {
			case found && more: // a process that is killed now leaves the reason what to do
				t.setState(number, sweep.SweepPaused, cancelling)
			case found:
				t.setState(number, sweep.SweepCancelled, "")
			}
		})
	}
	slices.SortFunc(active, func(a, b sweep.TrialID) int { return cmp.Compare(a.Index, b.Index) })
	return active, err
}

const cancelSome = `UPDATE trials SET state = 'cancelled', finished_at = $1
	FROM {v} WHERE trials.sweep_no = $2 AND trials.trial_index = v.trial_index AND trials.state = $3
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// CancelSome implements sweep.Store.
func (s *Store) CancelSome(ctx context.Context, id string,
	indices []int64) (cancelled int64, active []sweep.TrialID, err error) {
	err = s.updateSweep(ctx, "cancel trials of", id, func(t *transaction, number int64) {
		cancelled, active = 0, nil
		t.known(number, indices)
		for _, state := range []sweep.State{sweep.Pending, sweep.Queued, sweep.Running} {
			for _, m := range t.move(state, sweep.Cancelled, cancelSome, t.now, number, string(state),
				ints("trial_index", indices)) {
				cancelled++
				if state != sweep.Pending {
					active = append(active, sweep.TrialID{Sweep: id, Index: m.index})
				}
			}
		}
		t.finish(number)
	})
	return cancelled, active, err
}
