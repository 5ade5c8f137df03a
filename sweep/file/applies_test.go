package file

import (
	"fmt"
	"strings"
	"testing"

	"sweep/sweep"
)

// growing is a trainer some of whose parameters apply at some points only.
func growing() *sweep.Description {
	elman := sweep.Match{"model": {"rnn", "ornn", "spectral"}}
	return &sweep.Description{Name: "growing", ResultVersion: "1", Parameters: []sweep.ParameterSchema{
		{Name: "dataset", Type: sweep.StringType, Default: "A"},
		{Name: "model", Type: sweep.StringType, Default: "rnn", Enum: []any{"rnn", "lstm", "ornn", "spectral"}},
		{Name: "m1", Type: sweep.IntegerType, Default: int64(16),
			AppliesWhen: sweep.Match{"model": {"ornn", "spectral"}}},
		{Name: "activation", Type: sweep.StringType, Default: "leaky", Enum: []any{"leaky", "tanh"},
			AppliesWhen: elman},
		{Name: "slope", Type: sweep.NumberType, Default: 0.2, AppliesWhen: sweep.Match{"activation": {"leaky"}}},
		{Name: "peephole", Type: sweep.BooleanType, Default: false, Neutral: false,
			AppliesWhen: sweep.Match{"model": {"lstm"}}},
		{Name: "task", Type: sweep.StringType, Default: "classes", Enum: []any{"classes", "sums"},
			Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"dataset": {"sums"}}, Value: "sums"}}},
		{Name: "rule", Type: sweep.StringType, Default: "final", Enum: []any{"final", "best"},
			Defaults: []sweep.ConditionalDefault{
				{When: sweep.Match{"task": {"sums"}}, Value: "best"},
				{When: sweep.Match{"dataset": {"B"}, "model": {"lstm"}}, Value: "best"}}},
		{Name: "split", Type: sweep.StringType, Default: "random", AppliesWhen: sweep.Match{"task": {"classes"}}},
		{Name: "refit", Type: sweep.NumberType, Default: 0.2,
			AppliesWhen: sweep.Match{"task": {"classes"}, "rule": {"final"}}},
		{Name: "seed", Type: sweep.IntegerType, Default: int64(1)},
	}}
}

// TestApplies: a grid has as many points as there are different trials, whatever
// applies where.
func TestApplies(t *testing.T) {
	for name, test := range map[string]struct {
		parameters string
		points     int64  // 0 if the file is refused
		message    string // of the error, or of a note
	}{
		"one network": {"model: {value: lstm}, m1: {values: [8, 16]}", 1,
			"parameters.m1: has no effect here, and its 2 values are one"},
		"two networks": {"model: {values: [lstm, spectral]}, m1: {values: [8, 16]}", 3, ""},
		"zipped": {"model: {values: [lstm, spectral]}, m1: {values: [8, 16]}, slope: {values: " +
			"[0.1, 0.2]}}\nzip: [[m1, slope]] # ", 3, ""},
		"fixed": {"model: {value: lstm}, m1: {value: 8}", 0, "x.yaml:1:48: parameters.m1: " +
			"has no effect here: it applies only where model is ornn or spectral"},
		"fixed in a list": {"model: {values: [rnn, lstm]}, m1: {values: [8]}",
			0, "x.yaml:1:58: parameters.m1: has no effect here"},
		"fixed, by default": {"dataset: {value: A}, m1: {value: 8}",
			0, "parameters.m1: has no effect here"},
		"fixed, for one": {"model: {values: [lstm, ornn]}, m1: {value: 8}", 2, ""},
		"applies everywhere": {"model: {values: [ornn, spectral]}, m1: {min: 1, max: 100000000}",
			200000000, ""},
		"a chain": {"model: {values: [lstm, rnn]}, slope: {values: [0.1, 0.2]}", 3, ""},
		"a chain, declared": {"slope: {values: [0.1, 0.2]}, activation: {values: [leaky, tanh]}, model: " +
			"{values: [lstm, rnn]}", 4, ""},
		"a chain, fixed": {"model: {value: lstm}, slope: {value: 0.1}",
			0, "parameters.slope: has no effect here"},
		"with its own when": {"model: {values: [lstm, rnn, spectral]}, m1: {values: [8, 16], when: " +
			"{model: [lstm, spectral]}}", 4, ""},
		"by a default's condition": {"dataset: {values: [A, sums]}, split: {values: [a, b]}", 3, ""},
		"by a default, nowhere": {"dataset: {value: sums}, split: {value: a}", 0, "x.yaml:1:53: " +
			"parameters.split: has no effect here: it applies only where task is classes"},
		"by two defaults, nowhere": {"dataset: {value: B}, model: {value: lstm}, refit: {value: 0.5}", 0,
			"parameters.refit: has no effect here: it applies only where rule is final and task is classes"},
		"by two defaults, one by hand": {"dataset: {value: B}, model: {value: lstm}, rule: {value: final}, refit: " +
			"{values: [0, 0.5]}", 2, ""},
		"by two defaults, of a network": {"dataset: {value: B}, model: {values: [rnn, lstm]}, refit: {values: [0, 0.5]}", 3, ""},
		"by two defaults, at a corner":  {"dataset: {values: [A, B]}, model: {values: [rnn, lstm]}, refit: {value: 0.5}", 4, ""},
		"a default beside a when": {"dataset: {values: [A, sums]}, rule: {value: best, when: {dataset: A}}, " +
			"refit: {value: 0.5}", 0, "parameters.refit: has no effect here"},
		"too many to look": {"model: {values: [lstm, spectral]}, m1: {min: 1, max: 100000000}", 200000000,
			"not told from each other"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Decode("x.yaml", []byte("parameters: {"+test.parameters+"}"), Options{Description: growing()})
			if test.points == 0 {
				if err == nil || !strings.Contains(err.Error(), test.message) {
					t.Fatalf("%v, want %q", err, test.message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Grid.Count() != test.points || !strings.Contains(strings.Join(f.Notes, "\n"), test.message) ||
				test.message == "" && len(f.Notes) > 0 {
				t.Errorf("%d points, notes %q, want %d, %q", f.Grid.Count(), f.Notes, test.points, test.message)
			}
			if f.Grid.Count() > 1000 {
				return
			}
			seen := map[sweep.Fingerprint]string{}
			for i, point := range f.Grid.All(0) {
				resolved, err := growing().Resolve(point)
				if err != nil {
					t.Fatal(err)
				}
				fingerprint, err := growing().Fingerprint(resolved, "")
				if err != nil {
					t.Fatal(err)
				}
				if other, repeated := seen[fingerprint]; repeated {
					t.Errorf("point %d, %v, is the trial of %s", i, point, other)
				}
				seen[fingerprint] = fmt.Sprint(point)
			}
		})
	}
}
