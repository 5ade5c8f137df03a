package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// saveMarks writes what trials are compared with.
func (r *recording) saveMarks() {
	var marked []*ledger.Trial
	for _, t := range r.ledger.Trials {
		if t.Marks != nil {
			marked = append(marked, t)
		}
	}
	r.run(deleteOf("marks"), keyBatch(marked))
	r.run(deleteOf("stops"), keyBatch(slices.DeleteFunc(slices.Clone(marked), func(t *ledger.Trial) bool {
		return t.Outcome == nil // it has not stopped yet
	})))
	best := make([]float64, len(marked))
	r.insert("marks", database.Rows(len(marked), "trial_no, metric, value_array, bands, reached, best",
		func(i int, row []any) []any {
			m := marked[i].Marks
			best[i] = float64(m.Best)
			return append(row, &marked[i].Key, &m.Metric, &m.Values, &m.Bands, &m.Count, &best[i])
		}))
}

// saveRule stores by what the trials from an index on are stopped.
func (t *transaction) saveRule(number, first int64, rule *sweep.StopRule) {
	t.run(`INSERT INTO stop_rules (sweep_no, first_index, rule) VALUES ($1, $2, $3)
		ON CONFLICT (sweep_no, first_index) DO NOTHING`, number, first, t.encode(rule))
}

// StopRule implements sweep.Store.
func (s *Store) StopRule(ctx context.Context, id string, first int64) (rule *sweep.StopRule, err error) {
	err = s.viewSweep(ctx, "look for what stops trials of", id, func(t *transaction, number int64) {
		var text []byte
		if !t.one([]any{&text}, `SELECT rule FROM stop_rules WHERE sweep_no = $1 AND first_index = $2`, number, first) {
			t.fail(notFound("sweep %s has no generation from trial %d on", id, first))
			return
		}
		rule = &sweep.StopRule{}
		if err := json.Unmarshal(text, rule); err != nil {
			t.fail(fmt.Errorf("what stops the trials from %d on: %w", first, err))
		}
	})
	return rule, err
}

// Marks implements sweep.Store.
func (s *Store) Marks(ctx context.Context, id, metric string, from, until int64) (all [][]float32, err error) {
	err = s.viewSweep(ctx, "read the marks of", id, func(t *transaction, number int64) {
		all = collect(t, func(values *[]float32) []any { return []any{values} }, `SELECT m.value_array
			FROM trials AS t JOIN marks AS m ON m.trial_no = coalesce(t.source_no, t.trial_no)
			WHERE t.sweep_no = $1 AND t.trial_index >= $2 AND t.trial_index < $3 AND t.state IN ('completed', 'stopped')
				AND m.metric = $4 AND m.bands = ''
			ORDER BY t.trial_index`, number, from, until, metric)
	})
	return all, err
}

// BandMarks implements sweep.Store.
func (s *Store) BandMarks(ctx context.Context, id, metric, bands string) (all []sweep.MarkedTrial, err error) {
	err = s.viewSweep(ctx, "read the marks of", id, func(t *transaction, number int64) {
		t.each(func(row database.Row) error {
			m := sweep.MarkedTrial{TrialID: sweep.TrialID{Sweep: id}}
			var best float64
			err := row.Scan(&m.Index, (*string)(&m.State), &m.Marks.Values, &m.Marks.Count, &best, &m.Deciding)
			m.Marks.Metric, m.Marks.Bands, m.Marks.Best = metric, bands, float32(best)
			all = append(all, m)
			return err
		}, `SELECT t.trial_index, t.state, m.value_array, m.reached, m.best, EXISTS (SELECT 1 FROM stops AS p
				WHERE p.trial_no = t.trial_no)
			FROM trials AS t JOIN marks AS m ON m.trial_no = coalesce(t.source_no, t.trial_no)
			WHERE t.sweep_no = $1 AND m.metric = $2 AND m.bands = $3 ORDER BY t.trial_index`, number, metric, bands)
	})
	return all, err
}

// AddStops implements sweep.Store.
func (s *Store) AddStops(ctx context.Context, id string, stops []sweep.Stop) error {
	return s.updateSweep(ctx, "decide about trials of", id, func(t *transaction, number int64) {
		const columns = "trial_index, reason, band, value, threshold, trials"
		t.run(`INSERT INTO stops (trial_no, reason, band, value, threshold, trials, decided_at)
			SELECT t.trial_no, v.reason, v.band, v.value, v.threshold, v.trials, $1 FROM {v}
			JOIN trials AS t ON t.sweep_no = $2 AND t.trial_index = v.trial_index WHERE t.state = 'running'
			ON CONFLICT (trial_no) DO NOTHING`, t.now, number, database.Rows(len(stops), columns,
			func(i int, row []any) []any {
				stop := &stops[i]
				return append(row, &stop.Index, &stop.Reason, &stop.Band, &stop.Value, &stop.Threshold, &stop.Trials)
			}))
	})
}

// Stops implements sweep.Store. There are few decisions: SQLite is to begin with them, not with the pending trials,
// which it does where the joins are called CROSS.
func (s *Store) Stops(ctx context.Context) (all []sweep.Stop, err error) {
	err = s.view(ctx, "look for trials that are to stop", func(t *transaction) {
		all = collect(t, func(stop *sweep.Stop) []any {
			return []any{&stop.Sweep, &stop.Index, (*string)(&stop.State), &stop.Reason, &stop.Band, &stop.Value,
				&stop.Threshold, &stop.Trials}
		}, `SELECT s.sweep_id, t.trial_index, t.state, p.reason, p.band, p.value, p.threshold, p.trials
			FROM stops AS p CROSS JOIN trials AS t CROSS JOIN sweeps AS s
			WHERE t.trial_no = p.trial_no AND s.sweep_no = t.sweep_no AND s.state IN ('active', 'paused')
				AND s.deleted_at IS NULL AND t.state IN ('pending', 'queued', 'running')
			ORDER BY p.trial_no`)
	})
	return all, err
}
