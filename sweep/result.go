package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
)

// Result is the outcome of a trial.
type Result struct {
	// State is Completed, Failed, Cancelled or Stopped. A trial that diverged is
	// Completed with Diverged set.
	State    State `json:"state"`
	Diverged bool  `json:"diverged,omitempty"`
	// Summary holds the summary metrics that are finite. NotFinite names the others, whose last value is NaN or
	// infinite: nothing is compared by it.
	Summary   map[string]float64 `json:"summary,omitempty"`
	NotFinite []string           `json:"not_finite,omitempty"`
	// WeightsDigest is the hexadecimal SHA-256 of the final weights.
	WeightsDigest string `json:"weights_digest,omitempty"`
	// KernelLevel is the level of the loops that ran: bits depend on it.
	KernelLevel string `json:"kernel_level,omitempty"`
	// Seconds is the trainer's own time.
	Seconds float64 `json:"seconds,omitempty"`
	// Error says why a trial failed or was stopped, or what is unusual about a completed one; Stderr is the end
	// of what its trainer wrote to standard error.
	Error  string `json:"error,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// Digest covers everything above that must repeat, and the curves; see ComputeDigest.
	Digest string `json:"digest,omitempty"`
	// Curves are thinned to the sweep's limit.
	Curves []Curve `json:"curves,omitempty"`
	// Marks are what later trials are compared with, of a sweep that stops trials early.
	Marks *Marks `json:"marks,omitempty"`
	// Artifacts are those that the sweep asked for, missing ones included.
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// Labels are what the program calls its run; a store returns them with the TrialRecord.
	Labels *RunLabels `json:"labels,omitempty"`
	// Inputs are what a program has read; nil of other trainers. A store returns them by Reader.Inputs.
	Inputs *Inputs `json:"inputs,omitempty"`
}

// Metrics by which other parts know what trainers report: the epoch of the kept snapshot, from 1 on, the number of
// trained weights, and the floating-point operations, which a trainer should declare volatile.
const (
	BestEpochMetric      = "best_epoch"
	ParameterCountMetric = "parameter_count"
	FlopsMetric          = "flops"
)

// PlainResult is a result as programs read it: of the metrics that are not finite the value is null, as in curves.
type PlainResult struct {
	*Result
	Summary   map[string]*float64 `json:"summary,omitempty"`
	NotFinite *struct{}           `json:"not_finite,omitempty"`
}

// Plain returns the result as programs read it, nil for none.
func (r *Result) Plain() *PlainResult {
	if r == nil {
		return nil
	}
	p := &PlainResult{Result: r, Summary: make(map[string]*float64, len(r.Summary)+len(r.NotFinite))}
	for name, value := range r.Summary {
		p.Summary[name] = &value
	}
	for _, name := range r.NotFinite {
		p.Summary[name] = nil
	}
	return p
}

// Measured returns the value that a metric of the result has, NaN where it is not finite.
func (r *Result) Measured(metric string) (value float64, ok bool) {
	if value, ok = r.Summary[metric]; ok {
		return value, true
	}
	return math.NaN(), slices.Contains(r.NotFinite, metric)
}

// ComputeDigest returns the hexadecimal SHA-256 of what two executions of one fingerprint at one
// kernel level must share bit for bit: state, summary, weights and curves, without the volatile
// metrics (times, costs) and errors.
func (r *Result) ComputeDigest(volatile map[string]bool) string {
	h := sha256.New()
	text := func(s string) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	var word [8]byte
	number := func(u uint64) {
		binary.LittleEndian.PutUint64(word[:], u)
		h.Write(word[:])
	}
	text(string(r.State))
	text(r.KernelLevel)
	text(r.WeightsDigest)
	// These two come first, as integers: so digests are those of the time when they were no metrics. What is no integer
	// that a float has exactly would be another on other processors, and stands among the metrics.
	first := []string{BestEpochMetric, ParameterCountMetric}
	whole := func(name string) bool {
		v := r.Summary[name]
		return v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	for _, name := range first {
		var v int64
		if !volatile[name] && whole(name) {
			v = int64(r.Summary[name])
		}
		number(uint64(v))
	}
	for _, name := range sortedKeys(r.Summary) {
		if !volatile[name] && (!whole(name) || !slices.Contains(first, name)) {
			text(name)
			number(math.Float64bits(r.Summary[name]))
		}
	}
	curves := slices.Clone(r.Curves)
	slices.SortFunc(curves, func(a, b Curve) int { return cmp.Compare(a.Metric, b.Metric) })
	for _, c := range curves {
		if volatile[c.Metric] {
			continue
		}
		text(c.Metric)
		h.Write(EncodeSteps(c.Steps))
		h.Write(EncodeValues(c.Values))
	}
	return hex.EncodeToString(h.Sum(nil))
}
