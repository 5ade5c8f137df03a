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
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"sweep/sweep"
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

// Submit implements Controller. It gives a submission without a key one, so that it can be sent
// again.
func (c *Client) Submit(ctx context.Context, submission *sweep.Submission, requireWorkers bool) (Submitted, error) {
	return insist(ctx, c, submitSweep, submitRequest{keyed(submission), requireWorkers})
}

// Extend implements Controller. It adds a key like Submit.
func (c *Client) Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error) {
	a, err := insist(ctx, c, extendSweep, extendRequest{sweepRef{id}, keyed(submission)})
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

// insist sends a request with a key, again if the answer was lost.
func insist[Q, A any](ctx context.Context, c *Client, o operation[Q, A], q Q) (a A, err error) {
	for attempt := 1; ; attempt++ {
		a, err = o.ask(ctx, c, q)
		away, ok := errors.AsType[*UnreachableError](err)
		if attempt == 3 || !ok || !away.Delivered {
			return a, err
		}
	}
}

// Pause keeps the waiting trials of a sweep from starting.
func (c *Client) Pause(ctx context.Context, id string) error {
	_, err := pauseSweep.ask(ctx, c, sweepRef{id})
	return err
}

// Resume resumes a paused sweep.
func (c *Client) Resume(ctx context.Context, id string) error {
	_, err := resumeSweep.ask(ctx, c, sweepRef{id})
	return err
}

// Cancel ends a sweep and returns how many trials were queued or running.
func (c *Client) Cancel(ctx context.Context, id string) (stopped int, err error) {
	a, err := cancelSweep.ask(ctx, c, sweepRef{id})
	return int(a.Trials), err
}

// Retry requeues failed and cancelled trials and returns their number.
func (c *Client) Retry(ctx context.Context, id string) (trials int64, err error) {
	a, err := retrySweep.ask(ctx, c, sweepRef{id})
	return a.Trials, err
}

// SetBudget changes what a sweep may use.
func (c *Client) SetBudget(ctx context.Context, id string, budget sweep.Budget) error {
	_, err := budgetSweep.ask(ctx, c, budgetRequest{sweepRef{id}, budget})
	return err
}

// Annotate changes the notes or tags of a sweep or trial.
func (c *Client) Annotate(ctx context.Context, id string, edit sweep.Edit) error {
	_, err := annotateSweep.ask(ctx, c, annotateRequest{sweepRef{id}, edit})
	return err
}

// SetPriority changes a sweep's priority.
func (c *Client) SetPriority(ctx context.Context, id string, priority int) error {
	_, err := prioritizeSweep.ask(ctx, c, priorityRequest{sweepRef{id}, priority})
	return err
}

// Delete removes a sweep that does not run.
func (c *Client) Delete(ctx context.Context, id string) (removed sweep.Removed, err error) {
	return deleteSweep.ask(ctx, c, sweepRef{id})
}

// Prune removes data of ended sweeps that the retention does not keep.
func (c *Client) Prune(ctx context.Context, keep sweep.Retention) (removed sweep.Removed, err error) {
	return pruneSweeps.ask(ctx, c, pruneRequest{&keep})
}

// CancelNamed implements Controller.
func (c *Client) CancelNamed(ctx context.Context, id string, indices []int64) (trials int64, err error) {
	a, err := cancelTrials.ask(ctx, c, trialsRef{id, indices})
	return a.Trials, err
}

// RetryNamed implements Controller.
func (c *Client) RetryNamed(ctx context.Context, id string, indices []int64) (trials int64, err error) {
	a, err := retryTrials.ask(ctx, c, trialsRef{id, indices})
	return a.Trials, err
}

// CheckArtifacts implements Controller.
func (c *Client) CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
	yield func(*sweep.CheckedArtifact) error) error {
	return listArtifacts.each(ctx, c, artifactsRequest{&query, check}, yield)
}

