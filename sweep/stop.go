package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// StopPosition returns position i of those at which values are recorded and judged, from 0 on, as a
// number of values: every value up to the 32nd, every second one up to the 64th, every fourth up to the
// 128th, and so on.
func StopPosition(i int) int64 {
	const every = 32
	if i < every {
		return int64(i) + 1
	}
	octave, place := (i-every)/(every/2), (i-every)%(every/2)
	return (every + 2*int64(place+1)) << octave
}

// MaxMarks is more than the positions at which a trial can have values: the last of them is above 2^53.
const MaxMarks = 1000

// StopRule is what a worker needs to know to stop a trial early.
type StopRule struct {
	Metric string `json:"metric"`
	Goal   string `json:"goal"`
	// Generation is that of the trial, from 1 on.
	Generation int64 `json:"generation,omitempty"`
	// Limits are in the order of their positions. Rule says what they are, such as "the median".
	Limits []StopLimit `json:"limits,omitempty"`
	Rule   string      `json:"rule,omitempty"`
	// Bands, if there are any, are the positions at which values are recorded instead of StopPosition. The coordinator
	// decides then, and learns the marks while the trial runs.
	Bands []int64 `json:"bands,omitempty"`
	// Best says that it decides by the best value so far, too.
	Best bool `json:"best,omitempty"`
}

// StopLimit stops a trial whose best value so far is worse than Value when it has reported At values.
type StopLimit struct {
	At    int64   `json:"at"`
	Value float64 `json:"value"`
	// Trials is how many trials Value is of.
	Trials int `json:"trials"`
}

// Marks are the values of a metric at the positions of StopPosition, as far as the trial got. A value
// that is not finite is not counted.
type Marks struct {
	Metric string    `json:"metric"`
	Values []float32 `json:"values"`
	// Bands, if there are any, are the positions instead.
	Bands []int64 `json:"bands,omitempty"`
	// Count is the number of values, and Best the best of them, nil if nothing is decided by it.
	Count int64    `json:"count,omitempty"`
	Best  *float32 `json:"best,omitempty"`
}

// BestOr returns the best value, or another number if nothing is decided by it.
func (m *Marks) BestOr(none float64) float64 {
	if m.Best == nil {
		return none
	}
	return float64(*m.Best)
}

// Positions are those of the values.
func (m *Marks) Positions() []int64 {
	if len(m.Bands) > 0 {
		return m.Bands[:len(m.Values)]
	}
	positions := make([]int64, len(m.Values))
	for i := range positions {
		positions[i] = StopPosition(i)
	}
	return positions
}

// Watch applies a StopRule to the values of a trial as they are reported.
type Watch struct {
	rule  *StopRule
	marks Marks
	// count is how many values were reported, best the best of them.
	count int64
	best  float32
	// next is the limit that comes next.
	next int
}

// NewWatch returns a Watch for a trial that has reported nothing yet.
func NewWatch(rule *StopRule) *Watch {
	return &Watch{rule: rule, marks: Marks{Metric: rule.Metric, Bands: rule.Bands}}
}

// Marks are those of the values so far.
func (w *Watch) Marks() *Marks { return &w.marks }

// mark records a value at the positions that it is at.
func (w *Watch) mark(value float32) {
	if w.marks.Count = w.count; w.rule.Best || len(w.rule.Bands) == 0 {
		w.marks.Best = new(w.best)
	}
	if len(w.rule.Bands) == 0 {
		if w.count == StopPosition(len(w.marks.Values)) {
			w.marks.Values = append(w.marks.Values, value)
		}
		return
	}
	for n := len(w.marks.Values); n < len(w.rule.Bands) && w.rule.Bands[n] == w.count; n++ { // bands may be equal
		w.marks.Values = append(w.marks.Values, value)
	}
}

// Cut takes a batch of samples, which are all since the last call. If the trial is to stop it returns why, and the
// batch up to there: to the sample that is judged, and of other metrics to its step.
func (w *Watch) Cut(batch []Curve) (kept []Curve, reason string) {
	for i, c := range batch {
		if c.Metric != w.rule.Metric {
			continue
		}
		for j, step := range c.Steps {
			if reason := w.add(step, c.Values[j]); reason != "" {
				return cut(batch, i, j), reason
			}
		}
	}
	return batch, ""
}

// cut returns the batch up to sample j of curve i.
func cut(batch []Curve, i, j int) []Curve {
	step := batch[i].Steps[j]
	kept := make([]Curve, 0, len(batch))
	for k, c := range batch {
		n := 0
		switch {
		case k == i:
			n = j + 1
		case c.Metric != batch[i].Metric:
			if n = slices.IndexFunc(c.Steps, func(s int64) bool { return s > step }); n < 0 {
				n = len(c.Steps)
			}
		case k < i:
			n = len(c.Steps)
		}
		c.Steps, c.Values = c.Steps[:n], c.Values[:n]
		if n > 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// add takes the next value of the metric and returns why the trial is to stop, "" if it is not.
func (w *Watch) add(step int64, value float32) (reason string) {
	if v := float64(value); math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	w.count++
	selection := Select{Goal: w.rule.Goal}
	if w.count == 1 || selection.Better(float64(value), float64(w.best)) {
		w.best = value
	}
	w.mark(value)
	if w.next == len(w.rule.Limits) || w.count < w.rule.Limits[w.next].At {
		return ""
	}
	limit := &w.rule.Limits[w.next]
	w.next++
	if !selection.Better(limit.Value, float64(w.best)) {
		return ""
	}
	best, than := fmt.Sprintf("%s %s", w.rule.Metric, ShortFloat(w.best)), "above"
	if w.count > 1 {
		best = fmt.Sprintf("the best %s up to there, %s,", w.rule.Metric, ShortFloat(w.best))
	}
	if w.rule.Goal == Maximize {
		than = "below"
	}
	return fmt.Sprintf("stopped at value %d, step %d: %s is %s %.9g, %s of %s before generation %d", w.count, step,
		best, than, limit.Value, w.rule.Rule, CountText(limit.Trials, "trial"), w.rule.Generation)
}

// ShortFloat writes a value in single precision with as few digits as distinguish it.
func ShortFloat(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// Widen returns the number that is written as ShortFloat writes a value: 0.1 for the single precision's 0.1.
func Widen(v float32) float64 {
	wide, _ := strconv.ParseFloat(ShortFloat(v), 64) // it is a number, or NaN or infinite
	return wide
}

// Observation is what was known of a trial when it was observed: its marks. It replaces the trial's earlier ones.
// Number is in the order in which observations were stored.
type Observation struct {
	Number, Trial int64
	Positions     []int64
	Values        []float32
	Best          float32
	// Open says that the trial runs now, and that no decision about it is carried out.
	Open bool
}

// Stop is the decision that a trial is to stop: its Value of a metric at a band is worse than the Threshold of a rule,
// which is that of so many trials. It is by the observations up to a number. State is the trial's.
type Stop struct {
	TrialID
	State                State
	Rule, Metric, Reason string
	Band                 int64
	Value, Threshold     float64
	Trials, Observation  int64
}
