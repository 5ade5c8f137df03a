package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nuid"

	"sweep/sweep"
)

// Controller carries out the requests of the control service; a Coordinator implements it.
type Controller interface {
	// Submit stores a new sweep. With requireWorkers it fails if no worker can run any of
	// its trials now. A repeat with the same Submission.Key returns the existing sweep.
	Submit(ctx context.Context, submission *sweep.Submission, requireWorkers bool) (Submitted, error)
	// Extend adds the points of a submission to a sweep and returns their number. A
	// repeat with the same Submission.Key adds nothing.
	Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error)
	Pause(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	// Cancel returns how many trials were queued or running.
	Cancel(ctx context.Context, id string) (stopped int64, err error)
	// Retry returns how many trials were requeued.
	Retry(ctx context.Context, id string) (trials int64, err error)
	SetPriority(ctx context.Context, id string, priority int) error
	Rename(ctx context.Context, id, name string) error
	// SetBudget changes what a sweep, and those that share its budget, may use.
	SetBudget(ctx context.Context, id string, budget sweep.Budget) error
	// Annotate changes the notes or tags of a sweep or trial.
	Annotate(ctx context.Context, id string, edit sweep.Edit) error
	// Delete removes a sweep that does not run. Prune removes data of ended sweeps that the
	// retention does not keep.
	Delete(ctx context.Context, id string) (sweep.Removed, error)
	Prune(ctx context.Context, keep sweep.Retention) (sweep.Removed, error)
	// CancelNamed ends some trials of a sweep and RetryNamed requeues some, those of the
	// named ones whose state allows it. They return how many: none, when repeated.
	CancelNamed(ctx context.Context, id string, indices []int64) (trials int64, err error)
	RetryNamed(ctx context.Context, id string, indices []int64) (trials int64, err error)
	// CheckArtifacts calls yield for each artifact that matches the query, with the outcome
	// of the check. A lost or damaged artifact is not an error.
	CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
		yield func(*sweep.CheckedArtifact) error) error
	// Artifact copies an artifact to out, from byte from on. It fails with a
	// *sweep.LostError if the artifact does not exist, and with a *sweep.DamagedError,
	// perhaps after a part, if its digest differs. With from > 0 the caller must verify the
	// digest of the whole.
	Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
		out io.Writer) (*sweep.ArtifactRecord, error)
	// Problem returns what keeps trials from advancing, or that artifacts are lost; nil if
	// there is no problem.
	Problem() error
}

// ProblemOf is what keeps a coordinator's trials from advancing, "" if nothing is known.
func ProblemOf(results sweep.Reader) string {
	if c, ok := results.(Controller); ok {
		if problem := c.Problem(); problem != nil {
			return problem.Error()
		}
	}
	return ""
}

// Submitted is the answer to a submission.
type Submitted struct {
	Sweep  string `json:"sweep,omitempty"`
	Points int64  `json:"points,omitempty"`
	// Waiting tells the user why none of the sweep's trials can run yet; empty if one can.
	Waiting string `json:"waiting,omitempty"`
}

