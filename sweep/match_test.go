package sweep

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMatchFits(t *testing.T) {
	point := Parameters{"model": "rnn", "lr": 0.001, "m1": int64(8), "none": nil}
	tests := []struct {
		match Match
		want  bool
	}{
		{Match{}, true},
		{Match{"model": {"lstm", "rnn"}}, true},
		{Match{"model": {"lstm"}}, false},
		{Match{"model": {}}, false},
		{Match{"m1": {8.0}, "lr": {0.001}}, true},
		{Match{"m1": {"8"}}, false},
		{Match{"m1": {8}}, true},
		{Match{"absent": {nil}}, false},
		{Match{"none": {nil}}, true},
		{Match{"model": {"rnn"}, "absent": {"x"}}, false},
	}
	for _, test := range tests {
		if got := test.match.Fits(point); got != test.want {
			t.Errorf("%v: %v", test.match, got)
		}
	}
}

func TestMatchJSON(t *testing.T) {
	var m Match
	if err := json.Unmarshal([]byte(`{"seed":[9007199254740993,0.5],"x":null}`), &m); err != nil {
		t.Fatal(err)
	}
	if m["seed"][0] != int64(9007199254740993) || m["seed"][1] != 0.5 || len(m["x"]) != 0 {
		t.Errorf("%#v", m)
	}
	for _, text := range []string{`[]`, `{"a":1}`, `{"a":{}}`, `{`} {
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	if err := json.Unmarshal([]byte(`null`), &m); err != nil || m != nil {
		t.Errorf("null: %v, %v", m, err)
	}
}

// TestSameValue: the fast comparison agrees with the canonical form.
func TestSameValue(t *testing.T) {
	values := []any{
		nil, true, false, "", "1", "a", int64(0), int64(1), int64(-1), 0.0, math.Copysign(0, -1), 1.0, -1.0, 0.5, 1e300,
		int64(1) << 53, int64(1)<<53 - 1, int64(1)<<53 + 1, float64(int64(1) << 53), float64(int64(1)<<53 - 1),
		int64(math.MaxInt64),
		math.Inf(1), math.NaN(), []any{}, []any{int64(1)}, []any{1.0}, map[string]any{"a": 1.0},
		map[string]any{"a": int64(1)}, 1, uint32(1), float32(0.5),
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values = append(values, r.Int64N(100), float64(r.Int64N(100)), math.Float64frombits(r.Uint64()))
	}
	for _, a := range values {
		for _, b := range values {
			if got, want := sameValue(a, b), Equal(a, b); got != want {
				t.Errorf("sameValue(%T %v, %T %v) = %v, Equal says %v", a, a, b, b, got, want)
			}
		}
	}
}
