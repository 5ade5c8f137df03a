package sweep

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{"a\"<é\n", `"a\"<é\n"`},
		{1, "1"},
		{1.0, "1"},
		{math.Copysign(0, -1), "0"},
		{1e-3, "0.001"},
		{1e3, "1000"},
		{0.1, "0.1"},
		{1e-7, "1e-07"},
		{9007199254740991.0, "9007199254740991"},
		{int64(math.MaxInt64), "9223372036854775807"},
		{9007199254740992.0, "9007199254740992"},
		{5.274550784343454e16, "52745507843434540"},
		{1e20, "100000000000000000000"},
		{1e21, "1e+21"},
		{[]any{1.0, "x", []any{}}, `[1,"x",[]]`},
		{map[string]any{"b": 1, "a": map[string]any{"z": nil, "y": 2.5}}, `{"a":{"y":2.5,"z":null},"b":1}`},
	}
	for _, test := range tests {
		got, err := CanonicalJSON(test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("%#v: %s, %v; want %s", test.value, got, err, test.want)
		}
	}
	for _, value := range []any{math.NaN(), math.Inf(-1), []any{math.Inf(1)}, map[string]any{"a": math.NaN()},
		struct{}{}, make(chan int)} {
		if got, err := CanonicalJSON(value); err == nil {
			t.Errorf("%#v has the canonical form %s", value, got)
		}
	}
}

// randomValue draws a value of the types that Parameters hold.
func randomValue(r *rand.Rand, depth int) any {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return int64(r.Uint64())
	case 3:
		return float64(r.IntN(1000))
	case 4:
		for {
			if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return f
			}
		}
	case 5:
		return string([]rune{rune(r.IntN(0xd800)), rune('a' + r.IntN(26)), rune(r.IntN(128))})
	case 6:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range r.IntN(4) {
			object[string(rune('a'+r.IntN(26)))] = randomValue(r, depth-1)
		}
		return object
	}
}

// TestCanonicalRoundTrip: decoding the canonical form gives an equal value, and
// encoding/json reads the same.
func TestCanonicalRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		value := randomValue(r, 3)
		text, err := CanonicalJSON(value)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeValue(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		second, err := CanonicalJSON(again)
		if err != nil || string(second) != string(text) {
			t.Fatalf("%s became %s, %v", text, second, err)
		}
		standard, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if carried, err := DecodeValue(standard); err != nil || !Equal(carried, value) {
			t.Fatalf("%s by encoding/json became %v, %v", text, carried, err)
		}
	}
}

func TestDecodeValue(t *testing.T) {
	for text, want := range map[string]any{
		"1": int64(1), "1.0": 1.0, "9223372036854775807": int64(math.MaxInt64),
		"9223372036854775808": 9223372036854775808.0,
		"1e2":                 100.0, `"x"`: "x", "null": nil, " true ": true,
	} {
		if got, err := DecodeValue([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1 2", "{", "1e999", "nul", `{"a":1}}`} {
		if got, err := DecodeValue([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParametersJSON(t *testing.T) {
	var p Parameters
	if err := json.Unmarshal([]byte(`{"seed":9007199254740993,"lr":0.5,"list":[1,2.5]}`), &p); err != nil {
		t.Fatal(err)
	}
	if p["seed"] != int64(9007199254740993) || p["lr"] != 0.5 {
		t.Errorf("%#v", p)
	}
	if text, err := p.Canonical(); err != nil || string(text) != `{"list":[1,2.5],"lr":0.5,"seed":9007199254740993}` {
		t.Errorf("%s, %v", text, err)
	}
	if names := strings.Join(p.Names(), " "); names != "list lr seed" {
		t.Errorf("names %s", names)
	}
	q := p.Clone()
	q["lr"] = 1.0
	if p["lr"] != 0.5 {
		t.Error("Clone shares storage")
	}
	if err := json.Unmarshal([]byte("null"), &p); err != nil || p != nil {
		t.Errorf("null: %v, %v", p, err)
	}
	if err := json.Unmarshal([]byte("[1]"), &p); err == nil {
		t.Error("an array is accepted")
	}
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{1, 1.0, true}, {1, "1", false}, {nil, false, false}, {[]any{1}, []any{1.0}, true},
		{0.0, math.Copysign(0, -1), true},
		{math.NaN(), math.NaN(), false}, {map[string]any{"a": 1}, map[string]any{"a": 1.0}, true}, {true, 1, false},
	} {
		if got := Equal(test.a, test.b); got != test.want {
			t.Errorf("Equal(%v, %v) = %v", test.a, test.b, got)
		}
	}
}

// TestFingerprint: equal values in other spellings have one fingerprint.
func TestFingerprint(t *testing.T) {
	d := testDescription()
	prints := map[Fingerprint]bool{}
	for _, p := range []Parameters{
		{"dataset": "A", "lr": 0.01, "m1": int64(8), "clip": true},
		{"dataset": "A", "lr": "1e-2", "m1": 8.0, "clip": "on"},
		{"dataset": "A", "lr": "0.010", "m1": "8", "clip": "yes", "seed": 1.0, "model": "rnn"},
	} {
		resolved, err := d.Resolve(p)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := resolved.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		prints[NewFingerprint("toy", "1", "digest", canonical)] = true
	}
	if len(prints) != 1 {
		t.Errorf("%d fingerprints for equal points", len(prints))
	}
}
