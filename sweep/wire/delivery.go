package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullExpiry is how long a pull waits at the server before it is asked again.
	pullExpiry = 10 * time.Second
	// pullMargin is how much longer the answer may take to come.
	pullMargin = 2 * time.Second
	// pullCheck is how often a waiting pull looks whether the connection broke.
	pullCheck = time.Second
	// closeTimeout bounds the wait for what was on its way when a consumer closes.
	closeTimeout = 2 * time.Second
	// returnDelay is after what a job that nobody waited for comes again.
	returnDelay = 100 * time.Millisecond
)

// The server's words in the Status header of a message without content.
const (
	statusNoMessages    = "404"
	statusTimeout       = "408"
	statusConflict      = "409" // consumer deleted, server shutting down, …
	statusNoResponders  = "503"
	consumerDeletedText = "Consumer Deleted"
	serverShutdownText  = "Server Shutdown"
	leaderChangeText    = "Leadership Change"
	statusHeader        = "Status"
	descriptionHeader   = "Description"
)

const (
	nextSubject    = "$JS.API.CONSUMER.MSG.NEXT." + JobsStream + "."
	consumerPrefix = "workers-"
)

// What the server understands as the answer to a delivered message.
const (
	answerDone       = "+ACK"
	answerInProgress = "+WPI"
	answerTerminate  = "+TERM "             // and a reason
	answerLater      = `-NAK {"delay": %d}` // nanoseconds
)

// JobConsumer hands out the jobs of one pool, one at a time. It is one slot's:
// its methods must not be called concurrently.
//
// It pulls by itself over one lasting subscription, because the client's Fetch
// forgets a job that is on its way when its context ends (the job then waits
// for AckWait), and subscribes and unsubscribes for every job.
type JobConsumer struct {
	wire    *Wire
	pool    string
	subject string // of pull requests
	request []byte

	inbox      *nats.Subscription
	reconnects uint64
	// asked is when a pull was sent that is not answered yet; zero if there is none.
	asked time.Time
}

// Jobs opens the consumer of a pool, which all its workers share. The stream
// must be there: a worker that finds IsLost waits for its coordinator.
func (w *Wire) Jobs(ctx context.Context, pool string) (*JobConsumer, error) {
	if err := w.OpenPool(ctx, pool); err != nil {
		return nil, err
	}
	request, err := json.Marshal(map[string]any{"batch": 1, "expires": pullExpiry.Nanoseconds()})
	if err != nil {
		return nil, err
	}
	c := &JobConsumer{wire: w, pool: pool, subject: nextSubject + consumerPrefix + pool, request: request}
	return c, c.subscribe()
}

// OpenPool creates the consumer of a pool if it is not there, so that its
// backlog can be watched before a worker comes.
func (w *Wire) OpenPool(ctx context.Context, pool string) error {
	if err := CheckToken("pool", pool); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := w.js.CreateOrUpdateConsumer(ctx, JobsStream, jetstream.ConsumerConfig{
		Durable:       consumerPrefix + pool,
		FilterSubject: "sweep.jobs." + pool + ".>",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       w.ackWait,
		// How often a trial may run is counted in the database.
		MaxDeliver: -1,
		// The limit is per consumer, not per worker: above all slots there are.
		MaxAckPending: 1 << 20,
		// One pull a slot.
		MaxWaiting: 1 << 14,
	})
	if err != nil {
		return fmt.Errorf("consumer of pool %s: %w", pool, err)
	}
	return nil
}

func (c *JobConsumer) subscribe() error {
	c.reconnects = c.wire.conn.Stats().Reconnects
	inbox, err := c.wire.conn.SubscribeSync(c.wire.conn.NewInbox())
	if err != nil {
		return fmt.Errorf("consumer of pool %s: %w", c.pool, err)
	}
	c.inbox, c.asked = inbox, time.Time{}
	return nil
}

// Next waits for a job. One job is asked for at a time: what waits in a
// client's buffer is taken from other workers. After any error but ctx's the
// consumer should be closed and opened again; a lost stream or consumer is an
// error for which IsLost holds.
func (c *JobConsumer) Next(ctx context.Context) (*Delivery, error) {
	for {
		m, err := c.receive(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("next job of pool %s: %w", c.pool, err)
		}
		job, err := decodeJob(m.Subject, m.Data)
		if err != nil {
			c.wire.refuse(m.Subject, len(m.Data), err, func(reason string) error {
				return c.wire.conn.Publish(m.Reply, []byte(answerTerminate+reason))
			})
			continue
		}
		return &Delivery{Job: *job, conn: c.wire.conn, reply: m.Reply}, nil
	}
}

