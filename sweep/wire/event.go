package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"sweep/sweep"
)

// eventMessage is a message of events: of several executions if they are short.
type eventMessage struct {
	Version int `json:"version"`
	// Pool is the worker's; version 1 has none.
	Pool   string        `json:"pool,omitempty"`
	Events []sweep.Event `json:"events"`
	// Samples are the events' curves, see samples.go; before version 3 each curve
	// stands in its event.
	Samples []byte `json:"samples,omitempty"`
}

// encodeEvents encodes a message of events. One without curves is of the version that
// older programs read.
func encodeEvents(pool string, events []sweep.Event) ([]byte, error) {
	bare, samples := withoutSamples(events)
	m := eventMessage{Version, pool, bare, samples}
	if len(samples) > 0 {
		m.Version = sampledEvents
	}
	return json.Marshal(m)
}

// decodeEvents reads a message of events and checks what a store relies on.
func decodeEvents(subject string, data []byte) (*eventMessage, error) {
	var m eventMessage
	err := json.Unmarshal(data, &m)
	if m.Version > sampledEvents {
		return nil, &newerError{"events", m.Version, sampledEvents}
	}
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	switch m.Version {
	case Version, sampledEvents:
		if !strings.HasPrefix(subject, eventsPrefix+m.Pool+".") || m.Pool == "" {
			return nil, fmt.Errorf("events of pool %q under the subject %q", m.Pool, subject)
		}
		if err := addSamples(m.Events, m.Samples); err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
	case 1:
		id, err := trialOfEvent(subject)
		if err != nil {
			return nil, err
		}
		for i := range m.Events {
			if e := &m.Events[i]; e.TrialID != id {
				return nil, fmt.Errorf("event of trial %s under the subject of %s", e.TrialID, id)
			}
		}
	default:
		return nil, errors.New("events without a version")
	}
	return &m, nil
}

// checkEvent reports what a store could not take of an event.
func checkEvent(e *sweep.Event) error {
	complete := e.Execution != "" && CheckToken("sweep", e.Sweep) == nil && e.Index >= 0
	switch e.Kind {
	case sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint:
	case sweep.EventResult:
		complete = complete && e.Result != nil && e.Result.State.Terminal()
	case sweep.EventReleased:
		complete = complete && e.Release != nil
	case sweep.EventRefused:
		complete = complete && e.Refusal != nil
	default:
		return fmt.Errorf("an event of the unknown kind %.40q", e.Kind)
	}
	if !complete {
		return fmt.Errorf("an event of kind %s lacks a part", e.Kind)
	}
	return clean(e)
}

// clean takes NUL characters out of the texts of an event, for databases refuse
// them, and refuses names that no database takes.
func clean(e *sweep.Event) error {
	strip := func(texts ...*string) {
		for _, text := range texts {
			*text = strings.ReplaceAll(*text, "\x00", "")
		}
	}
	strip(&e.Worker, &e.Note, &e.Log)
	curves := e.Curves
	if r := e.Release; r != nil {
		strip(&r.Reason, &r.Stderr)
	}
	if r := e.Refusal; r != nil {
		strip(&r.Reason)
	}
	names := []string{e.Execution}
	if r := e.Result; r != nil {
		strip(&r.Error, &r.Stderr, &r.KernelLevel)
		for _, digest := range []string{r.WeightsDigest, r.Digest} {
			if err := sweep.CheckText("digest", digest, false); err != nil {
				return err
			}
		}
		for metric := range r.Summary {
			names = append(names, metric)
		}
		for _, a := range r.Artifacts {
			if err := sweep.CheckArtifactName(a.Name); err != nil {
				return err
			}
		}
		curves = append(curves[:len(curves):len(curves)], r.Curves...)
	}
	for _, c := range curves {
		names = append(names, c.Metric)
	}
	for _, name := range names {
		if err := sweep.CheckName("name", name); err != nil {
			return err
		}
	}
	return nil
}

// smallestStderr is how much of standard error is always sent.
const smallestStderr = 4 << 10

// encode encodes the events of a worker. If the server would not take the message
// and the events are of one execution, curves are thinned further and standard
// error is cut: a trial is not lost because its curves are long. What still does
// not fit is a *TooLargeError.
func (w *Wire) encode(pool string, events []sweep.Event) ([]byte, error) {
	last := events[len(events)-1]
	for points := maxPoints(events); ; points /= 2 {
		data, err := encodeEvents(pool, events)
		if err != nil {
			return nil, fmt.Errorf("%s of trial %s: %w", last.Kind, last.TrialID, err)
		}
		if len(data) <= w.limit() {
			return data, nil
		}
		if points < 2 || !together(events) {
			return nil, &TooLargeError{last.TrialID, string(last.Kind), len(data), w.limit()}
		}
		w.log.Warn("curves thinned: they do not fit a message", "trial", last.TrialID, "bytes", len(data), "limit",
			w.limit(), "points", points/2)
		events = thinned(events, points/2)
	}
}

// together reports whether events are of one execution.
func together(events []sweep.Event) bool {
	return !slices.ContainsFunc(events, func(e sweep.Event) bool { return e.Execution != events[0].Execution })
}

