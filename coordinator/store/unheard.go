package store

import (
	"context"
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
		t.each(func(row database.Row) error {
			var h sweep.Heard
			err := row.Scan(&h.Sweep, &h.Index, &h.At)
			trials = append(trials, h)
			return err
		}, unheard, number, index, before, future, limit)
	})
	return trials, err
}

// heardKeys are trials and the times at which they were last heard of, zero for any.
type heardKeys struct {
	keys
	heard []time.Time
}

func (k heardKeys) batch() database.Batch {
	b := k.keys.batch()
	b.Columns = append(b.Columns, database.Column{Name: "heard_at", Time: func(i int) time.Time { return k.heard[i] }})
	return b
}

const requeue = `UPDATE trials SET state = 'pending'
	FROM {v} WHERE trials.sweep_no = v.sweep_no AND trials.trial_index = v.trial_index AND trials.state = $1
		AND (v.heard_at IS NULL OR trials.heard_at = v.heard_at)
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// Requeue implements sweep.Store.
func (s *Store) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	return s.requeue(ctx, trials, make([]time.Time, len(trials)))
}

// RequeueUnheard implements sweep.Store.
func (s *Store) RequeueUnheard(ctx context.Context, trials []sweep.Heard) (int64, error) {
	ids, heard := make([]sweep.TrialID, len(trials)), make([]time.Time, len(trials))
	for i, h := range trials {
		ids[i], heard[i] = h.TrialID, h.At
	}
	return s.requeue(ctx, ids, heard)
}

func (s *Store) requeue(ctx context.Context, trials []sweep.TrialID, heard []time.Time) (total int64, err error) {
	err = s.update(ctx, "put trials back to pending", func(t *transaction) {
		k := heardKeys{t.claimTrials(trials), heard}
		for _, state := range []sweep.State{sweep.Queued, sweep.Running} {
			total += int64(len(t.move(state, sweep.Pending, requeue, string(state), k.batch())))
		}
	})
	return total, err
}
