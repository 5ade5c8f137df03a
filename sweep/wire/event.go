package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"sweep/sweep"
)

// eventMessage is one or more events of one execution on the wire.
type eventMessage struct {
	Version int           `json:"version"`
	Events  []sweep.Event `json:"events"`
}

// decodeEvents reads a message of events and checks what a store relies on.
func decodeEvents(data []byte) ([]sweep.Event, error) {
	var m eventMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if m.Version != Version {
		return nil, fmt.Errorf("events of version %d: this program reads version %d", m.Version, Version)
	}
	for i := range m.Events {
		e := &m.Events[i]
		complete := e.Sweep != "" && e.Index >= 0 && e.Execution != ""
		switch e.Kind {
		case sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint:
		case sweep.EventResult:
			complete = complete && e.Result != nil && e.Result.State.Terminal()
		case sweep.EventReleased:
			complete = complete && e.Release != nil
		default:
			return nil, fmt.Errorf("event %d is of the unknown kind %q", i, e.Kind)
		}
		if !complete {
			return nil, fmt.Errorf("event %d of kind %s lacks a part", i, e.Kind)
		}
	}
	return m.Events, nil
}

// message encodes the events of one execution, and thins their curves further
// if the server would not take the message: a trial is not lost because its
// curves are long.
func (w *Wire) message(events []sweep.Event) (*nats.Msg, error) {
	if len(events) == 0 {
		return nil, fmt.Errorf("no event to publish")
	}
	last := events[len(events)-1]
	limit := int(w.conn.MaxPayload())
	for points := maxPoints(events); ; points /= 2 {
		data, err := json.Marshal(eventMessage{Version, events})
		if err != nil {
			return nil, fmt.Errorf("event %s of trial %s: %w", last.Kind, last.TrialID, err)
		}
		if len(data)+len(last.Execution)+256 <= limit {
			return &nats.Msg{Subject: eventSubject(last.TrialID, last.Kind), Data: data}, nil
		}
		if points < 2 {
			return nil, fmt.Errorf("event %s of trial %s: %d bytes are more than the server takes (%d)", last.Kind, last.TrialID, len(data), limit)
		}
		events = thinned(events, points/2)
	}
}

// maxPoints is the length of the longest curve in the events.
func maxPoints(events []sweep.Event) int {
	n := 0
	for _, e := range events {
		for _, c := range e.Curves {
			n = max(n, len(c.Steps))
		}
		if e.Result != nil {
			for _, c := range e.Result.Curves {
				n = max(n, len(c.Steps))
			}
		}
	}
	return n
}

// thinned returns copies of the events whose curves have at most about limit points.
func thinned(events []sweep.Event, limit int) []sweep.Event {
	thin := func(curves []sweep.Curve) []sweep.Curve {
		r := sweep.NewRecorder(limit)
		r.Add(curves)
		return r.Curves()
	}
	copies := make([]sweep.Event, len(events))
	for i, e := range events {
		e.Curves = thin(e.Curves)
		if e.Result != nil {
			r := *e.Result
			r.Curves = thin(r.Curves)
			e.Result = &r
		}
		copies[i] = e
	}
	return copies
}

// NewExecution returns an identifier for an execution, unique over all workers
// and time.
func NewExecution() string { return nuid.Next() }

// publishAttempts bounds how often an event is published again when the server
// does not answer; the message id makes a repeat harmless.
const publishAttempts = 5

// Publish sends events of one execution in one message and waits until the
// server has stored it.
func (w *Wire) Publish(ctx context.Context, events ...sweep.Event) error {
	m, err := w.message(events)
	if err != nil {
		return err
	}
	last := events[len(events)-1]
	_, err = w.js.PublishMsg(ctx, m,
		jetstream.WithMsgID(fmt.Sprintf("%s-%s-%d", last.Execution, last.Kind, last.Time.UnixNano())),
		jetstream.WithRetryAttempts(publishAttempts), jetstream.WithRetryWait(200*time.Millisecond))
	if err != nil {
		return fmt.Errorf("publish %s of trial %s: %w", last.Kind, last.TrialID, err)
	}
	return nil
}

// EventConsumer hands out the events that workers published.
type EventConsumer struct {
	wire     *Wire
	consumer jetstream.Consumer
}

// eventsAckWait is how long the collector may take to store a batch.
const eventsAckWait = 30 * time.Second

// Events opens the collector's consumer. Events that were delivered to an
// earlier collector and not acknowledged come again after its AckWait; fresh
// says that there is no such collector any more, so that they come at once.
func (w *Wire) Events(ctx context.Context, fresh bool) (*EventConsumer, error) {
	const name = "collector"
	if fresh {
		err := w.js.DeleteConsumer(ctx, EventsStream, name)
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, fmt.Errorf("consumer %s: %w", name, err)
		}
	}
	consumer, err := w.js.CreateOrUpdateConsumer(ctx, EventsStream, jetstream.ConsumerConfig{
		Durable:       name,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       eventsAckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1 << 16,
	})
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return &EventConsumer{w, consumer}, nil
}

// EventBatch are events to store; Ack them after the commit.
type EventBatch struct {
	Events   []sweep.Event
	messages []jetstream.Msg
}

// Fetch waits up to wait for a first message and returns with it what is there,
// up to limit messages. The batch is empty if none came.
func (c *EventConsumer) Fetch(ctx context.Context, limit int, wait time.Duration) (*EventBatch, error) {
	batch := &EventBatch{}
	fetched, err := c.consumer.FetchNoWait(limit)
	if err == nil {
		err = c.read(fetched, batch)
	}
	if err != nil {
		return nil, err
	}
	if len(batch.messages) > 0 {
		return batch, nil
	}
	bound, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := c.consumer.Next(jetstream.FetchContext(bound))
	switch {
	case ctx.Err() != nil && m == nil:
		return nil, ctx.Err()
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages), errors.Is(err, context.DeadlineExceeded):
		return batch, nil
	case err != nil:
		return nil, fmt.Errorf("fetch events: %w", err)
	}
	c.add(m, batch)
	return batch, nil
}

func (c *EventConsumer) read(fetched jetstream.MessageBatch, batch *EventBatch) error {
	for m := range fetched.Messages() {
		c.add(m, batch)
	}
	if err := fetched.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, jetstream.ErrNoMessages) {
		return fmt.Errorf("fetch events: %w", err)
	}
	return nil
}

func (c *EventConsumer) add(m jetstream.Msg, batch *EventBatch) {
	events, err := decodeEvents(m.Data())
	if err != nil {
		c.wire.refuse(m, err)
		return
	}
	batch.Events = append(batch.Events, events...)
	batch.messages = append(batch.messages, m)
}

// Ack removes the batch's messages from the stream. A message whose
// acknowledgement is lost comes again, which the store takes calmly.
func (b *EventBatch) Ack() error {
	for _, m := range b.messages {
		if err := m.Ack(); err != nil {
			return fmt.Errorf("acknowledge events: %w", err)
		}
	}
	return nil
}

// EventCount is the number of messages that wait for the collector.
func (w *Wire) EventCount(ctx context.Context) (int64, error) {
	stream, err := w.js.Stream(ctx, EventsStream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", EventsStream, err)
	}
	return int64(stream.CachedInfo().State.Msgs), nil
}