// halves cuts events in two between executions.
func halves(events []sweep.Event) (first, second []sweep.Event) {
	at := len(events) / 2
	for at > 0 && events[at].Execution == events[at-1].Execution {
		at--
	}
	for at == 0 || at < len(events) && events[at].Execution == events[at-1].Execution {
		at++
	}
	return events[:at], events[at:]
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
		if short := end(e.Log); len(short) < len(e.Log) {
			e.LogStart += int64(len(e.Log) - len(short))
			e.Log = short
		}
		if e.Result != nil {
			r := *e.Result
			r.Curves, r.Stderr = thin(r.Curves), end(r.Stderr)
			e.Result = &r
		}
		if e.Release != nil {
			r := *e.Release
			r.Stderr = end(r.Stderr)
			e.LogStart += int64(len(e.Release.Stderr) - len(r.Stderr))
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

// Publish sends events of a worker in one message, the events of one execution
// beside each other, and waits until the server has stored it. It tries again
// until ctx ends; the message id makes a repeat harmless. What is too large for
// one message is sent in several; an execution whose events fit none is left out
// and is a *TooLargeError in the error's tree. A closed connection is final.
func (w *Wire) Publish(ctx context.Context, pool, worker string, events ...sweep.Event) error {
	if len(events) == 0 {
		return errors.New("no event to publish")
	}
	data, err := w.encode(pool, events)
	if large := (*TooLargeError)(nil); errors.As(err, &large) && !together(events) {
		first, second := halves(events)
		return errors.Join(w.Publish(ctx, pool, worker, first...), w.Publish(ctx, pool, worker, second...))
	}
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: eventSubject(pool, worker), Data: data}
	id := nuid.Next()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		bound, cancel := context.WithTimeout(ctx, answerTimeout)
		_, err := w.js.PublishMsg(bound, m, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("publish %s of trial %s: %w", events[0].Kind, events[0].TrialID, explainFull(err))
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

// EventConsumer hands out the events that workers published.
type EventConsumer struct{ puller *puller }

// eventsAckWait is how long the collector may take to store a batch.
const eventsAckWait = 30 * time.Second

// SupersededError says that a coordinator of a later term collects the events.
type SupersededError struct{ Own, Later int64 }

// Error implements error.
func (e *SupersededError) Error() string {
	return fmt.Sprintf("a coordinator of term %d has taken over; this one's term was %d", e.Later, e.Own)
}

// collectorPrefix begins the names of the collectors' consumers; that of version 1
// had no term after it.
const collectorPrefix = "collector"

// Term returns the highest term in which a coordinator has collected events, 0 if
// none has. It takes an answer of the server that has the stream.
func (w *Wire) Term(ctx context.Context) (term int64, err error) {
	if !w.conn.IsConnected() {
		return 0, errors.New("NATS cannot be reached")
	}
	stream, err := w.js.Stream(ctx, EventsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("NATS: stream %s: %w", EventsStream, err)
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		if n, err := strconv.ParseInt(strings.TrimPrefix(name, collectorPrefix+"-"), 10, 64); err == nil {
			term = max(term, n)
		}
	}
	if err := names.Err(); err != nil && !IsLost(err) {
		return 0, fmt.Errorf("NATS: consumers of stream %s: %w", EventsStream, err)
	}
	return term, nil
}

// ForgetTerms has every term be a new one: for a broker of which the caller knows that
// no other coordinator uses it.
func (w *Wire) ForgetTerms(ctx context.Context) error {
	err := w.removeCollectors(ctx)
	if IsLost(err) {
		return nil
	}
	return err
}

// removeCollectors removes the consumers of all terms.
func (w *Wire) removeCollectors(ctx context.Context) error {
	stream, err := w.js.Stream(ctx, EventsStream)
	if err != nil {
		return wrap(err, "stream %s", EventsStream)
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		if !strings.HasPrefix(name, collectorPrefix) {
			continue
		}
		if err := w.js.DeleteConsumer(ctx, EventsStream, name); err != nil &&
			!errors.Is(err, jetstream.ErrConsumerNotFound) {
			return wrap(err, "consumer %s", name)
		}
	}
	return wrap(names.Err(), "stream %s", EventsStream)
}

// Events opens the collector's consumer for the coordinator that leads in a term.
// One that was opened before, in this or an earlier term, is removed, and what it
// had in hand comes again at once; of a later term's nothing is touched, which is
// a *SupersededError.
func (w *Wire) Events(ctx context.Context, term int64) (*EventConsumer, error) {
	name := fmt.Sprintf("%s-%d", collectorPrefix, term)
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(ctx, EventsStream)
	if err != nil {
		return nil, wrap(err, "stream %s", EventsStream)
	}
	names := stream.ConsumerNames(ctx)
	for other := range names.Name() {
		n, err := strconv.ParseInt(strings.TrimPrefix(other, collectorPrefix+"-"), 10, 64)
		switch {
		case err != nil && other != collectorPrefix:
			continue
		case n > term:
			return nil, &SupersededError{term, n}
		}
		if err := w.js.DeleteConsumer(ctx, EventsStream, other); err != nil &&
			!errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, wrap(err, "consumer %s", other)
		}
	}
	if err := names.Err(); err != nil {
		return nil, wrap(err, "stream %s", EventsStream)
	}
	_, err = w.js.CreateConsumer(ctx, EventsStream, jetstream.ConsumerConfig{
		Durable:       name,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       eventsAckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1 << 16,
		// A broker of one process has its jobs in memory, and this, too: what is not
		// acknowledged stays in the stream, and the next process opens a consumer of its own.
		MemoryStorage: w.jobStorage == jetstream.MemoryStorage,
	})
	if err != nil {
		return nil, wrap(err, "consumer %s", name)
	}
	p, err := w.newPuller(EventsStream, name)
	return &EventConsumer{p}, err
}

// Close ends the consumer; what was on its way to it comes again.
func (c *EventConsumer) Close() { c.puller.close() }

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
		return fmt.Errorf("NATS stores no messages: see its log; if its disk is full, make room and restart it: %w",
			err)
	default:
		return fmt.Errorf("NATS cannot be reached: %w", err)
	}
}

