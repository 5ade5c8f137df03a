package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
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
	return &sweep.Spec{Cap: trials, Random: &sweep.Random{Seed: 7}, Policies: []sweep.Policy{Of(&Bayes{Batch: 8})}, Axes: []sweep.Axis{
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

// run searches, with the results of value.
func run(t *testing.T, spec *sweep.Spec, value func(index int, p sweep.Parameters) float64) []sweep.Parameters {
	t.Helper()
	search := opened[*tpe](t, spec, &sweep.Description{})
	var points []sweep.Parameters
	var trials []Trial
	for {
		chosen := next(t, search, trials)
		if len(chosen) == 0 {
			return points
		}
		if want := min(search.size(), spec.Cap-int64(len(points))); int64(len(chosen)) != want {
			t.Fatalf("%d trials after %d, want %d", len(chosen), len(points), want)
		}
		for _, p := range chosen {
			trials = append(trials, Trial{Parameters: p.Parameters, Value: value(len(points), p.Parameters)})
			points = append(points, p.Parameters)
		}
	}
}

// lossOf is the loss, and none of some points.
func lossOf(index int, p sweep.Parameters) float64 {
	if index%13 == 5 {
		return math.NaN()
	}
	return loss(p)
}

// A cap that cuts the search earlier changes no point. The first ones are those of a random search. The
// hash is written down: other bits on another machine would be other points.
func TestTPEIsAFunction(t *testing.T) {
	want := run(t, searchSpec(60), lossOf)
	if got := run(t, searchSpec(43), lossOf); !reflect.DeepEqual(got, want[:43]) {
		t.Error("other points with another cap")
	}
	random := searchSpec(60)
	random.Policies = nil
	grid, err := sweep.NewGrid(random)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range want {
		drawn, err := grid.At(int64(i))
		if err != nil {
			t.Fatal(err)
		}
		if same := reflect.DeepEqual(p, drawn); same != (i < 16) {
			t.Errorf("point %d is %v, a random search has %v", i, p, drawn)
		}
	}
	h := sha256.New()
	for _, p := range want {
		text, err := p.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		h.Write(text)
	}
	if got, want := hex.EncodeToString(h.Sum(nil)[:8]), "8d20f9e91e4e3734"; got != want {
		t.Errorf("the points have the hash %s, want %s", got, want)
	}
}

// A search rounds to steps as random draws do: no value is another only by its last bits.
func TestTPERoundsAsRandom(t *testing.T) {
	steps := numbers(sweep.UniformDistribution, 0.2, 2, 0.2)
	drawn := map[any]bool{}
	for i := range 1000 {
		drawn[steps.Quantile((float64(i)+.5)/1000)] = true
	}
	if len(drawn) != 10 {
		t.Fatalf("%d values are drawn", len(drawn))
	}
	spec := &sweep.Spec{Cap: 80, Random: &sweep.Random{Seed: 3}, Policies: []sweep.Policy{Of(&Bayes{Batch: 8})},
		Axes: []sweep.Axis{axisOf("x", steps), axisOf("y", numbers(sweep.LogUniformValuesDistribution, 0.1, 3, 0.1))}}
	for i, p := range run(t, spec, func(_ int, p sweep.Parameters) float64 { return math.Abs(p["x"].(float64) - 1.3) }) {
		if !drawn[p["x"]] {
			t.Errorf("point %d: no draw is %v", i, p["x"])
		}
		if y := p["y"].(float64); y != math.RoundToEven(y/0.1)*0.1 {
			t.Errorf("point %d: no draw is %v", i, y)
		}
	}
}

// The points are in the space: each value is one that a random search could draw, and parameters
// are absent where their conditions say so. Later ones are better.
func TestTPESearches(t *testing.T) {
	spec := searchSpec(100)
	spec.Random.Seed = 1
	points := run(t, spec, lossOf)
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

// What a trainer adds to a point, and texts that it reads as numbers, change no later point.
func TestResolvedParameters(t *testing.T) {
	spec := searchSpec(40)
	spec.Axes = append(spec.Axes, axisOf("written", sweep.Values{List: []any{"1e-3", "1e-2"}}))
	description := sweep.Description{Open: true, Parameters: []sweep.ParameterSchema{
		{Name: "m1", Type: sweep.IntegerType, Default: int64(8)}, {Name: "m2", Type: sweep.NumberType, Default: 0.5},
		{Name: "written", Type: sweep.NumberType}, {Name: "layers", Type: sweep.NumberType},
	}}
	search := opened[*tpe](t, spec, &description)
	var plain, resolved []Trial
	for i := 0; i < 40; i += 8 {
		chosen := next(t, search, plain)
		if again := next(t, search, resolved); !reflect.DeepEqual(again, chosen) {
			t.Fatalf("generation %d has other points after resolved trials", i/8)
		}
		for _, point := range chosen {
			p := point.Parameters
			full, err := description.Resolve(p)
			if err != nil {
				t.Fatal(err)
			}
			if row := search.space.coordinates(full); math.IsNaN(row[7]) != (p["m2"] == nil) {
				t.Errorf("%v is read as %v", full, row)
			}
			coerced := p.Clone()
			coerced["written"] = full["written"]
			plain, resolved = append(plain, Trial{Parameters: coerced, Value: loss(p)}),
				append(resolved, Trial{Parameters: full, Value: loss(p)})
		}
	}
}

// Replicates are next to each other, and their mean counts.
func TestReplicates(t *testing.T) {
	seeds := axisOf(sweep.SeedParameter, sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 3, Integer: true}})
	spec, single := searchSpec(120), searchSpec(40)
	spec.Axes, spec.Random.Replicated = append(spec.Axes, seeds), true
	got := run(t, spec, func(i int, p sweep.Parameters) float64 {
		if i/3%13 == 5 && i%3 == 1 {
			return math.NaN()
		}
		return loss(p) + float64(i%3-1)
	})
	want := run(t, single, lossOf)
	for i, p := range got {
		if p[sweep.SeedParameter] != int64(i%3+1) {
			t.Fatalf("trial %d has the seed %v", i, p[sweep.SeedParameter])
		}
		delete(p, sweep.SeedParameter)
		if lr, wanted := p["lr"].(float64), want[i/3]["lr"].(float64); math.Abs(lr/wanted-1) > 1e-9 {
			t.Fatalf("trial %d has the learning rate %v, want %v", i, lr, wanted)
		}
	}
}

func TestEndedContext(t *testing.T) {
	search := opened[*tpe](t, searchSpec(9), &sweep.Description{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search.Step(ctx, Observations{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Points without a value are worse than all others; those of the same generation are among the others.
func TestSplit(t *testing.T) {
	var points []observation
	for i, value := range []float64{5, 3, 9, math.NaN(), 7, 2, 8, 6, 4, 2, 0, 0} {
		points = append(points, observation{index: i, value: value})
	}
	indices := func(list []observation) (result []int) {
		for _, o := range list {
			result = append(result, o.index)
		}
		return result
	}
	for ended, want := range map[int][]int{10: {5}, 11: {5, 10}, 4: {1}} {
		good, bad := split(points, ended)
		if got := indices(good); !slices.Equal(got, want) {
			t.Errorf("of %d the better ones are %v, want %v", ended, got, want)
		}
		if len(good)+len(bad) != len(points) || !slices.IsSorted(indices(bad)) {
			t.Errorf("of %d the others are %v", ended, indices(bad))
		}
	}
	if good, _ := split([]observation{{index: 0, value: math.NaN()}, {index: 1, value: math.Inf(1)}}, 2); good[0].index != 1 {
		t.Error("a point without a value is the better one")
	}
}
