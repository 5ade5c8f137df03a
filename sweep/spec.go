package sweep

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Spec is a decoded sweep file: its own defaults are filled in, the trainer's are not. Package
// file decodes it, NewGrid expands it. Stores and submissions have it as JSON.
type Spec struct {
	// Name is shown in tables and lists; it need not be unique.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Tags are those that the sweep has at first.
	Tags []string `json:"tags,omitempty"`
	// Trainer is the program that trains; DefaultTrainer if the file names none.
	Trainer string `json:"trainer"`
	// Pool is the kind of worker that the trials need; DefaultPool if the file names none.
	Pool string `json:"pool"`
	// Requires are the labels that a worker must have, by name.
	Requires map[string]string `json:"requires,omitempty"`
	// Memory is what a trial needs, in bytes; 0 takes the estimate of the trainer.
	Memory int64 `json:"memory,omitempty"`
	// Need is what a trial holds of its machine's devices; nil if the file does not say.
	Need *Need `json:"need,omitempty"`
	// Priority orders active sweeps, larger first.
	Priority int `json:"priority,omitempty"`
	// Axes span the grid in file order, the first varying slowest. Replicates are the last axis, for some policies
	// the first one: a parameter "seed" with the values 1..k.
	Axes []Axis `json:"axes"`
	// Conditions say where a parameter exists.
	Conditions []Condition `json:"when,omitempty"`
	// Exclude removes every point that fits one of the matches.
	Exclude []Match `json:"exclude,omitempty"`
	// Cap limits the number of points (W&B's run_cap); 0 means no limit.
	Cap int64 `json:"run_cap,omitempty"`
	// Omit says which points are left out, by their numbers: those that a sweep has which the grid extends. See
	// EncodeOmitted.
	Omit []byte `json:"omit,omitempty"`
	// Random draws Cap points from the axes; nil takes all points.
	Random *Random `json:"random,omitempty"`
	// Policies choose trials by results, draw points in ways of their own, and stop trials early.
	Policies []Policy `json:"policies,omitempty"`
	// Script is what is run for each trial of ScriptTrainer.
	Script *Script `json:"script,omitempty"`
	Select Select  `json:"select"`
	Limits Limits  `json:"limits"`
	// Budget bounds what all trials together may use; nil means no bound.
	Budget *Budget `json:"budget,omitempty"`
	// Canary runs the first trial of each class before the others of a sweep with more than CanaryPoints
	// points.
	Canary bool `json:"canary,omitempty"`
	// Artifacts names the files to keep of a trial besides its result, such as "weights".
	Artifacts []string `json:"artifacts,omitempty"`
	// Keep has, for those of Artifacts of which only the best trials keep theirs, how many trials these are.
	Keep map[string]int64 `json:"keep,omitempty"`
}

// Defaults of a sweep file.
const (
	DefaultTrainer  = "builtin"
	DefaultPool     = "cpu"
	DefaultAttempts = 3
	DefaultLosses   = 3
	DefaultPoints   = 1000
	DefaultErrors   = 20
	// SeedParameter is the parameter that replicates vary.
	SeedParameter = "seed"
)

