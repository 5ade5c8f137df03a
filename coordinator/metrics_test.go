package coordinator

import (
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a scrape shows of trials: pools apart, and what a paused sweep has pending
// is no reason to start workers.
func TestMetricsOfTrials(t *testing.T) {
	b := newBench(t)
	m := NewMetrics()
	c, stop := b.start(Options{Metrics: m})
	defer stop()
	ready := submission("ready", 0, 5)
	paused := submission("paused", 0, 7)
	elsewhere := submission("elsewhere", 0, 3)
	elsewhere.Spec.Pool = "gpu"
	b.submit(c, ready)
	id := b.submit(c, paused)
	b.submit(c, elsewhere)
	if err := c.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	m.Handler(func() error { return nil }).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	want := map[string]string{
		`sweep_trials{pool="cpu",state="pending"}`: "5", `sweep_trials{pool="cpu",state="paused"}`: "7",
		`sweep_trials{pool="gpu",state="pending"}`: "3", `sweep_trials{pool="gpu",state="paused"}`: "0",
	}
	got := map[string]string{}
	for line := range strings.Lines(answer.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, asked := want[name]; asked {
			got[name] = value
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
