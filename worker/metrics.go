package worker

import (
	"github.com/prometheus/client_golang/prometheus"

	"sweep/sweep"
)

// metrics are a worker's figures for Prometheus.
type metrics struct {
	registry   *prometheus.Registry
	executions *prometheus.CounterVec
	seconds    prometheus.Histogram
	starts     prometheus.Counter
	restarts   prometheus.Counter
	missed     prometheus.Counter
}

// How executions end, apart from results.
const (
	endReleased = "released"
	endRefused  = "refused"
)

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sweep_worker_executions_total", Help: "Executions that ended here, by how: completed, failed, " +
				"stopped (early), released (without a result), refused (cannot run here)."}, []string{"end"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sweep_worker_execution_seconds", Help: "Time from a job's arrival to its acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 13)}), // 1 ms to 5 h
		starts: counter("sweep_worker_trainer_starts_total", "Trainer processes started."),
		restarts: counter("sweep_worker_trainer_restarts_total",
			"Trainer processes that were found dead and replaced."),
		missed: counter("sweep_worker_heartbeats_missed_total",
			"Renewals of the jobs of running trials that could not be sent."),
	}
	m.registry.MustRegister(m.executions, m.seconds, m.starts, m.restarts, m.missed)
	for _, end := range []string{string(sweep.Completed), string(sweep.Failed), string(sweep.Stopped), endReleased,
		endRefused} {
		m.executions.WithLabelValues(end) // shown from the start
	}
	return m
}

// ended counts an execution by its last event.
func (m *metrics) ended(event *sweep.Event) {
	end := endReleased
	switch {
	case event.Result != nil:
		end = string(event.Result.State)
	case event.Refusal != nil:
		end = endRefused
	}
	m.executions.WithLabelValues(end).Inc()
}
