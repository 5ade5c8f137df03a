package policy

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
)

func axisOf(name string, values sweep.Values) sweep.Axis {
	return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: values}}}
}

func numbers(kind sweep.DistributionKind, low, high, step float64) sweep.Values {
	return sweep.Values{Distribution: &sweep.Distribution{Kind: kind, Low: low, High: high, Step: step,
		Integer: step >= 1}}
}

// searchSpec has every kind of axis.
func searchSpec(trials int64) *sweep.Spec {
	return &sweep.Spec{Cap: trials, Random: &sweep.Random{Seed: 7}, Axes: []sweep.Axis{
		axisOf("lr", numbers(sweep.LogUniformValuesDistribution, 1e-4, 1e-1, 0)),
		axisOf("width", numbers(sweep.LogUniformValuesDistribution, 8, 512, 8)),
		axisOf("momentum", numbers(sweep.UniformDistribution, 0, 1, 0)),
		axisOf("shift", numbers(sweep.NormalDistribution, 2, 0.5, 0)),
		axisOf("layers", sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 4, Integer: true}}),
		axisOf("model", sweep.Values{List: []any{"a", "b", "c"}}),
		axisOf("m1", sweep.Values{List: []any{int64(8), int64(16), int64(32)}}),
		axisOf("m2", numbers(sweep.UniformDistribution, 0, 1, 0)),
		axisOf("constant", sweep.Values{List: []any{true}}),
		{Parameters: []sweep.AxisParameter{{Name: "x", Values: sweep.Values{List: []any{1.5, 2.5}}},
			{Name: "y", Values: sweep.Values{List: []any{"p", "q"}}}}},
	}, Conditions: []sweep.Condition{
		{Parameter: "m2", When: sweep.Match{"m1": {int64(8), int64(16)}}},
		{Parameter: "m1", When: sweep.Match{"model": {"a"}}},
	}}
}

// loss is smallest at model a with m1 16, lr .01 and layers 3.
func loss(p sweep.Parameters) float64 {
	value := math.Abs(math.Log10(p["lr"].(float64))+2) + math.Abs(float64(p["layers"].(int64)-3))
	switch {
	case p["model"] != "a":
		value += 2
	case p["m1"] != int64(16):
		value++
	}
	return value
}

// run searches: at each step it asks for want points, and then ends the trials that order chooses.
func run(t *testing.T, spec *sweep.Spec, generations Generations, want func(step int) int,
	order *rand.Rand) []sweep.Parameters {
	t.Helper()
	search, err := NewTPE(spec, generations)
	if err != nil {
		t.Fatal(err)
	}
	var state json.RawMessage
	var points []sweep.Parameters
	var observations []Observation
	var running []int
	for step := 0; ; step++ {
		decision, err := search.Step(state, observations, want(step))
		if err != nil {
			t.Fatal(err)
		}
		state = decision.State
		for _, p := range decision.Points {
			running = append(running, len(points))
			points = append(points, p)
		}
		if decision.Done && len(running) == 0 {
			return points
		}
		if len(running) == 0 {
			t.Fatalf("no trial runs, and the search has %d points", len(points))
		}
		for range 1 + order.IntN(len(running)) {
			k := order.IntN(len(running))
			index := running[k]
			running = slices.Delete(running, k, k+1)
			o := Observation{Index: int64(index), Outcome: Completed, Value: loss(points[index])}
			if index%13 == 5 {
				o.Outcome, o.Value = Failed, 0
			}
			observations = append(observations, o)
		}
	}
}

// The points do not depend on the order in which trials end, on how many are asked for at a time,
// or on a cap that cuts the search earlier.
func TestTPEIsAFunction(t *testing.T) {
	const trials = 40
	for _, generations := range []Generations{{Batch: 1}, {Batch: 8}, {Batch: 16, Lag: 1}} {
		few := func(int) int { return 1 }
		many := func(step int) int { return step % 40 }
		want := run(t, searchSpec(trials), generations, few, rand.New(rand.NewPCG(1, 1)))
		if len(want) != trials {
			t.Fatalf("%v: %d points", generations, len(want))
		}
		for seed := range uint64(2) {
			got := run(t, searchSpec(trials), generations, func(step int) int { return max(many(step), 1) },
				rand.New(rand.NewPCG(seed, 2)))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v: other points in another order", generations)
			}
		}
		if got := run(t, searchSpec(29), generations, few, rand.New(rand.NewPCG(3, 3))); !reflect.DeepEqual(got,
			want[:29]) {
			t.Errorf("%v: other points with another cap", generations)
		}
	}
}

// The points are in the space: each value is one that a random search could draw, and parameters
// are absent where their conditions say so. Later ones are better.
func TestTPESearches(t *testing.T) {
	points := run(t, searchSpec(100), Generations{Batch: 8}, func(int) int { return 8 }, rand.New(rand.NewPCG(1, 1)))
	var early, late float64
	for i, p := range points {
		m1, hasM1 := p["m1"]
		if _, hasM2 := p["m2"]; hasM1 != (p["model"] == "a") || hasM2 != (hasM1 && m1 != int64(32)) {
			t.Errorf("point %d: conditions: %v", i, p)
		}
		lr, momentum := p["lr"].(float64), p["momentum"].(float64)
		width, layers := p["width"].(int64), p["layers"].(int64)
		if lr < 1e-4 || lr > 1e-1 || momentum < 0 || momentum > 1 || width < 8 || width > 512 || width%8 != 0 ||
			layers < 1 || layers > 4 || math.Abs(p["shift"].(float64)-2) > 5 || p["constant"] != true ||
			(p["x"] == 1.5) != (p["y"] == "p") {
			t.Errorf("point %d is outside of the space: %v", i, p)
		}
		switch {
		case i < 16:
			early += loss(p) / 16
		case i >= 84:
			late += loss(p) / 16
		}
	}
	if late > early/2 {
		t.Errorf("the mean loss is %v at the start and %v at the end", early, late)
	}
}

// What failed is worse than all that completed; what has ended in a generation that does not count
// yet is among the others.
func TestSplit(t *testing.T) {
	var trials []trial
	for i, value := range []float64{5, 3, 9, 1, 7, 2, 8, 6, 4, 2, 0, 0} {
		trials = append(trials, trial{Observation: Observation{Index: int64(i), Outcome: Completed, Value: value}})
	}
	trials[3].Outcome = Failed
	indices := func(list []trial) (result []int64) {
		for _, o := range list {
			result = append(result, o.Index)
		}
		return result
	}
	for ended, want := range map[int][]int64{10: {5}, 11: {5, 10}} {
		good, bad := split(trials, ended)
		if got := indices(good); !slices.Equal(got, want) {
			t.Errorf("of %d the better ones are %v, want %v", ended, got, want)
		}
		if len(good)+len(bad) != len(trials) || !slices.IsSorted(indices(bad)) {
			t.Errorf("of %d the others are %v", ended, indices(bad))
		}
	}
}
