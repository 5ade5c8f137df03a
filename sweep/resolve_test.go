package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
)

func testDescription() *Description {
	return &Description{
		Name: "toy",
		Parameters: []ParameterSchema{
			{Name: "dataset", Type: StringType, Required: true},
			{Name: "model", Type: StringType, Enum: []any{"rnn", "lstm", "spectral-rnn"}, Default: "rnn"},
			{Name: "lr", Type: NumberType, Minimum: new(0.0), ExclusiveMinimum: true, Default: 1e-3,
				Defaults: []ConditionalDefault{
					{When: Match{"model": {"lstm"}, "dataset": {"mnist"}}, Value: 1e-2},
					{When: Match{"model": {"lstm", "gru"}}, Value: "3e-3"},
				}},
			{Name: "m1", Type: IntegerType, Minimum: new(1.0), Maximum: new(32.0), Default: 16.0},
			{Name: "batch", Type: IntegerType, Enum: []any{16.0, 32.0}},
			{Name: "clip", Type: BooleanType, Default: false},
			{Name: "layers", Type: AnyType},
			{Name: "seed", Type: IntegerType, Default: 1},
		},
	}
}

func TestResolve(t *testing.T) {
	tests := []struct{ point, want string }{
		{`{"dataset":"CBF"}`, `{"clip":false,"dataset":"CBF","lr":0.001,"m1":16,"model":"rnn","seed":1}`},
		{`{"dataset":"CBF","model":"lstm"}`,
			`{"clip":false,"dataset":"CBF","lr":0.003,"m1":16,"model":"lstm","seed":1}`},
		{`{"dataset":"mnist","model":"lstm"}`,
			`{"clip":false,"dataset":"mnist","lr":0.01,"m1":16,"model":"lstm","seed":1}`},
		{`{"dataset":"mnist","model":"lstm","lr":1}`,
			`{"clip":false,"dataset":"mnist","lr":1,"m1":16,"model":"lstm","seed":1}`},
		{`{"dataset":"A","lr":"1e-3","m1":"8","batch":"32","clip":"yes","layers":[64,{"a":null}],"seed":9007199254740993}`,
			`{"batch":32,"clip":true,"dataset":"A","layers":[64,{"a":null}],"lr":0.001,"m1":8,"model":"rnn","seed":9007199254740993}`},
	}
	d := testDescription()
	for _, test := range tests {
		var point Parameters
		if err := json.Unmarshal([]byte(test.point), &point); err != nil {
			t.Fatal(err)
		}
		before := point.Clone()
		resolved, err := d.Resolve(point)
		if err != nil {
			t.Errorf("%s: %v", test.point, err)
			continue
		}
		got, err := resolved.Canonical()
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", test.point, got, err, test.want)
		}
		if !Equal(map[string]any(before), map[string]any(point)) {
			t.Errorf("%s: the point was changed", test.point)
		}
		// Resolving again, and after a way through JSON, changes nothing.
		var carried Parameters
		if err := json.Unmarshal(got, &carried); err != nil {
			t.Fatal(err)
		}
		for _, p := range []Parameters{resolved, carried} {
			again, err := d.Resolve(p)
			if text, _ := again.Canonical(); err != nil || string(text) != test.want {
				t.Errorf("%s: resolved again %s, %v", test.point, text, err)
			}
		}
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct {
		point Parameters
		want  ParameterError
	}{
		{Parameters{}, ParameterError{Parameter: "dataset", Problem: "is required: text"}},
		{Parameters{"dataset": "A", "modell": "rnn"},
			ParameterError{Parameter: "modell", Problem: "trainer toy has no such parameter", Nearest: "model"}},
		{Parameters{"dataset": "A", "zzzzzz": 1},
			ParameterError{Parameter: "zzzzzz", Problem: "trainer toy has no such parameter"}},
		{Parameters{"dataset": 3}, ParameterError{Parameter: "dataset", Value: int64(3),
			Problem: "must be text (in quotes)"}},
		{Parameters{"dataset": "A", "model": "lstn"}, ParameterError{Parameter: "model", Value: "lstn",
			Problem: "must be one of rnn, lstm, spectral-rnn", Nearest: "lstm"}},
		{Parameters{"dataset": "A", "lr": 0}, ParameterError{Parameter: "lr", Value: int64(0),
			Problem: "must be a number above 0"}},
		{Parameters{"dataset": "A", "lr": math.NaN()},
			ParameterError{Parameter: "lr", Problem: "NaN is not a finite number"}},
		{Parameters{"dataset": "A", "m1": 33}, ParameterError{Parameter: "m1", Value: int64(33),
			Problem: "must be an integer from 1 to 32"}},
		{Parameters{"dataset": "A", "m1": 1.5}, ParameterError{Parameter: "m1", Value: 1.5,
			Problem: "must be an integer from 1 to 32"}},
		{Parameters{"dataset": "A", "batch": 17}, ParameterError{Parameter: "batch", Value: int64(17),
			Problem: "must be one of 16, 32"}},
		{Parameters{"dataset": "A", "clip": 1}, ParameterError{Parameter: "clip", Value: int64(1),
			Problem: "must be true or false"}},
		{Parameters{"dataset": "A", "seed": nil}, ParameterError{Parameter: "seed", Problem: "must be an integer"}},
	}
	d := testDescription()
	for _, test := range tests {
		_, err := d.Resolve(test.point)
		var got *ParameterError
		if !errors.As(err, &got) || *got != test.want {
			t.Errorf("%v: error %+v, want %+v", test.point, err, &test.want)
		}
	}
}

