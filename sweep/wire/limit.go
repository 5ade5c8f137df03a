package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// LimitError means that the NATS servers take no further connection. Retrying helps when others have ended, or the
// limit is raised.
type LimitError struct {
	// Servers are their addresses, without passwords.
	Servers string
	// Account means that the limit is that of the party's account, not of the server.
	Account bool
	Err     error
}

// Error implements error.
func (e *LimitError) Error() string {
	if e.Account {
		return fmt.Sprintf("NATS at %s takes no further connection of this account, whose limit is reached (maximum "+
			"account active connections exceeded): raise it, or end programs that are connected", e.Servers)
	}
	return fmt.Sprintf("NATS at %s takes no further connection, its limit is reached (maximum connections exceeded): "+
		"raise max_connections in its configuration, or end programs that are connected", e.Servers)
}

// Unwrap returns nats.go's error.
func (e *LimitError) Unwrap() error { return e.Err }

// limited returns a LimitError if a failed attempt to connect met a limit of connections, else nil.
func (a *Access) limited(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ToLower(err.Error())
	account := errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) ||
		strings.Contains(text, "maximum account active connections exceeded")
	if account || errors.Is(err, nats.ErrMaxConnectionsExceeded) || strings.Contains(text, nats.MAX_CONNECTIONS_ERR) {
		return &LimitError{Redacted(a.Addresses), account, err}
	}
	return nil
}

// dialer connects to servers whose last words are heard.
type dialer struct{ net.Dialer }

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &heardConn{Conn: conn}, nil
}

// heardConn is a connection that, while it is made, says in the errors of its writes why the server has closed it. A
// server that refuses a party at once, as for its limit of connections, closes the connection while nats.go still
// writes, and nats.go would report a broken pipe.
type heardConn struct {
	net.Conn
	mu sync.Mutex
	// greeting is what was read so far; made means that the connection is made, or encrypted.
	greeting []byte
	made     bool
}

const (
	// longestGreeting bounds what a server says before it knows who connects.
	longestGreeting = 32 << 10
	// lastWordWait bounds the wait for what a server said before it closed a connection.
	lastWordWait = time.Second
	// tlsHandshake is the first byte of a TLS handshake.
	tlsHandshake = 0x16
)

// Read implements net.Conn.
func (c *heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear(p[:n])
	return n, err
}

// hear keeps what was read. The caller has locked mu.
func (c *heardConn) hear(text []byte) {
	if c.made {
		return
	}
	c.greeting = append(c.greeting, text...)
	if bytes.Contains(c.greeting, []byte("PONG")) || len(c.greeting) > longestGreeting {
		c.made, c.greeting = true, nil
	}
}

// Write implements net.Conn.
func (c *heardConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p) > 0 && p[0] == tlsHandshake {
		c.made, c.greeting = true, nil
	}
	if err != nil && !c.made {
		err = c.explain(err)
	}
	return n, err
}

// explain adds to the error of a write what the server said before it closed the connection. nats.go reads nothing at
// the same time. The caller has locked mu.
func (c *heardConn) explain(err error) error {
	_ = c.SetReadDeadline(time.Now().Add(lastWordWait)) // else what was read already must do
	rest, _ := io.ReadAll(io.LimitReader(c.Conn, longestGreeting))
	c.hear(rest)
	_, word, found := bytes.Cut(c.greeting, []byte("-ERR "))
	if !found {
		return err
	}
	word, _, _ = bytes.Cut(word, []byte("\r\n"))
	return fmt.Errorf("nats: %s (%w)", bytes.Trim(word, "' "), err)
}
