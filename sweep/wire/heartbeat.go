package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
)

// A worker sends a heartbeat every HeartbeatInterval; one that has sent none for
// HeartbeatTimeout counts as gone.
const (
	HeartbeatInterval = 5 * time.Second
	HeartbeatTimeout  = 4 * HeartbeatInterval
)

// The subjects of heartbeats, a worker's own, and of the coordinator's request for
// them. Deployed permissions have these texts: they stay.
const (
	heartbeatPrefix  = "sweep.beat."
	heartbeatRequest = "sweep.workers.beat"
)

// Heartbeat tells the active coordinator what a worker offers and runs. The subject
// names the pool, and a worker may only send for its own.
type Heartbeat struct {
	WorkerStatus
	// Running are the executions under way.
	Running []Running `json:"running,omitempty"`
	// Storing are executions that have ended and whose artifacts wait for the artifact store: their results
	// are not reported yet.
	Storing []Running `json:"storing,omitempty"`
	// Checkpoints are trials of which the worker keeps a checkpoint and which it
	// does not run.
	Checkpoints []sweep.TrialID `json:"checkpoints,omitempty"`
	// Gone says that the worker ends.
	Gone bool `json:"gone,omitempty"`
}

// Running is an execution under way.
type Running struct {
	sweep.TrialID
	Execution string `json:"execution"`
	// Need is the key of what the execution holds of the worker's devices.
	Need string `json:"need,omitempty"`
}

// Halt says that a trial is to stop early when it has reported Band values, and why.
type Halt struct {
	Band   int64  `json:"band"`
	Reason string `json:"reason"`
}

// Halted is an execution that is to stop early.
type Halted struct {
	Running
	Halt
}

// HeartbeatAnswer is the active coordinator's answer to a heartbeat.
type HeartbeatAnswer struct {
	// Stop are those of Heartbeat.Running and Storing whose trials have ended: the sweep was
	// cancelled, or another execution's result is recorded. Executions that started
	// since are not among them.
	Stop []Running `json:"stop,omitempty"`
	// Halt are those of Heartbeat.Running that are to stop early.
	Halt []Halted `json:"halt,omitempty"`
	// Ended are those of Heartbeat.Checkpoints that have ended: the checkpoints can go.
	Ended []sweep.TrialID `json:"ended,omitempty"`
	// Aside, if not nil, has the worker take no jobs until a probe succeeds.
	Aside *Aside `json:"aside,omitempty"`
	// Needs are those of the trials that wait for devices of the worker's offer: each has a queue.
	Needs []sweep.Need `json:"needs,omitempty"`
	// AckWait is the AckWait of the consumer of the worker's queue; 0 if it is not known
	// yet.
	AckWait time.Duration `json:"ack_wait,omitempty"`
}

// Aside says why a worker is to stand aside: it fails trials that others complete.
type Aside struct {
	Reason string `json:"reason"`
	// Trial has completed elsewhere, and is to complete before the worker takes jobs again; nil if there is none.
	Trial *Job `json:"trial,omitempty"`
}

type heartbeatMessage struct {
	Version   int       `json:"version"`
	Heartbeat Heartbeat `json:"beat"`
}

type heartbeatAnswer struct {
	Version int `json:"version"`
	HeartbeatAnswer
}

// SendHeartbeat sends a worker's heartbeat to the active coordinator. If there is none it
// returns an error; the worker continues and sends the next.
func (w *Wire) SendHeartbeat(ctx context.Context, h Heartbeat) (*HeartbeatAnswer, error) {
	data, err := json.Marshal(heartbeatMessage{Version, h})
	if err == nil {
		err = CheckToken("pool", h.Pool)
	}
	if err != nil {
		return nil, wrap(err, "heartbeat of worker %s", h.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := obey(ctx, func() (*nats.Msg, error) {
		return w.conn.RequestWithContext(ctx, heartbeatPrefix+h.Pool+"."+h.ID, data)
	})
	if err != nil {
		return nil, wrap(err, "heartbeat of worker %s", h.Name)
	}
	var a heartbeatAnswer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return nil, wrap(err, "answer to a heartbeat")
	}
	if a.AckWait > 0 {
		w.reported.Store(int64(a.AckWait))
	}
	return &a.HeartbeatAnswer, nil
}

// HeartbeatRequests calls send when a coordinator requests a heartbeat of all workers,
// after a random delay of up to a quarter of a second.
func (w *Wire) HeartbeatRequests(send func()) (unsubscribe func(), err error) {
	return w.subscribe("heartbeat requests", heartbeatRequest, func(*nats.Msg) {
		time.AfterFunc(rand.N(HeartbeatInterval/20), send)
	})
}

// RequestHeartbeats asks all workers to send a heartbeat at once.
func (w *Wire) RequestHeartbeats() error {
	return wrap(w.conn.Publish(heartbeatRequest, nil), "heartbeat request")
}

// ServeHeartbeats requests a heartbeat of all workers and calls heard for each that
// arrives, from one goroutine of the connection, until stop is called. A nil answer
// leaves the heartbeat to another coordinator.
func (w *Wire) ServeHeartbeats(heard func(Heartbeat) *HeartbeatAnswer) (stop func(), err error) {
	stop, err = w.subscribe("heartbeats", heartbeatPrefix+">", func(m *nats.Msg) {
		var h heartbeatMessage
		err := json.Unmarshal(m.Data, &h)
		switch {
		case h.Version > Version:
			err = &newerError{"heartbeat", h.Version, Version}
		case err == nil && !strings.HasPrefix(m.Subject, heartbeatPrefix+h.Heartbeat.Pool+"."):
			err = fmt.Errorf("heartbeat of pool %q", h.Heartbeat.Pool)
		case err == nil && !isWorkerInbox(m.Reply):
			// What is answered elsewhere would be published with this side's rights.
			err = fmt.Errorf("its reply subject %q is no worker's inbox", m.Reply)
		}
		if err != nil {
			w.malformed.Add(1)
			w.log.Error("heartbeat dropped: it cannot be read", "subject", m.Subject, "error", err)
			return
		}
		h.Heartbeat.Offer.Pool = h.Heartbeat.Pool
		answer := heard(h.Heartbeat)
		if answer == nil {
			return
		}
		if known, ok := w.ackWaits.Load(Queue{Pool: h.Heartbeat.Pool, Offer: h.Heartbeat.Offer.Key()}); ok {
			answer.AckWait = known.(time.Duration)
		}
		data, err := json.Marshal(heartbeatAnswer{Version, *answer})
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			w.log.Warn("heartbeat not answered", "worker", h.Heartbeat.Name, "error", err)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := w.RequestHeartbeats(); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
