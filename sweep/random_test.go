package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
)

func axis(name string, values Values) Axis {
	return Axis{Parameters: []AxisParameter{{Name: name, Values: values}}}
}

func drawnSpec() *Spec {
	return &Spec{Cap: 40, Random: &Random{Seed: 3}, Axes: []Axis{
		axis("lr", Values{Distribution: &Distribution{Kind: LogUniformValuesDistribution, Low: 1e-5, High: 1e-1}}),
		axis("model", Values{List: []any{"a", "b"}, Weights: []float64{3, 1}}),
		axis("layers", Values{Range: &Range{Start: 1, Step: 1, Count: 4, Integer: true}}),
		axis("m1", Values{List: []any{int64(8), int64(16)}}),
		{Parameters: []AxisParameter{{Name: "x", Values: Values{List: []any{int64(1), int64(2)}}},
			{Name: "y", Values: Values{List: []any{int64(10), int64(20)}}}}},
	}, Conditions: []Condition{{Parameter: "m1", When: Match{"model": {"a"}}}}}
}

func points(t *testing.T, spec *Spec) (list []Parameters) {
	t.Helper()
	g, err := NewGrid(spec)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range g.All(0) {
		again, err := g.At(i)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("point %d is %v and %v: %v", i, p, again, err)
		}
		list = append(list, p)
	}
	if int64(len(list)) != g.Count() {
		t.Fatalf("%d points, %d counted", len(list), g.Count())
	}
	return list
}

// What is drawn depends on seed, index and name alone: an extension of a search
// has its points, with whatever parameters beside, in memory or from a store.
func TestRandomIsAFunction(t *testing.T) {
	list := points(t, drawnSpec())
	longer := drawnSpec()
	longer.Cap = 100
	longer.Axes = append([]Axis{axis("first", Values{List: []any{true, false}})}, longer.Axes...)
	for i, p := range points(t, longer)[:len(list)] {
		delete(p, "first")
		if !reflect.DeepEqual(p, list[i]) {
			t.Errorf("point %d is %v in a longer search, %v before", i, p, list[i])
		}
	}
	var stored Spec
	data, err := json.Marshal(drawnSpec())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	if got := points(t, &stored); !reflect.DeepEqual(got, list) {
		t.Errorf("stored and read: %v\nwant %v", got, list)
	}
	other := drawnSpec()
	other.Random.Seed = 4
	if reflect.DeepEqual(points(t, other), list) {
		t.Error("another seed draws the same points")
	}
	for i, p := range list {
		if _, there := p["m1"]; there != (p["model"] == "a") {
			t.Errorf("point %d: %v", i, p)
		}
		if x, y := p["x"].(int64), p["y"].(int64); y != 10*x {
			t.Errorf("point %d: x and y do not advance together: %v", i, p)
		}
	}
}

func TestRandomReplicates(t *testing.T) {
	spec := drawnSpec()
	plain := points(t, spec)
	spec.Axes = append(spec.Axes, axis(SeedParameter,
		Values{Range: &Range{Start: 1, Step: 1, Count: 3, Integer: true}}))
	spec.Random.Replicated = true
	for i, p := range points(t, spec) {
		want := plain[i/3].Clone()
		want[SeedParameter] = int64(i%3 + 1)
		if !reflect.DeepEqual(p, want) {
			t.Errorf("point %d is %v, want %v", i, p, want)
		}
	}
}

// Draws have the shares that their distribution gives: the counts of 16 equally
// probable cells over 32,000 draws are within five deviations.
func TestShares(t *testing.T) {
	const draws, cells = 32000, 16
	for _, d := range []Distribution{
		{Kind: UniformDistribution, Low: -1, High: 3},
		{Kind: LogUniformDistribution, Low: -9, High: 1},
		{Kind: InverseLogUniformDistribution, Low: -1, High: 2},
		{Kind: LogUniformValuesDistribution, Low: 1e-6, High: 10},
		{Kind: NormalDistribution, Low: 2, High: 0.5},
		{Kind: LogNormalDistribution, Low: 0, High: 1},
	} {
		spec := &Spec{Cap: draws, Random: &Random{}, Axes: []Axis{axis("x", Values{Distribution: &d})}}
		// share is the distribution function, written down anew.
		share := func(x float64) float64 {
			switch d.Kind {
			case LogUniformDistribution:
				return (math.Log(x) - d.Low) / (d.High - d.Low)
			case InverseLogUniformDistribution:
				return 1 - (-math.Log(x)-d.Low)/(d.High-d.Low)
			case LogUniformValuesDistribution:
				return math.Log(x/d.Low) / math.Log(d.High/d.Low)
			case NormalDistribution:
				return math.Erfc((d.Low-x)/d.High/math.Sqrt2) / 2
			case LogNormalDistribution:
				return math.Erfc(-math.Log(x)/math.Sqrt2) / 2
			}
			return (x - d.Low) / (d.High - d.Low)
		}
		var counts [cells]float64
		for _, p := range points(t, spec) {
			counts[min(int(cells*share(p["x"].(float64))), cells-1)]++
		}
		mean := float64(draws) / cells
		for i, n := range counts {
			if math.Abs(n-mean) > 5*math.Sqrt(mean) {
				t.Errorf("%s: cell %d has %v draws, about %v expected", d.Kind, i, n, mean)
			}
		}
	}
	spec := &Spec{Cap: draws, Random: &Random{Seed: 1}, Axes: []Axis{
		axis("w", Values{List: []any{"a", "b", "never", "c"}, Weights: []float64{0.5, 0.25, 0, 0.25}}),
		axis("n", Values{Range: &Range{Start: 5, Step: 1, Count: 4, Integer: true}}),
		axis("q", Values{Distribution: &Distribution{Kind: UniformDistribution, Low: 0, High: 40, Step: 20,
			Integer: true}}),
	}}
	counts := map[string]float64{}
	for _, p := range points(t, spec) {
		for name, v := range p {
			counts[fmt.Sprint(name, v)]++
		}
	}
	for key, want := range map[string]float64{
		"wa": .5, "wb": .25, "wc": .25, "wnever": 0, "n5": .25, "n8": .25, "q0": .25, "q20": .5, "q40": .25,
	} {
		if got := counts[key] / draws; math.Abs(got-want) > 5*math.Sqrt(want/draws) {
			t.Errorf("%s has the share %v, want %v", key, got, want)
		}
	}
	if len(counts) != 3+4+3 {
		t.Errorf("values %v", counts)
	}
}

