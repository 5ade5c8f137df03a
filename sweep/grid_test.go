package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// list is a shorthand for an axis of one parameter.
func list(name string, values ...any) Axis {
	return Axis{Parameters: []AxisParameter{{Name: name, Values: Values{List: values}}}}
}

func integers(name string, from, count int64) Axis {
	return Axis{Parameters: []AxisParameter{{Name: name,
		Values: Values{Range: &Range{Start: float64(from), Step: 1, Count: count, Integer: true}}}}}
}

// brute lists a grid by its definition: every combination in order, absent
// parameters removed, repeats and exclusions dropped.
func brute(spec *Spec) (points []string, removed map[string]int64) {
	removed = map[string]int64{}
	seen := map[string]bool{}
	digits := make([]int64, len(spec.Axes))
	for {
		full := Parameters{}
		for k, axis := range spec.Axes {
			for _, p := range axis.Parameters {
				full[p.Name] = p.Values.At(digits[k])
			}
		}
		var present func(name string) bool
		present = func(name string) bool {
			if _, ok := full[name]; !ok {
				return false
			}
			for _, c := range spec.Conditions {
				if c.Parameter != name {
					continue
				}
				for needed, accepted := range c.When {
					if !present(needed) {
						return false
					}
					found := false
					for _, v := range accepted {
						found = found || Equal(v, full[needed])
					}
					if !found {
						return false
					}
				}
			}
			return true
		}
		point := Parameters{}
		for name, value := range full {
			if present(name) {
				point[name] = value
			}
		}
		text, err := point.Canonical()
		if err != nil {
			panic(err)
		}
		excluded := false
		for _, m := range spec.Exclude {
			excluded = excluded || m.Fits(point)
		}
		if !seen[string(text)] && !excluded {
			seen[string(text)] = true
			points = append(points, string(text))
			for name := range full {
				if _, ok := point[name]; !ok {
					removed[name]++
				}
			}
		}
		k := len(digits) - 1
		for ; k >= 0; k-- {
			if digits[k]++; digits[k] < spec.Axes[k].Len() {
				break
			}
			digits[k] = 0
		}
		if k < 0 {
			return points, removed
		}
	}
}

// randomSpec draws a small spec whose conditions form no circle.
func randomSpec(r *rand.Rand) *Spec {
	spec := &Spec{}
	pool := []any{int64(1), 1.0, 1.5, "1", "a", true, nil, int64(2), []any{int64(1)}, "b"}
	var names []string
	values := map[string]Values{}
	for k := range 1 + r.IntN(5) {
		length := 1 + r.IntN(4)
		var axis Axis
		for i := range 1 + r.IntN(3)*r.IntN(2) {
			name := fmt.Sprintf("p%d_%d", k, i)
			var v Values
			if r.IntN(3) == 0 {
				v.Range = &Range{Start: float64(r.IntN(3)), Step: 1, Count: int64(length), Integer: r.IntN(2) == 0}
			} else {
				for range length {
					v.List = append(v.List, pool[r.IntN(len(pool))])
				}
			}
			values[name] = v
			names = append(names, name)
			axis.Parameters = append(axis.Parameters, AxisParameter{name, v})
		}
		spec.Axes = append(spec.Axes, axis)
	}
	match := func(from []string) Match {
		m := Match{}
		for range 1 + r.IntN(2) {
			name := from[r.IntN(len(from))]
			m[name] = nil
			for range 1 + r.IntN(2) {
				value := pool[r.IntN(len(pool))]
				if r.IntN(4) > 0 {
					value = values[name].At(r.Int64N(values[name].Len()))
				}
				m[name] = append(m[name], value)
			}
		}
		return m
	}
	// Conditions point from earlier to later names of a random order.
	order := append([]string(nil), names...)
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for range r.IntN(4) {
		i := r.IntN(len(order))
		others := append([]string{"nowhere"}, order[i+1:]...)
		values["nowhere"] = Values{List: []any{"a"}}
		if r.IntN(10) > 0 {
			others = order[i+1:]
		}
		if len(others) > 0 {
			spec.Conditions = append(spec.Conditions, Condition{order[i], match(others)})
		}
	}
	for range r.IntN(3) {
		spec.Exclude = append(spec.Exclude, match(names))
	}
	return spec
}