// EventBatch are events to store; Ack them after the commit.
type EventBatch struct {
	Events []sweep.Event
	// Pools are the pools of the workers that sent the events, "" where that is
	// not known (version 1).
	Pools []string
	// Bad are events that no store could take, with what is wrong with each.
	Bad []BadEvent
	// Full says that there may be more at once.
	Full bool

	conn    *nats.Conn
	replies []string
}

// BadEvent is an event that no store could take.
type BadEvent struct {
	sweep.Event
	// Pool is that of the worker that sent it, "" where that is not known.
	Pool string
	Err  error
}

const (
	// eventMessages and eventBytes bound what is fetched at a time.
	eventMessages = 512
	eventBytes    = 8 << 20
)

// Fetch waits up to wait for a first message and returns with it what is there,
// within bounds of number and bytes. The batch is empty if none came.
func (c *EventConsumer) Fetch(ctx context.Context, wait time.Duration) (*EventBatch, error) {
	batch := &EventBatch{conn: c.puller.wire.conn}
	err := c.fetch(ctx, pullRequest{Batch: eventMessages, MaxBytes: eventBytes, NoWait: true}, batch)
	if err == nil && len(batch.replies) == 0 && !batch.Full {
		err = c.fetch(ctx, pullRequest{Batch: 1, Expires: wait.Nanoseconds()}, batch)
	}
	if len(batch.replies) > 0 {
		return batch, nil // what came is to be stored first
	}
	return batch, err
}

// fetch adds what a pull brings to the batch.
func (c *EventConsumer) fetch(ctx context.Context, request pullRequest, batch *EventBatch) error {
	if err := c.puller.request(request); err != nil {
		return err
	}
	messages := 0
	c.puller.cut = false
	for {
		m, err := c.puller.next(ctx, time.Duration(request.Expires)+pullMargin)
		if err != nil || m == nil {
			batch.Full = request.NoWait && (messages == request.Batch || c.puller.cut)
			if isTimeout(err) && ctx.Err() == nil {
				return nil
			}
			return wrap(err, "fetch events")
		}
		messages++
		if m.Subject == probeSubject {
			if err := c.puller.wire.conn.Publish(m.Reply, []byte(answerDone)); err != nil {
				c.puller.wire.log.Debug("probe not acknowledged", "error", err)
			}
			continue
		}
		decoded, err := decodeEvents(m.Subject, m.Data)
		if err != nil {
			c.puller.wire.refuse(m, err)
			continue
		}
		for _, e := range decoded.Events {
			if err := checkEvent(&e); err != nil {
				c.puller.wire.malformed.Add(1)
				batch.Bad = append(batch.Bad, BadEvent{e, decoded.Pool, err})
				continue
			}
			batch.Events = append(batch.Events, e)
			batch.Pools = append(batch.Pools, decoded.Pool)
		}
		batch.replies = append(batch.replies, m.Reply)
	}
}

// Ack removes the batch's messages from the stream. A message whose
// acknowledgement is lost comes again, which the store takes calmly.
func (b *EventBatch) Ack() error {
	for _, reply := range b.replies {
		if err := b.conn.Publish(reply, []byte(answerDone)); err != nil {
			return fmt.Errorf("acknowledge events: %w", err)
		}
	}
	return nil
}

// NewerEvents returns the number of messages that wait for the collector if all of them
// are of a newer version than this program reads, and what is wrong with the first. It is
// 0 if there is any other message, which somebody may not have acknowledged yet.
func (w *Wire) NewerEvents(ctx context.Context) (n int64, problem error, err error) {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(bound, EventsStream)
	if err != nil {
		return 0, nil, fmt.Errorf("stream %s: %w", EventsStream, err)
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
		if newer := (*newerError)(nil); m.Subject == probeSubject || !errors.As(unread, &newer) {
			return 0, nil, nil
		}
		problem = cmp.Or(problem, unread)
		from = m.Sequence + 1
	}
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