// The requests that change sweeps, or name what is read.
type (
	none     struct{}
	sweepRef struct {
		Sweep string `json:"sweep,omitempty" jsonschema:"id, beginning of an id, or name of the sweep"`
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
		Priority int `json:"priority" jsonschema:"trials of sweeps with a larger number start first"`
	}
	renameRequest struct {
		sweepRef
		Name string `json:"name" jsonschema:"the new name"`
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
	pointCount struct {
		Points int64 `json:"points,omitempty"`
	}
	trialCount struct {
		Trials int64 `json:"trials,omitempty"`
	}
)

func (r *sweepRef) id() string { return r.Sweep }

func (r *trialRef) id() sweep.TrialID { return sweep.TrialID{Sweep: r.Sweep, Index: r.Index} }

// The operations that change sweeps. The purpose is also the summary of the command that requests it and, for agents,
// of the tool.
var (
	submitSweep = change("submit", "Submit a sweep file to a cluster",
		func(ctx context.Context, c Controller, q *submitRequest) (Submitted, error) {
			if q.Submission == nil {
				return Submitted{}, errors.New("submit: the request has no submission")
			}
			return c.Submit(ctx, q.Submission, q.RequireWorkers)
		})
	extendSweep = change("extend", "Add the grid points of a sweep file to a running or finished sweep of a cluster",
		func(ctx context.Context, c Controller, q *extendRequest) (pointCount, error) {
			if q.Submission == nil {
				return pointCount{}, errors.New("extend: the request has no submission")
			}
			points, err := c.Extend(ctx, q.Sweep, q.Submission)
			return pointCount{points}, err
		})
	pauseSweep = change("pause", "Pause a sweep: start no further trials", done(Controller.Pause)).
			offered(Tool{Detail: "Running ones continue to their results.", Done: "paused"})
	resumeSweep = change("resume", "Resume a paused sweep", done(Controller.Resume)).
			offered(Tool{Done: "resumed", Trains: true})
	cancelSweep = change("cancel", "Cancel a sweep: stop its running trials and start no others",
		counted(Controller.Cancel)).
		offered(Tool{Detail: "Results are kept.", Done: "cancelled", Destroys: true, Some: "cancel_trials"})
	retrySweep = change("retry", "Retry a sweep's failed and cancelled trials", counted(Controller.Retry)).
			offered(Tool{Done: "retried", Trains: true, Some: "retry_trials"})
	prioritizeSweep = change("priority", "Change a sweep's priority",
		func(ctx context.Context, c Controller, q *priorityRequest) (none, error) {
			return none{}, c.SetPriority(ctx, q.Sweep, q.Priority)
		}).offered(Tool{Done: "given its priority"})
	renameSweep = change("rename", "Give a sweep another name",
		func(ctx context.Context, c Controller, q *renameRequest) (none, error) {
			return none{}, c.Rename(ctx, q.Sweep, q.Name)
		}).offered(Tool{Done: "renamed"})
	budgetSweep = change("budget", "Change what a sweep may use: trials, time, or both",
		func(ctx context.Context, c Controller, q *budgetRequest) (none, error) {
			return none{}, c.SetBudget(ctx, q.Sweep, q.Budget)
		})
	annotateSweep = change("annotate", "Change the notes and tags of a sweep or trial",
		func(ctx context.Context, c Controller, q *annotateRequest) (none, error) {
			return none{}, c.Annotate(ctx, q.Sweep, q.Edit)
		})
	deleteSweep = change("delete", "Delete a sweep and all that belongs to it: trials, results, curves",
		func(ctx context.Context, c Controller, q *sweepRef) (sweep.Removed, error) {
			return c.Delete(ctx, q.Sweep)
		})
	pruneSweeps = change("prune", "Remove old data of finished sweeps: execution records, curves, whole sweeps",
		func(ctx context.Context, c Controller, q *pruneRequest) (sweep.Removed, error) {
			if q.Keep == nil {
				return sweep.Removed{}, errors.New("prune: the request has no retention")
			}
			return c.Prune(ctx, *q.Keep)
		})
	cancelTrials = changeTrials("cancel_trials", "Cancel some trials of a sweep", Controller.CancelNamed)
	retryTrials  = changeTrials("retry_trials", "Retry some failed or cancelled trials of a sweep",
		Controller.RetryNamed)
)

// Submit implements Controller. It gives a submission without a key one, so that it can be sent again.
func (c *Client) Submit(ctx context.Context, submission *sweep.Submission, requireWorkers bool) (Submitted, error) {
	return insist(ctx, c, submitSweep, submitRequest{keyed(submission), requireWorkers})
}

// Extend implements Controller. It adds a key like Submit.
func (c *Client) Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error) {
	a, err := insist(ctx, c, extendSweep, extendRequest{sweepRef{id}, keyed(submission)})
	return a.Points, err
}

// Pause implements Controller.
func (c *Client) Pause(ctx context.Context, id string) error {
	return pauseSweep.tell(ctx, c, sweepRef{id})
}

