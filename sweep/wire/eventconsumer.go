package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// EventConsumer receives the events that workers published.
type EventConsumer struct{ puller *puller }

// eventsAckWait is how long the collector may take to store a batch.
const eventsAckWait = 30 * time.Second

// Events opens the collector's consumer for the coordinator that leads in a term. It removes
// the consumers of this term and of earlier ones: events that were delivered to them and not
// acknowledged are delivered again at once. If a coordinator of a later term has opened one,
// Events fails with a *SupersededError.
func (w *Wire) Events(ctx context.Context, term int64) (*EventConsumer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := w.removeCollectors(ctx, term); err != nil {
		return nil, err
	}
	name := collectorName(term)
	_, err := w.js.CreateConsumer(ctx, EventsStream, jetstream.ConsumerConfig{
		Durable:       name,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       eventsAckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1 << 16,
		// If jobs are in memory, the broker lives in this process: the next one opens a
		// consumer of its own and receives all events that are not acknowledged.
		MemoryStorage: w.jobStorage == jetstream.MemoryStorage,
	})
	if err != nil {
		return nil, wrap(err, "consumer %s", name)
	}
	p, err := w.newPuller(EventsStream, name)
	return &EventConsumer{p}, err
}

// Close ends the consumer. Events that are not acknowledged are delivered to the next.
func (c *EventConsumer) Close() { c.puller.close() }

// EventBatch holds events to be stored. Call Ack after the commit.
type EventBatch struct {
	Events []sweep.Event
	// Pools has, for each event, the pool of the worker that sent it.
	Pools []string
	// Bad are events that cannot be stored, each with the reason.
	Bad []BadEvent
	// Full means that more events may be waiting.
	Full bool

	conn    *nats.Conn
	replies []string
}

// BadEvent is an event that cannot be stored.
type BadEvent struct {
	sweep.Event
	// Pool is the pool of the worker that sent it.
	Pool string
	Err  error
}

const (
	// eventMessages and eventBytes bound a batch.
	eventMessages = 512
	eventBytes    = 8 << 20
)

// fetchMargin is how much longer than its wait the answer to a Fetch may take. Tests raise it.
var fetchMargin = pullMargin

// Fetch returns a batch of the waiting events. If there are none it waits up to wait for
// one; the batch is empty if none arrives.
func (c *EventConsumer) Fetch(ctx context.Context, wait time.Duration) (*EventBatch, error) {
	batch := &EventBatch{conn: c.puller.wire.conn}
	err := c.fetch(ctx, pullRequest{Batch: eventMessages, MaxBytes: eventBytes, NoWait: true}, batch)
	if err == nil && len(batch.replies) == 0 && !batch.Full {
		err = c.fetch(ctx, pullRequest{Batch: 1, Expires: wait.Nanoseconds()}, batch)
	}
	if len(batch.replies) > 0 {
		return batch, nil // an error meets the next Fetch again
	}
	return batch, err
}

// fetch sends a pull request and adds the messages that arrive to the batch.
func (c *EventConsumer) fetch(ctx context.Context, request pullRequest, batch *EventBatch) error {
	request.margin = fetchMargin
	more, err := c.puller.pull(ctx, request, func(m *nats.Msg) { c.add(batch, m) })
	batch.Full = request.NoWait && more
	if isTimeout(err) && ctx.Err() == nil {
		return nil
	}
	return wrap(err, "fetch events")
}

// add adds a message to the batch.
func (c *EventConsumer) add(batch *EventBatch, m *nats.Msg) {
	w := c.puller.wire
	if m.Subject == probeSubject {
		if err := w.conn.Publish(m.Reply, []byte(answerDone)); err != nil {
			w.log.Debug("probe not acknowledged", "error", err)
		}
		return
	}
	decoded, err := decodeEvents(m.Subject, m.Data)
	if err != nil {
		w.refuse(m, err)
		return
	}
	for _, e := range decoded.Events {
		if err := checkEvent(&e); err != nil {
			w.malformed.Add(1)
			batch.Bad = append(batch.Bad, BadEvent{e, decoded.Pool, err})
			continue
		}
		batch.Events = append(batch.Events, e)
		batch.Pools = append(batch.Pools, decoded.Pool)
	}
	batch.replies = append(batch.replies, m.Reply)
}

// Ack removes the batch's messages from the stream. If an acknowledgement is lost, its events
// are delivered again; storing them again changes nothing.
func (b *EventBatch) Ack() error {
	for _, reply := range b.replies {
		if err := b.conn.Publish(reply, []byte(answerDone)); err != nil {
			return fmt.Errorf("acknowledge events: %w", err)
		}
	}
	return nil
}

// NewerEvents returns the number of waiting messages if this program can read none of them
// because they are of a newer version, and the problem with the first. It is 0 if any other
// message waits, for example one that is not acknowledged yet.
func (w *Wire) NewerEvents(ctx context.Context) (n int64, problem error, err error) {
	stream, err := w.eventStream(ctx)
	if err != nil {
		return 0, nil, err
	}
	next := func(from uint64) (*jetstream.RawStreamMsg, error) {
		bound, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		return stream.GetMsg(bound, from, jetstream.WithGetMsgSubject(">"))
	}
	for from := stream.CachedInfo().State.FirstSeq; ; n++ {
		m, err := next(from)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return n, problem, nil
		}
		if err != nil {
			return 0, nil, fmt.Errorf("stream %s: %w", EventsStream, err)
		}
		_, unread := decodeEvents(m.Subject, m.Data)
		if _, newer := errors.AsType[*newerError](unread); m.Subject == probeSubject || !newer {
			return 0, nil, nil
		}
		problem = cmp.Or(problem, unread)
		from = m.Sequence + 1
	}
}

// eventStream returns the stream of events with its current state.
func (w *Wire) eventStream(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(ctx, EventsStream)
	return stream, wrap(err, "stream %s", EventsStream)
}

// EventCount returns the number of messages that the collector has not acknowledged.
func (w *Wire) EventCount(ctx context.Context) (int64, error) {
	stream, err := w.eventStream(ctx)
	if err != nil {
		return 0, err
	}
	return int64(stream.CachedInfo().State.Msgs), nil
}

// probeSubject is the subject of Probe's messages.
const probeSubject = "sweep.events.probe"

// Probe checks that the server stores messages, by publishing one that EventConsumer drops.
// After its disk was full, a server answers all other requests but stores nothing until it
// is restarted.
func (w *Wire) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: probeSubject}, jetstream.WithRetryAttempts(0))
	switch _, full := fullCode(err); {
	case err == nil:
		return nil
	case full && !strings.Contains(err.Error(), noSpace):
		return explainFull(err)
	case w.conn.IsConnected() && !IsLost(err):
		return fmt.Errorf("NATS stores no messages; see its log. If its disk is full, free space and restart it: %w",
			err)
	default:
		return fmt.Errorf("NATS cannot be reached: %w", err)
	}
}
