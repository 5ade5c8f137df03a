package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Description is what a trainer says of itself.
type Description struct {
	// Name is the trainer's name in sweep files.
	Name string `json:"name"`
	// Version is the program's version; ResultVersion changes whenever the same
	// parameters give other bits, and is part of every fingerprint.
	Version       string `json:"version"`
	ResultVersion string `json:"result_version"`
	// KernelLevel is the level of the running trainer's kernels, if its bits depend on one.
	KernelLevel string `json:"kernel_level,omitempty"`
	// Open says that the trainer also takes parameters, as they are, and reports metrics that it
	// does not describe.
	Open bool `json:"open,omitempty"`
	// Parameters and Metrics are in the order in which they are shown.
	Parameters []ParameterSchema `json:"parameters"`
	Metrics    []MetricSchema    `json:"metrics"`
	// Artifacts are those that the trainer can leave. If it names none, sweeps may ask for any.
	Artifacts []ArtifactSchema `json:"artifacts,omitempty"`
	// Continues says which trials can be continued: training from the CheckpointArtifact of one with a
	// smaller budget gives the same bits as training so long at once. Nil means all that have a budget.
	Continues Match `json:"continues,omitempty"`
}

// ArtifactSchema describes an artifact of a trainer.
type ArtifactSchema struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Doc       string `json:"doc"`
}

// ParameterType is the type of a parameter's value.
type ParameterType string

// The parameter types. AnyType takes every value as it is.
const (
	BooleanType ParameterType = "boolean"
	IntegerType ParameterType = "integer"
	NumberType  ParameterType = "number"
	StringType  ParameterType = "string"
	AnyType     ParameterType = "any"
)

// ParameterSchema describes one parameter of a trainer.
type ParameterSchema struct {
	Name string        `json:"name"`
	Type ParameterType `json:"type"`
	Doc  string        `json:"doc"`
	// Default fills in a parameter that a point lacks, after Defaults, which are conditional and
	// tried in order. Required parameters have neither.
	Default  any                  `json:"default,omitempty"`
	Defaults []ConditionalDefault `json:"defaults,omitempty"`
	Required bool                 `json:"required,omitempty"`
	// AppliesWhen says where the parameter applies, by parameters listed before it; nil
	// everywhere. Elsewhere a trial does not have it, even if its point does.
	AppliesWhen Match `json:"applies_when,omitempty"`
	// Neutral, if not nil, is the value with which a parameter that was added later changes
	// nothing: fingerprints leave it out. NeutralWhen says for which points, if it was part of the
	// fingerprints of others before; nil for all.
	Neutral     any   `json:"neutral,omitempty"`
	NeutralWhen Match `json:"neutral_when,omitempty"`
	// Enum lists the accepted values, if they are few.
	Enum []any `json:"enum,omitempty"`
	// Minimum and Maximum bound numbers; ExclusiveMinimum leaves Minimum itself out.
	Minimum          *float64 `json:"minimum,omitempty"`
	Maximum          *float64 `json:"maximum,omitempty"`
	ExclusiveMinimum bool     `json:"exclusive_minimum,omitempty"`
	// Dataset says that the parameter helps to determine the data set: trials that agree in all
	// such parameters have the same dataset digest.
	Dataset bool `json:"dataset,omitempty"`
	// Measures says that the metrics cannot compare different values of the parameter, because it
	// changes what they measure or takes effect after they are measured: a share held out for
	// validation, an average after the last validation. MeasuresWhen says where; nil everywhere.
	Measures     bool  `json:"measures,omitempty"`
	MeasuresWhen Match `json:"measures_when,omitempty"`
	// Budget says that the parameter, an integer, is how long a trial trains: one with a larger value
	// begins with the same steps, unless another parameter is not Endless.
	Budget bool `json:"budget,omitempty"`
	// Endless, if not nil, are the values with which the steps of training do not depend on where
	// training ends. Trials with other values cannot be trained longer.
	Endless []any `json:"endless,omitempty"`
}

// ConditionalDefault is a default for the points that fit When.
type ConditionalDefault struct {
	When  Match `json:"when"`
	Value any   `json:"value"`
}

// Part is a part of a data set.
type Part string

// The parts of a data set.
const (
	TrainPart      Part = "train"
	ValidationPart Part = "validation"
	TestPart       Part = "test"
)

// MetricSchema describes one metric of a trainer.
type MetricSchema struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Goal is "minimize", "maximize" or empty.
	Goal string `json:"goal,omitempty"`
	// Unit is shown beside values ("s", "nats"); empty for none.
	Unit string `json:"unit,omitempty"`
	// Part is that of the data on which it is measured; empty if it is measured on none.
	Part Part `json:"part,omitempty"`
	// Diverged, if not nil, is what a diverged trial counts as in the mean of a grid point, so that
	// a point does not win by losing replicates.
	Diverged *float64 `json:"diverged,omitempty"`
	// AbsentWhen says which trials do not report the metric, by their parameters; nil for none.
	AbsentWhen Match `json:"absent_when,omitempty"`
	// Volatile metrics (times) differ between equal runs and are left out of digests.
	Volatile bool `json:"volatile,omitempty"`
	// Curve and Summary say where the metric appears.
	Curve   bool `json:"curve,omitempty"`
	Summary bool `json:"summary,omitempty"`
}

// Parameter returns the schema of a parameter, or nil.
func (d *Description) Parameter(name string) *ParameterSchema {
	for i := range d.Parameters {
		if d.Parameters[i].Name == name {
			return &d.Parameters[i]
		}
	}
	return nil
}

// Metric returns the schema of a metric, or nil.
func (d *Description) Metric(name string) *MetricSchema {
	for i := range d.Metrics {
		if d.Metrics[i].Name == name {
			return &d.Metrics[i]
		}
	}
	return nil
}

