package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// withdrawMessages and withdrawBytes bound one pull of Withdraw. withdrawWait is how long a
// pull waits for jobs that are stored but not known to the consumer yet.
const (
	withdrawMessages = 4096
	withdrawBytes    = 8 << 20
	withdrawWait     = 100 * time.Millisecond
)

// withdrawTime bounds a withdrawal. A single answer of the server may take as long.
var withdrawTime = 2 * answerTimeout

// Withdraw removes the waiting jobs of sweeps from a queue and returns their trials. No
// worker has these jobs, and none will receive them. Jobs that were delivered to a worker
// stay.
//
// It pulls the waiting jobs as a worker does, because the server delivers each job to one
// puller only. Nothing else proves that no worker has a job: the servers of a cluster apply
// a pause, a purge and the last delivered sequence at different times, and deliver messages
// late that they picked before.
//
// A consumer learns of a job a moment after the publication is confirmed, and until then
// answers that the queue is empty. Therefore Withdraw ends only when the consumer has
// delivered the last job of the queue, to any puller.
func (w *Wire) Withdraw(ctx context.Context, q Queue, sweeps ...string) (taken []sweep.TrialID, err error) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTime)
	defer cancel()
	p, err := w.newPuller(q.stream(), q.consumer())
	if err != nil {
		return nil, err
	}
	defer p.close()
	var own, others []*nats.Msg
	wait := time.Duration(0)
	for more := true; more && err == nil; {
		r := pullRequest{Batch: withdrawMessages, MaxBytes: withdrawBytes, Expires: wait.Nanoseconds(), NoWait: true,
			margin: withdrawTime}
		more, err = p.pull(ctx, r, func(m *nats.Msg) {
			switch _, id, err := trialOfJob(m.Subject); {
			case err != nil:
				w.refuse(m, err)
			case slices.Contains(sweeps, id.Sweep):
				own = append(own, m)
			default:
				others = append(others, m)
			}
		})
		if !more && err == nil {
			more, err = w.undelivered(ctx, q)
			wait = withdrawWait
		}
	}
	removed, ackErr := w.answer(ctx, own, answerDone)
	if _, err := w.answer(ctx, others, answerReturn); err != nil {
		w.log.Warn("jobs return to their queue later", "queue", q, "error", err)
	}
	for _, m := range removed {
		_, id, _ := trialOfJob(m.Subject) // which was read before
		taken = append(taken, id)
	}
	return taken, wrap(errors.Join(err, ackErr), "withdraw jobs from queue %s", q)
}

// undelivered reports whether a queue has a job that its consumer has never delivered.
func (w *Wire) undelivered(ctx context.Context, q Queue) (bool, error) {
	stream, err := w.js.Stream(ctx, q.stream())
	if err != nil {
		return false, err
	}
	last, err := stream.GetLastMsgForSubject(ctx, q.filter())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	consumer, err := stream.Consumer(ctx, q.consumer())
	if err != nil {
		return false, err
	}
	return consumer.CachedInfo().Delivered.Stream < last.Sequence, nil
}

// answer sends the server an answer to delivered messages, and returns those of which it has
// confirmed that it did what was asked. The others are delivered again after AckWait, or are
// gone.
func (w *Wire) answer(ctx context.Context, messages []*nats.Msg, answer string) (done []*nats.Msg, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	inbox := w.conn.NewInbox() + "."
	answers, err := w.conn.SubscribeSync(inbox + "*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only if the connection is closed
	for i, m := range messages {
		if err := w.conn.PublishRequest(m.Reply, inbox+strconv.Itoa(i), []byte(answer)); err != nil {
			return nil, err
		}
	}
	confirmed := make([]bool, len(messages))
	for len(done) < len(messages) {
		confirmation, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return done, fmt.Errorf("%d of %d acknowledgements are confirmed: %w", len(done), len(messages), err)
		}
		i, err := strconv.Atoi(strings.TrimPrefix(confirmation.Subject, inbox))
		if err != nil || i < 0 || i >= len(messages) || confirmed[i] || confirmation.Header.Get(statusHeader) != "" {
			continue // no server received it: one is about to restart
		}
		confirmed[i] = true
		done = append(done, messages[i])
	}
	return done, nil
}
