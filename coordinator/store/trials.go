package store

import (
	"context"
	"maps"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// keys are trials by the numbers of their sweeps.
type keys struct{ numbers, indices []int64 }

// claimTrials finds and claims the sweeps of trials.
func (t *transaction) claimTrials(ids []sweep.TrialID) (k keys) {
	for _, id := range ids {
		k.numbers, k.indices = append(k.numbers, t.number(id.Sweep)), append(k.indices, id.Index)
	}
	t.claim(slices.Compact(slices.Sorted(slices.Values(k.numbers)))...)
	return k
}

func (k keys) batch() database.Batch {
	return database.Batch{Rows: len(k.numbers), Columns: []database.Column{
		{Name: "sweep_no", Int: func(i int) int64 { return k.numbers[i] }},
		{Name: "trial_index", Int: func(i int) int64 { return k.indices[i] }},
	}}
}

// movedTrial is a trial by its class and its index.
type movedTrial struct {
	class
	index int64
}

// move runs an UPDATE that moves trials from one state to another and returns
// their sweep_no, class_no and trial_index, and counts them.
func (t *transaction) move(from, to sweep.State, text string, args ...any) (moved []movedTrial) {
	totals := map[class]int64{}
	t.each(func(row database.Row) error {
		var m movedTrial
		err := row.Scan(&m.sweep, &m.number, &m.index)
		totals[m.class]++
		if to == sweep.Pending {
			t.s.taken.back(m.class, m.index)
		}
		moved = append(moved, m)
		return err
	}, text, args...)
	deltas := map[class]*sweep.Progress{}
	for c, n := range totals {
		deltas[c] = &sweep.Progress{}
		ledger.Count(deltas[c], from, -n)
		ledger.Count(deltas[c], to, n)
	}
	t.count(deltas)
	return moved
}

// ints is a batch of one column of numbers.
func ints(name string, values []int64) database.Batch {
	return database.Batch{Rows: len(values), Columns: []database.Column{
		{Name: name, Int: func(i int) int64 { return values[i] }},
	}}
}

const states = `SELECT t.sweep_no, t.trial_index, t.state FROM {v} JOIN trials AS t USING (sweep_no, trial_index)`

// States implements sweep.Store.
func (s *Store) States(ctx context.Context, trials []sweep.TrialID) (map[sweep.TrialID]sweep.State, error) {
	found := make(map[sweep.TrialID]sweep.State, len(trials))
	err := s.view(ctx, "look at the states of trials", func(t *transaction) {
		names := map[int64]string{}
		var k keys
		for _, id := range trials {
			if number, ok := t.lookup(id.Sweep); ok {
				names[number] = id.Sweep
				k.numbers, k.indices = append(k.numbers, number), append(k.indices, id.Index)
			}
		}
		t.each(func(row database.Row) error {
			var number, index int64
			var state string
			err := row.Scan(&number, &index, &state)
			found[sweep.TrialID{Sweep: names[number], Index: index}] = sweep.State(state)
			return err
		}, states, k.batch())
		if missing := slices.DeleteFunc(slices.Clone(trials), func(id sweep.TrialID) bool {
			return found[id] != ""
		}); len(missing) > 0 {
			deleted := t.deleted(missing)
			for _, id := range missing {
				if deleted[id.Sweep] {
					found[id] = sweep.Cancelled // nobody needs it any more
				}
			}
		}
	})
	return found, err
}

// deleted returns which of the sweeps of trials were deleted.
func (t *transaction) deleted(trials []sweep.TrialID) map[string]bool {
	ids, deleted := map[string]bool{}, map[string]bool{}
	for _, id := range trials {
		ids[id.Sweep] = true
	}
	t.each(func(row database.Row) error {
		var id string
		err := row.Scan(&id)
		deleted[id] = true
		return err
	}, `SELECT s.sweep_id FROM {v} JOIN sweeps AS s USING (sweep_id) WHERE s.deleted_at IS NOT NULL`,
		list("sweep_id", slices.Sorted(maps.Keys(ids))))
	return deleted
}