func TestRandomRefusals(t *testing.T) {
	var refused *ParameterError
	for name, change := range map[string]func(s *Spec){
		"endless":  func(s *Spec) { s.Cap = 0 },
		"excluded": func(s *Spec) { s.Exclude = []Match{{"model": {"a"}}} },
	} {
		spec := drawnSpec()
		change(spec)
		if _, err := NewGrid(spec); !errors.Is(err, ErrEndless) && !errors.Is(err, ErrExcluded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, d := range map[string]*Distribution{
		"kind":     {Kind: "cauchy"},
		"order":    {Kind: UniformDistribution, Low: 2, High: 1},
		"infinite": {Kind: UniformDistribution, Low: -1e308, High: 1e308},
		"nan":      {Kind: NormalDistribution, Low: math.NaN()},
		"exponent": {Kind: LogUniformDistribution, Low: 0, High: 1e4},
		"sigma":    {Kind: NormalDistribution, High: -1},
		"overflow": {Kind: LogNormalDistribution, Low: 0, High: 1e3},
		"step":     {Kind: UniformDistribution, Low: 0, High: 1, Step: -1},
		"integers": {Kind: NormalDistribution, Low: 1e18, High: 1, Step: 1, Integer: true},
		"log":      {Kind: LogUniformValuesDistribution, Low: 0, High: 1},
	} {
		spec := drawnSpec()
		spec.Axes[0].Parameters[0].Values.Distribution = d
		if _, err := NewGrid(spec); !errors.As(err, &refused) || refused.Parameter != "lr" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, weights := range map[string][]float64{"few": {1}, "negative": {2, -1}, "none": {0, 0},
		"nan": {math.NaN(), 1}} {
		spec := drawnSpec()
		spec.Axes[1].Parameters[0].Values.Weights = weights
		if _, err := NewGrid(spec); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	grid := drawnSpec()
	grid.Random = nil
	if _, err := NewGrid(grid); !errors.As(err, &refused) {
		t.Errorf("a grid over a distribution: %v", err)
	}
}

func TestPythonForms(t *testing.T) {
	for value, want := range map[float64]string{
		1: "1.0", 0: "0.0", -2.5: "-2.5", 1e-8: "1e-08", 0.0001: "0.0001", 0.00001: "1e-05", 1e15: "1000000000000000.0",
		1e16: "1e+16", 1.5e300: "1.5e+300", 0.1: "0.1", math.Inf(-1): "-Infinity",
	} {
		if got := PythonFloat(value); got != want {
			t.Errorf("%v is written %s, want %s", value, got, want)
		}
	}
	value := map[string]any{"b": []any{int64(1), 1.0, nil, true}, "a": "é\"\\\n\x01😀"}
	if got, want := WrittenJSON(value),
		`{"a": "\u00e9\"\\\n\u0001\ud83d\ude00", "b": [1, 1.0, null, true]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A value's type survives its way through canonical JSON.
func TestScriptValues(t *testing.T) {
	p := ScriptParameter{Name: "x"}
	list := []any{1.0, int64(2), 0.5, []any{1.0, int64(2)}, "1.0", map[string]any{"a": 3.0}}
	for _, v := range list {
		p.Note(v)
	}
	s := Script{Parameters: []ScriptParameter{p}}
	for i, want := range []string{"1.0", "2", "0.5", "[1.0, 2]", `"1.0"`, `{"a": 3.0}`} {
		canonical, err := Parameters{"x": list[i]}.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		var back Parameters
		if err := json.Unmarshal(canonical, &back); err != nil {
			t.Fatal(err)
		}
		part := s.For(back)
		if got, err := part.Parameters[0].Value(back["x"]); err != nil || got != want {
			t.Errorf("%v comes back as %s (%v), want %s", list[i], got, err, want)
		}
		if len(part.Parameters[0].Written) > 1 {
			t.Errorf("a trial is told %v", part.Parameters[0].Written)
		}
	}
	float := ScriptParameter{Float: true}
	if got, _ := float.Value(int64(3)); got != "3.0" {
		t.Errorf("got %s", got)
	}
	if (*Script)(nil).For(nil) != nil {
		t.Error("no script has a part")
	}
}
