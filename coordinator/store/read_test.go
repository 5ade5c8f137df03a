package store

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
)

// decodeSummary has the values of encoding/json, to the bit.
func TestDecodeSummary(t *testing.T) {
	for _, text := range []string{`{}`, `{"a":1}`, `{"a":-0,"b":100000000000000000000,"c":1.5e-300}`,
		`{"a\\b":1,"ü,{":2}`, ` { "a" : 1 } `, `{"x":9007199254740993}`, `{"a":"b"}`, `[1]`, `{"a":1`, `{"a":}`} {
		var want map[string]float64
		wrong := json.Unmarshal([]byte(text), &want)
		got, _, err := decodeSummary([]byte(text))
		if (err != nil) != (wrong != nil) {
			t.Errorf("%s: %v, want %v", text, err, wrong)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		for name, v := range want {
			if err == nil && math.Signbit(got[name]) != math.Signbit(v) {
				t.Errorf("%s: %s is %v, want %v", text, name, got[name], v)
			}
		}
	}
	got, notFinite, err := decodeSummary([]byte(`{"b":null,"loss":2,"a":null}`))
	if err != nil || len(got) != 1 || got["loss"] != 2 || !slices.Equal(notFinite, []string{"a", "b"}) {
		t.Errorf("%v, not finite %v: %v", got, notFinite, err)
	}
}
