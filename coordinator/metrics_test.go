package coordinator

import (
	"fmt"
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
	want := map[string]string{
		`sweep_trials{pool="cpu",state="pending"}`: "5", `sweep_trials{pool="cpu",state="paused"}`: "7",
		`sweep_trials{pool="gpu",state="pending"}`: "3", `sweep_trials{pool="gpu",state="paused"}`: "0",
		`sweep_trials{pool="cpu",state="unschedulable"}`: "0", `sweep_trials{pool="gpu",state="unschedulable"}`: "0",
	}
	b.until("the metrics "+fmt.Sprint(want), func() bool { return maps.Equal(scrape(m, want), want) })
}

// Trials that the workers of their pool cannot run are no reason to start more of them;
// those of a pool without workers are.
func TestMetricsOfTrialsThatNoWorkerCanRun(t *testing.T) {
	b := newBench(t)
	m := NewMetrics()
	c, stop := b.start(Options{Metrics: m})
	defer stop()
	worker := crew{b: b}
	defer worker.start()()
	refused := submission("refused", 0, 4)
	refused.Description.ResultVersion = "2"
	b.submit(c, refused)
	elsewhere := submission("elsewhere", 0, 3)
	elsewhere.Spec.Pool = "gpu"
	elsewhere.Description.ResultVersion = "2"
	b.submit(c, elsewhere)
	want := map[string]string{
		`sweep_trials{pool="cpu",state="pending"}`: "0", `sweep_trials{pool="cpu",state="unschedulable"}`: "4",
		`sweep_trials{pool="gpu",state="pending"}`: "3", `sweep_trials{pool="gpu",state="unschedulable"}`: "0",
	}
	b.until("the metrics "+fmt.Sprint(want), func() bool { return maps.Equal(scrape(m, want), want) })
}

// scrape returns those of a coordinator's metrics that are keys of asked.
func scrape(m *Metrics, asked map[string]string) map[string]string {
	answer := httptest.NewRecorder()
	m.Handler(func() error { return nil }).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	got := map[string]string{}
	for line := range strings.Lines(answer.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, is := asked[name]; is {
			got[name] = value
		}
	}
	return got
}
