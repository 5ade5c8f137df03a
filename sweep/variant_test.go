package sweep

import (
	"reflect"
	"testing"
)

// A parameter that two variants have is listed once, for both, and keeps the schema
// that they share as it is.
func TestVariants(t *testing.T) {
	shared := ParameterSchema{Name: "reflectors", AppliesWhen: Match{"layers": {int64(1)}}}
	own := ParameterSchema{Name: "gates"}
	v := Variants{Parameter: "model", List: []Variant{
		{Name: "a", Doc: "first", Source: "paper A", Parameters: []*ParameterSchema{&shared},
			Defaults: map[string]any{"lr": 0.1}},
		{Name: "b", Doc: "second", Source: "paper B", Parameters: []*ParameterSchema{&shared, &own}},
	}}
	if got, want := v.Names(), []any{"a", "b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if got, want := v.Doc(), "\na: first (paper A)\nb: second (paper B)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := []ParameterSchema{
		{Name: "reflectors", AppliesWhen: Match{"layers": {int64(1)}, "model": {"a", "b"}}},
		{Name: "gates", AppliesWhen: Match{"model": {"b"}}},
	}
	for range 2 {
		if got := v.Parameters(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if shared.AppliesWhen["model"] != nil {
		t.Errorf("the shared schema is changed: %v", shared.AppliesWhen)
	}
	if got, want := v.Defaults("lr"), []ConditionalDefault{{When: Match{"model": {"a"}}, Value: 0.1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("defaults %v, want %v", got, want)
	}
	if got := v.Defaults("clip"); got != nil {
		t.Errorf("defaults %v of what nobody has", got)
	}
}
