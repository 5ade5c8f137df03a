package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
)

// BeatInterval is how often a worker tells the active coordinator what it offers
// and runs, BeatLost after what silence it counts as gone.
const (
	BeatInterval = 5 * time.Second
	BeatLost     = 4 * BeatInterval
)

// The subjects of beats: a worker's own, and the coordinator's call for them.
const (
	beatPrefix = "sweep.beat."
	rollCall   = "sweep.workers.beat"
)

// Beat is what a worker tells of itself. Beats are of one pool's workers alone:
// the subject says which.
type Beat struct {
	WorkerStatus
	// Running are the executions under way.
	Running []Running `json:"running,omitempty"`
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
}

// BeatAnswer is what the active coordinator answers.
type BeatAnswer struct {
	// Stop are executions whose trials have ended, of those that the worker told of:
	// the sweep was cancelled, or there is another execution's result. A trial that
	// runs again since is not meant.
	Stop []Running `json:"stop,omitempty"`
	// Ended are those of Beat.Checkpoints that have ended: the checkpoints can go.
	Ended []sweep.TrialID `json:"ended,omitempty"`
	// AckWait is how long the server waits for word of a job of the worker's queue; 0 if
	// that is not known yet.
	AckWait time.Duration `json:"ack_wait,omitempty"`
}

type beatMessage struct {
	Version int  `json:"version"`
	Beat    Beat `json:"beat"`
}

type beatAnswer struct {
	Version int `json:"version"`
	BeatAnswer
}

// Beat tells the active coordinator how the worker is. It is an error if there is
// none: the worker goes on, and tries again.
func (w *Wire) Beat(ctx context.Context, beat Beat) (*BeatAnswer, error) {
	data, err := json.Marshal(beatMessage{Version, beat})
	if err == nil {
		err = CheckToken("pool", beat.Pool)
	}
	if err != nil {
		return nil, wrap(err, "beat of worker %s", beat.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := w.conn.RequestWithContext(ctx, beatPrefix+beat.Pool+"."+beat.ID, data)
	if err != nil {
		return nil, wrap(err, "beat of worker %s", beat.Name)
	}
	var a beatAnswer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return nil, wrap(err, "answer to a beat")
	}
	if a.AckWait > 0 {
		w.told.Store(int64(a.AckWait))
	}
	return &a.BeatAnswer, nil
}

// RollCalls calls beat when a coordinator asks all workers how they are, at a
// moment within a quarter of a second that differs between workers.
func (w *Wire) RollCalls(beat func()) (unsubscribe func() error, err error) {
	s, err := w.conn.Subscribe(rollCall, func(*nats.Msg) {
		time.AfterFunc(rand.N(BeatInterval/20), beat)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to roll calls: %w", err)
	}
	return s.Unsubscribe, nil
}

// CallRoll asks all workers for a beat at once.
func (w *Wire) CallRoll() error {
	if err := w.conn.Publish(rollCall, nil); err != nil {
		return fmt.Errorf("roll call: %w", err)
	}
	return nil
}

// ServeBeats has heard called for each beat, from one goroutine of the
// connection, and asks all workers for one, until stop is called. A nil answer leaves
// the beat to another coordinator.
func (w *Wire) ServeBeats(heard func(Beat) *BeatAnswer) (stop func(), err error) {
	s, err := w.conn.Subscribe(beatPrefix+">", func(m *nats.Msg) {
		var b beatMessage
		err := json.Unmarshal(m.Data, &b)
		switch {
		case b.Version > Version:
			err = &newerError{"beat", b.Version, Version}
		case err == nil && !strings.HasPrefix(m.Subject, beatPrefix+b.Beat.Pool+"."):
			err = fmt.Errorf("beat of pool %q", b.Beat.Pool)
		case err == nil && !isWorkerInbox(m.Reply):
			// What is answered elsewhere would be published with this side's rights.
			err = fmt.Errorf("its answer is wanted on %q, which is no worker's inbox", m.Reply)
		}
		if err != nil {
			w.malformed.Add(1)
			w.log.Error("beat dropped: it cannot be read", "subject", m.Subject, "error", err)
			return
		}
		b.Beat.Offer.Pool = b.Beat.Pool
		answer := heard(b.Beat)
		if answer == nil {
			return
		}
		if known, ok := w.ackWaits.Load(Queue{b.Beat.Pool, b.Beat.Offer.Key()}); ok {
			answer.AckWait = known.(time.Duration)
		}
		data, err := json.Marshal(beatAnswer{Version, *answer})
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			w.log.Warn("beat not answered", "worker", b.Beat.Name, "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("beats of workers: %w", err)
	}
	if err := w.CallRoll(); err != nil {
		return nil, errors.Join(err, s.Unsubscribe())
	}
	return func() { _ = s.Unsubscribe() }, nil // or the connection is closed, and it is gone
}
