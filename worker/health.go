package worker

import (
	"sync"

	"sweep/sweep"
)

// health counts the machine's failures in a row, over all slots.
type health struct {
	limit int

	mu  sync.Mutex
	row []failure
}

// failure is an execution that the machine failed.
type failure struct {
	id        sweep.TrialID
	execution string
}

func newHealth(limit int) *health { return &health{limit: limit} }

// succeeded ends the row.
func (h *health) succeeded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.row = nil
}

// failed adds a failure. It returns the whole row if the machine seems broken: if limit different
// trials failed. One trial that fails repeatedly counts once: its own limit of attempts ends it.
func (h *health) failed(f failure) (row []failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	trials := map[sweep.TrialID]bool{f.id: true}
	for _, earlier := range h.row {
		trials[earlier.id] = true
	}
	if len(h.row) < maxRow {
		h.row = append(h.row, f)
	}
	if len(trials) < h.limit {
		return nil
	}
	row, h.row = h.row, nil
	return row
}

// maxRow bounds the memory for a row: one trial may fail endlessly.
const maxRow = 1024
