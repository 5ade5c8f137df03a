package sweep

import (
	"strings"
	"testing"
)

// A run's name is a function of sweep and index, and safe in a file's name.
func TestRunName(t *testing.T) {
	for name, want := range map[string]string{
		"demo": "demo-20261112-153042-k7qd-3", "../a b/ü": "a-b-20261112-153042-k7qd-3", "...": "20261112-153042-k7qd-3",
		"v1.0_x": "v1.0_x-20261112-153042-k7qd-3", "$(x)": "x-20261112-153042-k7qd-3",
	} {
		s := (&Script{}).Named(name, TrialID{Sweep: "20261112-153042-k7qd", Index: 3})
		if strings.ReplaceAll(s.RunName, "--", "-") != want {
			t.Errorf("%s: %s, want %s", name, s.RunName, want)
		}
	}
	if long := (&Script{}).Named(strings.Repeat("x", LongestName), TrialID{Sweep: "s", Index: 1}).RunName; len(long) > 128 {
		t.Errorf("%d bytes", len(long))
	}
	if (*Script)(nil).Named("x", TrialID{}) != nil {
		t.Error("no script has a name")
	}
}
