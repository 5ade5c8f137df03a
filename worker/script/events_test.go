package script

import (
	"fmt"
	"reflect"
	"testing"
)

// What a line says besides metrics may be in an object of its own, with which no metric is confused. A
// wrong step, a doubled name or a late value costs nothing else.
func TestLines(t *testing.T) {
	for name, test := range map[string]struct {
		lines   []string
		summary map[string]float64
		steps   map[string][]int64
		remarks string // complaints, dropped, wrong steps
	}{
		"flat": {[]string{`{"step": 3, "loss": 2}`, `{"loss": 1}`}, map[string]float64{"loss": 1},
			map[string][]int64{"loss": {3, 4}}, "0 0 0"},
		"reserved": {[]string{`{"_": {"step": 3}, "step": 7, "loss": 2}`, `{"step": 8, "_": {"step": 4}}`},
			map[string]float64{"step": 8, "loss": 2}, map[string][]int64{"step": {3, 4}, "loss": {3}}, "0 0 0"},
		"names": {[]string{`{"_": {"step": 1}, "_summary": true, "_exit": 5, "_tags": "a", "_": 4, "loss": 2}`},
			map[string]float64{"loss": 2}, map[string][]int64{"loss": {1}}, "0 0 0"},
		"summary": {[]string{`{"loss": 2}`, `{"_": {"summary": true}, "loss": 5}`, `{"_summary": true, "best": 1}`},
			map[string]float64{"loss": 5, "best": 1}, map[string][]int64{"loss": {1}}, "0 0 0"},
		"wrong steps": {[]string{`{"step": 1.5, "loss": 1}`, `{"step": "3", "loss": 2}`, `{"step": null, "loss": 3}`,
			`{"step": 1e300, "loss": 4}`}, map[string]float64{"loss": 4}, map[string][]int64{"loss": {1, 2, 3, 4}}, "0 0 4"},
		"doubled": {[]string{`{"loss": 1, "step": 2, "loss": 3, "step": 5}`}, map[string]float64{"loss": 3},
			map[string][]int64{"loss": {5}}, "0 0 0"},
		"late": {[]string{`{"step": 5, "loss": 1, "acc": 1}`, `{"step": 3, "loss": 2, "other": 4}`, `{"step": 5, "loss": 3}`},
			map[string]float64{"loss": 3, "acc": 1, "other": 4}, map[string][]int64{"loss": {5}, "acc": {5}, "other": {3}},
			"0 1 0"},
		"dropped": {[]string{`{"_": {"dropped": 1}}`, `{"_dropped": 1}`}, map[string]float64{}, map[string][]int64{},
			"0 1 0"},
		"rubbish": {[]string{`{"_": 3, "loss": 1}`, `{"_": {"step": {}}, "loss": 2}`, `{"_": [1], "loss": 3}`, `{"_": {}`},
			map[string]float64{"loss": 3}, map[string][]int64{"loss": {1, 2, 3}}, "1 0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMetrics(t.Logf)
			for _, line := range test.lines {
				m.line([]byte(line))
			}
			steps := map[string][]int64{}
			for _, c := range m.take(true) {
				steps[c.Metric] = c.Steps
			}
			if summary, _ := m.summary(); !reflect.DeepEqual(summary, test.summary) {
				t.Errorf("summary %v, want %v", summary, test.summary)
			}
			if !reflect.DeepEqual(steps, test.steps) {
				t.Errorf("steps %v, want %v", steps, test.steps)
			}
			if remarks := fmt.Sprint(m.complaints, m.dropped, m.wrongSteps); remarks != test.remarks {
				t.Errorf("complaints, dropped, wrong steps: %s, want %s", remarks, test.remarks)
			}
			if m.exit != 0 {
				t.Errorf("exit %d", m.exit)
			}
		})
	}
}

// The sweep's metric is kept whatever the number of others, and the log says in a few lines what was left out.
func TestManyMetrics(t *testing.T) {
	said := 0
	m := newMetrics(func(string, ...any) { said++ }, "loss")
	for range 3 {
		for i := range 2 * maxMetrics {
			m.line(fmt.Appendf(nil, `{"step": 1, "gradient %d": 1, "text %d": "x"}`, i, i))
		}
		m.line([]byte(`{"step": 1, "loss": 0.5}`))
	}
	summary, _ := m.summary()
	if summary["loss"] != 0.5 || len(summary) != maxMetrics+1 {
		t.Errorf("%d metrics, loss %v", len(summary), summary["loss"])
	}
	if said > 2*namedComplaints || len(m.beyond) != maxMetrics {
		t.Errorf("%d lines, %d metrics left out", said, len(m.beyond))
	}
}
