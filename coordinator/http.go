package coordinator

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves monitoring: /healthz is always 200, /readyz is 200 if ready returns nil and else 503
// with the error, /metrics has the metrics for Prometheus.
func (m *Metrics) Handler(ready func() error) http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, ready()) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{m.registry, process}, promhttp.HandlerOpts{}))
	return mux
}

func answer(w http.ResponseWriter, problem error) {
	text := "ok\n"
	if problem != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = problem.Error() + "\n"
	}
	_, _ = w.Write([]byte(text)) // the client may be gone
}
