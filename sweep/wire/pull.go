package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
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
	// returnDelay is after what a message that nobody waited for comes again.
	returnDelay = 100 * time.Millisecond
)

// The server's words in the Status header of a message without content.
const (
	statusEnd           = "204"
	statusNoMessages    = "404"
	statusTimeout       = "408"
	statusConflict      = "409" // consumer deleted, server shutting down, …
	statusNoResponders  = "503"
	consumerDeletedText = "Consumer Deleted"
	serverShutdownText  = "Server Shutdown"
	leaderChangeText    = "Leadership Change"
	statusHeader        = "Status"
	descriptionHeader   = "Description"
	pendingHeader       = "Nats-Pending-Messages"
)

// What the server understands as the answer to a delivered message.
const (
	answerDone       = "+ACK"
	answerReturn     = "-NAK"
	answerInProgress = "+WPI"
	answerTerminate  = "+TERM " // and a reason
)

// later is the answer that has a message delivered again after a delay.
func later(delay time.Duration) string {
	return fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds())
}

// pullRequest asks a consumer for messages.
type pullRequest struct {
	Batch    int   `json:"batch"`
	MaxBytes int   `json:"max_bytes,omitempty"`
	Expires  int64 `json:"expires,omitempty"` // nanoseconds
	NoWait   bool  `json:"no_wait,omitempty"`
}

// puller takes messages from a consumer. Its ask may be called while another
// goroutine waits in next.
//
// It pulls over one lasting subscription, because the client's Fetch forgets a
// message that is on its way when its context ends (it then waits for AckWait),
// and subscribes and unsubscribes for every batch.
type puller struct {
	wire    *Wire
	name    string // of the consumer, in errors
	subject string // of pull requests

	inbox      *nats.Subscription
	reconnects uint64

	mu sync.Mutex
	// asked is how many messages the server still owes: asked for, and neither
	// delivered nor refused. until is when it will have answered all of it.
	requested int
	until     time.Time
	// cut says that a pull ended at its limit of bytes.
	cut bool
}

func (w *Wire) newPuller(stream, consumer string) (*puller, error) {
	p := &puller{wire: w, name: stream + "/" + consumer, subject: w.api + "CONSUMER.MSG.NEXT." + stream +
		"." + consumer}
	p.reconnects = w.conn.Stats().Reconnects
	var err error
	if p.inbox, err = w.conn.SubscribeSync(w.conn.NewInbox()); err != nil {
		return nil, fmt.Errorf("consumer %s: %w", p.name, err)
	}
	return p, nil
}

// errReconnected says that the server that had the pulls may be another one now:
// a fresh inbox makes sure that an old pull that is still there delivers to nobody.
var errReconnected = errors.New("the connection was made again")

// IsReconnect reports whether an error of a consumer means no more than that it
// is to be opened again at once.
func IsReconnect(err error) bool { return errors.Is(err, errReconnected) }

// ask sends a pull. Several may be under way.
func (p *puller) request(r pullRequest) error {
	// One message fits whatever its size: the server takes no larger one.
	r.MaxBytes = max(r.MaxBytes, int(p.wire.conn.MaxPayload())+headroom)
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.wire.conn.PublishRequest(p.subject, p.inbox.Subject, data); err != nil {
		return fmt.Errorf("consumer %s: %w", p.name, err)
	}
	p.requested += r.Batch
	if until := time.Now().Add(time.Duration(r.Expires) + pullMargin); until.After(p.until) {
		p.until = until
	}
	return nil
}

// owed is how many messages were asked for and did not come yet.
func (p *puller) outstanding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requested
}

// settle takes n of what is owed off.
func (p *puller) deduct(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requested = max(p.requested-n, 0)
}

// next returns the next message, nil when nothing more is owed, or
// context.DeadlineExceeded when wait has passed. After any other error the
// consumer should be closed and opened again; a lost stream or consumer is an
// error for which IsLost holds.
func (p *puller) next(ctx context.Context, wait time.Duration) (*nats.Msg, error) {
	bound, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for p.outstanding() > 0 {
		m, err := p.inbox.NextMsgWithContext(bound)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case p.wire.conn.Stats().Reconnects != p.reconnects:
			return nil, errReconnected
		default:
			p.expire()
			return nil, err
		}
		status := ""
		if len(m.Data) == 0 && len(m.Header) > 0 {
			status = m.Header.Get(statusHeader)
		}
		if status == "" {
			p.deduct(1)
			return m, nil
		}
		if err := p.status(ctx, status, m); err != nil {
			return nil, fmt.Errorf("consumer %s: %w", p.name, err)
		}
	}
	return nil, ctx.Err()
}

// pullWaiting calls visit for the messages that are there already, within bounds of
// number and bytes, and reports whether there may be more. If there is none it waits for
// one.
func (p *puller) pullWaiting(ctx context.Context, wait time.Duration, visit func(*nats.Msg)) (more bool, err error) {
	p.cut = false
	r := pullRequest{Batch: withdrawMessages, MaxBytes: withdrawBytes, Expires: wait.Nanoseconds(), NoWait: true}
	if err := p.request(r); err != nil {
		return false, err
	}
	for n := 1; ; n++ {
		m, err := p.next(ctx, pullMargin)
		switch {
		case err != nil:
			return false, err
		case m == nil:
			return p.cut || more, nil
		}
		visit(m)
		more = n == withdrawMessages
	}
}

// expire forgets pulls that the server should have answered long ago: they, or
// their answers, are lost.
func (p *puller) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().After(p.until) {
		p.requested = 0
	}
}

// status takes the server's word that a pull has ended before it was filled.
func (p *puller) status(ctx context.Context, status string, m *nats.Msg) error {
	owed, err := strconv.Atoi(m.Header.Get(pendingHeader))
	if err != nil {
		owed = p.outstanding()
	}
	p.deduct(owed)
	switch status {
	case statusTimeout, statusNoMessages:
		return nil
	case statusNoResponders:
		return jetstream.ErrConsumerNotFound
	case statusConflict:
		switch m.Header.Get(descriptionHeader) {
		case consumerDeletedText:
			return jetstream.ErrConsumerDeleted
		case serverShutdownText, leaderChangeText:
			// Somebody else has the consumer soon: this server after its restart, or
			// another one of a cluster. At once it would only say so again.
			p.deduct(p.outstanding())
			select {
			case <-ctx.Done():
			case <-time.After(pullCheck):
			}
			return nil
		}
		if m.Header.Get(pendingHeader) != "" { // the pull's limit of bytes is reached
			p.cut = true
			return nil
		}
	}
	return fmt.Errorf("the server says %s %s", status, m.Header.Get(descriptionHeader))
}

// close ends the subscription. Messages that were on their way are given back,
// so that they do not wait for AckWait.
func (p *puller) close() {
	if p.outstanding() == 0 {
		if err := p.inbox.Unsubscribe(); err != nil {
			p.wire.log.Debug("end of a consumer", "consumer", p.name, "error", err)
		}
		return
	}
	// A drain ends when all that the server sent before it is here and taken.
	if err := p.inbox.Drain(); err != nil {
		p.wire.log.Debug("end of a consumer", "consumer", p.name, "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for {
		m, err := p.inbox.NextMsgWithContext(ctx)
		if err != nil {
			return
		}
		if m.Reply != "" {
			if err := p.wire.conn.Publish(m.Reply, []byte(later(returnDelay))); err != nil {
				p.wire.log.Warn("message not given back", "subject", m.Subject, "error", err)
			}
		}
	}
}

// isTimeout reports whether next returned because its time was over.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}
