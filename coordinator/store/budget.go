package store

import (
	"context"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// insertBudget gives a sweep a new budget, or the one that has its name.
func (t *transaction) insertBudget(number int64, budget *sweep.Budget) {
	var name any // NULL
	if budget.Name != "" {
		name = budget.Name
	}
	var own int64
	t.one([]any{&own}, `INSERT INTO budgets (name, trials, milliseconds) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING budget_no`,
		name, budget.Trials, budget.Time.Milliseconds())
	t.run(`UPDATE sweeps SET budget_no = $1, updated_at = $2 WHERE sweep_no = $3`, own, t.now, number)
}

// SetSweepBudget implements sweep.Store.
func (s *Store) SetSweepBudget(ctx context.Context, id string, budget sweep.Budget) error {
	return s.updateSweep(ctx, "set the budget of", id, func(t *transaction, number int64) {
		var known int64
		t.one([]any{&known}, `SELECT coalesce(budget_no, 0) FROM sweeps WHERE sweep_no = $1`, number)
		if known == 0 {
			t.insertBudget(number, &sweep.Budget{Trials: budget.Trials, Time: budget.Time})
			return
		}
		t.run(`UPDATE budgets SET trials = $1, milliseconds = $2 WHERE budget_no = $3`, budget.Trials,
			budget.Time.Milliseconds(), known)
		t.run(`UPDATE sweeps SET state = 'active', reason = '', updated_at = $1
			WHERE budget_no = $2 AND state = 'paused' AND substr(reason, 1, $3) = $4 AND deleted_at IS NULL`,
			t.now, known, len(sweep.BudgetReason), sweep.BudgetReason)
	})
}

// budgetColumns are the columns of the budget b of a sweep, if it has one, and how many trials of the sweeps that share
// it are queued or running.
const budgetColumns = `coalesce(b.budget_no, 0), coalesce(b.name, ''), coalesce(b.trials, 0),
	coalesce(b.milliseconds, 0), coalesce(b.spent_trials, 0), coalesce(b.spent_milliseconds, 0),
	(SELECT CAST(coalesce(sum(n.queued + n.running), 0) AS bigint) FROM sweeps AS o JOIN counters AS n USING (sweep_no)
		WHERE o.budget_no = b.budget_no)`

// budgetRow receives budgetColumns.
type budgetRow struct {
	sweep.BudgetState
	limit, spent int64
}

func (b *budgetRow) columns() []any {
	return []any{&b.Number, &b.Name, &b.Trials, &b.limit, &b.SpentTrials, &b.spent, &b.Active}
}

// state is the budget, nil if there is none.
func (b *budgetRow) state() *sweep.BudgetState {
	if b.Number == 0 {
		return nil
	}
	state := b.BudgetState
	state.Time, state.SpentTime = time.Duration(b.limit)*time.Millisecond, time.Duration(b.spent)*time.Millisecond
	return &state
}

// saveSpending adds to budgets what the recorded events have used.
func (r *recording) saveSpending() {
	spending := r.ledger.Spending()
	r.run(`UPDATE budgets AS b SET spent_trials = b.spent_trials + v.trials,
			spent_milliseconds = b.spent_milliseconds + v.milliseconds
		FROM {v} WHERE b.budget_no = v.budget_no`,
		database.Rows(len(spending), "budget_no, trials, milliseconds", func(i int, row []any) []any {
			return append(row, &spending[i].Budget, &spending[i].Trials, &spending[i].Milliseconds)
		}))
}

// spendTrials adds trials that ended by a command to the budget of their sweep.
func (t *transaction) spendTrials(number, trials int64) {
	t.run(`UPDATE budgets SET spent_trials = spent_trials + $1
		WHERE budget_no = (SELECT s.budget_no FROM sweeps AS s WHERE s.sweep_no = $2)`, trials, number)
}
