package sweep

// Description is what a trainer says of itself.
type Description struct {
	// Name is the trainer's name in sweep files.
	Name string `json:"name"`
	// Version is the program's version; ResultVersion changes whenever the same
	// parameters give other bits, and is part of every fingerprint.
	Version       string `json:"version"`
	ResultVersion string `json:"result_version"`
	// Parameters and Metrics are in the order in which they are shown.
	Parameters []ParameterSchema `json:"parameters"`
	Metrics    []MetricSchema    `json:"metrics"`
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
	// Default fills in a parameter that a point lacks; Defaults, tried first
	// and in order, are defaults under a condition. Required parameters have none.
	Default  any                  `json:"default,omitempty"`
	Defaults []ConditionalDefault `json:"defaults,omitempty"`
	Required bool                 `json:"required,omitempty"`
	// Enum lists the accepted values, if they are few.
	Enum []any `json:"enum,omitempty"`
	// Minimum and Maximum bound numbers; ExclusiveMinimum leaves Minimum itself out.
	Minimum          *float64 `json:"minimum,omitempty"`
	Maximum          *float64 `json:"maximum,omitempty"`
	ExclusiveMinimum bool     `json:"exclusive_minimum,omitempty"`
	// Dataset says that the parameter helps to determine the data set, so that
	// trials that agree in all such parameters share one dataset digest.
	Dataset bool `json:"dataset,omitempty"`
}

// ConditionalDefault is a default for the points that fit When.
type ConditionalDefault struct {
	When  Match `json:"when"`
	Value any   `json:"value"`
}

// MetricSchema describes one metric of a trainer.
type MetricSchema struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Goal is "minimize", "maximize" or empty.
	Goal string `json:"goal,omitempty"`
	// Unit is shown beside values ("s", "nats"); empty for none.
	Unit string `json:"unit,omitempty"`
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

// DatasetKey returns the canonical JSON of the resolved parameters that
// determine the data set; "{}" if none does.
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
