package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// An answer of the control service is a stream of JSON values in parts of limited size. The client
// requests each further part, so that a million rows need no memory at either end and the server
// notices when the client has ended.
const (
	partHeader  = "Sweep-Part"
	partMore    = "more"    // the client must request the next
	partEnd     = "end"     // the last part of a complete answer, or an error
	partWorking = "working" // no answer yet

	askNext = "next"
	askStop = "stop"

	partSize = 256 << 10
	// workingInterval is how often a working server sends partWorking. After silence, either
	// end gives up.
	workingInterval = 2 * time.Second
	silence         = 10 * time.Second
)

// partWriter sends an answer's parts as they fill up.
type partWriter struct {
	ctx     context.Context
	request micro.Request
	conn    *nats.Conn
	size    int
	// version is the protocol version of the answer.
	version int
	buffer  bytes.Buffer
}

func (w *partWriter) headers(part string) nats.Header {
	return nats.Header{versionHeader: {strconv.Itoa(w.version)}, partHeader: {part}}
}

// Write implements io.Writer.
func (w *partWriter) Write(p []byte) (int, error) {
	for written := 0; ; {
		n := min(len(p)-written, w.size-w.buffer.Len())
		w.buffer.Write(p[written : written+n])
		written += n
		if written == len(p) {
			return written, nil
		}
		if err := w.flush(); err != nil {
			return written, err
		}
	}
}

// flush sends a part and waits until the client requests the next.
func (w *partWriter) flush() error {
	ctx, cancel := context.WithTimeout(w.ctx, silence)
	defer cancel()
	reply, err := w.conn.RequestMsgWithContext(ctx, &nats.Msg{
		Subject: w.request.Reply(), Data: w.buffer.Bytes(), Header: w.headers(partMore),
	})
	if err != nil {
		return fmt.Errorf("the client is gone: %w", err)
	}
	if string(reply.Data) != askNext {
		return errors.New("the client wants no more")
	}
	w.buffer.Reset()
	return nil
}

// work sends partWorking every workingInterval until ctx ends.
func (w *partWriter) work(ctx context.Context) {
	ticker := time.NewTicker(workingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// If one is lost, the next may arrive.
			_ = w.conn.PublishMsg(&nats.Msg{Subject: w.request.Reply(), Header: w.headers(partWorking)})
		}
	}
}

// partReader reads the parts of an answer as one stream.
type partReader struct {
	ctx     context.Context
	conn    *nats.Conn
	version int
	inbox   *nats.Subscription
	// silence is how long the client waits for the next part.
	silence time.Duration
	part    []byte
	// next is the subject to request the next part, "" if there is none.
	next string
	err  error // io.EOF after the last part of a complete answer
	// problem is the coordinator's Problem, "" for none. It comes with the last part.
	problem string
}

// Read implements io.Reader.
func (r *partReader) Read(p []byte) (int, error) {
	for len(r.part) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.err = r.receive()
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

// receive receives the next part.
func (r *partReader) receive() error {
	if r.next != "" {
		if err := r.conn.Publish(r.next, []byte(askNext)); err != nil {
			return fmt.Errorf("asking for more of an answer: %w", err)
		}
		r.next = ""
	}
	for {
		m, err := r.message()
		if err != nil {
			return err
		}
		server, err := strconv.Atoi(m.Header.Get(versionHeader))
		if err != nil {
			return errors.New("an answer without a version of the control protocol")
		}
		if m.Header.Get(micro.ErrorCodeHeader) != "" {
			return decodeFault(m.Data)
		}
		if server != r.version {
			return &VersionError{Client: r.version, Server: server}
		}
		switch part := m.Header.Get(partHeader); part {
		case partWorking:
		case partMore:
			r.part, r.next = m.Data, m.Reply
			return nil
		case partEnd:
			r.part, r.problem = m.Data, m.Header.Get(problemHeader)
			return io.EOF
		default:
			return fmt.Errorf("a part of an answer of the unknown kind %q", part)
		}
	}
}

// message waits up to silence for a message.
func (r *partReader) message() (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.silence)
	defer cancel()
	m, err := r.inbox.NextMsgWithContext(ctx)
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, nats.ErrNoResponders):
		return nil, &UnreachableError{Servers: Redacted(r.conn.ConnectedUrl())}
	case r.ctx.Err() != nil:
		return nil, ended(r.ctx)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, &UnreachableError{Servers: Redacted(r.conn.ConnectedUrl()), Delivered: true}
	default:
		return nil, fmt.Errorf("waiting for the coordinator's answer: %w", err)
	}
}

// broken returns why an answer is incomplete, nil if it is complete.
func (r *partReader) broken() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// close ends the subscription, and stops a server that has more parts.
func (r *partReader) close() {
	if r.next != "" {
		_ = r.conn.Publish(r.next, []byte(askStop)) // if it is lost, the server gives up later
	}
	_ = r.inbox.Unsubscribe() // fails only if the connection is closed
}
