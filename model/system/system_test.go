package system

import "testing"

// Every system says what it is and where it comes from, under a name of its own.
func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All {
		if s.Name == "" || seen[s.Name] || s.Doc == "" || s.Source == "" || s.layers == nil {
			t.Errorf("system %q: twice, or incomplete", s.Name)
		}
		seen[s.Name] = true
		if Find(s.Name) != s {
			t.Errorf("system %s is not found", s.Name)
		}
	}
	if Find("perceptron") != nil {
		t.Error("a system that is none is found")
	}
	names := map[string]bool{}
	for _, p := range Variants().Parameters() {
		if names[p.Name] || p.Doc == "" {
			t.Errorf("parameter %s: twice, or without a description", p.Name)
		}
		names[p.Name] = true
	}
}
