package store

import (
	"context"
	"encoding/json"
	"fmt"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// backlog reads what is left of the sweeps s for which a condition holds. It
// reads no submissions.
const backlog = `SELECT s.sweep_id, s.pool, s.priority, s.state, s.waiting,
		(SELECT count(*) FROM grids AS g WHERE g.sweep_no = s.sweep_no),
		(SELECT CAST(coalesce(sum(g.points - g.written), 0) AS bigint) FROM grids AS g
		WHERE g.sweep_no = s.sweep_no AND NOT g.cancelled),
		` + budgetColumns + `, s.canary, s.most_errors,
		coalesce(c.class_no, -1), c.requirement, coalesce(c.pending, 0), coalesce(c.queued, 0), coalesce(c.running, 0),
		coalesce(c.tried, FALSE), coalesce(c.errors, 0), coalesce(c.cause, ''), coalesce(c.error, ''),
		coalesce(c.error_index, 0), coalesce(c.unconfirmed, 0)
	FROM sweeps AS s LEFT JOIN budgets AS b USING (budget_no) LEFT JOIN classes AS c USING (sweep_no) WHERE `

// Backlog implements sweep.Store.
func (s *Store) Backlog(ctx context.Context, ids ...string) (backlogs []sweep.Backlog, err error) {
	text, args := backlog+`s.state = 'active'`, []any{}
	if len(ids) > 0 {
		text, args = backlog+`s.sweep_id IN (SELECT sweep_id FROM {v})`, append(args, texts("sweep_id", ids))
	}
	err = s.view(ctx, "look for what is left of sweeps", func(t *transaction) {
		t.each(func(row database.Row) error {
			var b sweep.Backlog
			var c sweep.ClassBacklog
			var waiting bool
			var requirement []byte
			var budget budgetRow
			columns := append([]any{&b.Sweep, &b.Pool, &b.Priority, (*string)(&b.State), &waiting, &b.Grids,
				&b.Unwritten}, budget.columns()...)
			columns = append(columns, &b.Canary, &b.MaxErrors, &c.Class, &requirement, &c.Pending, &c.Queued,
				&c.Running, &c.Tried, &c.Errors.Count, &c.Errors.Cause, &c.Errors.Last, &c.Errors.Trial, &c.Unconfirmed)
			if err := row.Scan(columns...); err != nil {
				return err
			}
			b.Budget = budget.state()
			b.State = stateOf(b.State, waiting)
			if n := len(backlogs); n == 0 || backlogs[n-1].Sweep != b.Sweep {
				backlogs = append(backlogs, b)
			}
			if c.Class < 0 {
				return nil
			}
			if err := json.Unmarshal(requirement, &c.Requirement); err != nil {
				return fmt.Errorf("class %d of sweep %s: %w", c.Class, b.Sweep, err)
			}
			last := &backlogs[len(backlogs)-1]
			last.Classes = append(last.Classes, c)
			return nil
		}, text+` ORDER BY s.sweep_no, c.class_no`, args...)
		t.addSuspects(backlogs)
	})
	return backlogs, err
}
