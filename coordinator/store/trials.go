package store

import (
	"context"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// keys are trials by the numbers of their sweeps.
type keys struct{ numbers, indices []int64 }

func (k *keys) add(number, index int64) {
	k.numbers, k.indices = append(k.numbers, number), append(k.indices, index)
}

func (k *keys) batch() database.Batch {
	return database.Rows(len(k.numbers), "sweep_no, trial_index", func(i int, row []any) []any {
		return append(row, &k.numbers[i], &k.indices[i])
	})
}

// movedTrial is a trial by its class and its index.
type movedTrial struct {
	class
	index int64
}

// endExecutions ends the executions of cancelled trials as lost: one whose worker is gone would run for ever. Another
// still reports its end.
const endExecutions = `UPDATE stored_executions SET outcome = 'lost', ended_at = $1 WHERE outcome = 'running'
	AND trial_no IN (SELECT t.trial_no FROM {v} CROSS JOIN trials AS t
		WHERE t.sweep_no = v.sweep_no AND t.trial_index = v.trial_index)`

// move runs an UPDATE that moves trials from one state to another and returns
// their sweep_no, class_no and trial_index, and counts them.
func (t *transaction) move(from, to sweep.State, text string, args ...any) (moved []movedTrial) {
	totals := map[class]int64{}
	t.each(func(row database.Row) error {
		var m movedTrial
		err := row.Scan(&m.Sweep, &m.Number, &m.index)
		totals[m.class]++
		if to == sweep.Pending {
			t.s.taken.back(m.class, m.index)
		}
		moved = append(moved, m)
		return err
	}, text, args...)
	deltas := ledger.Counts[class]{}
	for c, n := range totals {
		ledger.Count(deltas.Of(c), from, -n)
		ledger.Count(deltas.Of(c), to, n)
	}
	t.count(deltas)
	if from == sweep.Running && to == sweep.Cancelled { // otherwise they have not run, or an event ends them
		for c, n := range totals {
			t.spendTrials(c.Sweep, n)
		}
	}
	if to == sweep.Cancelled { // whatever their state: the execution of a trial that was put back may still run
		t.run(endExecutions, t.now, database.Rows(len(moved), "sweep_no, trial_index", func(i int, row []any) []any {
			return append(row, &moved[i].Sweep, &moved[i].index)
		}))
	}
	return moved
}

// ints is a batch of one column of numbers.
func ints(name string, values []int64) database.Batch {
	return database.Rows(len(values), name, func(i int, row []any) []any { return append(row, &values[i]) })
}

// texts is a batch of one column of texts.
func texts(name string, values []string) database.Batch {
	return database.Rows(len(values), name, func(i int, row []any) []any { return append(row, &values[i]) })
}

const states = `SELECT t.sweep_no, t.trial_index, t.state FROM {v} JOIN trials AS t USING (sweep_no, trial_index)`

const deletedSweeps = `SELECT s.sweep_id FROM {v} JOIN sweeps AS s USING (sweep_id) WHERE s.deleted_at IS NOT NULL`

// States implements sweep.Store.
func (s *Store) States(ctx context.Context, trials []sweep.TrialID) (map[sweep.TrialID]sweep.State, error) {
	found := make(map[sweep.TrialID]sweep.State, len(trials))
	err := s.view(ctx, "look at the states of trials", func(t *transaction) {
		names := map[int64]string{}
		var k keys
		for _, id := range trials {
			if number, ok := t.lookup(id.Sweep); ok {
				names[number] = id.Sweep
				k.add(number, id.Index)
			}
		}
		t.each(func(row database.Row) error {
			var number, index int64
			var state sweep.State
			err := row.Scan(&number, &index, (*string)(&state))
			found[sweep.TrialID{Sweep: names[number], Index: index}] = state
			return err
		}, states, k.batch())
		var missing []string
		for _, id := range trials {
			if found[id] == "" {
				missing = append(missing, id.Sweep)
			}
		}
		missing = slices.Compact(slices.Sorted(slices.Values(missing)))
		deleted := map[string]bool{}
		for _, id := range collect(t, func(id *string) []any { return []any{id} }, deletedSweeps,
			texts("sweep_id", missing)) {
			deleted[id] = true
		}
		for _, id := range trials {
			if found[id] == "" && deleted[id.Sweep] {
				found[id] = sweep.Cancelled // nobody needs it any more
			}
		}
	})
	return found, err
}
