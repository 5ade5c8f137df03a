package store

import (
	"context"
	"slices"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

const unheard = `SELECT s.sweep_id, t.trial_index, t.heard_at FROM trials AS t JOIN sweeps AS s USING (sweep_no)
	WHERE t.state IN ('queued', 'running') AND (t.sweep_no, t.trial_index) > ($1, $2)
		AND s.state IN ('active', 'paused') AND (t.heard_at < $3 OR t.heard_at > $4)
	ORDER BY t.sweep_no, t.trial_index LIMIT $5`

// Unheard implements sweep.Store. It looks at the queued and running trials
// alone, whose number the dispatch window bounds.
func (s *Store) Unheard(ctx context.Context, before time.Time, after *sweep.TrialID,
	limit int) (trials []sweep.Heard, err error) {
	future := time.Now().Add(time.Since(before))
	err = s.view(ctx, "find trials unheard of", func(t *transaction) {
		var number, index int64 = 0, -1
		if after != nil {
			number, index = t.number(after.Sweep), after.Index
		}
		trials = collect(t, func(h *sweep.Heard) []any {
			return []any{&h.Sweep, &h.Index, &h.At}
		}, unheard, number, index, before, future, limit)
	})
	return trials, err
}

// heardBatch is a batch of trials and the times at which they were last heard of.
func heardBatch(k keys, trials []sweep.Heard) database.Batch {
	return database.Rows(len(trials), "sweep_no, trial_index, heard_at", func(i int, row []any) []any {
		return append(row, &k.numbers[i], &k.indices[i], &trials[i].At)
	})
}

const requeue = `UPDATE trials SET state = 'pending'
	FROM {v} WHERE trials.sweep_no = v.sweep_no AND trials.trial_index = v.trial_index AND trials.state = $1
		AND (v.heard_at IS NULL OR trials.heard_at = v.heard_at)
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// Requeue implements sweep.Store.
func (s *Store) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	heard := make([]sweep.Heard, len(trials))
	for i, id := range trials {
		heard[i].TrialID = id // heard of at any time
	}
	return s.putBack(ctx, heard, sweep.Queued)
}

// RequeueUnheard implements sweep.Store.
func (s *Store) RequeueUnheard(ctx context.Context, trials []sweep.Heard) (int64, error) {
	return s.putBack(ctx, trials, sweep.Queued, sweep.Running)
}

// putBack puts those of the trials that are in one of the states back to pending.
func (s *Store) putBack(ctx context.Context, trials []sweep.Heard, states ...sweep.State) (total int64, err error) {
	err = s.update(ctx, "put trials back to pending", func(t *transaction) {
		var k keys
		var found []sweep.Heard
		for _, h := range trials {
			if number, ok := t.lookup(h.Sweep); ok { // else the sweep was deleted
				k.add(number, h.Index)
				found = append(found, h)
			}
		}
		t.claim(slices.Compact(slices.Sorted(slices.Values(k.numbers)))...)
		for _, state := range states {
			total += int64(len(t.move(state, sweep.Pending, requeue, string(state), heardBatch(k, found))))
		}
	})
	return total, err
}
