package store

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// TestMetricAggregates: what is kept of a grid point's metrics is JSON that anybody reads, whatever
// the metrics are called, and comes back as it was.
func TestMetricAggregates(t *testing.T) {
	by := &comparison{number: 1, metrics: map[string]int64{"loss": 0, `a "b", [c]`: 1, "größe": 2, "<x>": 3}}
	var a aggregate
	for i, loss := range []float64{4, 1, 7} {
		a.add(by, &entry{sweep: 1, index: int64(i), summary: map[string]float64{"loss": loss, `a "b", [c]`: 1e-5,
			"größe": 1e200 * loss, "not numbered": 1}}, nil)
	}
	a.add(by, &entry{sweep: 1, index: 3, summary: map[string]float64{"<x>": -1.5}}, nil)
	a.add(by, &entry{sweep: 1, index: 4, diverged: true, summary: map[string]float64{"loss": 1000}}, nil)
	text := encodeMetrics(a.metrics)
	var read map[string][]*float64
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := []float64{3, 4, 18, 1, 7}
	for i, v := range read["loss"] {
		if v == nil || *v != want[i] {
			t.Errorf("loss: %s, want %v", text, want)
		}
	}
	if len(read) != 4 || read["größe"][2] != nil || len(read["<x>"]) != 2 || *read["<x>"][1] != -1.5 ||
		*read[`a "b", [c]`][0] != 3 {
		t.Errorf("%s", text)
	}
	got, err := decodeMetrics(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if math.IsNaN(got[i].Squares) { // it was too large for a number
			got[i].Squares = a.metrics[i].Squares
		}
	}
	if !reflect.DeepEqual(got, a.metrics) {
		t.Errorf("%+v was written as %s and read as %+v", a.metrics, text, got)
	}
	for _, bad := range []string{`{"a":[2,2]}`, `{"a":7}`} {
		if _, err := decodeMetrics([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if all, err := decodeMetrics([]byte(`{}`)); err != nil || len(all) != 0 {
		t.Errorf("{}: %v, %v", all, err)
	}
}
