package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Client sends requests to the active coordinator. It is a Controller and a sweep.Reader. Its errors
// have the text of the coordinator's, and the same results of errors.Is and errors.As.
type Client struct {
	conn     *nats.Conn
	version  int
	patience time.Duration
	silence  time.Duration
	// answers is how long it waits for the answers of workers.
	answers time.Duration
	problem atomic.Pointer[string]
	// permissions ends requests that the server denies.
	permissions permissions
}

const (
	// patience is how long a client waits for a coordinator: longer than a standby takes to
	// lead.
	patience = 10 * time.Second
	// compressFrom is the size in bytes from which a request is compressed.
	compressFrom = 8 << 10
)

// NewClient returns a client over a connection, which the caller keeps and closes.
func NewClient(conn *nats.Conn) *Client {
	c := &Client{conn: conn, version: ControlVersion, patience: patience, silence: silence, answers: allAnswers}
	c.permissions.listen(conn)
	return c
}

// request sends a request and calls next to read each value of the answer.
func (c *Client) request(ctx context.Context, name string, request any, next func(*json.Decoder) error) error {
	m, err := c.message(name, request)
	if err != nil {
		return err
	}
	for start := time.Now(); ; {
		err := c.converse(ctx, m, next)
		away, ok := errors.AsType[*UnreachableError](err)
		if !ok || away.Delivered || time.Since(start) > c.patience {
			return err
		}
		// A standby may be about to lead.
		if err := pause(ctx, reconnectWait); err != nil {
			return err
		}
	}
}

// message encodes a request.
func (c *Client) message(operation string, request any) (*nats.Msg, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	m := &nats.Msg{Subject: controlPrefix + operation, Header: nats.Header{versionHeader: {strconv.Itoa(c.version)}}}
	if len(data) >= compressFrom {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		_, err := w.Write(data)
		if err := errors.Join(err, w.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
		data = zipped.Bytes()
		m.Header.Set(encodingHeader, gzipEncoding)
	}
	m.Data = data
	if limit := int(c.conn.MaxPayload()) - headroom; len(data) > limit {
		return nil, fmt.Errorf("%s: the request has %d bytes, compressed, and the NATS server takes %d: raise its "+
			"max_payload", operation, len(data), limit)
	}
	return m, nil
}

// converse sends a request and reads the values of its answer.
func (c *Client) converse(ctx context.Context, m *nats.Msg, next func(*json.Decoder) error) error {
	ctx, done := c.permissions.use(ctx, m.Subject)
	defer done()
	inbox, err := c.conn.SubscribeSync(c.conn.NewInbox())
	if err != nil {
		return fmt.Errorf("asking the coordinator: %w", err)
	}
	answer := &partReader{ctx: ctx, conn: c.conn, version: c.version, inbox: inbox, silence: c.silence}
	defer answer.close()
	m.Reply = inbox.Subject
	if err := c.conn.PublishMsg(m); err != nil {
		return fmt.Errorf("asking the coordinator: %w", err)
	}
	values := json.NewDecoder(answer)
	for values.More() {
		if err := next(values); err != nil {
			if broken := answer.broken(); broken != nil {
				return broken // the value was cut off
			}
			return err
		}
	}
	if err := answer.broken(); err != nil {
		return err
	}
	c.problem.Store(&answer.problem)
	return nil
}

// Problem implements Controller.
func (c *Client) Problem() error {
	if problem := c.problem.Load(); problem != nil && *problem != "" {
		return errors.New(*problem)
	}
	return nil
}
