package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

const (
	// longestQuarantined bounds what is kept of an event, in bytes; mostQuarantined
	// how many are kept.
	longestQuarantined = 1 << 20
	mostQuarantined    = 10_000
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
		deltas := map[int64]*sweep.Progress{}
		for i := range events {
			if number, ok := t.lookup(ledger.CleanName(events[i].Sweep)); ok {
				if deltas[number] == nil {
					deltas[number] = &sweep.Progress{}
				}
				deltas[number].Quarantined++
			}
		}
		t.claim(slices.Sorted(maps.Keys(deltas))...)
		t.insert("quarantine", database.Batch{Rows: len(events), Columns: []database.Column{
			{Name: "received_at", Time: func(int) time.Time { return t.now }},
			{Name: "sweep_id", Text: func(i int) string { return ledger.CleanName(events[i].Sweep) }},
			{Name: "trial_index", Int: func(i int) int64 { return events[i].Index }},
			{Name: "execution", Text: func(i int) string { return ledger.CleanName(events[i].Execution) }},
			{Name: "kind", Text: func(i int) string { return ledger.CleanName(string(events[i].Kind)) }},
			{Name: "worker", Text: func(i int) string { return ledger.CleanName(events[i].Worker) }},
			{Name: "error", Text: func(i int) string { return ledger.CleanReason(events[i].Problem) }},
			{Name: "event", Bytes: func(i int) []byte { return texts[i] }},
		}})
		t.run(`DELETE FROM quarantine WHERE quarantine_no <= (SELECT max(quarantine_no) FROM quarantine) - $1`,
			int64(mostQuarantined))
		t.countSweeps(deltas)
	})
}
