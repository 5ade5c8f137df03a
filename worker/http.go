package worker

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sweep/sweep/wire"
)

// Handler serves monitoring: /healthz is 200 while the process lives, /readyz while the worker takes
// jobs and connected returns nil (else 503 with the reason), /metrics is for Prometheus.
func (d *Daemon) Handler(connected func() error) http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sweep_worker_slots", Help: "Slots of the worker."},
			func() float64 { return float64(len(d.Status().Slots)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sweep_worker_running_trials",
			Help: "Slots that run a trial."},
			func() float64 {
				running := 0
				for _, s := range d.Status().Slots {
					if s.Trial != nil {
						running++
					}
				}
				return float64(running)
			}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sweep_worker_drained",
			Help: "1 if the worker takes no jobs."},
			func() float64 {
				if d.Status().State == wire.WorkerReady {
					return 0
				}
				return 1
			}),
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status := d.Status()
		if err := connected(); err != nil {
			answer(w, err.Error())
		} else if status.State != wire.WorkerReady {
			answer(w, string(status.State)+": "+status.Reason)
		} else {
			answer(w, "")
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{d.metrics.registry, process},
		promhttp.HandlerOpts{}))
	return mux
}

func answer(w http.ResponseWriter, problem string) {
	text := "ok\n"
	if problem != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = problem + "\n"
	}
	_, _ = w.Write([]byte(text)) // who asked may be gone
}
