package sweep

import (
	"math"
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
		ParameterSchema{Name: "sparse", Type: BooleanType, Default: true, Neutral: false},
		ParameterSchema{Name: "form", Type: StringType, Default: "a", Neutral: "a",
			NeutralWhen: Match{"model": {"ornn"}}})}
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

// TestDiverged: a diverged trial counts as the description says, or worse than all others. What it
// says for the one goal would be the best for the other.
func TestDiverged(t *testing.T) {
	d := &Description{Metrics: []MetricSchema{
		{Name: "loss", Goal: Minimize, Diverged: new(20.0)}, {Name: "accuracy", Goal: Maximize, Diverged: new(0.0)},
		{Name: "reward", Goal: Maximize},
	}}
	for _, test := range []struct {
		choice Select
		want   float64
	}{
		{Select{By: "loss"}, 20},
		{Select{By: "loss", Goal: Maximize}, -1e300},
		{Select{By: "accuracy", Goal: Maximize}, 0},
		{Select{By: "accuracy"}, 1e300},
		{Select{By: "reward", Goal: Maximize}, -1e300},
		{Select{By: "unknown"}, 1e300},
		{Select{}, 1e300},
	} {
		if got := test.choice.Diverged(d); got != test.want {
			t.Errorf("%s: %v, want %v", test.choice, got, test.want)
		}
	}
	if v := d.Diverged("reward", nil); !math.IsNaN(v) {
		t.Errorf("nothing is said of reward, not %v", v)
	}
	// A description that says nothing of divergence, as that of a script.
	silent := &Description{Metrics: []MetricSchema{{Name: "validation_loss"}}}
	for metric, want := range map[string]float64{"validation_loss": 20, "test_loss": 20, "test_accuracy": 0} {
		if got := silent.Diverged(metric, nil); got != want {
			t.Errorf("%s: %v by assumption, want %v", metric, got, want)
		}
		if got := d.Diverged(metric, nil); !math.IsNaN(got) {
			t.Errorf("%s: %v, though the description says of other metrics alone", metric, got)
		}
	}
	if got := (Select{By: "validation_loss"}).Diverged(silent); got != 20 {
		t.Errorf("by assumption %v, want 20", got)
	}
	if got := (Select{By: "validation_loss", Goal: Maximize}).Diverged(silent); got != -1e300 {
		t.Errorf("%v where the largest loss is the best", got)
	}
}

func TestCheckPart(t *testing.T) {
	for part, good := range map[Part]bool{"": true, TrainPart: true, ValidationPart: true, TestPart: true, "dev": false} {
		d := &Description{Metrics: []MetricSchema{{Name: "loss", Part: part}}}
		if err := d.Check(); (err == nil) != good {
			t.Errorf("part %q: %v", part, err)
		}
	}
}

// A metric is absent by parameters that there are, and in the trials that fit.
func TestAbsent(t *testing.T) {
	d := &Description{Parameters: []ParameterSchema{{Name: "held", Type: NumberType}},
		Metrics: []MetricSchema{{Name: "loss", AbsentWhen: Match{"held": {int64(0)}}}, {Name: "time"}}}
	if err := d.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		metric string
		point  Parameters
		want   bool
	}{
		{"loss", Parameters{"held": 0.0}, true}, {"loss", Parameters{"held": 0.2}, false}, {"loss", Parameters{}, false},
		{"time", Parameters{"held": int64(0)}, false}, {"none", Parameters{"held": int64(0)}, false},
	} {
		if got := d.Metric(c.metric).Absent(c.point); got != c.want {
			t.Errorf("%s of %v: absent %v", c.metric, c.point, got)
		}
	}
	d.Metrics[0].Diverged = new(20.0)
	if got := d.Diverged("loss", Parameters{"held": int64(0)}); !math.IsNaN(got) {
		t.Errorf("a diverged trial that would not have reported the loss counts as %v", got)
	}
	d.Parameters = nil
	if err := d.Check(); err == nil {
		t.Error("absent by a parameter that there is not: taken")
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
		{Parameters{"model": "ornn", "sparse": false, "form": "b"}, false},
	} {
		if got := fingerprint(after, test.point); (got == known) != test.same {
			t.Errorf("%v: the fingerprint of before: %v, want %v", test.point, got == known, test.same)
		}
	}
	// Where it is not neutral a value is part of the fingerprint.
	d := *after
	for _, model := range []string{"ornn", "rnn"} {
		d.Parameters = after.Parameters
		with := fingerprint(&d, Parameters{"model": model})
		d.Parameters = d.Parameters[:len(d.Parameters)-1]
		if same := fingerprint(&d, Parameters{"model": model}) == with; same != (model == "ornn") {
			t.Errorf("%s: the fingerprint without form is the same: %v", model, same)
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
