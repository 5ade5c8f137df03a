package sweep

import "time"

// SweepState is the state of a whole sweep.
type SweepState string

// The states of a sweep. A finished sweep is active again after an extension
// or a retry.
const (
	SweepActive    SweepState = "active"
	SweepPaused    SweepState = "paused"
	SweepCancelled SweepState = "cancelled"
	SweepFinished  SweepState = "finished"
)

// Submission is a checked sweep file on its way to a coordinator: everything
// that is needed to expand it without the trainer or the data.
type Submission struct {
	Spec Spec `json:"spec"`
	// Source is the text of the sweep file.
	Source      string      `json:"source"`
	Description Description `json:"description"`
	// Datasets maps Description.DatasetKey to the digest of the data set that
	// the submitter saw; absent keys are not checked.
	Datasets map[string]string `json:"datasets,omitempty"`
	// Flops estimates the cost of the whole sweep.
	Flops float64 `json:"flops,omitempty"`
	// Reuse takes over results of equal fingerprint from earlier sweeps.
	Reuse bool `json:"reuse"`
}

// SweepRecord is a sweep as a store holds it.
type SweepRecord struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Trainer  string     `json:"trainer"`
	Pool     string     `json:"pool"`
	Priority int        `json:"priority"`
	State    SweepState `json:"state"`
	// Grids are the submission and its extensions, in order.
	Grids     []GridRecord `json:"grids"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
}

// Points is the number of trials that the sweep has when all are written.
func (s *SweepRecord) Points() int64 {
	var n int64
	for _, g := range s.Grids {
		n += g.Points
	}
	return n
}

// Expanded reports whether all trial rows are written; cancelled points need none.
func (s *SweepRecord) Expanded() bool {
	for _, g := range s.Grids {
		if g.Cursor < g.Points && !g.Cancelled {
			return false
		}
	}
	return true
}

// GridRecord is one grid of a sweep: grid point p is trial First+p.
type GridRecord struct {
	Ordinal    int        `json:"ordinal"`
	Submission Submission `json:"submission"`
	// First is the trial index of the grid's first point.
	First int64 `json:"first"`
	// Points counts the grid's points, Cursor those whose trial rows are written.
	Points int64 `json:"points"`
	Cursor int64 `json:"cursor"`
	// Cancelled says that the points after Cursor are cancelled: they need no
	// rows, unless a retry makes them pending again.
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
	// Reused and Diverged are parts of Completed; Faults counts repeats whose
	// digest differed.
	Reused   int64 `json:"reused"`
	Diverged int64 `json:"diverged"`
	Faults   int64 `json:"reproducibility_faults"`
}

// Total is the number of trials.
func (p Progress) Total() int64 { return p.Pending + p.Queued + p.Running + p.Done() }

// Done is the number of trials in a terminal state.
func (p Progress) Done() int64 { return p.Completed + p.Failed + p.Cancelled }
