package system

import (
	"testing"

	"sweep/sweep"
)

// The counts of the SGORNN paper, tables 1 to 3: 128 units and two inputs, nine, and
// the cells alone of 256 units with embeddings as wide.
func TestPublishedCounts(t *testing.T) {
	for name, want := range map[string][3]int{
		"vprnn": {1409, 2305, 67840}, "fastrnn": {16899, 17795, 131330}, "sgornn": {1411, 2307, 67842},
		"lstm": {67201, 0, 525312},
	} {
		s := Find(name)
		for i, shape := range []struct{ hidden, inputs, head int }{{128, 2, 128 + 1}, {128, 9, 128 + 1},
			{256, 256, 0}} {
			o := &Options{Hidden: shape.hidden, Inputs: shape.inputs, FixedStart: true,
				Parameters: sweep.Parameters{"map": "rotations"}}
			if got := s.Count(o) + shape.head; got != want[i] && want[i] != 0 {
				t.Errorf("%s, %d units and %d inputs: %d weights, published are %d", name, shape.hidden, shape.inputs,
					got, want[i])
			}
		}
	}
}

// Every system says what it is and where it comes from, under a name of its own.
func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All {
		if s.Name == "" || seen[s.Name] || s.Doc == "" || s.Source == "" || s.count == nil || s.layers == nil {
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
