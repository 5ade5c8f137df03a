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

	"sweep/sweep"
)

// Names of the streams, and the version of the messages.
const (
	JobsStream   = "SWEEP_JOBS"
	EventsStream = "SWEEP_EVENTS"
	Version      = 1
)

// duplicateWindow is how long the server remembers message ids. A repeat that
// comes later does no harm either: the store sorts it out. At thousands of
// trials a second the default of two minutes would cost memory.
const duplicateWindow = 10 * time.Second

// DefaultAckWait is how long the server waits for word of a delivered job
// before it delivers it again. Workers say every third of it that they are at work.
const DefaultAckWait = 30 * time.Second

const (
	// answerTimeout bounds the wait for the server's answer to one request: a
	// server that is just starting may never answer.
	answerTimeout = 5 * time.Second
	// headroom is what subject and headers of a message take of the server's
	// max_payload, generously.
	headroom = 1024
)

// Options are the settings of a Wire; the zero value has the defaults.
type Options struct {
	// AckWait replaces DefaultAckWait. All parties must agree on it.
	AckWait time.Duration
	// Replicas of streams that Setup creates; 1 if 0. Streams that exist keep theirs.
	Replicas int
	Logger   *slog.Logger
}

// Wire is one party's end. It is safe for concurrent use.
type Wire struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	ackWait   time.Duration
	replicas  int
	log       *slog.Logger
	malformed atomic.Int64
}

// New returns a Wire over a connection, which the caller keeps and closes.
func New(conn *nats.Conn, options Options) (*Wire, error) {
	js, err := jetstream.New(conn,
		jetstream.WithPublishAsyncMaxPending(2*publishPage),
		jetstream.WithPublishAsyncTimeout(2*answerTimeout))
	if err != nil {
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	w := &Wire{conn: conn, js: js, ackWait: options.AckWait, replicas: max(options.Replicas, 1), log: options.Logger}
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
// It may be called again at any time.
func (w *Wire) Setup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTimeout)
	defer cancel()
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
		config.Replicas = w.replicas
		config.Duplicates = duplicateWindow
		there, err := w.js.Stream(ctx, config.Name)
		switch {
		case err == nil:
			// How often a stream is kept is its operator's to change.
			config.Replicas = there.CachedInfo().Config.Replicas
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return fmt.Errorf("stream %s: %w", config.Name, err)
		}
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

// TooLargeError says that a message about a trial is larger than the server
// takes (its max_payload). Sending it again is of no use.
type TooLargeError struct {
	sweep.TrialID
	// What the message is: "job", or the kind of the event.
	What        string
	Size, Limit int
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s of trial %s: a message of %d bytes, and the server takes %d (max_payload)", e.What, e.TrialID, e.Size, e.Limit)
}

// limit is the largest body of a message.
func (w *Wire) limit() int { return int(w.conn.MaxPayload()) - headroom }

// refuse counts and logs a message that cannot be read, and ends it: nobody
// else could read it either, and a job that is lost this way is published
// again when the database misses it.
func (w *Wire) refuse(subject string, size int, problem error, terminate func(reason string) error) {
	w.malformed.Add(1)
	w.log.Error("message dropped: it cannot be read", "subject", subject, "bytes", size, "problem", problem)
	if err := terminate(problem.Error()); err != nil {
		w.log.Error("message not terminated", "subject", subject, "error", err)
	}
}