// Resume implements Controller.
func (c *Client) Resume(ctx context.Context, id string) error {
	return resumeSweep.tell(ctx, c, sweepRef{id})
}

// Cancel implements Controller.
func (c *Client) Cancel(ctx context.Context, id string) (int64, error) {
	return number(cancelSweep.ask(ctx, c, sweepRef{id}))
}

// Retry implements Controller.
func (c *Client) Retry(ctx context.Context, id string) (int64, error) {
	return number(retrySweep.ask(ctx, c, sweepRef{id}))
}

// SetPriority implements Controller.
func (c *Client) SetPriority(ctx context.Context, id string, priority int) error {
	return prioritizeSweep.tell(ctx, c, priorityRequest{sweepRef{id}, priority})
}

// Rename implements Controller.
func (c *Client) Rename(ctx context.Context, id, name string) error {
	return renameSweep.tell(ctx, c, renameRequest{sweepRef{id}, name})
}

// SetBudget implements Controller.
func (c *Client) SetBudget(ctx context.Context, id string, budget sweep.Budget) error {
	return budgetSweep.tell(ctx, c, budgetRequest{sweepRef{id}, budget})
}

// Annotate implements Controller.
func (c *Client) Annotate(ctx context.Context, id string, edit sweep.Edit) error {
	return annotateSweep.tell(ctx, c, annotateRequest{sweepRef{id}, edit})
}

// Delete implements Controller.
func (c *Client) Delete(ctx context.Context, id string) (removed sweep.Removed, err error) {
	return deleteSweep.ask(ctx, c, sweepRef{id})
}

// Prune implements Controller.
func (c *Client) Prune(ctx context.Context, keep sweep.Retention) (removed sweep.Removed, err error) {
	return pruneSweeps.ask(ctx, c, pruneRequest{&keep})
}

// CancelNamed implements Controller.
func (c *Client) CancelNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	return number(cancelTrials.ask(ctx, c, trialsRef{id, indices}))
}

// RetryNamed implements Controller.
func (c *Client) RetryNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	return number(retryTrials.ask(ctx, c, trialsRef{id, indices}))
}

// number takes the number of trials out of an answer.
func number(a trialCount, err error) (int64, error) { return a.Trials, err }

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

// change defines an operation that changes sweeps and answers by one value.
func change[Q, A any](name, purpose string,
	do func(ctx context.Context, c Controller, q *Q) (A, error)) operation[Q, A] {
	return define(operation[Q, A]{Operation: Operation{Name: name, Purpose: purpose}, perform: do,
		answer: one(func(ctx context.Context, s *Control, q *Q) (A, error) { return do(ctx, s.controller, q) })})
}

// done adapts a change of a sweep that answers only that it succeeded.
func done(do func(c Controller, ctx context.Context, id string) error) func(context.Context, Controller, *sweepRef) (
	none, error) {
	return func(ctx context.Context, c Controller, q *sweepRef) (none, error) { return none{}, do(c, ctx, q.Sweep) }
}

// counted adapts a change of a sweep that answers how many trials it changed.
func counted(do func(c Controller, ctx context.Context, id string) (int64, error)) func(context.Context, Controller,
	*sweepRef) (trialCount, error) {
	return func(ctx context.Context, c Controller, q *sweepRef) (trialCount, error) {
		trials, err := do(c, ctx, q.Sweep)
		return trialCount{trials}, err
	}
}

// changeTrials defines an operation on named trials, which answers how many it changed.
func changeTrials(name, purpose string, do func(c Controller, ctx context.Context, id string,
	indices []int64) (int64, error)) operation[trialsRef, trialCount] {
	return change(name, purpose, func(ctx context.Context, c Controller, q *trialsRef) (trialCount, error) {
		if len(q.Indices) == 0 { // to workers that would mean all
			return trialCount{}, fmt.Errorf("%s: the request names no trials", name)
		}
		trials, err := do(c, ctx, q.Sweep, q.Indices)
		return trialCount{trials}, err
	})
}
