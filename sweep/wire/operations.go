package wire

import (
	"context"
	"errors"
	"fmt"

	"sweep/sweep"
)

// The requests.
type (
	none     struct{}
	sweepRef struct {
		Sweep string `json:"sweep,omitempty"`
	}
	trialRef struct {
		Sweep string `json:"sweep,omitempty"`
		Index int64  `json:"index,omitempty"`
	}
	trialsRef struct {
		Sweep   string  `json:"sweep,omitempty"`
		Indices []int64 `json:"indices,omitempty"`
	}
	submitRequest struct {
		Submission     *sweep.Submission `json:"submission,omitempty"`
		RequireWorkers bool              `json:"require_workers,omitempty"`
	}
	extendRequest struct {
		sweepRef
		Submission *sweep.Submission `json:"submission,omitempty"`
	}
	priorityRequest struct {
		sweepRef
		Priority int `json:"priority,omitempty"`
	}
	budgetRequest struct {
		sweepRef
		Budget sweep.Budget `json:"budget"`
	}
	annotateRequest struct {
		sweepRef
		Edit sweep.Edit `json:"edit"`
	}
	pruneRequest struct {
		Keep *sweep.Retention `json:"keep,omitempty"`
	}
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
)

// trialQuery is a sweep.TrialQuery. Values are the values of its conditions, with their types.
type trialQuery struct {
	sweep.TrialQuery
	Values []value
}

func (r *sweepRef) id() string { return r.Sweep }

func (r *trialRef) id() sweep.TrialID { return sweep.TrialID{Sweep: r.Sweep, Index: r.Index} }

