package wire

import (
	"testing"
	"time"

	"sweep/sweep/sweeptest"
)

// Tests run on busy machines, whose servers answer late.
func init() {
	answerTimeout, withdrawTime = time.Minute, 2*time.Minute
	handshakeTime = sweeptest.Patience
}

// SetAnswerTimeout bounds the waits for answers of one test, which is not parallel.
func SetAnswerTimeout(t testing.TB, d time.Duration) {
	before := answerTimeout
	answerTimeout = d
	t.Cleanup(func() { answerTimeout = before })
}

// SetHandshakeTime bounds the attempts to connect of one test, which is not parallel.
func SetHandshakeTime(t testing.TB, d time.Duration) {
	before := handshakeTime
	handshakeTime = d
	t.Cleanup(func() { handshakeTime = before })
}

// WithPatience and WithVersion return clients as tests want them.
func (c *Client) WithPatience(d time.Duration) *Client {
	return &Client{conn: c.conn, version: c.version, patience: d, silence: c.silence}
}

// WithSilence returns a client that gives a silent coordinator up after d.
func (c *Client) WithSilence(d time.Duration) *Client {
	return &Client{conn: c.conn, version: c.version, patience: c.patience, silence: d}
}

// WithVersion returns a client of another version.
func (c *Client) WithVersion(version int) *Client {
	return &Client{conn: c.conn, version: version, patience: c.patience, silence: c.silence}
}
