package wire

import (
	"context"
	"testing"
	"time"

	"sweep/sweep/sweeptest"
)

// Tests run on busy machines, whose servers answer late.
func init() {
	answerTimeout, withdrawTime = time.Minute, 2*time.Minute
	handshakeTime, fetchMargin = sweeptest.Patience, time.Minute
	streamCheck, longestStore = time.Minute, sweeptest.Patience
}

// SetStreamCheck replaces the time after which PublishJobs asks for the state of the stream.
func (w *Wire) SetStreamCheck(d time.Duration) { w.streamCheck = d }

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

// WithPatience returns a client that waits for a coordinator as long as d.
func (c *Client) WithPatience(d time.Duration) *Client {
	return c.with(func(c *Client) { c.patience = d })
}

// WithSilence returns a client that gives a silent coordinator up after d.
func (c *Client) WithSilence(d time.Duration) *Client {
	return c.with(func(c *Client) { c.silence = d })
}

// WithAnswers returns a client that waits for the answers of workers as long as d.
func (c *Client) WithAnswers(d time.Duration) *Client {
	return c.with(func(c *Client) { c.answers = d })
}

// WithVersion returns a client of another version.
func (c *Client) WithVersion(version int) *Client {
	return c.with(func(c *Client) { c.version = version })
}

func (c *Client) with(change func(*Client)) *Client {
	changed := NewClient(c.conn)
	changed.version, changed.patience, changed.silence, changed.answers = c.version, c.patience, c.silence, c.answers
	change(changed)
	return changed
}

// Renew is InProgress, and waits until the server has heard it.
func (d *Delivery) Renew(ctx context.Context) error {
	return bounded(ctx, func(ctx context.Context) error {
		_, err := d.conn.RequestWithContext(ctx, d.reply, []byte(answerInProgress))
		return err
	})
}
