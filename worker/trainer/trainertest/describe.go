package trainertest

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
)

// testDescribe holds the description to its own rules.
func testDescribe(t *testing.T, s *suite) {
	d := s.description
	again, err := s.trainer.Describe(t.Context())
	if err != nil {
		t.Fatalf("Describe, again: %v", err)
	}
	if !reflect.DeepEqual(d, again) {
		t.Errorf("two descriptions differ:\n%+v\n%+v", d, again)
	}
	if d.Name == "" || d.Version == "" || d.ResultVersion == "" {
		t.Errorf("name %q, version %q and result version %q must not be empty", d.Name, d.Version, d.ResultVersion)
	}
	seen := map[string]bool{}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if p.Name == "" || seen[p.Name] {
			t.Errorf("parameter %q is not the only one of its name", p.Name)
		}
		seen[p.Name] = true
		checkParameter(t, d, p)
	}
	seen = map[string]bool{}
	for _, m := range d.Metrics {
		if m.Name == "" || seen[m.Name] {
			t.Errorf("metric %q is not the only one of its name", m.Name)
		}
		seen[m.Name] = true
		if m.Goal != "" && m.Goal != "minimize" && m.Goal != "maximize" {
			t.Errorf("metric %q: goal %q", m.Name, m.Goal)
		}
		if !m.Curve && !m.Summary {
			t.Errorf("metric %q is neither in curves nor in the summary", m.Name)
		}
		if m.Doc == "" {
			t.Errorf("metric %q has no doc", m.Name)
		}
	}
}

func checkParameter(t *testing.T, d *sweep.Description, p *sweep.ParameterSchema) {
	if p.Doc == "" {
		t.Errorf("parameter %q has no doc", p.Name)
	}
	switch p.Type {
	case sweep.IntegerType, sweep.NumberType:
		if p.Minimum != nil && p.Maximum != nil && *p.Minimum > *p.Maximum {
			t.Errorf("parameter %q: minimum %v above maximum %v", p.Name, *p.Minimum, *p.Maximum)
		}
	case sweep.BooleanType, sweep.StringType, sweep.AnyType:
		if p.Minimum != nil || p.Maximum != nil {
			t.Errorf("parameter %q: bounds of a %s", p.Name, p.Type)
		}
	default:
		t.Errorf("parameter %q: type %q", p.Name, p.Type)
	}
	if p.Name == sweep.SeedParameter && p.Type != sweep.IntegerType {
		t.Errorf("parameter %q: replicates set it to integers", p.Name)
	}
	if p.Required && (p.Default != nil || len(p.Defaults) > 0) {
		t.Errorf("parameter %q is required and has a default", p.Name)
	}
	values := slices.Clone(p.Enum)
	if p.Default != nil {
		values = append(values, p.Default)
	}
	for _, c := range p.Defaults {
		values = append(values, c.Value)
		for other, accepted := range c.When {
			schema := d.Parameter(other)
			if schema == nil {
				t.Errorf("parameter %q: a default depends on %q, which there is not", p.Name, other)
				continue
			}
			for _, value := range accepted {
				if _, err := schema.Coerce(value); err != nil {
					t.Errorf("parameter %q: the condition of a default: %v", p.Name, err)
				}
			}
		}
	}
	for _, value := range values {
		if _, err := p.Coerce(value); err != nil {
			t.Errorf("parameter %q: its own default or choice: %v", p.Name, err)
		}
	}
}

// testValidate: the fixture is accepted, always with the same answer, whatever
// form its numbers have.
func testValidate(t *testing.T, s *suite) {
	resolved := s.resolve(t, s.Parameters)
	canonical, err := resolved.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	var stored sweep.Parameters
	if err := stored.UnmarshalJSON(canonical); err != nil {
		t.Fatal(err)
	}
	var first *sweep.Validation
	for _, p := range []sweep.Parameters{resolved, stored} {
		v, err := s.trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: p, DataDir: s.DataDir})
		if err != nil {
			t.Fatalf("Validate: %v", err)
		}
		if v.Flops < 0 || v.Bytes < 0 || v.ParameterCount < 0 || math.IsNaN(v.Flops) {
			t.Errorf("Validate: a negative estimate: %+v", v)
		}
		if first == nil {
			first = v
		} else if *v != *first {
			t.Errorf("two validations differ: %+v, %+v", first, v)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.trainer.Validate(ended, sweep.ValidateRequest{Parameters: resolved, DataDir: s.DataDir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Validate with a context that has ended: %v", err)
	}
}
