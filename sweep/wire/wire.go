package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams, and the version of the messages.
const (
	JobsStream   = "SWEEP_JOBS"
	EventsStream = "SWEEP_EVENTS"
	Version      = 1
)

// DefaultAckWait is how long the server waits for word of a delivered job
// before it delivers it again. Workers say every third of it that they are at work.
const DefaultAckWait = 30 * time.Second

// Options are the settings of a Wire; the zero value has the defaults.
type Options struct {
	// AckWait replaces DefaultAckWait. All parties must agree on it.
	AckWait time.Duration
	Logger  *slog.Logger
}

// Wire is one party's end. It is safe for concurrent use.
type Wire struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	ackWait   time.Duration
	log       *slog.Logger
	malformed atomic.Int64
}

// New returns a Wire over a connection, which the caller keeps and closes.
func New(conn *nats.Conn, options Options) (*Wire, error) {
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	w := &Wire{conn: conn, js: js, ackWait: options.AckWait, log: options.Logger}
	if w.ackWait <= 0 {
		w.ackWait = DefaultAckWait
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	return w, nil
}

// AckWait is how long the server waits for word of a delivered job.
func (w *Wire) AckWait() time.Duration { return w.ackWait }

// Malformed counts the messages that could not be read.
func (w *Wire) Malformed() int64 { return w.malformed.Load() }

// Setup creates the streams, or brings those that are there to their settings.
func (w *Wire) Setup(ctx context.Context) error {
	for _, config := range []jetstream.StreamConfig{
		{
			Name:        JobsStream,
			Description: "trials to run: one message a trial, gone when its result is stored",
			Subjects:    []string{"sweep.jobs.>"},
			Retention:   jetstream.WorkQueuePolicy,
			Storage:     jetstream.FileStorage,
			// A second job of one trial is refused, however late it comes.
			MaxMsgsPerSubject:    1,
			Discard:              jetstream.DiscardNew,
			DiscardNewPerSubject: true,
		},
		{
			Name:        EventsStream,
			Description: "what workers report, until the collector has stored it",
			Subjects:    []string{"sweep.events.>"},
			Retention:   jetstream.WorkQueuePolicy,
			Storage:     jetstream.FileStorage,
		},
	} {
		if _, err := w.js.CreateOrUpdateStream(ctx, config); err != nil {
			return fmt.Errorf("stream %s: %w", config.Name, err)
		}
	}
	return nil
}

// IsLost reports whether an error means that a stream or consumer is not there
// any more: Setup and a new consumer mend it.
func IsLost(err error) bool {
	for _, lost := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
		jetstream.ErrNoStreamResponse, jetstream.ErrConsumerDoesNotExist, nats.ErrNoResponders,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// refuse counts and logs a message that cannot be read, and ends it.
func (w *Wire) refuse(m jetstream.Msg, problem error) {
	w.malformed.Add(1)
	w.log.Error("message dropped: it cannot be read", "subject", m.Subject(), "bytes", len(m.Data()), "problem", problem)
	if err := m.TermWithReason(problem.Error()); err != nil {
		w.log.Error("message not terminated", "subject", m.Subject(), "error", err)
	}
}
