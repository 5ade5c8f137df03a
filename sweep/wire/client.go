package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"sweep/sweep"
)

// Client speaks to the active coordinator. It is a Controller and a
// sweep.Reader whose errors have the same text, and mean the same to errors.Is
// and errors.As, as the coordinator's own.
type Client struct {
	conn     *nats.Conn
	version  int
	patience time.Duration
	silence  time.Duration
	problem  atomic.Pointer[string]
	// permissions tells requests that the server refuses them.
	permissions permissions
}

const (
	// patience is how long a client waits for a coordinator to come: longer than
	// a standby takes.
	patience = 10 * time.Second
	// compressFrom is the size of a request from which it is compressed.
	compressFrom = 8 << 10
)

// NewClient returns a client over a connection, which the caller keeps and closes.
func NewClient(conn *nats.Conn) *Client {
	c := &Client{conn: conn, version: ControlVersion, patience: patience, silence: silence}
	c.permissions.listen(conn)
	return c
}

// Submit implements Controller. Without a key the submission gets one, so that
// it can be sent again.
func (c *Client) Submit(ctx context.Context, submission *sweep.Submission, requireWorkers bool) (Submitted, error) {
	var a controlAnswer
	err := c.insist(ctx, "submit", controlRequest{Submission: keyed(submission), RequireWorkers: requireWorkers}, &a)
	return Submitted{a.Sweep, a.Points, a.Waiting}, err
}

// Extend implements Controller, likewise.
func (c *Client) Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error) {
	var a controlAnswer
	err = c.insist(ctx, "extend", controlRequest{Sweep: id, Submission: keyed(submission)}, &a)
	return a.Points, err
}

// keyed returns the submission with a key.
func keyed(s *sweep.Submission) *sweep.Submission {
	if s.Key != "" {
		return s
	}
	copied := *s
	copied.Key = nuid.Next()
	return &copied
}

// insist is ask for requests that have a key: one whose answer was lost is made
// again.
func (c *Client) insist(ctx context.Context, operation string, request controlRequest, value any) error {
	for attempt := 1; ; attempt++ {
		err := c.ask(ctx, operation, request, value)
		var away *UnreachableError
		if attempt == 3 || !errors.As(err, &away) || !away.Delivered {
			return err
		}
	}
}

// Pause keeps the waiting trials of a sweep from starting.
func (c *Client) Pause(ctx context.Context, id string) error {
	return c.ask(ctx, "pause", controlRequest{Sweep: id}, &controlAnswer{})
}

// Resume lets a paused sweep go on.
func (c *Client) Resume(ctx context.Context, id string) error {
	return c.ask(ctx, "resume", controlRequest{Sweep: id}, &controlAnswer{})
}

// Cancel ends a sweep and returns how many trials were queued or running.
func (c *Client) Cancel(ctx context.Context, id string) (stopped int, err error) {
	var a controlAnswer
	err = c.ask(ctx, "cancel", controlRequest{Sweep: id}, &a)
	return int(a.Trials), err
}

// Retry puts failed and cancelled trials back and returns their number.
func (c *Client) Retry(ctx context.Context, id string) (trials int64, err error) {
	var a controlAnswer
	err = c.ask(ctx, "retry", controlRequest{Sweep: id}, &a)
	return a.Trials, err
}

// SetPriority changes a sweep's priority.
func (c *Client) SetPriority(ctx context.Context, id string, priority int) error {
	return c.ask(ctx, "priority", controlRequest{Sweep: id, Priority: priority}, &controlAnswer{})
}

// Delete removes a sweep that does not run.
func (c *Client) Delete(ctx context.Context, id string) (removed sweep.Removed, err error) {
	err = c.ask(ctx, "delete", controlRequest{Sweep: id}, &removed)
	return removed, err
}

// Prune removes what ended sweeps are not to keep.
func (c *Client) Prune(ctx context.Context, keep sweep.Retention) (removed sweep.Removed, err error) {
	err = c.ask(ctx, "prune", controlRequest{Keep: &keep}, &removed)
	return removed, err
}

// CancelNamed implements Controller.
func (c *Client) CancelNamed(ctx context.Context, id string, indices []int64) (trials int64, err error) {
	var a controlAnswer
	err = c.ask(ctx, "cancel_trials", controlRequest{Sweep: id, Indices: indices}, &a)
	return a.Trials, err
}

// RetryNamed implements Controller.
func (c *Client) RetryNamed(ctx context.Context, id string, indices []int64) (trials int64, err error) {
	var a controlAnswer
	err = c.ask(ctx, "retry_trials", controlRequest{Sweep: id, Indices: indices}, &a)
	return a.Trials, err
}

// CheckArtifacts implements Controller.
func (c *Client) CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck, yield func(*sweep.CheckedArtifact) error) error {
	return c.each(ctx, "artifacts", controlRequest{Artifacts: &query, Check: check}, func(values *json.Decoder) error {
		var a sweep.CheckedArtifact
		if err := values.Decode(&a); err != nil {
			return err
		}
		return yield(&a)
	})
}

