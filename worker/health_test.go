package worker

import (
	"testing"

	"sweep/sweep"
)

// A machine seems broken after three different trials in a row.
func TestHealth(t *testing.T) {
	fail := func(trial int64) failure { return failure{id: sweep.TrialID{Sweep: "s", Index: trial}} }
	for name, c := range map[string]struct {
		failures []int64 // the trials; at -1 one succeeds
		broken   int     // how many failures the last of them has behind it; 0 if it is not broken
	}{
		"two trials":               {[]int64{1, 2}, 0},
		"three trials":             {[]int64{1, 2, 3}, 3},
		"a success between":        {[]int64{1, 2, -1, 3}, 0},
		"one trial again":          {[]int64{1, 1, 1, 1}, 0},
		"one trial between others": {[]int64{1, 2, 1, 1, 3}, 5},
	} {
		h := newHealth(3)
		var row []failure
		for i, trial := range c.failures {
			if row != nil {
				t.Errorf("%s: broken before failure %d", name, i)
			}
			if trial < 0 {
				h.succeeded()
			} else {
				row = h.failed(fail(trial))
			}
		}
		if len(row) != c.broken {
			t.Errorf("%s: a row of %d, want %d", name, len(row), c.broken)
		}
	}
	h := newHealth(2)
	for range 10 * maxRow {
		if h.failed(fail(7)); len(h.row) > maxRow {
			t.Fatalf("failures of one trial are a row of %d", len(h.row))
		}
	}
}
