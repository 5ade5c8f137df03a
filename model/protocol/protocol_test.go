package protocol

import (
	"errors"
	"testing"

	"sweep/sweep"
)

// resolved are parameters that make sense, but for one that is another value.
func resolved(name string, value any) sweep.Parameters {
	p := sweep.Parameters{"validation": 0.2, "split": "random", "epoch_rule": "final", "refit": 0.5, "average": 0.1}
	p[name] = value
	return p
}

// A value of the wrong type, an unknown name or an average of nothing is an error that names the
// parameter, never a 0.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
	}{
		{"validation", "a fifth"}, {"split", 1.0}, {"split", "halves"}, {"epoch_rule", true}, {"epoch_rule", "best"},
		{"refit", "half"}, {"average", nil},
	} {
		var refused *sweep.ParameterError
		if p, err := Read(&sweep.ParameterReader{Parameters: resolved(c.name, c.value)}); !errors.As(err, &refused) ||
			refused.Parameter != c.name {
			t.Errorf("%s = %v: %+v, %v", c.name, c.value, p, err)
		}
	}
	var refused *sweep.ParameterError
	if _, err := Read(&sweep.ParameterReader{Parameters: resolved("refit", int64(0))}); !errors.As(err, &refused) ||
		refused.Parameter != "average" {
		t.Errorf("an average without a refit: %v", err)
	}
}

// Where nothing is held out, what goes by it has no effect and is refused.
func TestReadWithoutValidation(t *testing.T) {
	whole := func(name string, value any) *sweep.ParameterReader {
		p := resolved("validation", int64(0))
		p["refit"], p["average"] = int64(0), int64(0)
		p[name] = value
		return &sweep.ParameterReader{Parameters: p}
	}
	if p, err := Read(whole("refit", int64(0))); err != nil || p.Validation != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for name, value := range map[string]any{"refit": 0.2, "split": "stratified", "epoch_rule": "smallest-loss",
		"average": 0.1} {
		var refused *sweep.ParameterError
		if p, err := Read(whole(name, value)); !errors.As(err, &refused) || refused.Parameter != name {
			t.Errorf("%s = %v: %+v, %v", name, value, p, err)
		}
	}
}

// Shares of epochs are whole numbers of them: the first is never part of the refit, and an
// average reaches no further than it.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		refit, average            float64
		epochs, wantRefit, wantOf int
	}{
		{0.5, 0.1, 10, 5, 1}, {0.5, 0.9, 10, 5, 5}, {0.9, 0, 1, 0, 0}, {0.9, 0.9, 2, 1, 1}, {0.25, 0.1, 10, 3, 1},
		{0, 0, 7, 0, 0},
	} {
		p := Protocol{refit: c.refit, average: c.average}
		if refit, average := p.Refit(c.epochs), p.Average(c.epochs); refit != c.wantRefit || average != c.wantOf {
			t.Errorf("%+v: refit of %d epochs, average of %d", c, refit, average)
		}
	}
}

// Each rule keeps what it says among equal and unequal validations.
func TestRules(t *testing.T) {
	scores := []Score{{.5, 3}, {.2, 2}, {.3, 1}, {.2, 4}, {.2, 1}}
	for rule, want := range map[Rule]int{FirstSmallestError: 1, LastSmallestError: 4, SmallestLoss: 2, Final: 4} {
		kept := 0
		for i, score := range scores {
			if rule.Better(score, scores[kept]) {
				kept = i
			}
		}
		if kept != want {
			t.Errorf("%s keeps validation %d, want %d", rule, kept, want)
		}
	}
}
