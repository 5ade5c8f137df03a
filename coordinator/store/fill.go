package store

import (
	"context"
	"fmt"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// fillable is how many trials are entered in a transaction.
const fillable = 2000

const (
	nextUnscored = `SELECT sweep_no, next_index FROM unscored ORDER BY sweep_no LIMIT 1`

	loadUnscored = selectEntries + ` WHERE t.sweep_no = $1 AND t.trial_index >= $2 ORDER BY t.trial_index LIMIT $3`
)

// selectEntries reads trials with their results, if they have one.
const selectEntries = `SELECT t.trial_no, t.trial_index, t.state, t.diverged, t.parameters, coalesce(o.summary, '{}'),
	coalesce(o.parameter_count, 0),
		t.source_no IS NOT NULL AND (EXISTS (SELECT 1 FROM trials AS f
		WHERE f.trial_no = t.source_no AND f.sweep_no = t.sweep_no)
			OR EXISTS (SELECT 1 FROM trials AS e
			WHERE e.source_no = t.source_no AND e.sweep_no = t.sweep_no AND e.trial_no < t.trial_no))
	FROM trials AS t LEFT JOIN outcomes AS o USING (trial_no)`

// entries reads the trials of a selectEntries.
func (t *transaction) entries(number int64, text string, args ...any) (all []entry) {
	by := t.comparison(number)
	t.each(func(row database.Row) error {
		e := entry{sweep: number}
		var state sweep.State
		var parameters string
		var summary []byte
		if err := row.Scan(&e.trial, &e.index, (*string)(&state), &e.diverged, &parameters, &summary, &e.parameterCount,
			&e.repeated); err != nil {
			return err
		}
		e.point, e.completed = by.pointKey(parameters), state == sweep.Completed
		e.seed, e.parameters = by.parameterRow(parameters).seed.V, parameters
		if len(summary) > len("{}") {
			var err error
			if e.summary, err = decodeSummary(summary); err != nil {
				return fmt.Errorf("summary of trial %d: %w", e.index, err)
			}
		}
		all = append(all, e)
		return nil
	}, text, args...)
	return all
}

// fillPage enters the next of the trials that were written before these tables existed, if
// there are any, most of them at a time.
func (s *Store) fillPage(ctx context.Context, most int) (more bool, err error) {
	err = s.update(ctx, "enter earlier results", func(t *transaction) {
		var number, next int64
		if more = t.one([]any{&number, &next}, nextUnscored); !more {
			return
		}
		t.claim(number)
		by := t.comparison(number)
		if next == 0 {
			t.describeMetrics(by)
		}
		entries := t.entries(number, loadUnscored, number, next, int64(most))
		if len(entries) == 0 {
			t.run(`DELETE FROM unscored WHERE sweep_no = $1`, number)
			return
		}
		values := make([]parameterRow, len(entries))
		for i := range entries {
			values[i] = by.parameterRow(entries[i].parameters)
		}
		const columns = "trial_no, point_key, " + allParameterColumns
		t.change("trials", 1, database.Rows(len(entries), columns, func(i int, row []any) []any {
			return values[i].columns(append(row, &entries[i].trial, &entries[i].point))
		}))
		last := entries[len(entries)-1].index
		t.score(entries)
		t.run(`UPDATE unscored SET next_index = $1 WHERE sweep_no = $2`, last+1, number)
	})
	return more, err
}
