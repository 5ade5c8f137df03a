package store

import (
	"context"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

const selectRows = `SELECT t.trial_index, t.state, t.diverged, t.executions, t.parameters, o.summary,
		coalesce(o.seconds, 0), coalesce(o.run_name, ''), coalesce(o.run_group, ''), coalesce(n.tags, o.tags, ''),
		CASE WHEN t.state = 'skipped' THEN coalesce(o.error, '') ELSE '' END
	FROM trials AS t LEFT JOIN outcomes AS o ON o.trial_no = t.trial_no
	LEFT JOIN trial_notes AS n ON n.sweep_no = t.sweep_no AND n.trial_index = t.trial_index
	WHERE t.sweep_no = $1 AND t.trial_index >= $2 AND t.trial_index < $3 ORDER BY t.trial_index`

// Rows implements sweep.Store.
func (s *Store) Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error {
	return s.viewSweep(ctx, "read the trials of", id, func(t *transaction, number int64) {
		var r sweep.TrialRow
		t.each(func(row database.Row) error {
			err := row.Scan(&r.Index, (*string)(&r.State), &r.Diverged, &r.Executions, &r.Parameters, &r.Summary,
				&r.Seconds, &r.RunName, &r.RunGroup, &r.Tags, &r.Skipped)
			if err != nil {
				return err
			}
			return yielded(yield(&r))
		}, selectRows, number, from, until)
	})
}
