package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

const (
	// longestQuarantined bounds what is kept of an event, in bytes; maxQuarantined
	// how many are kept.
	longestQuarantined = 1 << 20
	maxQuarantined     = 10_000
)

// Quarantine implements sweep.Store. Whatever is in the events, it can be kept.
func (s *Store) Quarantine(ctx context.Context, events []sweep.Quarantined) error {
	texts := make([][]byte, len(events))
	for i := range events {
		text, err := json.Marshal(events[i].Event)
		if err != nil { // a number that JSON does not have
			text = []byte(err.Error())
		}
		texts[i] = text[:min(len(text), longestQuarantined)]
	}
	return s.update(ctx, "put events into quarantine", func(t *transaction) {
		deltas := ledger.Counts[int64]{}
		for i := range events {
			if number, ok := t.lookup(ledger.CleanName(events[i].Sweep)); ok {
				deltas.Of(number).Quarantined++
			}
		}
		t.claim(slices.Sorted(maps.Keys(deltas))...)
		t.insert("quarantine", database.Rows(len(events),
			"received_at, sweep_id, trial_index, execution, kind, worker, error, event", func(i int, row []any) []any {
				e := &events[i]
				return append(row, &t.now, new(ledger.CleanName(e.Sweep)), &e.Index, new(ledger.CleanName(e.Execution)),
					new(ledger.CleanName(string(e.Kind))), new(ledger.CleanName(e.Worker)),
					new(ledger.CleanTail(e.Problem)), &texts[i])
			}))
		t.run(`DELETE FROM quarantine WHERE quarantine_no <= (SELECT max(quarantine_no) FROM quarantine) - $1`,
			int64(maxQuarantined))
		t.countSweeps(deltas)
	})
}
