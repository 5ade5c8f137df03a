package store

import (
	"context"
	"encoding/json"
	"fmt"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// saveMarks writes what later trials are compared with.
func (r *recording) saveMarks() {
	var marked []*ledger.Trial
	for _, t := range r.ledger.Trials {
		if t.Outcome != nil && t.Outcome.Marks != nil {
			marked = append(marked, t)
		}
	}
	r.insert("marks", database.Rows(len(marked), "trial_no, metric, value_array", func(i int, row []any) []any {
		m := marked[i].Outcome.Marks
		return append(row, &marked[i].Key, &m.Metric, &m.Values)
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
				AND m.metric = $4
			ORDER BY t.trial_index`, number, from, until, metric)
	})
	return all, err
}
