package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// fillable is how many trials are entered in a transaction.
const fillable = 2000

const (
	nextUnscored = `SELECT sweep_no, next_index FROM unscored ORDER BY sweep_no LIMIT 1`

	fillParameters = `UPDATE trials AS t
		SET point_key = v.point_key, dataset = v.dataset, model = v.model, seed = v.seed, lr = v.lr, decay = v.decay,
			batch = v.batch FROM {v} WHERE t.trial_no = v.trial_no`

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
		if err := e.parameters.UnmarshalJSON([]byte(parameters)); err != nil {
			return fmt.Errorf("parameters of trial %d: %w", e.index, err)
		}
		e.seed, _ = wholeNumber(e.parameters[sweep.SeedParameter])
		if len(summary) > len("{}") {
			if err := json.Unmarshal(summary, &e.summary); err != nil {
				return fmt.Errorf("summary of trial %d: %w", e.index, err)
			}
		}
		all = append(all, e)
		return nil
	}, text, args...)
	return all
}

// fillPage enters the next of the trials that were written before these tables existed, if
// there are any.
func (s *Store) fillPage(ctx context.Context) (more bool, err error) {
	err = s.update(ctx, "enter earlier results", func(t *transaction) {
		var number, next int64
		if more = t.one([]any{&number, &next}, nextUnscored); !more {
			return
		}
		t.claim(number)
		entries := t.entries(number, loadUnscored, number, next, int64(fillable))
		if len(entries) == 0 {
			t.run(`DELETE FROM unscored WHERE sweep_no = $1`, number)
			return
		}
		values := make([]parameterRow, len(entries))
		for i := range entries {
			values[i] = parametersOf(entries[i].parameters)
		}
		const columns = "trial_no, point_key, " + parameterColumns
		t.run(fillParameters, database.Rows(len(entries), columns, func(i int, row []any) []any {
			return values[i].columns(append(row, &entries[i].trial, &entries[i].point))
		}))
		last := entries[len(entries)-1].index
		t.score(entries)
		t.run(`UPDATE unscored SET next_index = $1 WHERE sweep_no = $2`, last+1, number)
	})
	return more, err
}

// parameterColumns are the columns for parameters.
const parameterColumns = "dataset, model, seed, batch, lr, decay"

// parameterRow has the values of the columns for parameters, NULL where there is none of that
// type.
type parameterRow struct {
	dataset, model sql.Null[string]
	seed, batch    sql.Null[int64]
	lr, decay      float64
}

func parametersOf(p sweep.Parameters) (v parameterRow) {
	v.dataset.V, v.dataset.Valid = p["dataset"].(string)
	v.model.V, v.model.Valid = p["model"].(string)
	v.seed.V, v.seed.Valid = wholeNumber(p[sweep.SeedParameter])
	v.batch.V, v.batch.Valid = wholeNumber(p["batch"])
	v.lr, v.decay = number(p["lr"]), number(p["decay"])
	return v
}

func (v *parameterRow) columns(row []any) []any {
	return append(row, &v.dataset, &v.model, &v.seed, &v.batch, &v.lr, &v.decay)
}

func wholeNumber(value any) (int64, bool) {
	const exact = 1e18
	switch v := value.(type) {
	case int64:
		return v, v > -exact && v < exact
	case int:
		return int64(v), true
	case float64:
		return int64(v), v == float64(int64(v)) && v > -exact && v < exact
	}
	return 0, false
}

// number returns NaN if the value is not a number.
func number(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}
