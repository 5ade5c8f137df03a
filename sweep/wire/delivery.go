package wire

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// JobConsumer hands out the jobs of one queue. Ask, AskNow and Asked may be
// called while another goroutine waits in Next.
type JobConsumer struct {
	puller *puller
	queue  Queue
}

// Jobs opens a queue, which all workers whose offers have its key share. The
// coordinator makes it when it hears of such a worker; before that, and when it
// is lost, Next returns an error for which IsLost holds.
func (w *Wire) Jobs(q Queue) (*JobConsumer, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	p, err := w.newPuller(q.stream(), q.consumer())
	if err != nil {
		return nil, err
	}
	return &JobConsumer{p, q}, nil
}

// Asked is how many jobs have been asked for and did not come yet.
func (c *JobConsumer) Asked() int { return c.puller.owed() }

// jobBytes bounds the jobs of one request, but one job always comes.
const jobBytes = 1 << 20

// Ask asks for n jobs, which wait at the server until there are some.
func (c *JobConsumer) Ask(n int) error {
	return c.puller.ask(pullRequest{Batch: n, MaxBytes: jobBytes, Expires: pullExpiry.Nanoseconds()})
}

// AskNow asks for up to n of the jobs that are there already.
func (c *JobConsumer) AskNow(n int) error {
	return c.puller.ask(pullRequest{Batch: n, MaxBytes: jobBytes, NoWait: true})
}

// Next returns the next job that was asked for; nil if none came within wait,
// or if the server has no more. After any error but ctx's the consumer should be
// closed and opened again.
func (c *JobConsumer) Next(ctx context.Context, wait time.Duration) (*Delivery, error) {
	for {
		m, err := c.puller.next(ctx, wait)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case isTimeout(err) || err == nil && m == nil:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("jobs of queue %s: %w", c.queue, err)
		}
		job, err := decodeJob(m.Subject, m.Data)
		if err != nil {
			c.puller.wire.refuse(m, err)
			continue
		}
		return &Delivery{Job: *job, conn: c.puller.wire.conn, reply: m.Reply}, nil
	}
}

// Close ends the consumer. Jobs that were on their way are returned.
func (c *JobConsumer) Close() { c.puller.close() }

// Delivery is a job in a worker's hands.
type Delivery struct {
	Job
	conn  *nats.Conn
	reply string // where the server wants its answer
}

// Redelivered reports whether the job was delivered before: its worker vanished, or
// returned it.
func (d *Delivery) Redelivered() bool {
	// $JS.ACK.STREAM.CONSUMER.DELIVERED.…, or with domain and account before STREAM.
	tokens := strings.Split(d.reply, ".")
	at := 4
	if len(tokens) > 9 {
		at = 6
	}
	return len(tokens) > at && tokens[at] != "1"
}

// InProgress starts the server's clock again: the worker is still at it. It is
// not answered, so a worker cannot learn that it lost the job: the store sorts
// that out.
func (d *Delivery) InProgress() error { return d.answer("heartbeat of", answerInProgress) }

// DoubleAck removes the job from the queue and waits for the server's word.
func (d *Delivery) DoubleAck(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := d.conn.RequestWithContext(bound, d.reply, []byte(answerDone)); err != nil {
		return fmt.Errorf("acknowledge trial %s: %w", d.TrialID, err)
	}
	return nil
}

// Ack removes the job from the queue without waiting for the server's word.
// Where that is lost the job comes again after AckWait.
func (d *Delivery) Ack() error { return d.answer("acknowledge", answerDone) }

// NakWithDelay returns the job, to be delivered again after a delay. A plain
// negative acknowledgement would come back at once, to whoever asks first.
func (d *Delivery) NakWithDelay(delay time.Duration) error { return d.answer("return", later(delay)) }

func (d *Delivery) answer(doing, text string) error {
	if err := d.conn.Publish(d.reply, []byte(text)); err != nil {
		return fmt.Errorf("%s trial %s: %w", doing, d.TrialID, err)
	}
	return nil
}
