package sweep

import (
	"errors"
	"testing"
)

// A parameter that is absent or of another type is an error and never a plain 0.
func TestParameterReader(t *testing.T) {
	values := map[string]any{"text": "a", "boolean": true, "integer": int64(3), "whole": 3.0,
		"number": 2.5, "none": nil}
	read := map[string]func(r *ParameterReader, name string) any{
		"text":    func(r *ParameterReader, name string) any { return r.Text(name) },
		"boolean": func(r *ParameterReader, name string) any { return r.Boolean(name) },
		"integer": func(r *ParameterReader, name string) any { return r.Integer(name) },
		"number":  func(r *ParameterReader, name string) any { return r.Number(name) },
	}
	right := map[string]map[string]any{
		"text": {"text": "a"}, "boolean": {"boolean": true},
		"integer": {"integer": 3, "whole": 3}, "number": {"integer": 3.0, "whole": 3.0, "number": 2.5},
	}
	for kind, reader := range read {
		for name := range values {
			r := ParameterReader{Parameters: values}
			got := reader(&r, name)
			want, fits := right[kind][name]
			var wrong *ParameterError
			if fits && (got != want || r.Err() != nil) || !fits &&
				(!errors.As(r.Err(), &wrong) || wrong.Parameter != name) {
				t.Errorf("%s read as %s is %v, error %v", name, kind, got, r.Err())
			}
		}
	}
	r := ParameterReader{Parameters: values}
	if err := r.Check([]*ParameterSchema{{Name: "integer", Type: IntegerType}, {Name: "number", Type: IntegerType},
		{Name: "text", Type: NumberType}}); err == nil || !errors.Is(r.Err(), err) {
		t.Errorf("error %v", err)
	}
	var wrong *ParameterError
	if r.Integer("whole"); !errors.As(r.Err(), &wrong) || wrong.Parameter != "number" {
		t.Errorf("error %v, want the first", r.Err())
	}
}
