package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// cancelMessage tells workers to stop running trials of a sweep.
type cancelMessage struct {
	Version int `json:"version"`
	// Indices are the trials to stop; none means all of the sweep.
	Indices []int64 `json:"indices,omitempty"`
}

// Cancel tells all workers to stop running these trials of a sweep, all of them
// if none is named. It is a broadcast: a worker that does not hear it goes on
// to a result that comes too late, which does no harm.
func (w *Wire) Cancel(id string, indices ...int64) error {
	data, err := json.Marshal(cancelMessage{Version, indices})
	if err == nil {
		err = CheckToken("sweep", id)
	}
	if err != nil {
		return fmt.Errorf("cancel sweep %s: %w", id, err)
	}
	if err := w.conn.Publish("sweep.cancel."+id, data); err != nil {
		return fmt.Errorf("cancel sweep %s: %w", id, err)
	}
	return nil
}

// Cancellations calls stop for each cancellation until the subscription is
// ended; it is called from one goroutine of the connection.
func (w *Wire) Cancellations(stop func(id string, indices []int64)) (unsubscribe func() error, err error) {
	s, err := w.conn.Subscribe("sweep.cancel.*", func(m *nats.Msg) {
		var c cancelMessage
		if err := json.Unmarshal(m.Data, &c); err != nil || c.Version != Version {
			w.malformed.Add(1)
			w.log.Error("cancellation dropped: it cannot be read", "subject", m.Subject, "error", err,
				"version", c.Version)
			return
		}
		stop(strings.TrimPrefix(m.Subject, "sweep.cancel."), c.Indices)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to cancellations: %w", err)
	}
	return s.Unsubscribe, nil
}
