package sweep

import (
	"iter"
	"time"
)

// SweepState is the state of a whole sweep.
type SweepState string

// The states of a sweep. A finished sweep is active again after an extension
// or a retry.
const (
	SweepActive    SweepState = "active"
	SweepPaused    SweepState = "paused"
	SweepCancelled SweepState = "cancelled"
	SweepFinished  SweepState = "finished"
	// SweepWaiting is an active sweep whose rest no worker can run; its reason says what is
	// missing.
	SweepWaiting SweepState = "waiting"
)

// AgentKey begins the keys of the submissions that an agent of Python makes for a sweep to which
// wandb.sweep gave an id: stores find the newest of them by that id.
func AgentKey(id string) string { return "wandb/" + id + "/" }

// Submission is a checked sweep file with all that a coordinator needs to expand it without the
// trainer or the data.
type Submission struct {
	Spec Spec `json:"spec"`
	// Source is the text of the sweep file.
	Source      string      `json:"source"`
	Description Description `json:"description"`
	// Datasets has the digests of the data sets that the submitter saw, by
	// Description.DatasetKey. Other data sets are not checked.
	Datasets map[string]string `json:"datasets,omitempty"`
	// Bytes has, by the same keys, the largest memory that the trainer estimates for a trial.
	Bytes map[string]int64 `json:"bytes,omitempty"`
	// Key, if not empty, names the request: a repeat of it does nothing new.
	Key string `json:"key,omitempty"`
	// Flops estimates the cost of the whole sweep.
	Flops float64 `json:"flops,omitempty"`
	// Reuse reuses results of equal fingerprint from earlier sweeps.
	Reuse bool `json:"reuse"`
	// Unchanged has the digests of the lists of inputs that the submitter found unchanged: only results with one of
	// these, or without any, are reused.
	Unchanged []string `json:"unchanged,omitempty"`
	// AskedBy and Purpose say who submitted the file, and why; empty if that is not known.
	AskedBy string `json:"asked_by,omitempty"`
	Purpose string `json:"purpose,omitempty"`
}

// Requirement is what trials with a data set need of a worker; key is their
// Description.DatasetKey.
func (s *Submission) Requirement(key string) Requirement {
	r := Requirement{
		Trainer: s.Spec.Trainer, ResultVersion: s.Description.ResultVersion,
		Memory: s.Spec.Memory, Labels: s.Spec.Requires, Artifacts: len(s.Spec.Artifacts) > 0,
		Need: s.Spec.Need,
	}
	if digest := s.Datasets[key]; digest != "" {
		r.Dataset, r.DatasetDigest = key, digest
	}
	if script := s.Spec.Script; script != nil {
		r.Program = script.Program
		if r.Program == "" && len(script.Command) > 0 {
			r.Program = script.Command[0]
		}
	}
	if r.Memory == 0 {
		r.Memory = s.Bytes[key]
	}
	return r
}

// SweepRecord is a sweep as a store has it.
type SweepRecord struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Trainer  string     `json:"trainer"`
	Pool     string     `json:"pool"`
	Priority int        `json:"priority"`
	State    SweepState `json:"state"`
	// Reason says why the sweep waits, at least in part, or why it was paused.
	Reason string `json:"reason,omitempty"`
	// AskedBy and Purpose are those of the submission.
	AskedBy string `json:"asked_by,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// Annotation has the description of the first file as notes until a person changes them.
	Annotation
	// Budget is what the sweep may use; nil means no bound.
	Budget *BudgetState `json:"budget,omitempty"`
	// Metrics are the summary metrics that its trials are known to have, or may have by its trainer, sorted; the many
	// of a trial beyond the first thousand are not. Lists of sweeps leave them out.
	Metrics []string `json:"metrics,omitempty"`
	// Grids are the submission and its extensions, in order.
	Grids     []GridRecord `json:"grids"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
}

// Points is the number of the sweep's trials, written or not.
func (s *SweepRecord) Points() int64 {
	var n int64
	for _, g := range s.Grids {
		n += g.Points
	}
	return n
}

// AxisParameters are the parameters that the files of the sweep set, those of extensions last.
func (s *SweepRecord) AxisParameters() iter.Seq[*AxisParameter] {
	return func(yield func(*AxisParameter) bool) {
		for i := range s.Grids {
			for _, axis := range s.Grids[i].Submission.Spec.Axes {
				for k := range axis.Parameters {
					if !yield(&axis.Parameters[k]) {
						return
					}
				}
			}
		}
	}
}

// Goal is the goal of a metric: the sweep's own if its trials compete by it, else the trainer's; empty if neither
// says which values are better.
func (s *SweepRecord) Goal(metric string) string {
	for i := range s.Grids {
		submission := &s.Grids[i].Submission
		if choice := submission.Spec.Select; choice.By == metric && choice.Goal != "" {
			return choice.Goal
		}
		if m := submission.Description.Metric(metric); m != nil && m.Goal != "" {
			return m.Goal
		}
	}
	return ""
}

// GridRecord is one grid of a sweep: grid point p is trial First+p.
type GridRecord struct {
	Ordinal int `json:"ordinal"`
	// Submission is empty in lists of sweeps.
	Submission Submission `json:"submission"`
	// First is the trial index of the grid's first point.
	First int64 `json:"first"`
	// Points counts the grid's points, Cursor those whose trial rows are written.
	Points int64 `json:"points"`
	Cursor int64 `json:"cursor"`
	// Cancelled says that the points after Cursor are cancelled: they need no rows until a retry.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Progress counts a sweep's trials. Points not yet written as rows count as pending.
type Progress struct {
	Pending   int64 `json:"pending"`
	Queued    int64 `json:"queued"`
	Running   int64 `json:"running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	// Stopped were stopped early.
	Stopped int64 `json:"stopped"`
	// Skipped did not run, as a race or halving decided.
	Skipped int64 `json:"skipped"`
	// Reused and Diverged are parts of Completed; Faults counts repeats whose
	// digest differed.
	Reused   int64 `json:"reused"`
	Diverged int64 `json:"diverged"`
	Faults   int64 `json:"reproducibility_faults"`
	// Refused counts how often workers said that they cannot run a trial.
	Refused int64 `json:"refused"`
	// Quarantined counts events about the sweep's trials that the database refused.
	Quarantined int64 `json:"quarantined"`
}

// In is the number of trials in a state.
func (p Progress) In(s State) int64 {
	switch s {
	case Pending:
		return p.Pending
	case Queued:
		return p.Queued
	case Running:
		return p.Running
	case Completed:
		return p.Completed
	case Failed:
		return p.Failed
	case Cancelled:
		return p.Cancelled
	case Stopped:
		return p.Stopped
	case Skipped:
		return p.Skipped
	}
	return 0
}

// Total is the number of trials.
func (p Progress) Total() int64 { return p.Pending + p.Queued + p.Running + p.Done() }

// Done is the number of trials in a terminal state.
func (p Progress) Done() int64 { return p.Completed + p.Failed + p.Cancelled + p.Stopped + p.Skipped }
