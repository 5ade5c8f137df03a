package coordinator

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Metrics are a coordinator's figures for Prometheus. They outlive a
// Coordinator, so that a process that leads, stands by and leads again has one
// set of them.
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
}

// NewMetrics returns metrics without values.
func NewMetrics() *Metrics {
	latency := prometheus.ExponentialBuckets(0.0005, 2, 16) // 0.5 ms to 16 s
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		leading: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sweep_coordinator_leading", Help: "1 in the active coordinator, 0 in one that stands by."}),
		dispatch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sweep_dispatch_seconds", Help: "Time to choose, publish and mark one batch of jobs.", Buckets: latency}),
		queued: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sweep_dispatched_trials_total", Help: "Trials handed to the broker."}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sweep_commit_seconds", Help: "Time to commit one batch of events to the database.", Buckets: latency}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sweep_events_total", Help: "Workers' events recorded, by kind."}, []string{"kind"}),
		ended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sweep_ended_trials_total", Help: "Trials that reached a terminal state."}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sweep_repeated_results_total", Help: "Results of trials that had one."}),
		faults: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sweep_reproducibility_faults_total", Help: "Repeated results with other bits than the first."}),
		requeued: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sweep_requeued_trials_total", Help: "Trials put back: their worker missed its heartbeats, their job was lost or withdrawn."}),
	}
	m.registry.MustRegister(m.leading, m.dispatch, m.queued, m.commit, m.events, m.ended, m.repeated, m.faults, m.requeued)
	return m
}

// metered is a store whose use by a coordinator is measured.
type metered struct {
	sweep.Store
	metrics *Metrics
	// chosen is when the trials to dispatch were asked for; it belongs to the
	// scheduler.
	chosen time.Time
}

// PendingTrials is where dispatching begins.
func (s *metered) PendingTrials(ctx context.Context, id string, limit int) ([]sweep.Trial, error) {
	if s.chosen.IsZero() {
		s.chosen = time.Now()
	}
	return s.Store.PendingTrials(ctx, id, limit)
}

// MarkQueued is where dispatching ends.
func (s *metered) MarkQueued(ctx context.Context, trials []sweep.TrialID) error {
	err := s.Store.MarkQueued(ctx, trials)
	if err == nil {
		s.metrics.dispatch.Observe(time.Since(s.chosen).Seconds())
		s.metrics.queued.Add(float64(len(trials)))
	}
	s.chosen = time.Time{}
	return err
}

// Record measures commits.
func (s *metered) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	start := time.Now()
	report, err := s.Store.Record(ctx, events)
	if err != nil {
		return report, err
	}
	s.metrics.commit.Observe(time.Since(start).Seconds())
	for i := range events {
		s.metrics.events.WithLabelValues(string(events[i].Kind)).Inc()
	}
	s.metrics.ended.Add(float64(report.Terminal))
	s.metrics.repeated.Add(float64(report.Repeated))
	s.metrics.faults.Add(float64(report.Faults))
	return report, nil
}

// Requeue counts what is put back.
func (s *metered) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	n, err := s.Store.Requeue(ctx, trials)
	s.metrics.requeued.Add(float64(n))
	return n, err
}

// state reads what is not counted but looked up at every scrape.
type state struct {
	store sweep.Store
	wire  *wire.Wire
}

var (
	trialsDesc    = prometheus.NewDesc("sweep_trials", "Trials of the active and paused sweeps, by state.", []string{"state"}, nil)
	sweepsDesc    = prometheus.NewDesc("sweep_sweeps", "Sweeps that are not over, by state.", []string{"state"}, nil)
	depthDesc     = prometheus.NewDesc("sweep_queue_jobs", "Jobs in the broker, waiting or being run.", nil, nil)
	backlogDesc   = prometheus.NewDesc("sweep_queue_events", "Messages of events in the broker that are not recorded yet.", nil, nil)
	malformedDesc = prometheus.NewDesc("sweep_malformed_messages_total", "Messages dropped because they could not be read.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *state) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{trialsDesc, sweepsDesc, depthDesc, backlogDesc, malformedDesc} {
		ch <- d
	}
}

// scrapeTimeout bounds what a scrape asks database and broker.
const scrapeTimeout = 4 * time.Second

// Collect implements prometheus.Collector. What cannot be asked is left out.
func (s *state) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	ch <- prometheus.MustNewConstMetric(malformedDesc, prometheus.CounterValue, float64(s.wire.Malformed()))
	if n, err := s.wire.JobCount(ctx); err == nil {
		gauge(depthDesc, n)
	}
	if n, err := s.wire.EventCount(ctx); err == nil {
		gauge(backlogDesc, n)
	}
	records, err := s.store.Sweeps(ctx, sweep.SweepActive, sweep.SweepPaused)
	if err != nil {
		return
	}
	var sum sweep.Progress
	sweeps := map[sweep.SweepState]int64{sweep.SweepActive: 0, sweep.SweepPaused: 0}
	for _, record := range records {
		p, err := s.store.Progress(ctx, record.ID)
		if err != nil {
			return
		}
		sweeps[record.State]++
		sum.Pending += p.Pending
		sum.Queued += p.Queued
		sum.Running += p.Running
		sum.Completed += p.Completed
		sum.Failed += p.Failed
		sum.Cancelled += p.Cancelled
	}
	for state, n := range sweeps {
		gauge(sweepsDesc, n, string(state))
	}
	for state, n := range map[sweep.State]int64{
		sweep.Pending: sum.Pending, sweep.Queued: sum.Queued, sweep.Running: sum.Running,
		sweep.Completed: sum.Completed, sweep.Failed: sum.Failed, sweep.Cancelled: sum.Cancelled,
	} {
		gauge(trialsDesc, n, string(state))
	}
}

// lead has a coordinator's store measured and its state shown until the
// returned function is called.
func (m *Metrics) lead(w *wire.Wire, store sweep.Store) (end func()) {
	s := &state{store, w}
	m.leading.Set(1)
	if err := m.registry.Register(s); err != nil {
		return func() { m.leading.Set(0) } // another one is shown
	}
	return func() {
		m.registry.Unregister(s)
		m.leading.Set(0)
	}
}
