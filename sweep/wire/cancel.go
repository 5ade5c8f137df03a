package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// cancelMessage tells workers to stop running trials of a sweep.
type cancelMessage struct {
	Version int `json:"version"`
	// Indices are the trials to stop; none means all of the sweep.
	Indices []int64 `json:"indices,omitempty"`
	// Reasons are why these trials stop early, by index; without them they are cancelled.
	Reasons map[int64]Halt `json:"reasons,omitempty"`
}

// Cancel tells all workers to stop trials of a sweep: those with the indices, or all if there are
// none. A worker that does not receive the broadcast reports a result too late, which does no harm.
func (w *Wire) Cancel(id string, indices ...int64) error {
	data, err := json.Marshal(cancelMessage{Version: Version, Indices: indices})
	if err == nil {
		err = CheckToken("sweep", id)
	}
	if err == nil {
		err = w.conn.Publish("sweep.cancel."+id, data)
	}
	return wrap(err, "cancel sweep %s", id)
}

// Halt tells all workers to stop trials of a sweep early, for reasons by index.
func (w *Wire) Halt(id string, reasons map[int64]Halt) error {
	data, err := json.Marshal(cancelMessage{Version, slices.Sorted(maps.Keys(reasons)), reasons})
	if err == nil {
		err = CheckToken("sweep", id)
	}
	if err == nil {
		err = w.conn.Publish("sweep.cancel."+id, data)
	}
	return wrap(err, "stop trials of sweep %s", id)
}

// Cancellations calls stop for each cancellation, and with reasons for each Halt, from one goroutine of
// the connection, until unsubscribe is called.
func (w *Wire) Cancellations(stop func(id string, indices []int64,
	reasons map[int64]Halt)) (unsubscribe func(), err error) {
	return w.subscribe("cancellations", "sweep.cancel.*", func(m *nats.Msg) {
		var c cancelMessage
		if err := json.Unmarshal(m.Data, &c); err != nil || c.Version != Version {
			w.malformed.Add(1)
			w.log.Error("cancellation dropped: it cannot be read", "subject", m.Subject, "error", err,
				"version", c.Version)
			return
		}
		stop(strings.TrimPrefix(m.Subject, "sweep.cancel."), c.Indices, c.Reasons)
	})
}