func TestCoerce(t *testing.T) {
	refused := struct{}{}
	tests := []struct {
		kind  ParameterType
		value any
		want  any
	}{
		{NumberType, "1e-3", 0.001},
		{NumberType, "10_000_000", 1e7},
		{NumberType, "5E-4", 0.0005},
		{NumberType, "+.5", 0.5},
		{NumberType, "-1.", -1.0},
		{NumberType, "0x10", 16.0},
		{NumberType, 3, 3.0},
		{NumberType, float32(0.5), 0.5},
		{NumberType, int64(9007199254740993), 9007199254740992.0},
		{NumberType, "", refused},
		{NumberType, "1e999", refused},
		{NumberType, "inf", refused},
		{NumberType, "nan", refused},
		{NumberType, "0x1p-2", refused},
		{NumberType, "1 ", refused},
		{NumberType, "_1", refused},
		{NumberType, "1e", refused},
		{NumberType, true, refused},
		{NumberType, nil, refused},
		{NumberType, []any{int64(1)}, refused},
		{IntegerType, 16.0, int64(16)},
		{IntegerType, "16.0", int64(16)},
		{IntegerType, "1e3", int64(1000)},
		{IntegerType, 1e18, int64(1e18)},
		{IntegerType, -0x1p63, int64(math.MinInt64)},
		{IntegerType, 0x1p63, refused},
		{IntegerType, uint64(math.MaxUint64), refused},
		{IntegerType, 16.5, refused},
		{IntegerType, "x", refused},
		{IntegerType, true, refused},
		{BooleanType, "yes", true},
		{BooleanType, "Off", false},
		{BooleanType, "TRUE", true},
		{BooleanType, "no", false},
		{BooleanType, false, false},
		{BooleanType, "y", refused},
		{BooleanType, 1, refused},
		{StringType, "1e-3", "1e-3"},
		{StringType, "yes", "yes"},
		{StringType, 1, refused},
		{StringType, nil, refused},
		{AnyType, "1e-3", "1e-3"},
		{AnyType, nil, nil},
		{AnyType, []any{1, "a"}, []any{int64(1), "a"}},
		{AnyType, struct{}{}, refused},
	}
	for _, test := range tests {
		got, err := (&ParameterSchema{Name: "p", Type: test.kind}).Coerce(test.value)
		if test.want == refused {
			var e *ParameterError
			if !errors.As(err, &e) || e.Parameter != "p" || e.Problem == "" {
				t.Errorf("%s %#v: %#v, %v; want a ParameterError", test.kind, test.value, got, err)
			}
			continue
		}
		if err != nil || fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", test.want, test.want) {
			t.Errorf("%s %#v: %#v, %v; want %#v", test.kind, test.value, got, err, test.want)
		}
	}
}

func TestExpected(t *testing.T) {
	one, two := new(1.0), new(2.5)
	tests := []struct {
		schema ParameterSchema
		want   string
	}{
		{ParameterSchema{Type: IntegerType}, "an integer"},
		{ParameterSchema{Type: IntegerType, Minimum: one, Maximum: two}, "an integer from 1 to 2.5"},
		{ParameterSchema{Type: NumberType, Minimum: one}, "a number of at least 1"},
		{ParameterSchema{Type: NumberType, Maximum: two}, "a number of at most 2.5"},
		{ParameterSchema{Type: NumberType, Minimum: one, ExclusiveMinimum: true}, "a number above 1"},
		{ParameterSchema{Type: NumberType, Minimum: one, Maximum: two, ExclusiveMinimum: true},
			"a number above 1 and at most 2.5"},
		{ParameterSchema{Type: BooleanType}, "true or false"},
		{ParameterSchema{Type: StringType}, "text"},
		{ParameterSchema{Type: AnyType}, "any value"},
		{ParameterSchema{Type: StringType, Enum: []any{"a", 1, true}}, "one of a, 1, true"},
		{ParameterSchema{Type: StringType, Enum: []any{"a"}}, "a"},
	}
	for _, test := range tests {
		if got := test.schema.Expected(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"dataset", "model", "lr", "decay", "m1", "m2", "spectral-rnn", "validation_loss",
		"values", "value"}
	for name, want := range map[string]string{
		"datset": "dataset", "Model": "model", "rl": "lr", "spectral_rnn": "spectral-rnn",
		"spectralrnn": "spectral-rnn",
		"val_loss":    "", "vaules": "values", "m3": "m1", "m1": "m1", "xyz": "", "": "",
		"validation-los": "validation_loss",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	d := testDescription()
	for i := range 30 {
		d.Parameters = append(d.Parameters, ParameterSchema{Name: fmt.Sprintf("parameter_%d", i), Type: NumberType,
			Default: 0.5})
	}
	point := Parameters{"dataset": "CBF", "model": "lstm", "m1": int64(8), "clip": true, "seed": int64(3),
		"parameter_7": 0.25}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Resolve(point); err != nil {
			b.Fatal(err)
		}
	}
}
