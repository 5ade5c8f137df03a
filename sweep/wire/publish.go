package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"sweep/sweep"
)

// The pauses between attempts to publish, doubled each time.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Publish sends events of a worker in one message and waits until the server has stored it.
// The events of one execution must be adjacent. Publish retries until ctx ends or the
// connection is closed; the message id keeps a retry from being stored twice. Events too
// large for one message are sent in several. An execution whose events fit into none is left
// out, with a *TooLargeError in the tree of the error.
func (w *Wire) Publish(ctx context.Context, pool, worker string, events ...sweep.Event) error {
	if len(events) == 0 {
		return errors.New("no event to publish")
	}
	// The client does not tell the server's limit while it connects.
	data, err := obey(ctx, func() ([]byte, error) { return w.encode(pool, events) })
	if _, large := errors.AsType[*TooLargeError](err); large && !together(events) {
		first, second := halves(events)
		return errors.Join(w.Publish(ctx, pool, worker, first...), w.Publish(ctx, pool, worker, second...))
	}
	if err != nil {
		return err
	}
	id := nuid.Next()
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		bound, cancel := context.WithTimeout(ctx, answerTimeout)
		_, err := obey(bound, func() (*jetstream.PubAck, error) {
			m := &nats.Msg{Subject: eventSubject(pool, worker), Data: data}
			return w.js.PublishMsg(bound, m, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		})
		cancel()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("publish %s of trial %s: %w", events[0].Kind, events[0].TrialID, explainFull(err))
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) || ctx.Err() != nil {
			return err
		}
		if wait == firstPause {
			w.log.Warn("the server did not store an event; retrying", "error", err)
		}
		if pause(ctx, wait) != nil {
			return err
		}
	}
}

// NewExecution returns a unique identifier for an execution.
func NewExecution() string { return nuid.Next() }

// smallestStderr is how much of standard error is always sent, in bytes.
const smallestStderr = 4 << 10

// encode encodes the events of a worker. If the message is larger than the server accepts and
// the events are of one execution, it thins the curves further and cuts standard error, so
// that no trial is lost because of long curves. If that is not enough it returns a
// *TooLargeError.
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
		w.log.Warn("curves thinned to fit into a message", "trial", last.TrialID, "bytes", len(data), "limit",
			w.limit(), "points", points/2)
		events = thinned(events, points/2)
	}
}

// together reports whether events are of one execution.
func together(events []sweep.Event) bool {
	return !slices.ContainsFunc(events, func(e sweep.Event) bool { return e.Execution != events[0].Execution })
}

// halves splits events in two, between executions.
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

// maxPoints returns the length of the longest curve in the events, at least 4 so that
// thinning is tried.
func maxPoints(events []sweep.Event) int {
	n := 4
	for i := range events {
		for _, curves := range curvesOf(&events[i]) {
			for _, c := range *curves {
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
