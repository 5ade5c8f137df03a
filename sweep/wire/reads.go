package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"sweep/sweep"
)

// The requests that only read, and the answers that are not the domain's own.
type (
	sweepsRequest struct {
		States []sweep.SweepState `json:"states,omitempty"`
	}
	trialsRequest struct {
		Query *trialQuery `json:"query,omitempty"`
	}
	curvesRequest struct {
		trialRef
		Metrics []string `json:"metrics,omitempty"`
	}
	logRequest struct {
		trialRef
		Execution string `json:"execution,omitempty"`
	}
	inputsRequest struct {
		Query *sweep.InputQuery `json:"query,omitempty"`
	}
	artifactsRequest struct {
		Artifacts *sweep.ArtifactQuery `json:"artifacts,omitempty"`
		Check     sweep.ArtifactCheck  `json:"check,omitempty"`
	}
	artifactRequest struct {
		trialRef
		Name string `json:"name,omitempty"`
		From int64  `json:"from,omitempty"`
	}
	// sqlRequest may name a sweep, which the statement reads as view t.
	sqlRequest struct {
		sweepRef
		SQL string `json:"sql,omitempty"`
	}
	// rowAnswer is a row of an SQL query; the first also has the columns.
	rowAnswer struct {
		Columns []string `json:"columns,omitempty"`
		Row     []value  `json:"row"`
	}
	// artifactAnswer is a piece of an artifact or, at the end, its record.
	artifactAnswer struct {
		Piece  []byte                `json:"piece,omitempty"`
		Record *sweep.ArtifactRecord `json:"record,omitempty"`
	}
)

// trialQuery is a sweep.TrialQuery. Values are the values of its conditions, with their types.
type trialQuery struct {
	sweep.TrialQuery
	Values []value
}

// The operations that only read.
var (
	readSweep  = readOf("sweep", "One sweep", (*sweepRef).id, sweep.Reader.Sweep)
	listSweeps = define(operation[sweepsRequest, []sweep.SweepRecord]{
		Operation: Operation{Name: "sweeps", Purpose: "The sweeps of some states", Reads: true},
		answer: one(func(ctx context.Context, s *Control, q *sweepsRequest) ([]sweep.SweepRecord, error) {
			return s.reader.Sweeps(ctx, q.States...)
		})})
	readProgress = readOf("progress", "The trials of a sweep, counted by state", (*sweepRef).id, sweep.Reader.Progress)
	readTrial    = readOf("trial", "One trial with its result", (*trialRef).id, sweep.Reader.Trial)
	listTrials   = define(operation[trialsRequest, *sweep.TrialRecord]{
		Operation: Operation{Name: "trials", Purpose: "The trials that match a query", Reads: true, Most: 8},
		answer: func(ctx context.Context, s *Control, q *trialsRequest, yield func(*sweep.TrialRecord) error) error {
			if q.Query == nil || len(q.Query.Values) != len(q.Query.Where) {
				return errors.New("trials: the request has no query, or not one value per condition")
			}
			for i, c := range q.Query.Values {
				q.Query.Where[i].Value = c.plain
			}
			return s.reader.Trials(ctx, q.Query.TrialQuery, yield)
		}})
	readCurves = define(operation[curvesRequest, []sweep.Curve]{
		Operation: Operation{Name: "curves", Purpose: "The curves of a trial", Reads: true},
		answer: one(func(ctx context.Context, s *Control, q *curvesRequest) ([]sweep.Curve, error) {
			return s.reader.Curves(ctx, q.id(), q.Metrics...)
		})})
	listExecutions = readOf("executions", "The executions of a trial", (*trialRef).id, sweep.Reader.Executions)
	readLog        = define(operation[logRequest, *sweep.Log]{
		Operation: Operation{Name: "log", Purpose: "The end of the log of an execution", Reads: true},
		answer: one(func(ctx context.Context, s *Control, q *logRequest) (*sweep.Log, error) {
			return s.reader.ExecutionLog(ctx, q.id(), q.Execution)
		})})
	listInputs = define(operation[inputsRequest, *sweep.InputList]{
		Operation: Operation{Name: "inputs", Purpose: "What programs have read, as lists that match a query",
			Reads: true, Most: 8},
		answer: func(ctx context.Context, s *Control, q *inputsRequest, yield func(*sweep.InputList) error) error {
			if q.Query == nil {
				return errors.New("inputs: the request has no query")
			}
			return s.reader.Inputs(ctx, *q.Query, yield)
		}})
	listArtifacts = define(operation[artifactsRequest, *sweep.CheckedArtifact]{
		Operation: Operation{Name: "artifacts", Purpose: "The artifacts that match a query, checked on request",
			Reads: true, Most: 8},
		answer: func(ctx context.Context, s *Control, q *artifactsRequest,
			yield func(*sweep.CheckedArtifact) error) error {
			if q.Artifacts == nil {
				return errors.New("artifacts: the request has no query")
			}
			return s.controller.CheckArtifacts(ctx, *q.Artifacts, q.Check, yield)
		}})
	readArtifact = define(operation[artifactRequest, artifactAnswer]{
		Operation: Operation{Name: "artifact", Purpose: "The bytes of an artifact", Reads: true, Most: 8},
		answer: func(ctx context.Context, s *Control, q *artifactRequest, yield func(artifactAnswer) error) error {
			record, err := s.controller.Artifact(ctx, q.id(), q.Name, q.From, pieces(yield))
			if err != nil {
				return err
			}
			return yield(artifactAnswer{Record: record})
		}})
	querySQL = define(operation[sqlRequest, rowAnswer]{
		Operation: Operation{Name: "sql", Purpose: "The rows of an SQL query", Reads: true, Most: 8},
		answer: func(ctx context.Context, s *Control, q *sqlRequest, yield func(rowAnswer) error) error {
			first := true
			row := func(columns []string, row []any) error {
				a := rowAnswer{Row: make([]value, len(row))}
				if first {
					a.Columns, first = columns, false
				}
				for i, v := range row {
					a.Row[i] = value{v}
				}
				return yield(a)
			}
			if q.Sweep != "" {
				return s.reader.QuerySweep(ctx, q.Sweep, q.SQL, row)
			}
			return s.reader.Query(ctx, q.SQL, row)
		}})
)

// readOf defines an operation that reads something of a sweep or trial, which id takes from the
// request.
func readOf[Q, ID, A any](name, purpose string, id func(*Q) ID, read func(r sweep.Reader, ctx context.Context,
	id ID) (A, error)) operation[Q, A] {
	return define(operation[Q, A]{
		Operation: Operation{Name: name, Purpose: purpose, Reads: true},
		answer:    one(func(ctx context.Context, s *Control, q *Q) (A, error) { return read(s.reader, ctx, id(q)) })})
}

// pieces is a writer that yields each piece of an artifact.
type pieces func(artifactAnswer) error

// Write implements io.Writer.
func (yield pieces) Write(p []byte) (int, error) {
	if err := yield(artifactAnswer{Piece: p}); err != nil {
		return 0, err
	}
	return len(p), nil
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
