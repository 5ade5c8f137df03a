package coordinator

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"sweep/sweep"
)

// Metrics are a coordinator's metrics for Prometheus. They outlive a Coordinator, so that a process that
// leads several times has one set of them.
type Metrics struct {
	registry *prometheus.Registry
	leading  prometheus.Gauge
	dispatch prometheus.Histogram
	queued   prometheus.Counter
	commit   prometheus.Histogram
	events   *prometheus.CounterVec
	ended    prometheus.Counter
	repeated prometheus.Counter
	faults   prometheus.Counter
	requeued prometheus.Counter
	answers  *prometheus.GaugeVec

	quarantined prometheus.Counter
}

// NewMetrics returns new metrics.
func NewMetrics() *Metrics {
	latency := prometheus.ExponentialBuckets(0.0005, 2, 16) // 0.5 ms to 16 s
	registry := prometheus.NewRegistry()
	in := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return in.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return in.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latency})
	}
	return &Metrics{
		registry: registry,
		leading: in.NewGauge(prometheus.GaugeOpts{
			Name: "sweep_coordinator_leading", Help: "1 in the active coordinator, 0 in one that stands by."}),
		dispatch: histogram("sweep_dispatch_seconds", "Time to choose, publish and mark one batch of jobs."),
		queued:   counter("sweep_dispatched_trials_total", "Trials whose jobs were published."),
		commit:   histogram("sweep_commit_seconds", "Time to commit one batch of events to the database."),
		events: in.NewCounterVec(prometheus.CounterOpts{
			Name: "sweep_events_total", Help: "Workers' events recorded, by kind."}, []string{"kind"}),
		ended:    counter("sweep_ended_trials_total", "Trials that reached a terminal state."),
		repeated: counter("sweep_repeated_results_total", "Results of trials that already had one."),
		faults:   counter("sweep_reproducibility_faults_total", "Repeated results with other bits than the first."),
		requeued: counter("sweep_requeued_trials_total", "Trials requeued: their worker vanished, or "+
			"their job was lost or withdrawn."),
		answers: in.NewGaugeVec(prometheus.GaugeOpts{Name: "sweep_answer_seconds", Help: "How long the database and " +
			"NATS take to answer the active coordinator."}, []string{"of"}),
		quarantined: counter("sweep_quarantined_events_total", "Workers' events that the database refused."),
	}
}

// dispatched notes that a batch of trials was dispatched.
func (m *Metrics) dispatched(began time.Time, trials int) {
	m.dispatch.Observe(time.Since(began).Seconds())
	m.queued.Add(float64(trials))
}

// Answers notes how long the database and the broker take to answer.
func (m *Metrics) Answers(database, broker time.Duration) {
	m.answers.WithLabelValues("database").Set(database.Seconds())
	m.answers.WithLabelValues("nats").Set(broker.Seconds())
}

// recorded notes a batch of events.
func (m *Metrics) recorded(began time.Time, events []sweep.Event, report sweep.RecordReport) {
	m.commit.Observe(time.Since(began).Seconds())
	for i := range events {
		m.events.WithLabelValues(string(events[i].Kind)).Inc()
	}
	m.ended.Add(float64(report.Terminal))
	m.repeated.Add(float64(report.Repeated))
	m.faults.Add(float64(report.Faults))
}

// state collects the metrics that are read at each scrape.
type state struct{ *Coordinator }

var (
	trialsDesc = prometheus.NewDesc("sweep_trials", "Trials of sweeps that are not over, by pool and state; "+
		"pending ones count as paused if their sweep is, and as unschedulable if workers of their pool are known, "+
		"now or within the last hour, and none of these could run them.", []string{"pool", "state"}, nil)
	sweepsDesc = prometheus.NewDesc("sweep_sweeps", "Sweeps that are not over, by state.", []string{"state"}, nil)
	depthDesc  = prometheus.NewDesc("sweep_queue_jobs", "Jobs in the broker, waiting or being run, by pool.",
		[]string{"pool"}, nil)
	backlogDesc = prometheus.NewDesc("sweep_queue_events",
		"Messages of events in the broker that are not recorded yet.", nil, nil)
	malformedDesc = prometheus.NewDesc("sweep_malformed_messages_total",
		"Messages dropped because they could not be read.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *state) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{trialsDesc, sweepsDesc, depthDesc, backlogDesc, malformedDesc} {
		ch <- d
	}
}

// The states of pending trials that are no reason to start workers: those of paused sweeps, and those
// that no known worker of their pool can run.
const (
	pausedState        = sweep.State(sweep.SweepPaused)
	unschedulableState = sweep.State("unschedulable")
)

// scrapeTimeout bounds a scrape's queries of database and broker.
const scrapeTimeout = 4 * time.Second

// Collect implements prometheus.Collector. It leaves out metrics whose query fails.
func (s *state) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	ch <- prometheus.MustNewConstMetric(malformedDesc, prometheus.CounterValue, float64(s.wire.Malformed()))
	type shown struct{ pool, state string }
	trials := map[shown]int64{}
	add := func(pool string, state sweep.State, n int64) { trials[shown{pool, string(state)}] += n }
	if counts, err := s.wire.JobCounts(ctx); err == nil {
		for pool, n := range counts {
			gauge(depthDesc, n, pool)
			for _, state := range sweep.States {
				add(pool, state, 0) // also where there is no sweep
			}
			add(pool, pausedState, 0)
			add(pool, unschedulableState, 0)
		}
	}
	if n, err := s.wire.EventCount(ctx); err == nil {
		gauge(backlogDesc, n)
	}
	records, err := s.store.Sweeps(ctx, sweep.SweepActive, sweep.SweepWaiting, sweep.SweepPaused)
	if err != nil {
		return
	}
	sweeps := map[sweep.SweepState]int64{sweep.SweepActive: 0, sweep.SweepWaiting: 0, sweep.SweepPaused: 0}
	unschedulable := s.figures.Load().Unschedulable
	for _, record := range records {
		p, err := s.store.Progress(ctx, record.ID)
		if err != nil {
			return
		}
		sweeps[record.State]++
		for _, state := range sweep.States {
			n := p.In(state)
			if state != sweep.Pending {
				add(record.Pool, state, n)
				continue
			}
			paused, refused := int64(0), min(unschedulable[record.ID], n)
			if record.State == sweep.SweepPaused {
				paused, refused = n, 0
			}
			add(record.Pool, state, n-paused-refused)
			add(record.Pool, pausedState, paused)
			add(record.Pool, unschedulableState, refused)
		}
	}
	for state, n := range sweeps {
		gauge(sweepsDesc, n, string(state))
	}
	for of, n := range trials {
		gauge(trialsDesc, n, of.pool, of.state)
	}
}

// lead shows a coordinator's state until the returned function is called.
func (m *Metrics) lead(c *Coordinator) (end func()) {
	s := &state{c}
	m.leading.Set(1)
	m.registry.MustRegister(s) // a process runs one coordinator at a time
	return func() {
		m.registry.Unregister(s)
		m.leading.Set(0)
	}
}