// Policy is a way of choosing or stopping trials. Package policy has the kinds, and what their settings mean.
type Policy struct {
	Kind     string          `json:"kind"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// Axis is one dimension of the grid: one parameter, or several with equally many values that
// advance together (zip).
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

// Values are the values of a parameter in order: a list, or a range that is never listed in
// memory.
type Values struct {
	List []any `json:"list,omitempty"`
	// Range is used when List is nil.
	Range *Range `json:"range,omitempty"`
	// Distribution is what a random search draws from, instead of both.
	Distribution *Distribution `json:"distribution,omitempty"`
	// Weights, if any, are the probabilities of the list in a random search, up to a factor.
	Weights []float64 `json:"weights,omitempty"`
}

// Range is the progression Start, Start+Step, … of Count values. If Integer is set, Start and
// Step are whole and the values are int64. A Divisor other than 0 divides every value: whole
// Start and Step with a power of ten give decimal fractions as people write them (3/10 is 0.3,
// 0.1+2·0.1 is not).
type Range struct {
	Start   float64 `json:"start"`
	Step    float64 `json:"step"`
	Count   int64   `json:"count"`
	Integer bool    `json:"integer,omitempty"`
	Divisor float64 `json:"divisor,omitempty"`
}

// Len is the number of values; 1 for a distribution.
func (v Values) Len() int64 {
	switch {
	case v.Range != nil:
		return v.Range.Count
	case v.Distribution != nil:
		return 1
	}
	return int64(len(v.List))
}

// At returns value i, 0 ≤ i < Len; of a distribution the median.
func (v Values) At(i int64) any {
	if v.Distribution != nil {
		return v.Distribution.Quantile(0.5)
	}
	if v.Range == nil {
		return v.List[i]
	}
	if v.Range.Integer {
		return int64(v.Range.Start) + i*int64(v.Range.Step)
	}
	// The conversion forbids fused multiply-add, which has other bits on other machines.
	value := v.Range.Start + float64(float64(i)*v.Range.Step)
	if v.Range.Divisor != 0 {
		value /= v.Range.Divisor
	}
	return value
}

// Index returns the first position of a value, or -1.
func (v Values) Index(value any) int64 {
	if v.Range == nil {
		return int64(slices.IndexFunc(v.List, func(item any) bool { return sameValue(item, value) }))
	}
	number, ok := Number(value)
	if !ok {
		return -1
	}
	if v.Range.Divisor != 0 {
		number *= v.Range.Divisor
	}
	guess := int64(0)
	if v.Range.Step != 0 {
		// Rounding is off by one at most; out of bounds is caught below.
		guess = int64(math.Round(min(max((number-v.Range.Start)/v.Range.Step, -1), float64(v.Range.Count))))
	}
	for i := max(guess-1, 0); i <= guess+1 && i < v.Range.Count; i++ {
		if sameValue(v.At(i), value) {
			return i
		}
	}
	return -1
}

// check refuses values without a canonical form and ranges that repeat values.
func (v Values) check(parameter string) error {
	switch {
	case v.Range != nil && v.Distribution != nil, len(v.List) > 0 && (v.Range != nil || v.Distribution != nil),
		v.Weights != nil && (v.Range != nil || v.Distribution != nil):
		return refused(parameter, "has its values in several ways: a list, a range or a distribution is one")
	case v.Distribution != nil:
		return v.Distribution.check(parameter)
	case v.Range == nil:
		if err := v.checkWeights(parameter); err != nil {
			return err
		}
		for i, item := range v.List {
			if _, err := Normalize(item); err != nil {
				return refused(parameter, "value %d: %v", i+1, err)
			}
		}
		return nil
	}
	r := v.Range
	const exact = 1 << 53
	last := r.Start + float64(r.Count-1)*r.Step
	switch {
	case math.IsNaN(last) || math.IsInf(last, 0) || math.IsNaN(r.Divisor) || math.IsInf(r.Divisor, 0),
		r.Divisor != 0 && (math.IsInf(r.Start/r.Divisor, 0) || math.IsInf(last/r.Divisor, 0)):
		return refused(parameter, "its range is not finite")
	case r.Integer && (r.Divisor != 0 || r.Start != math.Trunc(r.Start) || r.Step != math.Trunc(r.Step) ||
		math.Abs(r.Start) > exact || math.Abs(last) > exact || math.Abs(r.Step) > exact):
		return refused(parameter, "its integer range must be whole numbers up to 2^53")
	case r.Count > 1 && (sameValue(v.At(0), v.At(1)) || sameValue(v.At(r.Count-2), v.At(r.Count-1))):
		return refused(parameter, "its range repeats values: the step is too small")
	}
	return nil
}

// UnmarshalJSON decodes what encoding/json writes; whole numbers stay exact.
func (v *Values) UnmarshalJSON(data []byte) error {
	type others Values // has not this method
	raw := struct {
		*others
		List json.RawMessage `json:"list"`
	}{others: (*others)(v)}
	*v = Values{}
	if err := json.Unmarshal(data, &raw); err != nil || len(raw.List) == 0 {
		return err
	}
	var err error
	v.List, err = decodeList(raw.List)
	return err
}

// Condition says that Parameter exists only at points that fit When.
type Condition struct {
	Parameter string `json:"parameter"`
	When      Match  `json:"when"`
}

// Match maps parameters to accepted values. A point fits if it has one of them for each
// parameter.
type Match map[string][]any

// Limits bound what one trial may cost.
type Limits struct {
	// Timeout ends an execution; 0 means none.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Silence ends an execution that reports and writes nothing, and uses no processor, for so long; 0 means no bound.
	Silence time.Duration `json:"silence,omitempty"`
	// Attempts is how many charged executions a trial has before it is failed.
	Attempts int `json:"attempts"`
	// Losses is how many executions whose workers vanished a trial has before it is failed; 0
	// means DefaultLosses.
	Losses int `json:"losses,omitempty"`
	// Errors is how many trials of a class in a row fail with errors of one cause before the sweep is paused;
	// 0 means no bound.
	Errors int `json:"errors,omitempty"`
	// Points is the largest number of points kept of a curve.
	Points int `json:"points"`
	// Artifact and Artifacts are the largest size of one artifact and of all of a trial, in
	// bytes; see ArtifactSizes.
	Artifact  int64 `json:"artifact,omitempty"`
	Artifacts int64 `json:"artifacts,omitempty"`
}

// Suspects reports whether a trial with so many lost executions runs alone in its worker: whoever runs beside a
// trial that takes its worker with it is lost, too, and the next loss may be one too many.
func (l Limits) Suspects(lost int) bool {
	return lost >= max(cmp.Or(max(l.Losses, 0), DefaultLosses)-1, 1)
}