// Ask asks for the next job ahead of Next, so that it is on its way while its
// slot ends the last one. Close gives it back if Next is not called.
func (c *JobConsumer) Ask() error {
	if !c.asked.IsZero() || c.wire.conn.Stats().Reconnects != c.reconnects {
		return nil
	}
	return c.ask()
}

func (c *JobConsumer) ask() error {
	if err := c.wire.conn.PublishRequest(c.subject, c.inbox.Subject, c.request); err != nil {
		return err
	}
	c.asked = time.Now()
	return nil
}

// receive asks for a message and waits for it.
func (c *JobConsumer) receive(ctx context.Context) (*nats.Msg, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.wire.conn.Stats().Reconnects != c.reconnects {
			// The server that had the pull may be another one. A fresh inbox makes
			// sure that an old pull that is still there delivers to nobody.
			c.Close()
			if err := c.subscribe(); err != nil {
				return nil, err
			}
		}
		if c.asked.IsZero() {
			if err := c.ask(); err != nil {
				return nil, err
			}
		}
		m, err := c.wait(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			if time.Since(c.asked) > pullExpiry+pullMargin {
				c.asked = time.Time{} // the request or its answer is lost
			}
			continue
		case err != nil:
			return nil, err
		}
		c.asked = time.Time{}
		status := ""
		if len(m.Data) == 0 && len(m.Header) > 0 {
			status = m.Header.Get(statusHeader)
		}
		switch status {
		case "":
			return m, nil
		case statusTimeout, statusNoMessages:
		case statusNoResponders:
			return nil, jetstream.ErrConsumerNotFound
		case statusConflict:
			switch m.Header.Get(descriptionHeader) {
			case consumerDeletedText:
				return nil, jetstream.ErrConsumerDeleted
			case serverShutdownText, leaderChangeText:
				// Somebody else has the consumer soon: this server after its restart,
				// or another one of a cluster. At once it would only say so again.
				select {
				case <-ctx.Done():
				case <-time.After(pullCheck):
				}
				continue
			}
			fallthrough
		default:
			return nil, fmt.Errorf("the server says %s %s", status, m.Header.Get(descriptionHeader))
		}
	}
}

// wait returns the next message of the inbox, or context.DeadlineExceeded after
// pullCheck.
func (c *JobConsumer) wait(ctx context.Context) (*nats.Msg, error) {
	bound, cancel := context.WithTimeout(ctx, pullCheck)
	defer cancel()
	return c.inbox.NextMsgWithContext(bound)
}

// Close ends the consumer. A job that was on its way is given back, so that it
// does not wait for AckWait.
func (c *JobConsumer) Close() {
	if c.asked.IsZero() {
		if err := c.inbox.Unsubscribe(); err != nil {
			c.wire.log.Debug("end of a consumer", "pool", c.pool, "error", err)
		}
		return
	}
	// A drain ends when all that the server sent before it is here and taken.
	if err := c.inbox.Drain(); err != nil {
		c.wire.log.Debug("end of a consumer", "pool", c.pool, "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for {
		m, err := c.inbox.NextMsgWithContext(ctx)
		if err != nil {
			return
		}
		if m.Reply != "" {
			if err := c.wire.conn.Publish(m.Reply, fmt.Appendf(nil, answerLater, returnDelay.Nanoseconds())); err != nil {
				c.wire.log.Warn("job not given back", "subject", m.Subject, "error", err)
			}
		}
	}
}

// Delivery is a job in a worker's hands.
type Delivery struct {
	Job
	conn  *nats.Conn
	reply string // where the server wants its answer
}

// InProgress starts the server's clock again: the worker is still at it. It is
// not answered, so a worker cannot learn that it lost the job: the store sorts
// that out.
func (d *Delivery) InProgress() error {
	if err := d.conn.Publish(d.reply, []byte(answerInProgress)); err != nil {
		return fmt.Errorf("heartbeat of trial %s: %w", d.TrialID, err)
	}
	return nil
}

// Done removes the job from the queue and waits for the server's word.
func (d *Delivery) Done(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := d.conn.RequestWithContext(bound, d.reply, []byte(answerDone)); err != nil {
		return fmt.Errorf("acknowledge trial %s: %w", d.TrialID, err)
	}
	return nil
}

// Later gives the job back, to be delivered again after a delay. A plain
// negative acknowledgement would come back at once, to whoever asks first.
func (d *Delivery) Later(delay time.Duration) error {
	if err := d.conn.Publish(d.reply, fmt.Appendf(nil, answerLater, delay.Nanoseconds())); err != nil {
		return fmt.Errorf("give trial %s back: %w", d.TrialID, err)
	}
	return nil
}
