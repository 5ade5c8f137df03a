package wire

import (
	"cmp"
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
	// pullExpiry is how long a pull request waits at the server.
	pullExpiry = 10 * time.Second
	// pullMargin is how much longer its answer may take to arrive.
	pullMargin = 2 * time.Second
	// pullCheck is how long a pull waits after the consumer's server has stopped.
	pullCheck = time.Second
	// closeTimeout bounds the wait for messages that arrive while a consumer closes.
	closeTimeout = 2 * time.Second
	// returnDelay delays the redelivery of messages that arrive at a closing consumer.
	returnDelay = 100 * time.Millisecond
)

// The statuses in the header of a server's message without content.
const (
	statusEnd           = "204"
	statusNoMessages    = "404"
	statusTimeout       = "408"
	statusConflict      = "409" // consumer deleted, server shutting down, …
	statusNoResponders  = "503"
	consumerDeletedText = "Consumer Deleted"
	serverShutdownText  = "Server Shutdown"
	leaderChangeText    = "Leadership Change"
	batchCompletedText  = "Batch Completed"
	statusHeader        = "Status"
	descriptionHeader   = "Description"
	pendingHeader       = "Nats-Pending-Messages"
)

// The acknowledgements of a delivered message, in the server's protocol.
const (
	answerDone       = "+ACK"
	answerReturn     = "-NAK"
	answerInProgress = "+WPI"
	answerTerminate  = "+TERM " // and a reason
)

// later returns the acknowledgement that asks for redelivery after a delay.
func later(delay time.Duration) string {
	return fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds())
}

// pullRequest asks a consumer for messages.
type pullRequest struct {
	Batch    int   `json:"batch"`
	MaxBytes int   `json:"max_bytes,omitempty"`
	Expires  int64 `json:"expires,omitempty"` // nanoseconds
	NoWait   bool  `json:"no_wait,omitempty"`
	// margin replaces pullMargin.
	margin time.Duration
}

// puller receives messages from a consumer. request may be called while another goroutine
// waits in next.
//
// All pulls share one subscription. The client's own Fetch subscribes for each batch, and
// loses a message that arrives when its context ends until AckWait has passed.
type puller struct {
	wire    *Wire
	name    string // of the consumer, in errors
	subject string // of pull requests

	inbox      *nats.Subscription
	reconnects uint64

	mu sync.Mutex
	// requested counts messages that were requested and neither delivered nor refused
	// yet. until is when the server will have answered all requests.
	requested int
	until     time.Time
	// cut means that a pull ended at its limit of bytes.
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

// errReconnected means that the pulls may wait at another server than the one connected
// now. A new inbox makes sure that they deliver to nobody.
var errReconnected = errors.New("the connection was lost and restored")

// IsReconnect reports whether an error only means that the consumer must be opened again.
func IsReconnect(err error) bool { return errors.Is(err, errReconnected) }

// request sends a pull request. Several may be pending.
func (p *puller) request(r pullRequest) error {
	// Any one message fits: the server accepts no larger ones.
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
	if until := time.Now().Add(time.Duration(r.Expires) + cmp.Or(r.margin, pullMargin)); until.After(p.until) {
		p.until = until
	}
	return nil
}

// outstanding returns how many requested messages have not arrived yet.
func (p *puller) outstanding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requested
}

// deduct reduces the outstanding messages by n.
func (p *puller) deduct(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requested = max(p.requested-n, 0)
}

// next returns the next message, nil when none is outstanding, or context.DeadlineExceeded
// after wait. After any other error, close the consumer and open it again. IsLost is true for
// the error if the stream or consumer does not exist any more.
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

// pull requests messages and calls visit for each that arrives, until the request expires or its
// limits end it; more means the limits.
func (p *puller) pull(ctx context.Context, r pullRequest, visit func(*nats.Msg)) (more bool, err error) {
	p.cut = false
	if err := p.request(r); err != nil {
		return false, err
	}
	for n := 0; ; n++ {
		m, err := p.next(ctx, time.Duration(r.Expires)+pullMargin)
		for isTimeout(err) && ctx.Err() == nil && p.outstanding() > 0 { // until the margin has passed
			m, err = p.next(ctx, pullMargin)
		}
		if err != nil || m == nil {
			return p.cut || n == r.Batch, err
		}
		visit(m)
	}
}

// expire forgets pull requests that the server should have answered by now: they, or the
// answers, are lost.
func (p *puller) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().After(p.until) {
		p.requested = 0
	}
}

// status handles the server's message that a pull ended before it was filled.
func (p *puller) status(ctx context.Context, status string, m *nats.Msg) error {
	pending, err := strconv.Atoi(m.Header.Get(pendingHeader))
	if err != nil {
		pending = p.outstanding()
	}
	p.deduct(pending)
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
			// The consumer will be at another server, or at this one after its restart. A
			// request sent at once would get the same answer.
			p.deduct(p.outstanding())
			_ = pause(ctx, pullCheck)
			return nil
		case batchCompletedText:
			// It follows the last message of a pull, so that the next pull reads it.
			return nil
		}
		if m.Header.Get(pendingHeader) != "" { // the pull's limit of bytes is reached
			p.cut = true
			return nil
		}
	}
	return fmt.Errorf("the server answers %s %s", status, m.Header.Get(descriptionHeader))
}

// close ends the subscription. Messages that arrive meanwhile are returned, so that they do
// not wait for AckWait.
func (p *puller) close() {
	if p.outstanding() == 0 {
		if err := p.inbox.Unsubscribe(); err != nil {
			p.wire.log.Debug("end of a consumer", "consumer", p.name, "error", err)
		}
		return
	}
	// A drain ends after all messages that the server sent before it.
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
				p.wire.log.Warn("message not returned", "subject", m.Subject, "error", err)
			}
		}
	}
}

// isTimeout reports whether next returned after its wait.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}
