package store

import (
	"testing"

	"sweep/sweep"
)

// FuzzKeys: the key of a grid point is that of its parameters without the seed,
// whatever they are, and no text ends the program.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"seed":1}`, `{"a":1,"seed":2}`, `{"a":{"seed":1,"b":[1,"}"]},"seed":{"x":",\"}"},"z":"\\"}`,
		`{"\"seed\"":1,"seed ":2,"seed":3}`, `{"a`, `"`, `{"a":"\`, `}}`, `{,,`, `[1`,
	} {
		f.Add(text)
	}
	by := &comparison{}
	by.fill(&sweep.Description{})
	apart := &comparison{Select: sweep.Select{Group: []string{"seed"}}}
	apart.fill(&sweep.Description{})
	f.Fuzz(func(t *testing.T, text string) {
		if by.pointKey(text) <= 0 || by.groupKey(text) <= 0 {
			t.Errorf("%q has no key", text)
		}
		var p sweep.Parameters
		if err := p.UnmarshalJSON([]byte(text)); err != nil || p == nil {
			return
		}
		whole, err := p.Canonical()
		if err != nil {
			return
		}
		without := p.Clone()
		delete(without, sweep.SeedParameter)
		rest, err := without.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if by.pointKey(string(whole)) != by.pointKey(string(rest)) {
			t.Errorf("%s and %s have different keys", whole, rest)
		}
		if same := apart.pointKey(string(whole)) == apart.pointKey(string(rest)); same != (len(p) == len(without)) {
			t.Errorf("%s and %s, whose seed parts them: the same key %v", whole, rest, same)
		}
		without["another"] = "x"
		if more, err := without.Canonical(); err == nil && len(without) > len(p) &&
			by.pointKey(string(more)) == by.pointKey(string(rest)) {
			t.Errorf("%s and %s have one key", more, rest)
		}
	})
}