// TestGridProperty holds Count, At, All and Removed against the plain listing.
func TestGridProperty(t *testing.T) {
	empty, conditional, excluding := 0, 0, 0
	for seed := range uint64(4000) {
		spec := randomSpec(rand.New(rand.NewPCG(seed, 1)))
		want, removed := brute(spec)
		g, err := NewGrid(spec)
		if len(want) == 0 {
			empty++
			if !errors.Is(err, ErrNoPoint) {
				t.Fatalf("seed %d: no point, but error %v", seed, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if g.Count() != int64(len(want)) {
			t.Fatalf("seed %d: %d points, want %d\n%s", seed, g.Count(), len(want), specText(spec))
		}
		next := int64(0)
		for index, point := range g.All(0) {
			text, err := point.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			if index != next || string(text) != want[index] {
				t.Fatalf("seed %d: point %d is %s, want %s\n%s", seed, index, text, want[next], specText(spec))
			}
			next++
		}
		if next != g.Count() {
			t.Fatalf("seed %d: All yields %d points of %d", seed, next, g.Count())
		}
		for _, r := range g.Removed() {
			if r.Points != removed[r.Parameter] {
				t.Fatalf("seed %d: %s removed at %d points, want %d", seed, r.Parameter, r.Points, removed[r.Parameter])
			}
			delete(removed, r.Parameter)
			conditional++
		}
		if len(removed) != 0 {
			t.Fatalf("seed %d: Removed lacks %v", seed, removed)
		}
		if len(spec.Exclude) > 0 {
			excluding++
		}
	}
	if empty == 0 || conditional < 500 || excluding < 500 {
		t.Fatalf("the generator is too tame: %d empty, %d removals, %d with exclusions", empty, conditional, excluding)
	}
}

func specText(spec *Spec) string {
	text, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestGridOrder(t *testing.T) {
	spec := &Spec{
		Axes: []Axis{
			list("model", "rnn", "lstm", "ornn"),
			list("m1", int64(8), int64(16)),
			{Parameters: []AxisParameter{
				{"lr", Values{List: []any{0.001, 0.01}}},
				{"decay", Values{List: []any{int64(1), 0.99}}},
			}},
			integers("seed", 1, 2),
		},
		Conditions: []Condition{{"m1", Match{"model": {"ornn"}}}},
		Exclude:    []Match{{"model": {"lstm"}, "lr": {0.01}}},
	}
	g, err := NewGrid(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"decay":1,"lr":0.001,"model":"rnn","seed":1}`,
		`{"decay":1,"lr":0.001,"model":"rnn","seed":2}`,
		`{"decay":0.99,"lr":0.01,"model":"rnn","seed":1}`,
		`{"decay":0.99,"lr":0.01,"model":"rnn","seed":2}`,
		`{"decay":1,"lr":0.001,"model":"lstm","seed":1}`,
		`{"decay":1,"lr":0.001,"model":"lstm","seed":2}`,
		`{"decay":1,"lr":0.001,"m1":8,"model":"ornn","seed":1}`,
		`{"decay":1,"lr":0.001,"m1":8,"model":"ornn","seed":2}`,
		`{"decay":0.99,"lr":0.01,"m1":8,"model":"ornn","seed":1}`,
		`{"decay":0.99,"lr":0.01,"m1":8,"model":"ornn","seed":2}`,
		`{"decay":1,"lr":0.001,"m1":16,"model":"ornn","seed":1}`,
		`{"decay":1,"lr":0.001,"m1":16,"model":"ornn","seed":2}`,
		`{"decay":0.99,"lr":0.01,"m1":16,"model":"ornn","seed":1}`,
		`{"decay":0.99,"lr":0.01,"m1":16,"model":"ornn","seed":2}`,
	}
	var got []string
	for _, point := range g.All(0) {
		text, err := point.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if g.Product() != 24 {
		t.Errorf("product %d, want 24", g.Product())
	}
	if r := g.Removed(); len(r) != 1 || r[0] != (Removal{"m1", 6}) {
		t.Errorf("removed %v, want m1 at 6 points", r)
	}
}

func TestGridAllFrom(t *testing.T) {
	g, err := NewGrid(&Spec{Axes: []Axis{integers("a", 0, 10)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, first, count int64 }{{-3, 0, 10}, {0, 0, 10}, {7, 7, 3}, {10, 0, 0}} {
		first, count := int64(0), int64(0)
		for index := range g.All(test.from) {
			if count == 0 {
				first = index
			}
			count++
		}
		if first != test.first || count != test.count {
			t.Errorf("All(%d): %d points from %d, want %d from %d", test.from, count, first, test.count, test.first)
		}
	}
	for range g.All(0) {
		break
	}
}

func TestGridCap(t *testing.T) {
	for limit, want := range map[int64]int64{0: 6, 4: 4, 6: 6, 100: 6} {
		g, err := NewGrid(&Spec{Axes: []Axis{integers("a", 0, 3), integers("b", 0, 2)}, Cap: limit})
		if err != nil {
			t.Fatal(err)
		}
		if g.Count() != want {
			t.Errorf("cap %d: %d points, want %d", limit, g.Count(), want)
		}
		for _, index := range []int64{-1, want} {
			if _, err := g.At(index); !errors.Is(err, ErrNotFound) {
				t.Errorf("cap %d: At(%d): %v", limit, index, err)
			}
		}
	}
}

// TestGridHuge: the cost must not depend on the number of free points.
func TestGridHuge(t *testing.T) {
	spec := &Spec{
		Axes: []Axis{
			integers("a", 1, 1_000_000_000),
			list("model", "rnn", "lstm"),
			integers("b", -5, 1_000_000_000),
			list("m1", int64(1), int64(2)),
		},
		Conditions: []Condition{{"m1", Match{"model": {"lstm"}}}},
	}
	g, err := NewGrid(spec)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(3e18); g.Count() != want || g.Product() != 4e18 {
		t.Fatalf("%d points of %d, want %d", g.Count(), g.Product(), want)
	}
	last, err := g.At(g.Count() - 1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := last.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":1000000000,"b":999999994,"m1":2,"model":"lstm"}`; string(text) != want {
		t.Errorf("last point %s, want %s", text, want)
	}
}

func TestGridErrors(t *testing.T) {
	wide := func(n int) (axes []Axis) {
		for k := range n {
			axes = append(axes, integers(fmt.Sprintf("p%d", k), 0, 1<<21))
		}
		return axes
	}
	tests := []struct {
		name string
		spec Spec
		is   error
		text string
	}{
		{"no axis", Spec{}, ErrNoPoint, "no parameter"},
		{"empty axis", Spec{Axes: []Axis{{}}}, ErrNoPoint, "axis 0"},
		{"no value", Spec{Axes: []Axis{list("a")}}, ErrNoPoint, "parameter a: has no value"},
		{"all excluded", Spec{Axes: []Axis{list("a", "x")}, Exclude: []Match{{"a": {"x"}}}}, ErrNoPoint,
			"fits all 1 combinations"},
		{"2^63", Spec{Axes: wide(3)}, ErrTooManyPoints, "p2"},
		{"2^126", Spec{Axes: wide(6)}, ErrTooManyPoints, "p2"},
		{"twice", Spec{Axes: []Axis{list("a", "x"), list("a", "y")}}, nil, "parameter a: is given twice"},
		{"zip", Spec{Axes: []Axis{{Parameters: []AxisParameter{
			{"a", Values{List: []any{"x", "y"}}}, {"b", Values{List: []any{"x"}}}}}}}, nil,
			"parameter b: has 1 values but a"},
		{"circle", Spec{Axes: []Axis{list("a", "x"), list("b", "x"), list("c", "x")}, Conditions: []Condition{
			{"c", Match{"a": {"x"}}}, {"a", Match{"b": {"x"}}}, {"b", Match{"a": {"x"}}},
		}}, nil, "parameter a: its condition depends on itself: a → b → a"},
		{"itself", Spec{Axes: []Axis{list("a", "x")}, Conditions: []Condition{{"a", Match{"a": {"x"}}}}}, nil, "a → a"},
		{"condition on nothing", Spec{Axes: []Axis{list("a", "x")}, Conditions: []Condition{{"b", Match{"a": {"x"}}}}},
			nil, "parameter b"},
		{"combinations", Spec{Axes: wide(2), Exclude: []Match{{"p0": {int64(1)}, "p1": {int64(1)}}}}, nil,
			"p0, p1 have more than 10000000 combinations"},
		{"comparisons", Spec{Axes: []Axis{integers("p0", 0, 1<<20)}, Exclude: slices.Repeat([]Match{{"p0": {int64(1)}}},
			5000)}, nil, "more than 2000000000 comparisons"},
		{"step 0", Spec{Axes: []Axis{{Parameters: []AxisParameter{{"a", Values{Range: &Range{Count: 2}}}}}}}, nil,
			"step is too small"},
		{"tiny step",
			Spec{Axes: []Axis{{Parameters: []AxisParameter{{"a",
				Values{Range: &Range{Start: 1, Step: 1e-17, Count: 9}}}}}}}, nil, "step is too small"},
		{"infinite",
			Spec{Axes: []Axis{{Parameters: []AxisParameter{{"a",
				Values{Range: &Range{Start: 1e308, Step: 1e308, Count: 9}}}}}}}, nil, "not finite"},
		{"half integers",
			Spec{Axes: []Axis{{Parameters: []AxisParameter{{"a",
				Values{Range: &Range{Step: .5, Count: 9, Integer: true}}}}}}}, nil, "whole numbers"},
		{"foreign type", Spec{Axes: []Axis{list("a", struct{}{})}}, nil, "parameter a: value 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewGrid(&test.spec)
			if err == nil {
				t.Fatal("no error")
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v, want %v", err, test.is)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %q does not say %q", err, test.text)
			}
		})
	}
}

// TestSpecJSON: a stored spec expands to the same points, large integers included.
func TestSpecJSON(t *testing.T) {
	spec := &Spec{
		Axes: []Axis{
			list("a", int64(9007199254740993), 0.1, "x", nil, true, []any{int64(1), map[string]any{"k": 2.5}}),
			{Parameters: []AxisParameter{{"b", Values{Range: &Range{Start: 1, Step: 1, Count: 9, Divisor: 10}}}}},
		},
		Conditions: []Condition{{"b", Match{"a": {int64(9007199254740993), "x"}}}},
		Exclude:    []Match{{"a": {true}}},
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var again Spec
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	want, _ := brute(spec)
	got, _ := brute(&again)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(want[2], `"b":0.3`) {
		t.Errorf("third point %s, want b = 0.3", want[2])
	}
}

func TestValuesIndex(t *testing.T) {
	ranges := []Values{
		{Range: &Range{Start: 0.1, Step: 0.1, Count: 50}},
		{Range: &Range{Start: -3, Step: 7, Count: 50, Integer: true}},
		{Range: &Range{Start: 10, Step: -1, Count: 21, Divisor: 10}},
		{List: []any{"a", int64(3), 0.5, nil, true}},
	}
	for _, v := range ranges {
		for i := range v.Len() {
			if got := v.Index(v.At(i)); got != i {
				t.Errorf("%+v: Index(At(%d)) = %d", v, i, got)
			}
		}
		for _, stranger := range []any{"zebra", 1e300, -1e300, 0.123, int64(1 << 62), false} {
			if got := v.Index(stranger); got != -1 {
				t.Errorf("%+v: Index(%v) = %d, want -1", v, stranger, got)
			}
		}
	}
}

func benchmarkSpec() *Spec {
	models := []any{"rnn", "irnn", "lstm", "gru", "ornn", "spectral-rnn"}
	return &Spec{
		Axes: []Axis{
			integers("dataset", 0, 85), list("model", models...), integers("lr", 0, 10),
			list("m1", int64(8), int64(16), int64(32)),
			list("m2", int64(8), int64(16), int64(32)), integers("batch", 0, 7), integers("order", 0, 3),
			integers("seed", 1, 100),
		},
		Conditions: []Condition{{"m1", Match{"model": {"ornn", "spectral-rnn"}}},
			{"m2", Match{"model": {"spectral-rnn"}}}},
		Exclude: []Match{{"model": {"lstm"}, "lr": {int64(3)}}},
	}
}

func BenchmarkNewGrid(b *testing.B) {
	spec := benchmarkSpec()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewGrid(spec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewGridBillionFree(b *testing.B) {
	var axes []Axis
	for k := range 9 {
		axes = append(axes, list(fmt.Sprintf("p%d", k), "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewGrid(&Spec{Axes: axes}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewGridTenMillionConstrained(b *testing.B) {
	spec := &Spec{Axes: []Axis{integers("a", 0, 1000), integers("b", 0, 100), integers("c", 0, 100)},
		Exclude: []Match{{"a": {int64(3)}, "b": {int64(3)}, "c": {int64(3)}}}}
	for b.Loop() {
		if _, err := NewGrid(spec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGridAt(b *testing.B) {
	g, err := NewGrid(benchmarkSpec())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	index := int64(0)
	for b.Loop() {
		if _, err := g.At(index); err != nil {
			b.Fatal(err)
		}
		index = (index + 1_000_003) % g.Count()
	}
}
