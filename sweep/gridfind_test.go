package sweep

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
)

// A point of a grid is found where it is, and no other one.
func TestFinder(t *testing.T) {
	t.Parallel()
	d := &Description{Name: "x", Open: true, Parameters: []ParameterSchema{{Name: "b", Type: NumberType}}}
	r := rand.New(rand.NewPCG(1, 2))
	list := func(items ...any) Values { return Values{List: items} }
	for range 200 {
		s := &Spec{Axes: []Axis{
			{Parameters: []AxisParameter{{"a", Values{Range: &Range{Start: 1, Step: 2, Count: 1 + r.Int64N(4), Integer: true}}}}},
			{Parameters: []AxisParameter{{"b", list(int64(1), "1.5", 3.5, 2.0)}, {"c", list("x", nil, nil, true)}}},
			{Parameters: []AxisParameter{{"d", list("p", "q", int64(1), "1")}}},
			{Parameters: []AxisParameter{{"e", Values{Range: &Range{Start: 1, Step: 1, Count: 3, Divisor: 10}}}}},
		}}
		if r.IntN(2) == 0 {
			s.Exclude = []Match{{"d": []any{"q"}, "a": []any{int64(1)}}, {"b": []any{2.0}, "e": []any{0.2}}}
		}
		if r.IntN(2) == 0 {
			s.Cap = 1 + r.Int64N(60)
		}
		all, err := NewGrid(s)
		if errors.Is(err, ErrNoPoint) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			if s.Omit, err = EncodeOmitted(all.Count(), func(int64) bool { return r.IntN(3) == 0 }); err != nil {
				t.Fatal(err)
			}
		}
		g, err := NewGrid(s)
		if err != nil {
			t.Fatal(err)
		}
		f := g.Finder(d)
		places := map[string]int64{}
		for index, point := range g.All(0) {
			resolved, err := d.Resolve(point)
			if err != nil {
				t.Fatal(err)
			}
			canonical, _ := resolved.Canonical()
			places[string(canonical)] = index
		}
		s.Exclude, s.Cap, s.Omit = nil, 0, nil
		whole, err := NewGrid(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range whole.All(0) {
			resolved, _ := d.Resolve(point)
			canonical, _ := resolved.Canonical()
			index, found := f.Find(resolved)
			want, known := places[string(canonical)]
			if found != known || found && index != want {
				t.Fatalf("%s: %d, %t; want %d, %t", canonical, index, found, want, known)
			}
		}
		for _, other := range []Parameters{{"a": int64(2)}, {"e": 0.25}, {"d": "r"}, {"b": 1.25}, {"c": false}} {
			point, _ := whole.At(0)
			maps.Copy(point, other)
			if index, found := f.Find(point); found {
				t.Fatalf("%v is found at %d", point, index)
			}
		}
	}
	for name, s := range map[string]*Spec{
		"conditions": {Axes: []Axis{{Parameters: []AxisParameter{{"a", list("x", "y")}}},
			{Parameters: []AxisParameter{{"b", list(int64(1), int64(2))}}}},
			Conditions: []Condition{{Parameter: "b", When: Match{"a": []any{"x"}}}}},
		"draws": {Axes: []Axis{{Parameters: []AxisParameter{{"a", list("x", "y")}}}}, Cap: 3, Random: &Random{}},
	} {
		g, err := NewGrid(s)
		if err != nil {
			t.Fatal(err)
		}
		if g.Finder(d) != nil {
			t.Errorf("%s: points are found by their values", name)
		}
	}
}
