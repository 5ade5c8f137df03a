package analysis

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestBounds holds the bounds to testdata/bounds.json, which bounds.py beside it writes.
func TestBounds(t *testing.T) {
	data, err := os.ReadFile("testdata/bounds.json")
	if err != nil {
		t.Fatal(err)
	}
	type limits struct {
		Margin, Delta, Radius, Most                     float64
		Rows                                            int
		Complexity, Capped, Gap, Term, Lipschitz, Alpha float64
	}
	var cases struct {
		Recurrent []struct {
			limits
			Network Recurrent
		}
		FeedForward []struct {
			limits
			Network FeedForward
		} `json:"feed_forward"`
		Gated []struct {
			limits
			Network Gated
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want float64) {
		t.Helper()
		if want == 0 || !(math.Abs(got/want-1) < 1e-12) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	for _, c := range cases.Recurrent {
		check("G(w)", c.Network.Complexity(c.Margin), c.Complexity)
		check("G(w) with 1 + r", c.Network.Capped(c.Radius, c.Margin), c.Capped)
		check("gap of theorem 5", c.Network.Gap(c.Margin, c.Delta, c.Rows), c.Gap)
		check("term of theorem 5", Term(c.Complexity, c.Delta, c.Rows, 1), c.Term)
	}
	for _, c := range cases.FeedForward {
		check("B(w)", c.Network.Complexity(c.Margin), c.Complexity)
		check("product of norms", c.Network.Lipschitz(), c.Lipschitz)
		check("term of B(w)", Term(c.Complexity, c.Delta, c.Rows, len(c.Network.Layers)), c.Term)
	}
	for _, c := range cases.Gated {
		check("gap of theorem 1", c.Network.Gap(c.Most, c.Delta, c.Rows), c.Gap)
		check("α of equation 4", c.Network.MaxAlpha(), c.Alpha)
	}
	if len(cases.Recurrent) < 3 || len(cases.FeedForward) < 2 || len(cases.Gated) < 2 {
		t.Errorf("cases are missing: %+v", cases)
	}
}

func TestMarginLoss(t *testing.T) {
	margins := []float64{-1, 0, .5, 1, 2, math.NaN()}
	for margin, want := range map[float64]float64{0: 3. / 6, .5: 4. / 6, 1.5: 5. / 6, 3: 1, -2: 1. / 6} {
		if got := MarginLoss(margins, margin); got != want {
			t.Errorf("γ = %v: %v, want %v", margin, got, want)
		}
	}
}