// Artifact implements Controller. What comes is held to its record here again.
func (c *Client) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64, out io.Writer) (record *sweep.ArtifactRecord, err error) {
	h := sha256.New()
	err = c.each(ctx, "artifact", controlRequest{Sweep: id.Sweep, Index: id.Index, Name: name, From: from}, func(values *json.Decoder) error {
		var a artifactAnswer
		if err := values.Decode(&a); err != nil {
			return err
		}
		if a.Record != nil {
			record = a.Record
		}
		h.Write(a.Piece)
		_, err := out.Write(a.Piece)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case record == nil:
		return nil, fmt.Errorf("artifact %s/%s: the coordinator's answer has no end", id, name)
	case from == 0 && hex.EncodeToString(h.Sum(nil)) != record.Digest:
		return nil, &sweep.DamagedError{Artifact: id.String() + "/" + name, Store: "the coordinator's answer", Problem: "its digest is another"}
	}
	return record, nil
}

// Executions implements sweep.Reader.
func (c *Client) Executions(ctx context.Context, id sweep.TrialID) (executions []sweep.Execution, err error) {
	err = c.ask(ctx, "executions", controlRequest{Sweep: id.Sweep, Index: id.Index}, &executions)
	return executions, err
}

// ExecutionLog implements sweep.Reader.
func (c *Client) ExecutionLog(ctx context.Context, id sweep.TrialID, execution string) (*sweep.Log, error) {
	var log sweep.Log
	if err := c.ask(ctx, "log", controlRequest{Sweep: id.Sweep, Index: id.Index, Execution: execution}, &log); err != nil {
		return nil, err
	}
	return &log, nil
}

// Artifacts implements sweep.Reader.
func (c *Client) Artifacts(ctx context.Context, query sweep.ArtifactQuery, yield func(*sweep.ArtifactRecord) error) error {
	return c.CheckArtifacts(ctx, query, sweep.CheckNothing, func(a *sweep.CheckedArtifact) error { return yield(&a.ArtifactRecord) })
}

// Sweep implements sweep.Reader.
func (c *Client) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	var record sweep.SweepRecord
	if err := c.ask(ctx, "sweep", controlRequest{Sweep: reference}, &record); err != nil {
		return nil, err
	}
	return &record, nil
}

// Sweeps implements sweep.Reader.
func (c *Client) Sweeps(ctx context.Context, states ...sweep.SweepState) (records []sweep.SweepRecord, err error) {
	err = c.ask(ctx, "sweeps", controlRequest{States: states}, &records)
	return records, err
}

// Progress implements sweep.Reader.
func (c *Client) Progress(ctx context.Context, id string) (progress sweep.Progress, err error) {
	err = c.ask(ctx, "progress", controlRequest{Sweep: id}, &progress)
	return progress, err
}

// Trial implements sweep.Reader.
func (c *Client) Trial(ctx context.Context, id sweep.TrialID) (*sweep.TrialRecord, error) {
	var record sweep.TrialRecord
	if err := c.ask(ctx, "trial", controlRequest{Sweep: id.Sweep, Index: id.Index}, &record); err != nil {
		return nil, err
	}
	return &record, nil
}

// Trials implements sweep.Reader.
func (c *Client) Trials(ctx context.Context, query sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	q := &trialQuery{TrialQuery: query, Values: make([]cell, len(query.Where))}
	q.Where = append([]sweep.TrialCondition(nil), query.Where...)
	for i := range q.Where {
		q.Values[i], q.Where[i].Value = cell{q.Where[i].Value}, nil
	}
	return c.each(ctx, "trials", controlRequest{Query: q}, func(values *json.Decoder) error {
		var record sweep.TrialRecord
		if err := values.Decode(&record); err != nil {
			return err
		}
		return yield(&record)
	})
}

// Curves implements sweep.Reader.
func (c *Client) Curves(ctx context.Context, id sweep.TrialID, metrics ...string) (curves []sweep.Curve, err error) {
	err = c.ask(ctx, "curves", controlRequest{Sweep: id.Sweep, Index: id.Index, Metrics: metrics}, &curves)
	return curves, err
}

// Query implements sweep.Reader.
func (c *Client) Query(ctx context.Context, sql string, yield func(columns []string, row []any) error) error {
	return c.query(ctx, controlRequest{SQL: sql}, yield)
}

// QuerySweep implements sweep.Reader.
func (c *Client) QuerySweep(ctx context.Context, id, sql string, yield func(columns []string, row []any) error) error {
	return c.query(ctx, controlRequest{SQL: sql, Sweep: id}, yield)
}

func (c *Client) query(ctx context.Context, request controlRequest, yield func(columns []string, row []any) error) error {
	var columns []string
	return c.each(ctx, "sql", request, func(values *json.Decoder) error {
		var a rowAnswer
		if err := values.Decode(&a); err != nil {
			return err
		}
		if a.Columns != nil {
			columns = a.Columns
		}
		if len(a.Row) != len(columns) {
			return fmt.Errorf("a row of %d values in %d columns", len(a.Row), len(columns))
		}
		row := make([]any, len(a.Row))
		for i, v := range a.Row {
			row[i] = v.value
		}
		return yield(columns, row)
	})
}

// ask makes a request whose answer is one value.
func (c *Client) ask(ctx context.Context, operation string, request controlRequest, value any) error {
	return c.each(ctx, operation, request, func(values *json.Decoder) error { return values.Decode(value) })
}

// each makes a request and calls next for each value of the answer.
func (c *Client) each(ctx context.Context, operation string, request controlRequest, next func(*json.Decoder) error) error {
	m, err := c.message(operation, &request)
	if err != nil {
		return err
	}
	for start := time.Now(); ; {
		err := c.converse(ctx, m, next)
		var away *UnreachableError
		if !errors.As(err, &away) || away.Delivered || time.Since(start) > c.patience {
			return err
		}
		// A standby may be about to take over.
		select {
		case <-time.After(reconnectWait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// message encodes a request.
func (c *Client) message(operation string, request *controlRequest) (*nats.Msg, error) {
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
		return nil, fmt.Errorf("%s: the request has %d bytes, compressed, and the NATS server takes %d: raise its max_payload", operation, len(data), limit)
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
				return broken // a value that was cut off
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
