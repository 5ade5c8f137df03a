package progress

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sweep/sweep"
)

// Status is one sweep as it is shown to people and agents.
type Status struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	State     sweep.SweepState `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	Trainer   string           `json:"trainer"`
	Pool      string           `json:"pool"`
	Priority  int              `json:"priority"`
	Trials    int64            `json:"trials"`
	Progress  sweep.Progress   `json:"progress"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	AskedBy   string           `json:"asked_by,omitempty"`
	Purpose   string           `json:"purpose,omitempty"`
	sweep.Annotation
	// Budget is nil if there is no bound.
	Budget *BudgetStatus `json:"budget,omitempty"`
	// Metric compares the trials, the best having the value that Goal says; of a list of sweeps they are empty.
	Metric string `json:"metric,omitempty"`
	Goal   string `json:"goal,omitempty"`
	// Losses are the unfinished trials whose workers vanished while they ran them.
	Losses []Losses `json:"losses,omitempty"`
	// Halted means that it is paused because its trials fail, Local that it is one of this machine.
	Halted bool `json:"-"`
	Local  bool `json:"-"`
}

// BudgetStatus is a budget and what was used of it, times in seconds.
type BudgetStatus struct {
	Trials       int64   `json:"trials,omitempty"`
	Seconds      float64 `json:"seconds,omitempty"`
	SpentTrials  int64   `json:"spent_trials"`
	SpentSeconds float64 `json:"spent_seconds"`
	Shared       bool    `json:"shared,omitempty"`
}

// budgetOf is the budget of a sweep, nil if it has none.
func budgetOf(record *sweep.SweepRecord) *BudgetStatus {
	b := record.Budget
	if b == nil || b.Trials == 0 && b.Time == 0 {
		return nil
	}
	return &BudgetStatus{b.Trials, b.Time.Seconds(), b.SpentTrials, b.SpentTime.Seconds(), b.Name != ""}
}

// Losses is a trial whose workers vanished while they ran it.
type Losses struct {
	Index   int64       `json:"index"`
	State   sweep.State `json:"state"`
	Limit   int         `json:"limit"`
	Workers []string    `json:"workers"`
}

// LossText counts a trial's lost executions and names their workers.
func LossText(workers []string, limit int) string {
	return fmt.Sprintf("%d of %d losses: %s", len(workers), limit, strings.Join(workers, ", "))
}

// lossesOf returns the unfinished trials of sweeps whose workers vanished while they ran them, by sweep.
func lossesOf(ctx context.Context, results sweep.Reader, sweeps []string) (map[string][]Losses, error) {
	all := map[string][]Losses{}
	if len(sweeps) == 0 {
		return all, nil
	}
	list := make([]string, len(sweeps))
	for i, id := range sweeps {
		list[i] = sweep.QuoteSQL(id)
	}
	// By the sweeps the database finds the trials with losses in an index; without, it reads every execution.
	err := results.Query(ctx, `SELECT sweep_id, trial_index, state, limit_losses, worker FROM losses
		WHERE sweep_id IN (`+strings.Join(list, ", ")+`) AND state IN ('pending', 'queued', 'running')
		ORDER BY sweep_id, trial_index, started_at`,
		func(_ []string, row []any) error {
			id, index := row[0].(string), row[1].(int64)
			list := all[id]
			if n := len(list); n == 0 || list[n-1].Index != index {
				list = append(list, Losses{Index: index, State: sweep.State(row[2].(string)),
					Limit: int(row[3].(int64))})
			}
			last := &list[len(list)-1]
			last.Workers = append(last.Workers, row[4].(string))
			all[id] = list
			return nil
		})
	return all, err
}

// ShownLosses is of how many trials of a sweep the lost executions are shown.
const ShownLosses = 5

// atRest says that no process runs the sweeps of a database; "" if one does, or that is unknown.
func atRest(ctx context.Context, results sweep.Reader) string {
	asked, ok := results.(interface {
		Leader(ctx context.Context) (leader string, since time.Time, err error)
	})
	if !ok {
		return ""
	}
	if leader, _, err := asked.Leader(ctx); err != nil || leader != "" {
		return ""
	}
	return `no process is running it: "sweep run" its file again, or start "sweep coordinator" on this database`
}

// StatusOf is the status of the sweeps that are named, or of all.
func StatusOf(ctx context.Context, results sweep.Reader, names ...string) ([]Status, error) {
	var records []sweep.SweepRecord
	for _, name := range names {
		record, err := results.Sweep(ctx, name)
		if err != nil {
			return nil, err
		}
		records = append(records, *record)
	}
	if len(names) == 0 {
		var err error
		if records, err = results.Sweeps(ctx); err != nil {
			return nil, err
		}
	}
	list := make([]Status, 0, len(records))
	_, local := results.(sweep.Store)
	rests := atRest(ctx, results)
	var unfinished []string
	for _, r := range records {
		if r.State == sweep.SweepActive && r.Reason == "" {
			r.Reason = rests
		}
		counts, err := results.Progress(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if counts.Done() < counts.Total() {
			unfinished = append(unfinished, r.ID)
		}
		entry := Status{
			ID: r.ID, Name: r.Name, State: r.State, Reason: r.Reason, Trainer: r.Trainer, Pool: r.Pool,
			Priority: r.Priority, Trials: counts.Total(), Progress: counts,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, AskedBy: r.AskedBy, Purpose: r.Purpose,
			Annotation: r.Annotation, Budget: budgetOf(&r), Halted: r.Halted(), Local: local,
		}
		if len(r.Grids) > 0 {
			choice := r.Grids[0].Submission.Spec.Select
			entry.Metric, entry.Goal = choice.By, choice.Goal
		}
		list = append(list, entry)
	}
	losses, err := lossesOf(ctx, results, unfinished)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Losses = losses[list[i].ID]
	}
	return list, nil
}