// Budget returns the schema and the value of the parameter that says how long a trial with resolved
// parameters trains, nil if there is none.
func (d *Description) Budget(resolved Parameters) (*ParameterSchema, int64) {
	for i := range d.Parameters {
		if s := &d.Parameters[i]; s.Budget {
			if value, ok := resolved[s.Name].(int64); ok {
				return s, value
			}
		}
	}
	return nil, 0
}

// Endless returns a *ParameterError for the first of resolved parameters by which training depends on
// where it ends, nil if there is none.
func (d *Description) Endless(resolved Parameters) error {
	for i := range d.Parameters {
		s := &d.Parameters[i]
		value, present := resolved[s.Name]
		if !present || s.Endless == nil || contains(s.Endless, value) {
			continue
		}
		accepted := make([]string, len(s.Endless))
		for k, item := range s.Endless {
			text, _ := CanonicalJSON(item)
			accepted[k] = strings.Trim(string(text), `"`)
		}
		return &ParameterError{Parameter: s.Name, Value: value, Problem: "depends on where training ends, so the " +
			"trial cannot be trained longer: that needs " + strings.Join(accepted, " or ")}
	}
	return nil
}

// Lineage returns what trials have in common that continue each other, and how far one of them trains: a
// trial continues from the checkpoint of any of its lineage with a smaller budget. The lineage of a
// trial that cannot be continued is "".
func (d *Description) Lineage(resolved Parameters, datasetDigest string) (lineage Fingerprint, budget int64) {
	if !d.Continues.Fits(resolved) {
		return "", 0
	}
	s, budget := d.Budget(resolved)
	if s == nil || d.Endless(resolved) != nil {
		return "", 0
	}
	others := resolved.Clone()
	delete(others, s.Name)
	lineage, err := d.Fingerprint(others, datasetDigest)
	if err != nil {
		return "", 0
	}
	return lineage, budget
}

// Absent says whether a trial with these parameters does not report the metric.
func (m *MetricSchema) Absent(p Parameters) bool {
	return m != nil && len(m.AbsentWhen) > 0 && m.AbsentWhen.Fits(p)
}

// Diverged is what a diverged trial with some parameters counts as in means of a metric, NaN if that is not known, or
// if no such trial reports the metric.
func (d *Description) Diverged(metric string, p Parameters) float64 {
	switch m := d.Metric(metric); {
	case m.Absent(p):
		return math.NaN()
	case m != nil && m.Diverged != nil:
		return *m.Diverged
	}
	if value, ok := assumed[metric]; ok && !d.saysDiverged() {
		return value
	}
	return math.NaN()
}

// assumed is what a diverged trial counts as by a description that says it of no metric, as those
// of scripts.
var assumed = map[string]float64{defaultMetric: 20, "test_loss": 20, "test_accuracy": 0}

func (d *Description) saysDiverged() bool {
	return slices.ContainsFunc(d.Metrics, func(m MetricSchema) bool { return m.Diverged != nil })
}

// Check returns an error if the description contradicts itself.
func (d *Description) Check() error {
	before := map[string]bool{}
	for i := range d.Parameters {
		s := &d.Parameters[i]
		for _, name := range s.AppliesWhen.Names() {
			if !before[name] {
				return fmt.Errorf("parameter %s applies by %s, which must stand before it", s.Name, name)
			}
		}
		if s.Neutral != nil {
			if _, err := s.Coerce(s.Neutral); err != nil {
				return fmt.Errorf("the neutral value is none: %w", err)
			}
		}
		if s.Budget && s.Type != IntegerType {
			return fmt.Errorf("parameter %s is a budget, which must be an integer", s.Name)
		}
		before[s.Name] = true
	}
	for _, name := range d.Continues.Names() {
		if !before[name] {
			return fmt.Errorf("trials are continued by %s, which is no parameter", name)
		}
	}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		if parts := []Part{"", TrainPart, ValidationPart, TestPart}; !slices.Contains(parts, m.Part) {
			return fmt.Errorf("metric %s is of part %q, which is none of train, validation and test", m.Name, m.Part)
		}
		for _, name := range m.AbsentWhen.Names() {
			if !before[name] {
				return fmt.Errorf("metric %s is absent by %s, which is no parameter", m.Name, name)
			}
		}
	}
	return nil
}

// Fingerprint returns the fingerprint of resolved parameters, without those with neutral values:
// a trainer that gets further parameters keeps its results.
func (d *Description) Fingerprint(resolved Parameters, datasetDigest string) (Fingerprint, error) {
	given := resolved
	for i := range d.Parameters {
		s := &d.Parameters[i]
		if s.Neutral == nil || !s.NeutralWhen.Fits(given) {
			continue
		}
		if value, present := resolved[s.Name]; present && sameValue(value, s.Neutral) {
			resolved = resolved.Clone()
			delete(resolved, s.Name)
		}
	}
	canonical, err := resolved.Canonical()
	if err != nil {
		return "", err
	}
	return NewFingerprint(d.Name, d.ResultVersion, datasetDigest, canonical), nil
}

// Volatile returns the names of the volatile metrics.
func (d *Description) Volatile() map[string]bool {
	names := map[string]bool{}
	for _, m := range d.Metrics {
		if m.Volatile {
			names[m.Name] = true
		}
	}
	return names
}

// DatasetKey returns the canonical JSON of the resolved parameters that determine the data set.
func (d *Description) DatasetKey(resolved Parameters) (string, error) {
	chosen := map[string]any{}
	for _, s := range d.Parameters {
		if s.Dataset {
			if v, ok := resolved[s.Name]; ok {
				chosen[s.Name] = v
			}
		}
	}
	key, err := CanonicalJSON(chosen)
	return string(key), err
}
