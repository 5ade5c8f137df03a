package trainertest

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sweep/sweep"
)

// refusal is a trial that must be refused, and the parameter that the error must name; empty
// if any may be named.
type refusal struct {
	parameters sweep.Parameters
	name       string
}

// refusals returns trials that the schema or the fixture refuses.
func (s *suite) refusals(t *testing.T) (trials []refusal) {
	resolved := s.resolve(t, s.Parameters)
	try := func(name string, value any) {
		p := resolved.Clone()
		p[name] = value
		trials = append(trials, refusal{p, name})
	}
	try("no_such_parameter", int64(1))
	for _, p := range s.description.Parameters {
		switch p.Type {
		case sweep.BooleanType:
			try(p.Name, "perhaps")
			try(p.Name, int64(7))
		case sweep.IntegerType, sweep.NumberType:
			try(p.Name, "many")
			try(p.Name, true)
			try(p.Name, []any{int64(1)})
			if p.Type == sweep.IntegerType {
				try(p.Name, 1.5)
			}
			if p.Minimum != nil {
				try(p.Name, *p.Minimum-1)
				if p.ExclusiveMinimum {
					try(p.Name, *p.Minimum)
				}
			}
			if p.Maximum != nil {
				try(p.Name, *p.Maximum+max(1, math.Abs(*p.Maximum)))
			}
		case sweep.StringType:
			try(p.Name, int64(3))
			try(p.Name, map[string]any{"a": nil})
			if len(p.Enum) > 0 {
				try(p.Name, "no such choice")
			}
		}
		if p.Required {
			lacking := resolved.Clone()
			delete(lacking, p.Name)
			trials = append(trials, refusal{lacking, p.Name})
		}
	}
	for _, p := range s.Refused {
		trials = append(trials, refusal{p, ""})
	}
	return trials
}

// testRefuse: whatever does not fit the schema is a *ParameterError that names
// the parameter, from Validate and from Train alike.
func testRefuse(t *testing.T, s *suite) {
	for _, trial := range s.refusals(t) {
		check := func(method string, err error) {
			t.Helper()
			var refused *sweep.ParameterError
			if !errors.As(err, &refused) {
				t.Errorf("%s of %s = %v: %v, want a *sweep.ParameterError", method, trial.name,
					trial.parameters[trial.name], err)
				return
			}
			if trial.name != "" && refused.Parameter != trial.name {
				t.Errorf("%s of %s = %v refuses %s", method, trial.name, trial.parameters[trial.name],
					refused.Parameter)
			}
			if refused.Problem == "" {
				t.Errorf("%s of %s: no problem given", method, trial.name)
			}
		}
		_, err := s.trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: trial.parameters,
			DataDir: s.DataDir})
		check("Validate", err)
		sink := &Sink{}
		_, err = s.trainer.Train(t.Context(), sweep.TrainRequest{
			Trial: sweep.Trial{Parameters: trial.parameters}, DataDir: s.DataDir, Points: sweep.DefaultPoints,
		}, sink)
		check("Train", err)
		if len(sink.Curves()) > 0 {
			t.Errorf("points of a refused trial (%s)", trial.name)
		}
	}
}

// testExtremes: values at the edge of their types are accepted or refused, but
// for the trial's own reasons and without a panic.
func testExtremes(t *testing.T, s *suite) {
	resolved := s.resolve(t, s.Parameters)
	for _, p := range s.description.Parameters {
		var values []any
		switch p.Type {
		case sweep.IntegerType:
			values = []any{int64(math.MaxInt64), int64(math.MinInt64), int64(0), int64(-1)}
		case sweep.NumberType:
			values = []any{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)}
		case sweep.StringType:
			values = []any{"", "\x00", "../../etc/passwd", strings.Repeat("x", 1<<16), "\u202e"}
		case sweep.AnyType:
			values = []any{nil, "", []any{}, map[string]any{}}
		}
		if p.Minimum != nil {
			values = append(values, *p.Minimum)
		}
		if p.Maximum != nil {
			values = append(values, *p.Maximum)
		}
		for _, value := range values {
			trial := resolved.Clone()
			trial[p.Name] = value
			validation, err := s.trainer.Validate(t.Context(),
				sweep.ValidateRequest{Parameters: trial, DataDir: s.DataDir})
			var parameter *sweep.ParameterError
			var data *sweep.DataError
			switch {
			case err == nil && validation == nil:
				t.Errorf("Validate of %s = %.40v: neither answer nor error", p.Name, value)
			case err != nil && !errors.As(err, &parameter) && !errors.As(err, &data):
				t.Errorf("Validate of %s = %.40v: %v, want a *sweep.ParameterError or a *sweep.DataError",
					p.Name, value, err)
			}
		}
	}
}