// Artifact implements Controller. It verifies the digest again.
func (c *Client) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
	out io.Writer) (record *sweep.ArtifactRecord, err error) {
	h := sha256.New()
	err = readArtifact.each(ctx, c, artifactRequest{trialRef(id), name, from}, func(a artifactAnswer) error {
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
		return nil, &sweep.DamagedError{Artifact: id.String() + "/" + name, Store: "the coordinator's answer",
			Problem: "its digest does not match"}
	}
	return record, nil
}

// Executions implements sweep.Reader.
func (c *Client) Executions(ctx context.Context, id sweep.TrialID) (executions []sweep.Execution, err error) {
	return listExecutions.ask(ctx, c, trialRef(id))
}

// ExecutionLog implements sweep.Reader.
func (c *Client) ExecutionLog(ctx context.Context, id sweep.TrialID, execution string) (*sweep.Log, error) {
	return readLog.ask(ctx, c, logRequest{trialRef(id), execution})
}

// Inputs implements sweep.Reader.
func (c *Client) Inputs(ctx context.Context, query sweep.InputQuery, yield func(*sweep.InputList) error) error {
	return listInputs.each(ctx, c, inputsRequest{&query}, yield)
}

// Artifacts implements sweep.Reader.
func (c *Client) Artifacts(ctx context.Context, query sweep.ArtifactQuery,
	yield func(*sweep.ArtifactRecord) error) error {
	return c.CheckArtifacts(ctx, query, sweep.CheckNothing, func(a *sweep.CheckedArtifact) error {
		return yield(&a.ArtifactRecord)
	})
}

// Sweep implements sweep.Reader.
func (c *Client) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	return readSweep.ask(ctx, c, sweepRef{reference})
}

// Sweeps implements sweep.Reader.
func (c *Client) Sweeps(ctx context.Context, states ...sweep.SweepState) (records []sweep.SweepRecord, err error) {
	return listSweeps.ask(ctx, c, sweepsRequest{states})
}

// Progress implements sweep.Reader.
func (c *Client) Progress(ctx context.Context, id string) (progress sweep.Progress, err error) {
	return readProgress.ask(ctx, c, sweepRef{id})
}

// Trial implements sweep.Reader.
func (c *Client) Trial(ctx context.Context, id sweep.TrialID) (*sweep.TrialRecord, error) {
	return readTrial.ask(ctx, c, trialRef(id))
}

// Trials implements sweep.Reader.
func (c *Client) Trials(ctx context.Context, query sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	q := &trialQuery{TrialQuery: query, Values: make([]value, len(query.Where))}
	q.Where = slices.Clone(query.Where)
	for i := range q.Where {
		q.Values[i], q.Where[i].Value = value{q.Where[i].Value}, nil
	}
	return listTrials.each(ctx, c, trialsRequest{q}, yield)
}

// Curves implements sweep.Reader.
func (c *Client) Curves(ctx context.Context, id sweep.TrialID, metrics ...string) (curves []sweep.Curve, err error) {
	return readCurves.ask(ctx, c, curvesRequest{trialRef(id), metrics})
}

// Query implements sweep.Reader.
func (c *Client) Query(ctx context.Context, sql string, yield func(columns []string, row []any) error) error {
	return c.QuerySweep(ctx, "", sql, yield)
}

// QuerySweep implements sweep.Reader.
func (c *Client) QuerySweep(ctx context.Context, id, sql string, yield func(columns []string, row []any) error) error {
	var columns []string
	return querySQL.each(ctx, c, sqlRequest{sweepRef{id}, sql}, func(a rowAnswer) error {
		if a.Columns != nil {
			columns = a.Columns
		}
		if len(a.Row) != len(columns) {
			return fmt.Errorf("a row of %d values in %d columns", len(a.Row), len(columns))
		}
		row := make([]any, len(a.Row))
		for i, v := range a.Row {
			row[i] = v.plain
		}
		return yield(columns, row)
	})
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
