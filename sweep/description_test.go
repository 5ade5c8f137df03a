package sweep

import (
	"testing"
)

// grown returns a description before and after a parameter was added to it.
func grown() (before, after *Description) {
	parameters := []ParameterSchema{
		{Name: "model", Type: StringType, Default: "rnn", Enum: []any{"rnn", "lstm", "ornn"}},
		{Name: "m1", Type: IntegerType, Default: int64(16), AppliesWhen: Match{"model": {"ornn"}}},
		{Name: "width", Type: IntegerType, Default: int64(2), AppliesWhen: Match{"m1": {int64(8), int64(16)}}},
	}
	before = &Description{Name: "x", ResultVersion: "1", Parameters: parameters}
	after = &Description{Name: "x", ResultVersion: "1", Parameters: append(parameters[:3:3],
		ParameterSchema{Name: "warmup", Type: NumberType, Default: int64(0), Neutral: int64(0)},
		ParameterSchema{Name: "sparse", Type: BooleanType, Default: true, Neutral: false})}
	return before, after
}

// TestAppliesWhen: what does not apply is left out, whatever is given, and so
// what applies by it.
func TestAppliesWhen(t *testing.T) {
	d, _ := grown()
	for _, test := range []struct{ point, want string }{
		{`{}`, `{"model":"rnn"}`},
		{`{"m1":8}`, `{"model":"rnn"}`},
		{`{"model":"lstm","m1":8,"width":3}`, `{"model":"lstm"}`},
		{`{"model":"ornn"}`, `{"m1":16,"model":"ornn","width":2}`},
		{`{"model":"ornn","m1":4,"width":3}`, `{"m1":4,"model":"ornn"}`},
		{`{"model":"ornn","m1":8,"width":3}`, `{"m1":8,"model":"ornn","width":3}`},
	} {
		var point Parameters
		if err := point.UnmarshalJSON([]byte(test.point)); err != nil {
			t.Fatal(err)
		}
		resolved, err := d.Resolve(point)
		if err != nil {
			t.Fatal(err)
		}
		got, err := resolved.Canonical()
		if err != nil || string(got) != test.want {
			t.Errorf("%s resolves to %s (%v), want %s", test.point, got, err, test.want)
		}
	}
	if _, err := d.Resolve(Parameters{"m1": "many"}); err == nil {
		t.Error("a value of the wrong type was taken where the parameter does not apply")
	}
}

// TestNeutral: a parameter that is added changes no fingerprint with its neutral
// value, and every one with another.
func TestNeutral(t *testing.T) {
	before, after := grown()
	fingerprint := func(d *Description, point Parameters) Fingerprint {
		t.Helper()
		resolved, err := d.Resolve(point)
		if err != nil {
			t.Fatal(err)
		}
		given := resolved.Clone()
		f, err := d.Fingerprint(resolved, "digest")
		if err != nil {
			t.Fatal(err)
		}
		if len(given) != len(resolved) {
			t.Error("the parameters were changed")
		}
		return f
	}
	known := fingerprint(before, Parameters{"model": "ornn"})
	for _, test := range []struct {
		point Parameters
		same  bool
	}{
		{Parameters{"model": "ornn", "sparse": false}, true},
		{Parameters{"model": "ornn", "sparse": false, "warmup": 0.0}, true},
		{Parameters{"model": "ornn", "sparse": false, "warmup": "0"}, true},
		{Parameters{"model": "ornn"}, false}, // the default of sparse is not its neutral value
		{Parameters{"model": "ornn", "sparse": false, "warmup": 0.5}, false},
		{Parameters{"model": "rnn", "sparse": false}, false},
	} {
		if got := fingerprint(after, test.point); (got == known) != test.same {
			t.Errorf("%v: the fingerprint of before: %v, want %v", test.point, got == known, test.same)
		}
	}
	canonical, err := Parameters{"model": "ornn", "m1": int64(16), "width": int64(2)}.Canonical()
	if err != nil || NewFingerprint("x", "1", "digest", canonical) != known {
		t.Errorf("the fingerprint is not made of name, version, data and parameters: %v", err)
	}
}

// TestCheck: a parameter applies by those before it.
func TestCheck(t *testing.T) {
	d, after := grown()
	for _, good := range []*Description{d, after, {}} {
		if err := good.Check(); err != nil {
			t.Error(err)
		}
	}
	for name, bad := range map[string][]ParameterSchema{
		"itself":  {{Name: "a", AppliesWhen: Match{"a": {1}}}},
		"later":   {{Name: "a", AppliesWhen: Match{"b": {1}}}, {Name: "b"}},
		"unknown": {{Name: "a"}, {Name: "b", AppliesWhen: Match{"c": {1}}}},
		"neutral": {{Name: "a", Type: IntegerType, Neutral: "none"}},
	} {
		if err := (&Description{Parameters: bad}).Check(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
