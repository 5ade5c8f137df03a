package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// SupersededError reports that a coordinator of a later term collects the events.
type SupersededError struct{ Own, Later int64 }

// Error implements error.
func (e *SupersededError) Error() string {
	return fmt.Sprintf("this coordinator (term %d) was replaced by one of term %d", e.Own, e.Later)
}

// collectorPrefix begins the names of the collectors' consumers, which end in the term.
const collectorPrefix = "collector-"

func collectorName(term int64) string { return fmt.Sprint(collectorPrefix, term) }

// collectorTerm returns the term of a collector's consumer.
func collectorTerm(consumer string) (term int64, isCollector bool) {
	text, found := strings.CutPrefix(consumer, collectorPrefix)
	term, err := strconv.ParseInt(text, 10, 64)
	return term, found && err == nil
}

// Term returns the highest term in which a coordinator has collected events, 0 if there
// was none. It fails if the server that has the stream does not answer.
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
		if n, isCollector := collectorTerm(name); isCollector {
			term = max(term, n)
		}
	}
	if err := names.Err(); err != nil && !IsLost(err) {
		return 0, fmt.Errorf("NATS: consumers of stream %s: %w", EventsStream, err)
	}
	return term, nil
}

// ForgetTerms makes every term a new one. Only a caller that knows that no other
// coordinator uses this broker may call it.
func (w *Wire) ForgetTerms(ctx context.Context) error {
	err := w.removeCollectors(ctx, math.MaxInt64)
	if IsLost(err) {
		return nil
	}
	return err
}

// removeCollectors removes the collectors' consumers of a term and of earlier ones. At one
// of a later term it stops, with a *SupersededError.
func (w *Wire) removeCollectors(ctx context.Context, term int64) error {
	stream, err := w.js.Stream(ctx, EventsStream)
	if err != nil {
		return wrap(err, "stream %s", EventsStream)
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		n, isCollector := collectorTerm(name)
		switch {
		case !isCollector:
			continue
		case n > term:
			return &SupersededError{term, n}
		}
		if err := w.js.DeleteConsumer(ctx, EventsStream, name); err != nil &&
			!errors.Is(err, jetstream.ErrConsumerNotFound) {
			return wrap(err, "consumer %s", name)
		}
	}
	return wrap(names.Err(), "stream %s", EventsStream)
}
