package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
func decodeEvents(subject string, data []byte) ([]sweep.Event, error) {
	var m eventMessage
	err := json.Unmarshal(data, &m)
	if m.Version != Version && m.Version != 0 {
		return nil, fmt.Errorf("events of version %d: this program reads version %d", m.Version, Version)
	}
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if m.Version == 0 {
		return nil, errors.New("events without a version")
	}
	id, err := trialOfEvent(subject)
	if err != nil {
		return nil, err
	}
	for i := range m.Events {
		e := &m.Events[i]
		if e.TrialID != id {
			return nil, fmt.Errorf("event of trial %s under the subject of %s", e.TrialID, id)
		}
		complete := e.Execution != ""
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
		if err := clean(e); err != nil {
			return nil, fmt.Errorf("event %d of kind %s: %w", i, e.Kind, err)
		}
	}
	return m.Events, nil
}

// clean takes NUL characters out of the texts of an event, for databases refuse
// them, and refuses names that have one.
func clean(e *sweep.Event) error {
	const nul = "\x00"
	strip := func(s string) string { return strings.ReplaceAll(s, nul, "") }
	names := []string{e.Execution}
	e.Worker = strip(e.Worker)
	curves := e.Curves
	if r := e.Release; r != nil {
		r.Reason, r.Stderr = strip(r.Reason), strip(r.Stderr)
	}
	if r := e.Result; r != nil {
		r.Error, r.Stderr, r.KernelLevel = strip(r.Error), strip(r.Stderr), strip(r.KernelLevel)
		names = append(names, r.WeightsDigest, r.Digest)
		for metric := range r.Summary {
			names = append(names, metric)
		}
		curves = append(curves[:len(curves):len(curves)], r.Curves...)
	}
	for _, c := range curves {
		names = append(names, c.Metric)
	}
	for _, name := range names {
		if strings.Contains(name, nul) {
			return fmt.Errorf("the name %q has a NUL character", name)
		}
	}
	return nil
}

// smallestStderr is how much of standard error is always sent.
const smallestStderr = 4 << 10

// message encodes the events of one execution. If the server would not take the
// message, curves are thinned further and standard error is cut: a trial is not
// lost because its curves are long. What still does not fit is a *TooLargeError.
func (w *Wire) message(events []sweep.Event) (*nats.Msg, error) {
	if len(events) == 0 {
		return nil, errors.New("no event to publish")
	}
	last := events[len(events)-1]
	if err := CheckToken("sweep", last.Sweep); err != nil {
		return nil, err
	}
	for points := maxPoints(events); ; points /= 2 {
		data, err := json.Marshal(eventMessage{Version, events})
		if err != nil {
			return nil, fmt.Errorf("%s of trial %s: %w", last.Kind, last.TrialID, err)
		}
		if len(data) <= w.limit() {
			return &nats.Msg{Subject: eventSubject(last.TrialID, last.Kind), Data: data}, nil
		}
		if points < 2 {
			return nil, &TooLargeError{last.TrialID, string(last.Kind), len(data), w.limit()}
		}
		w.log.Warn("curves thinned: they do not fit a message", "trial", last.TrialID, "bytes", len(data), "limit", w.limit(), "points", points/2)
		events = thinned(events, points/2)
	}
}

