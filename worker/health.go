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
	// suspects are trials that failed here while others succeeded: what they do
	// again says nothing about the machine.
	suspects map[sweep.TrialID]bool
}

// maxSuspects bounds the memory for suspects; then they are forgotten.
const maxSuspects = 4096

// failure is an execution that ended by what may be the machine's fault.
type failure struct {
	id        sweep.TrialID
	execution string
	// charged says that the trial had to answer for it.
	charged bool
}

func newHealth(limit int) *health {
	return &health{limit: limit, suspects: map[sweep.TrialID]bool{}}
}

// succeeded ends the row.
func (h *health) succeeded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.suspects) > maxSuspects {
		clear(h.suspects)
	}
	for _, f := range h.row {
		if f.charged {
			h.suspects[f.id] = true
		}
	}
	h.row = nil
}

// failed adds a failure and returns the whole row if it makes the machine seem
// broken: if limit different trials failed. A trial that keeps killing its
// trainer is only one, and its own limit of attempts ends it; so is one that
// comes again and again because no worker has its data, and it must not stop
// them all.
func (h *health) failed(f failure) (row []failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.charged && h.suspects[f.id] {
		return nil
	}
	trials := map[sweep.TrialID]bool{f.id: true}
	for _, earlier := range h.row {
		if earlier.id == f.id && !f.charged {
			return nil // nothing new, however often
		}
		trials[earlier.id] = true
	}
	h.row = append(h.row, f)
	if len(trials) < h.limit {
		return nil
	}
	row, h.row = h.row, nil
	return row
}
