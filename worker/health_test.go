package worker

import (
	"testing"

	"sweep/sweep"
)

// A machine seems broken after three different trials in a row.
func TestHealth(t *testing.T) {
	fail := func(trial int64) failure { return failure{id: sweep.TrialID{Sweep: "s", Index: trial}} }
	charge := func(trial int64, execution string) failure {
		f := fail(trial)
		f.charged, f.execution = true, execution
		return f
	}
	for name, c := range map[string]struct {
		failures []failure // a trial of index -1 succeeds
		broken   int       // how many failures the last of them has behind it; 0 if it is not broken
	}{
		"two trials":               {[]failure{fail(1), fail(2)}, 0},
		"three trials":             {[]failure{fail(1), fail(2), fail(3)}, 3},
		"a success between":        {[]failure{fail(1), fail(2), fail(-1), fail(3)}, 0},
		"one trial again":          {[]failure{fail(1), fail(1), fail(1), fail(1)}, 0},
		"one trial between others": {[]failure{fail(1), fail(2), fail(1), fail(1), fail(3)}, 3},
		"one that kills":           {[]failure{charge(1, "a"), charge(1, "b"), charge(1, "c")}, 0},
		"killed and not started":   {[]failure{charge(1, "a"), charge(1, "b"), fail(2), fail(3)}, 4},
		"a suspect":                {[]failure{charge(1, "a"), fail(-1), charge(1, "b"), fail(2), fail(3)}, 0},
	} {
		h := newHealth(3)
		var row []failure
		for i, f := range c.failures {
			if row != nil {
				t.Errorf("%s: broken before failure %d", name, i)
			}
			if f.id.Index < 0 {
				h.succeeded()
			} else {
				row = h.failed(f)
			}
		}
		if len(row) != c.broken {
			t.Errorf("%s: a row of %d, want %d", name, len(row), c.broken)
		}
	}
	h := newHealth(2)
	for i := range 100 * maxSuspects {
		h.failed(fail(7))
		if len(h.row) != 1 {
			t.Fatalf("%d failures of one trial are a row of %d", i+1, len(h.row))
		}
	}
}
