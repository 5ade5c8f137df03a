package sweep

import (
	"time"
)

// Spec is what a sweep file says, with its own defaults filled in and without
// the trainer's: package file decodes it, NewGrid expands it. Its JSON form is
// what a store keeps and what a submission carries.
type Spec struct {
	// Name is shown in tables and lists; it need not be unique.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Trainer names the program that trains; DefaultTrainer if the file is silent.
	Trainer string `json:"trainer"`
	// Pool is the kind of worker that the trials need; DefaultPool if the file is silent.
	Pool string `json:"pool"`
	// Priority orders active sweeps, larger first.
	Priority int `json:"priority,omitempty"`
	// Axes span the grid in file order, the first varying slowest. Replicates
	// are the last axis, a parameter "seed" with the values 1..k.
	Axes []Axis `json:"axes"`
	// Conditions say under which values of other parameters a parameter exists.
	Conditions []Condition `json:"when,omitempty"`
	// Exclude removes every point that fits one of the matches.
	Exclude []Match `json:"exclude,omitempty"`
	// Cap limits the number of points (W&B's run_cap); 0 means no limit.
	Cap    int64  `json:"run_cap,omitempty"`
	Select Select `json:"select"`
	Limits Limits `json:"limits"`
	// Artifacts names what is kept of a trial besides its result ("weights").
	Artifacts []string `json:"artifacts,omitempty"`
}

// Defaults of a sweep file.
const (
	DefaultTrainer  = "builtin"
	DefaultPool     = "cpu"
	DefaultAttempts = 3
	DefaultPoints   = 1000
	// SeedParameter is the parameter that replicates vary.
	SeedParameter = "seed"
)

// Axis is one dimension of the grid: one parameter, or several that advance
// together (zip). All parameters of an axis have the same number of values.
type Axis struct {
	Parameters []AxisParameter `json:"parameters"`
}

// Len is the number of positions on the axis.
func (a Axis) Len() int64 {
	if len(a.Parameters) == 0 {
		return 0
	}
	return a.Parameters[0].Values.Len()
}

// AxisParameter is one parameter of an axis.
type AxisParameter struct {
	Name   string `json:"name"`
	Values Values `json:"values"`
}

// Values are the values of a parameter in order: a list, or an arithmetic
// progression that is never listed in memory.
type Values struct {
	List []any `json:"list,omitempty"`
	// Range is used when List is nil.
	Range *Range `json:"range,omitempty"`
}

// Range is the progression Start, Start+Step, … of Count values. Integer says
// that the values are int64; Start and Step are whole then.
type Range struct {
	Start   float64 `json:"start"`
	Step    float64 `json:"step"`
	Count   int64   `json:"count"`
	Integer bool    `json:"integer,omitempty"`
}

// Len is the number of values.
func (v Values) Len() int64 {
	if v.Range != nil {
		return v.Range.Count
	}
	return int64(len(v.List))
}

// At returns value i, 0 ≤ i < Len.
func (v Values) At(i int64) any {
	if v.Range == nil {
		return v.List[i]
	}
	if v.Range.Integer {
		return int64(v.Range.Start) + i*int64(v.Range.Step)
	}
	return v.Range.Start + float64(i)*v.Range.Step
}

// Condition says that Parameter exists only at points that fit When.
type Condition struct {
	Parameter string `json:"parameter"`
	When      Match  `json:"when"`
}

// Match maps parameter names to accepted values: a point fits if each named
// parameter exists there and has one of its values.
type Match map[string][]any

// Select says how trials are compared: trials that agree in all parameters but
// the seed form a grid point, points that agree in Group compete, and the best
// is the one whose metric By, averaged over its replicates, meets Goal.
type Select struct {
	Group []string `json:"group,omitempty"`
	By    string   `json:"by,omitempty"`
	// Goal is "minimize" or "maximize".
	Goal string `json:"goal,omitempty"`
}

// Limits bound what one trial may cost.
type Limits struct {
	// Timeout ends an execution; 0 means none.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Attempts is how many charged executions a trial has before it is failed.
	Attempts int `json:"attempts"`
	// Points is the largest number of points kept of a curve.
	Points int `json:"points"`
}
