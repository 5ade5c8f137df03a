package wire

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// JobConsumer receives the jobs of one queue. Request, RequestNow and Requested may be
// called while another goroutine waits in Next.
type JobConsumer struct {
	puller *puller
	queue  Queue
}

// Jobs opens a queue, which the workers share whose offers have its key. The coordinator
// creates it after the first heartbeat of such a worker. While it does not exist, Next
// returns an error for which IsLost is true.
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

// Requested returns how many jobs were requested and have not arrived yet.
func (c *JobConsumer) Requested() int { return c.puller.outstanding() }

// jobBytes bounds the jobs of one request, but one job always comes.
const jobBytes = 1 << 20

// Request requests n jobs. The server sends them as they come, for up to pullExpiry.
func (c *JobConsumer) Request(n int) error {
	return c.puller.request(pullRequest{Batch: n, MaxBytes: jobBytes, Expires: pullExpiry.Nanoseconds()})
}

// RequestNow requests up to n of the jobs that are in the queue now.
func (c *JobConsumer) RequestNow(n int) error {
	return c.puller.request(pullRequest{Batch: n, MaxBytes: jobBytes, NoWait: true})
}

// Next returns the next requested job, or nil if none arrived within wait or the server
// has no more. After any error other than ctx's, close the consumer and open it again.
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
		w := c.puller.wire
		return &Delivery{Job: *job, conn: w.conn, reply: m.Reply, arrived: time.Now(),
			ackWait: w.queueAckWait()}, nil
	}
}

// Close ends the consumer. Jobs that arrive meanwhile are returned to the queue.
func (c *JobConsumer) Close() { c.puller.close() }

// Delivery is a job that was delivered to this worker and is not acknowledged yet.
type Delivery struct {
	Job
	conn  *nats.Conn
	reply string // the subject of the acknowledgement
	// arrived is when it came, and ackWait how long the server waits for a sign of life before it delivers the
	// job again.
	arrived time.Time
	ackWait time.Duration
}

// Redelivered reports whether the job was delivered before, to a worker that vanished or
// returned it, or to this one, which has not renewed it in time.
func (d *Delivery) Redelivered() bool {
	count, _ := d.counts()
	return count != "" && count != "1"
}

// Suspect reports whether the job was lost so often that its trial may have to run alone, although it was not
// suspect when the job was published. A worker that returns a job has it delivered again, too, but at once: between
// two losses lies the time for which the server waits for a sign of life.
func (d *Delivery) Suspect() bool {
	count, _ := d.counts()
	n, err := strconv.Atoi(count)
	if err != nil || d.Alone() {
		return false
	}
	lost := min(n-1, int(d.arrived.Sub(d.published())/max(d.ackWait, 1)))
	return lost > 0 && d.Limits.Suspects(d.Lost+lost)
}

// Repeats reports whether two deliveries are of one message: the acknowledgement of either counts.
func (d *Delivery) Repeats(other *Delivery) bool {
	_, sequence := d.counts()
	_, before := other.counts()
	return sequence != "" && sequence == before && d.TrialID == other.TrialID
}

// published returns when the server stored the message, by its clock; the beginning of time if it did not tell.
func (d *Delivery) published() time.Time {
	nanoseconds, err := strconv.ParseInt(d.token(3), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

// counts returns how often the message was delivered, and its sequence in the stream; "" if the
// server did not tell.
func (d *Delivery) counts() (delivered, sequence string) { return d.token(0), d.token(1) }

// token returns a part of the subject of the acknowledgement, "" if it has none:
// $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.DELIVERY.TIMESTAMP.PENDING, from DELIVERED on, or with domain and account
// before STREAM.
func (d *Delivery) token(n int) string {
	tokens := strings.Split(d.reply, ".")
	at := 4
	if len(tokens) > 9 {
		at = 6
	}
	if len(tokens) <= at+n {
		return ""
	}
	return tokens[at+n]
}

// InProgress renews the job's AckWait at the server. The server does not answer, so the
// worker does not learn whether the job was redelivered; the store accepts one result.
func (d *Delivery) InProgress() error { return d.answer("renew the job of", answerInProgress) }

// DoubleAck removes the job from the queue and waits for the server's confirmation.
func (d *Delivery) DoubleAck(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := d.conn.RequestWithContext(bound, d.reply, []byte(answerDone)); err != nil {
		return fmt.Errorf("acknowledge trial %s: %w", d.TrialID, err)
	}
	return nil
}

// Ack removes the job from the queue without waiting for a confirmation. If the message is
// lost, the job is delivered again after AckWait.
func (d *Delivery) Ack() error { return d.answer("acknowledge", answerDone) }

// NakWithDelay returns the job, to be delivered again after a delay. After a plain
// negative acknowledgement it would be delivered again at once, perhaps to this worker.
func (d *Delivery) NakWithDelay(delay time.Duration) error { return d.answer("return", later(delay)) }

func (d *Delivery) answer(doing, text string) error {
	if err := d.conn.Publish(d.reply, []byte(text)); err != nil {
		return fmt.Errorf("%s trial %s: %w", doing, d.TrialID, err)
	}
	return nil
}
