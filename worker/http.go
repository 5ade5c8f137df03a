package worker

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sweep/sweep/wire"
)

// Handler serves monitoring: /healthz is 200 while the process lives, /readyz while the worker takes
// jobs, connected returns nil and the artifact store takes artifacts (else 503 with the reason), /metrics
// is for Prometheus.
func (d *Daemon) Handler(connected func() error) http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, value func(status wire.WorkerStatus) int) {
		process.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(d.Status())) }))
	}
	gauge("sweep_worker_slots", "Slots of the worker.", func(s wire.WorkerStatus) int { return len(s.Slots) })
	gauge("sweep_worker_running_trials", "Slots that run a trial.", func(s wire.WorkerStatus) (running int) {
		for _, slot := range s.Slots {
			if slot.Trial != nil {
				running++
			}
		}
		return running
	})
	gauge("sweep_worker_drained", "1 if the worker takes no jobs.", func(s wire.WorkerStatus) int {
		if s.State == wire.WorkerReady {
			return 0
		}
		return 1
	})
	gauge("sweep_worker_spooled_results", "Results that wait for their artifacts to be stored.",
		func(s wire.WorkerStatus) int { return spoolOf(s).Results })
	gauge("sweep_worker_spooled_bytes", "Artifacts that wait for the artifact store.",
		func(s wire.WorkerStatus) int { return int(spoolOf(s).Bytes) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status := d.Status()
		if err := connected(); err != nil {
			answer(w, err.Error())
		} else if status.State != wire.WorkerReady {
			answer(w, string(status.State)+": "+status.Reason)
		} else if status.Spool != nil && status.Spool.Failing {
			answer(w, status.Spool.Problem)
		} else {
			answer(w, "")
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{d.metrics.registry, process},
		promhttp.HandlerOpts{}))
	return mux
}

func spoolOf(s wire.WorkerStatus) wire.WorkerSpool {
	if s.Spool == nil {
		return wire.WorkerSpool{}
	}
	return *s.Spool
}

func answer(w http.ResponseWriter, problem string) {
	text := "ok\n"
	if problem != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = problem + "\n"
	}
	_, _ = w.Write([]byte(text)) // who asked may be gone
}