// The answers that are not the domain's own.
type (
	pointCount struct {
		Points int64 `json:"points,omitempty"`
	}
	trialCount struct {
		Trials int64 `json:"trials,omitempty"`
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

// The operations that change sweeps.
var (
	submitSweep = define(operation[submitRequest, Submitted]{
		name: "submit", purpose: "store a new sweep",
		answer: one(func(ctx context.Context, s *Control, q *submitRequest) (Submitted, error) {
			if q.Submission == nil {
				return Submitted{}, errors.New("submit: the request has no submission")
			}
			return s.controller.Submit(ctx, q.Submission, q.RequireWorkers)
		})})
	extendSweep = define(operation[extendRequest, pointCount]{
		name: "extend", purpose: "add grid points to a sweep",
		answer: one(func(ctx context.Context, s *Control, q *extendRequest) (pointCount, error) {
			if q.Submission == nil {
				return pointCount{}, errors.New("extend: the request has no submission")
			}
			points, err := s.controller.Extend(ctx, q.Sweep, q.Submission)
			return pointCount{points}, err
		})})
	pauseSweep = define(operation[sweepRef, none]{
		name: "pause", purpose: "keep the waiting trials of a sweep from starting",
		answer: done(func(ctx context.Context, c Controller, q *sweepRef) error { return c.Pause(ctx, q.Sweep) })})
	resumeSweep = define(operation[sweepRef, none]{
		name: "resume", purpose: "let a paused sweep go on",
		answer: done(func(ctx context.Context, c Controller, q *sweepRef) error { return c.Resume(ctx, q.Sweep) })})
	cancelSweep = define(operation[sweepRef, trialCount]{
		name: "cancel", purpose: "end a sweep, with the trials that run",
		answer: one(func(ctx context.Context, s *Control, q *sweepRef) (trialCount, error) {
			stopped, err := s.controller.Cancel(ctx, q.Sweep)
			return trialCount{int64(stopped)}, err
		})})
	retrySweep = define(operation[sweepRef, trialCount]{
		name: "retry", purpose: "put the failed and cancelled trials of a sweep back",
		answer: one(func(ctx context.Context, s *Control, q *sweepRef) (trialCount, error) {
			trials, err := s.controller.Retry(ctx, q.Sweep)
			return trialCount{trials}, err
		})})
	prioritizeSweep = define(operation[priorityRequest, none]{
		name: "priority", purpose: "change the priority of a sweep",
		answer: done(func(ctx context.Context, c Controller, q *priorityRequest) error {
			return c.SetPriority(ctx, q.Sweep, q.Priority)
		})})
	budgetSweep = define(operation[budgetRequest, none]{
		name: "budget", purpose: "change what a sweep may use",
		answer: done(func(ctx context.Context, c Controller, q *budgetRequest) error {
			return c.SetBudget(ctx, q.Sweep, q.Budget)
		})})
	annotateSweep = define(operation[annotateRequest, none]{
		name: "annotate", purpose: "change the notes and tags of a sweep or trial",
		answer: done(func(ctx context.Context, c Controller, q *annotateRequest) error {
			return c.Annotate(ctx, q.Sweep, q.Edit)
		})})
	deleteSweep = define(operation[sweepRef, sweep.Removed]{
		name: "delete", purpose: "remove a sweep that does not run",
		answer: one(func(ctx context.Context, s *Control, q *sweepRef) (sweep.Removed, error) {
			return s.controller.Delete(ctx, q.Sweep)
		})})
	pruneSweeps = define(operation[pruneRequest, sweep.Removed]{
		name: "prune", purpose: "remove what ended sweeps are not to keep",
		answer: one(func(ctx context.Context, s *Control, q *pruneRequest) (sweep.Removed, error) {
			if q.Keep == nil {
				return sweep.Removed{}, errors.New("prune: the request has no retention")
			}
			return s.controller.Prune(ctx, *q.Keep)
		})})
	cancelTrials = changeTrials("cancel_trials", "end some trials of a sweep", Controller.CancelNamed)
	retryTrials  = changeTrials("retry_trials", "put some trials of a sweep back", Controller.RetryNamed)
)

// changeTrials defines an operation on named trials, which answers how many it changed.
func changeTrials(name, purpose string, change func(c Controller, ctx context.Context, id string,
	indices []int64) (int64, error)) operation[trialsRef, trialCount] {
	return define(operation[trialsRef, trialCount]{
		name: name, purpose: purpose,
		answer: one(func(ctx context.Context, s *Control, q *trialsRef) (trialCount, error) {
			if len(q.Indices) == 0 { // to workers that would mean all
				return trialCount{}, fmt.Errorf("%s: the request names no trials", name)
			}
			trials, err := change(s.controller, ctx, q.Sweep, q.Indices)
			return trialCount{trials}, err
		})})
}

// The operations that only read.
var (
	readSweep  = readOf("sweep", "one sweep", (*sweepRef).id, sweep.Reader.Sweep)
	listSweeps = define(operation[sweepsRequest, []sweep.SweepRecord]{
		name: "sweeps", purpose: "the sweeps of some states", reads: true,
		answer: one(func(ctx context.Context, s *Control, q *sweepsRequest) ([]sweep.SweepRecord, error) {
			return s.reader.Sweeps(ctx, q.States...)
		})})
	readProgress = readOf("progress", "the trials of a sweep, counted by state", (*sweepRef).id, sweep.Reader.Progress)
	readTrial    = readOf("trial", "one trial with its result", (*trialRef).id, sweep.Reader.Trial)
	listTrials   = define(operation[trialsRequest, *sweep.TrialRecord]{
		name: "trials", purpose: "the trials that match a query", reads: true, most: 8,
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
		name: "curves", purpose: "the curves of a trial", reads: true,
		answer: one(func(ctx context.Context, s *Control, q *curvesRequest) ([]sweep.Curve, error) {
			return s.reader.Curves(ctx, q.id(), q.Metrics...)
		})})
	listExecutions = readOf("executions", "the executions of a trial", (*trialRef).id, sweep.Reader.Executions)
	readLog        = define(operation[logRequest, *sweep.Log]{
		name: "log", purpose: "the end of the log of an execution", reads: true,
		answer: one(func(ctx context.Context, s *Control, q *logRequest) (*sweep.Log, error) {
			return s.reader.ExecutionLog(ctx, q.id(), q.Execution)
		})})
	listInputs = define(operation[inputsRequest, *sweep.InputList]{
		name: "inputs", purpose: "what programs have read, as lists that match a query", reads: true, most: 8,
		answer: func(ctx context.Context, s *Control, q *inputsRequest, yield func(*sweep.InputList) error) error {
			if q.Query == nil {
				return errors.New("inputs: the request has no query")
			}
			return s.reader.Inputs(ctx, *q.Query, yield)
		}})
	listArtifacts = define(operation[artifactsRequest, *sweep.CheckedArtifact]{
		name: "artifacts", purpose: "the artifacts that match a query, checked on request", reads: true, most: 8,
		answer: func(ctx context.Context, s *Control, q *artifactsRequest,
			yield func(*sweep.CheckedArtifact) error) error {
			if q.Artifacts == nil {
				return errors.New("artifacts: the request has no query")
			}
			return s.controller.CheckArtifacts(ctx, *q.Artifacts, q.Check, yield)
		}})
	readArtifact = define(operation[artifactRequest, artifactAnswer]{
		name: "artifact", purpose: "the bytes of an artifact", reads: true, most: 8,
		answer: func(ctx context.Context, s *Control, q *artifactRequest, yield func(artifactAnswer) error) error {
			record, err := s.controller.Artifact(ctx, q.id(), q.Name, q.From, pieces(yield))
			if err != nil {
				return err
			}
			return yield(artifactAnswer{Record: record})
		}})
	querySQL = define(operation[sqlRequest, rowAnswer]{
		name: "sql", purpose: "the rows of an SQL query", reads: true, most: 8,
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
		name: name, purpose: purpose, reads: true,
		answer: one(func(ctx context.Context, s *Control, q *Q) (A, error) { return read(s.reader, ctx, id(q)) })})
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
