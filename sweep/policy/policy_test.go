package policy

import (
	"strings"
	"testing"

	"sweep/sweep"
)

// opened returns the policy of a spec that decides by results.
func opened[P Policy](t *testing.T, spec *sweep.Spec, description *sweep.Description) P {
	t.Helper()
	_, policies, err := Open(&sweep.Submission{Spec: *spec, Description: *description})
	if err != nil || len(policies) != 1 {
		t.Fatalf("%d policies, %v", len(policies), err)
	}
	return policies[0].(P)
}

// next returns the generation after some trials.
func next(t *testing.T, p Policy, trials []Trial) []Point {
	t.Helper()
	step, err := p.Step(t.Context(), Observations{Trials: trials, Written: int64(len(trials))})
	if err != nil {
		t.Fatal(err)
	}
	return step.Next
}

// Each kind is documented, and its default settings are read as they are written.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Kinds {
		if k.Doc == "" || names[k.Name] || Find(k.Key, k.Name) != k {
			t.Errorf("%s: documentation %q, or the name is another's", k.Name, k.Doc)
		}
		names[k.Name] = true
		for _, key := range k.Keys {
			if key.Name == "" || key.Doc == "" || key.Type == sweep.IntegerType && key.Minimum == nil {
				t.Errorf("%s: key %q has no documentation or no bound", k.Name, key.Name)
			}
		}
		if k.New == nil {
			continue
		}
		settings := k.New()
		if settings.kind() != k {
			t.Errorf("%s: its settings are those of %s", k.Name, settings.kind().Name)
		}
		if _, err := decode(Of(settings)); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		p := sweep.Policy{Kind: k.Name, Settings: []byte(`{"newer": 1}`)}
		if _, err := decode(p); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s: a setting that it does not have: %v", k.Name, err)
		}
		if _, err := decode(sweep.Policy{Kind: k.Name}); err == nil {
			t.Errorf("%s: no settings", k.Name)
		}
	}
	for _, p := range []sweep.Policy{{Kind: "newer", Settings: []byte("{}")}, {Kind: "grid", Settings: []byte("{}")}} {
		if _, err := decode(p); err == nil {
			t.Errorf("%s is a policy", p.Kind)
		}
	}
	twice := &sweep.Spec{Policies: []sweep.Policy{Of(&Median{}), Of(&Hyperband{})}}
	if _, err := all(twice); err == nil || !strings.Contains(err.Error(), "takes one policy") {
		t.Errorf("two policies of a key: %v", err)
	}
}

// A sweep with a policy is extended, or is not, for a reason.
func TestExtends(t *testing.T) {
	spec := func(policies ...sweep.Policy) *sweep.Spec { return &sweep.Spec{Policies: policies} }
	latin := func(points, seed int64) *sweep.Spec {
		return &sweep.Spec{Policies: []sweep.Policy{Of(&Latin{})}, Cap: points, Random: &sweep.Random{Seed: seed}}
	}
	while := While{Metric: "loss"}
	sobol, median := Of(&Sobol{}), Of(&Median{While: while, Batch: 4})
	hyperband, other := Of(&Hyperband{While: while, Eta: 3}), Of(&Hyperband{While: while, Eta: 4})
	for _, test := range []struct {
		spec, by *sweep.Spec
		want     string
	}{
		{spec(), spec(), ""},
		{spec(sobol), spec(), ""},
		{latin(8, 1), latin(8, 1), ""},
		{latin(8, 1), latin(9, 1), "other points"},
		{latin(8, 1), latin(8, 2), "other points"},
		{latin(8, 1), spec(), ""},
		{spec(), latin(8, 1), ""},
		{spec(sobol, median), spec(sobol), ""},
		{spec(hyperband), spec(hyperband, sobol), ""},
		{spec(hyperband), spec(other), "by one rule"},
		{spec(hyperband), spec(), "by one rule"},
		{spec(), spec(hyperband), "by one rule"},
		{spec(Of(&Bayes{})), spec(), "with a larger run_cap"},
		{spec(), spec(Of(&Bayes{})), "with a larger run_cap"},
		{spec(Of(&Race{})), spec(), "with race it is a sweep of its own"},
		{spec(Of(NewHalving("epochs", 1, 9, 3, 0))), spec(), "with halving it is a sweep of its own"},
	} {
		err := Extends(test.spec, test.by)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v by %v: %v, want %q", test.spec.Policies, test.by.Policies, err, test.want)
		}
	}
}