// maxPoints is the length of the longest curve in the events, at least 4 so
// that thinning is tried.
func maxPoints(events []sweep.Event) int {
	n := 4
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

// thinned returns copies of the events whose curves have about limit points and
// whose standard error is short.
func thinned(events []sweep.Event, limit int) []sweep.Event {
	thin := func(curves []sweep.Curve) []sweep.Curve {
		if curves == nil {
			return nil
		}
		r := sweep.NewRecorder(limit)
		r.Add(curves)
		return r.Curves()
	}
	end := func(s string) string {
		return strings.ToValidUTF8(s[max(0, len(s)-smallestStderr):], "")
	}
	copies := make([]sweep.Event, len(events))
	for i, e := range events {
		e.Curves = thin(e.Curves)
		if e.Result != nil {
			r := *e.Result
			r.Curves, r.Stderr = thin(r.Curves), end(r.Stderr)
			e.Result = &r
		}
		if e.Release != nil {
			r := *e.Release
			r.Stderr = end(r.Stderr)
			e.Release = &r
		}
		copies[i] = e
	}
	return copies
}

// NewExecution returns an identifier for an execution, unique over all workers
// and time.
func NewExecution() string { return nuid.Next() }

// The pauses between attempts to publish, doubled each time.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Publish sends events of one execution in one message and waits until the
// server has stored it. It tries again until ctx ends; the message id makes a
// repeat harmless. A *TooLargeError and a closed connection are final.
func (w *Wire) Publish(ctx context.Context, events ...sweep.Event) error {
	m, err := w.message(events)
	if err != nil {
		return err
	}
	last := events[len(events)-1]
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		bound, cancel := context.WithTimeout(ctx, answerTimeout)
		_, err := w.js.PublishMsg(bound, m, jetstream.WithMsgID(messageID(last)), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("publish %s of trial %s: %w", last.Kind, last.TrialID, err)
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) || ctx.Err() != nil {
			return err
		}
		if pause == firstPause {
			w.log.Warn("event not taken by the server; trying again", "error", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// messageID tells the server which messages are repeats of one.
func messageID(e sweep.Event) string {
	return e.Execution + "-" + string(e.Kind) + "-" + strconv.FormatInt(e.Time.UnixNano(), 36)
}

// Publication is a message on its way to the server.
type Publication struct{ future jetstream.PubAckFuture }

// PublishAsync is Publish without the wait and without further attempts: it is
// for what may be lost. Messages of one Wire keep their order.
func (w *Wire) PublishAsync(events ...sweep.Event) (*Publication, error) {
	m, err := w.message(events)
	if err != nil {
		return nil, err
	}
	last := events[len(events)-1]
	future, err := w.js.PublishMsgAsync(m, jetstream.WithMsgID(messageID(last)))
	if err != nil {
		return nil, fmt.Errorf("publish %s of trial %s: %w", last.Kind, last.TrialID, err)
	}
	return &Publication{future}, nil
}

// Stored reports whether the server has said that it has the message. It does
// not wait, and the answer is given once.
func (p *Publication) Stored() bool {
	select {
	case ack := <-p.future.Ok():
		return ack != nil
	default:
		return false
	}
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
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
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

// probeSubject is of messages that ask whether the server stores any.
const probeSubject = "sweep.events.probe"

// Probe has the server store a message, which the collector's consumer drops. A
// server whose disk was full answers everything else as if nothing had happened,
// but stores nothing until it is restarted.
func (w *Wire) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: probeSubject}, jetstream.WithRetryAttempts(0))
	switch {
	case err == nil:
		return nil
	case w.conn.IsConnected() && !IsLost(err):
		return fmt.Errorf("NATS stores no messages: see its log; if its disk is full, make room and restart it: %w", err)
	default:
		return fmt.Errorf("NATS cannot be reached: %w", err)
	}
}

// EventBatch are events to store; Ack them after the commit.
type EventBatch struct {
	Events   []sweep.Event
	messages []jetstream.Msg
}

// Fetch waits up to wait for a first message and returns with it what is there,
// up to limit messages. The batch is empty if none came. The end of ctx is seen
// after wait at the latest: a fetch that is given up would lose what is on its
// way to it until the consumer's AckWait.
func (c *EventConsumer) Fetch(ctx context.Context, limit int, wait time.Duration) (*EventBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	batch := &EventBatch{}
	fetched, err := c.consumer.FetchNoWait(limit)
	if err == nil {
		err = c.read(fetched, batch)
	}
	if err != nil || len(batch.messages) > 0 {
		return batch, err
	}
	if fetched, err = c.consumer.Fetch(1, jetstream.FetchMaxWait(wait)); err == nil {
		err = c.read(fetched, batch)
	}
	return batch, err
}

// read takes the messages of a fetch. An error is only returned if nothing came
// before it: what came is to be stored first.
func (c *EventConsumer) read(fetched jetstream.MessageBatch, batch *EventBatch) error {
	for m := range fetched.Messages() {
		if m.Subject() == probeSubject {
			if err := m.Ack(); err != nil {
				c.wire.log.Debug("probe not acknowledged", "error", err)
			}
			continue
		}
		events, err := decodeEvents(m.Subject(), m.Data())
		if err != nil {
			c.wire.refuse(m.Subject(), len(m.Data()), err, m.TermWithReason)
			continue
		}
		batch.Events = append(batch.Events, events...)
		batch.messages = append(batch.messages, m)
	}
	err := fetched.Error()
	if err == nil || len(batch.messages) > 0 || errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) {
		return nil
	}
	return fmt.Errorf("fetch events: %w", err)
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
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(ctx, EventsStream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", EventsStream, err)
	}
	return int64(stream.CachedInfo().State.Msgs), nil
}
