package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/coordinator/store"
	"sweep/coordinator/store/storetest"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// patience bounds every wait: the machine may be slow, and busy with other tests.
const patience = sweeptest.Patience

// bench is a coordinator's surroundings: a real NATS server and a real SQLite
// store. Coordinators and workers come and go on it.
type bench struct {
	t      testing.TB
	server *wiretest.Server
	// dir holds the server's files.
	dir   string
	conn  *nats.Conn
	wire  *wire.Wire
	store sweep.Store
	// address is the store's.
	address string
	// cluster is the store's, term that of the coordinator started last.
	cluster sweep.Cluster
	term    int64
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchOf(t, wiretest.Options{})
}

// newBenchOf has a server with limits of its own.
func newBenchOf(t testing.TB, options wiretest.Options) *bench {
	t.Helper()
	dir := t.TempDir()
	options.Dir, options.Port = dir, -1
	server := wiretest.Run(t, options)
	conn := server.Connect(t)
	w, err := wire.New(conn, wire.Options{AckWait: wire.DefaultAckWait, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sweep.db")
	storetest.WithSchema(t, path)
	b := &bench{t: t, server: server, dir: dir, conn: conn, wire: w, address: "sqlite:" + path}
	b.use(b.address)
	t.Cleanup(func() {
		if t.Failed() {
			b.tell()
		}
	})
	return b
}

// use has the store be another one.
func (b *bench) use(address string) {
	b.t.Helper()
	b.address = address
	b.store = b.open()
	cluster, err := b.store.Cluster(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.cluster = cluster
}

// open opens the store, beside those that are open, until the test's end.
func (b *bench) open() sweep.Store {
	b.t.Helper()
	results, err := store.Open(b.t.Context(), b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := results.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return results
}

// useAckWait sets how long the server waits for word of a delivered job in queues that
// are opened from now on.
func (b *bench) useAckWait(d time.Duration) {
	b.t.Helper()
	w, err := wire.New(b.conn, wire.Options{AckWait: d, Logger: logger(b.t)})
	if err != nil {
		b.t.Fatal(err)
	}
	b.wire = w
}

// logger shows the log of a test that fails, or of all with -v.
func logger(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// start runs a coordinator until the returned function is called, which waits,
// and returns when it is ready.
func (b *bench) start(options Options) (c *Coordinator, stop func()) {
	b.t.Helper()
	c, stop = b.startLater(options)
	sweeptest.Receive(b.t, "the coordinator to be ready", c.Ready())
	return c, stop
}

// startLater is start without waiting until the coordinator is ready.
func (b *bench) startLater(options Options) (c *Coordinator, stop func()) {
	b.t.Helper()
	if options.Store == nil {
		options.Store = b.store
	}
	options.Wire = b.wire
	if options.Logger == nil {
		options.Logger = logger(b.t)
	}
	b.term++
	options.Cluster, options.Term = b.cluster, b.term
	c = New(options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	})
	b.t.Cleanup(stop)
	return c, stop
}

// outcome is the result of a trial that a test worker makes up: it depends on
// nothing but the trial.
func outcome(id sweep.TrialID) *sweep.Result {
	r := &sweep.Result{
		State:   sweep.Completed,
		Summary: map[string]float64{"loss": float64(id.Index)},
		Curves:  []sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{1, float32(id.Index)}}},
	}
	r.Digest = r.ComputeDigest(nil)
	return r
}

// crew is a worker: it sends heartbeats, and its slots pull from the queue of its offer.
type crew struct {
	b     *bench
	pool  string
	slots int
	// offer is what the worker offers; nil is the trainer of [submission].
	offer *sweep.Offer
	// begin, if not nil, is closed when the slots may take jobs; the worker is heard
	// of before.
	begin chan struct{}
	// bound ends a report: a lost stream never answers, and nobody does about a job that
	// was removed. Half a minute if 0; a second where streams are lost.
	bound time.Duration
	// run handles a job; nil reports its outcome at once.
	run func(ctx context.Context, d *wire.Delivery) error
	// vanishes has the worker end without a word, as one that is killed.
	vanishes bool
	// runs counts executions.
	runs atomic.Int64

	id    string
	mu    sync.Mutex
	busy  map[sweep.TrialID]string // executions of the trials that run
	heard []wire.HeartbeatAnswer
}

// noopOffer is the offer of a worker that has the trainer of [submission].
func noopOffer(slots int) *sweep.Offer {
	d := submission("", 0, 1).Description
	return &sweep.Offer{
		Pool:     sweep.DefaultPool,
		Trainers: []sweep.TrainerOffer{{Name: d.Name, ResultVersion: d.ResultVersion, Schema: d.SchemaDigest()}},
		Slots:    slots,
	}
}

var crews atomic.Int64

// start runs the worker until the returned function is called, which waits.
func (w *crew) start() (stop func()) {
	if w.pool == "" {
		w.pool = sweep.DefaultPool
	}
	w.slots = max(w.slots, 1)
	if w.offer == nil {
		w.offer = noopOffer(w.slots)
	}
	w.offer.Pool = w.pool
	w.id = fmt.Sprintf("crew-%d", crews.Add(1))
	w.busy = map[sweep.TrialID]string{}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	for range w.slots {
		wait.Go(func() { w.slot(ctx) })
	}
	wait.Go(func() { w.heartbeats(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		wait.Wait()
	})
	w.b.t.Cleanup(stop)
	return stop
}

// heartbeats sends heartbeats until ctx ends, and says then that the worker is gone.
func (w *crew) heartbeats(ctx context.Context) {
	due := make(chan struct{}, 1)
	unsubscribe, err := w.b.wire.HeartbeatRequests(func() {
		select {
		case due <- struct{}{}:
		default:
		}
	})
	if err != nil {
		w.b.t.Error(err)
		return
	}
	defer unsubscribe()
	for ctx.Err() == nil {
		w.heartbeat(ctx, false)
		bound, cancel := context.WithTimeout(ctx, wire.HeartbeatInterval/10)
		select {
		case <-bound.Done():
		case <-due:
		}
		cancel()
	}
	if !w.vanishes {
		w.heartbeat(context.WithoutCancel(ctx), true)
	}
}

// heartbeat sends one. That nobody hears it is no fault.
func (w *crew) heartbeat(ctx context.Context, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b := wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: w.id, Name: w.id, Pool: w.pool, State: wire.WorkerReady,
		Offer: *w.offer}, Gone: gone}
	w.mu.Lock()
	for id, execution := range w.busy {
		b.Running = append(b.Running, wire.Running{TrialID: id, Execution: execution})
	}
	w.mu.Unlock()
	if answer, err := w.b.wire.SendHeartbeat(ctx, b); err == nil {
		w.mu.Lock()
		w.heard = append(w.heard, *answer)
		w.mu.Unlock()
	}
}

func (w *crew) slot(ctx context.Context) {
	if w.begin != nil {
		select {
		case <-w.begin:
		case <-ctx.Done():
			return
		}
	}
	for ctx.Err() == nil {
		jobs, err := w.b.wire.Jobs(wire.Queue{Pool: w.pool, Offer: w.offer.Key()})
		for err == nil && ctx.Err() == nil {
			err = w.one(ctx, jobs)
		}
		if jobs != nil {
			jobs.Close() // the stream may be gone: open it again
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// one runs one job.
func (w *crew) one(ctx context.Context, jobs *wire.JobConsumer) error {
	if jobs.Requested() == 0 {
		if err := jobs.Request(1); err != nil {
			return err
		}
	}
	d, err := jobs.Next(ctx, 200*time.Millisecond)
	if err != nil || d == nil {
		return err
	}
	w.runs.Add(1)
	w.mu.Lock()
	w.busy[d.TrialID] = "execution of " + d.String()
	w.mu.Unlock()
	run := w.run
	if run == nil {
		run = w.report
	}
	if err := run(ctx, d); err != nil && ctx.Err() == nil && !wire.IsLost(err) &&
		!errors.Is(err, context.DeadlineExceeded) {
		w.b.t.Errorf("worker: %v", err)
	}
	w.mu.Lock()
	delete(w.busy, d.TrialID)
	w.mu.Unlock()
	return nil
}

// publish sends events of the worker.
func (w *crew) publish(ctx context.Context, events ...sweep.Event) error {
	return w.b.wire.Publish(ctx, w.pool, w.id, events...)
}

// holdBack has a worker take trials below an index at once, and the others when release is called.
func (w *crew) holdBack(from int64) (release func()) {
	released := make(chan struct{})
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if d.Index >= from {
			select {
			case <-released:
			case <-ctx.Done():
				return nil
			}
		}
		return w.report(ctx, d)
	}
	return func() { close(released) }
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// event is one of an execution of the delivered trial.
func event(kind sweep.EventKind, id sweep.TrialID, execution string) sweep.Event {
	return sweep.Event{Kind: kind, TrialID: id, Execution: execution, Worker: "crew", Time: time.Now()}
}

var executions atomic.Int64

func newExecution() string { return fmt.Sprintf("execution-%d", executions.Add(1)) }

// report publishes the outcome and acknowledges the job.
func (w *crew) report(ctx context.Context, d *wire.Delivery) error {
	execution := newExecution()
	started, result := event(sweep.EventStarted, d.TrialID, execution), event(sweep.EventResult, d.TrialID, execution)
	result.Result = outcome(d.TrialID)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.bound, sweeptest.Patience))
	defer cancel()
	if err := w.publish(ctx, started, result); err != nil {
		return err
	}
	return d.DoubleAck(ctx)
}

// submission is a sweep over x = from … from+points-1.
func submission(name string, from, points int64) *sweep.Submission {
	return &sweep.Submission{
		Spec: sweep.Spec{
			Name: name, Trainer: "noop", Pool: sweep.DefaultPool,
			Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{
				Name: "x", Values: sweep.Values{Range: &sweep.Range{Start: float64(from), Step: 1, Count: points,
					Integer: true}},
			}}}},
			Limits: sweep.Limits{Attempts: 3, Points: 10},
		},
		Description: sweep.Description{
			Name: "noop", Version: "1", ResultVersion: "1",
			Parameters: []sweep.ParameterSchema{
				{Name: "x", Type: sweep.IntegerType, Required: true, Dataset: true},
				{Name: "y", Type: sweep.NumberType, Default: 0.5},
			},
			Metrics: []sweep.MetricSchema{{Name: "loss", Curve: true, Summary: true},
				{Name: "seconds", Volatile: true}},
		},
		Datasets: map[string]string{`{"x":1}`: "digest of one"},
		Reuse:    true,
	}
}

func (b *bench) submit(c *Coordinator, s *sweep.Submission) string {
	b.t.Helper()
	done, err := c.Submit(b.t.Context(), s, false)
	if err != nil {
		b.t.Fatalf("Submit: %v", err)
	}
	return done.Sweep
}

// finish waits for a sweep's end and returns its counts.
func (b *bench) finish(c *Coordinator, id string) sweep.Progress {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if _, err := c.Wait(ctx, id); err != nil {
		sweeptest.Fail(b.t, fmt.Sprintf("the end of sweep %s: %v; progress %+v", id, err, b.progress(id)))
	}
	return b.progress(id)
}

// tell logs what store and broker have of the trials that have not ended.
func (b *bench) tell() {
	b.t.Helper()
	ctx := context.Background() // that of the test has ended
	_, err := b.wire.QueuedJobs(ctx, func(q wire.QueuedJob) { b.t.Logf("job in the broker: %+v", q) })
	js, jsErr := jetstream.New(b.conn)
	if err = errors.Join(err, jsErr); err == nil {
		for info := range js.ListStreams(ctx).Info() {
			stream, err := js.Stream(ctx, info.Config.Name)
			if err != nil {
				b.t.Log(err)
				continue
			}
			for consumer := range stream.ListConsumers(ctx).Info() {
				b.t.Logf("consumer of %s: %+v", info.Config.Name, consumer)
			}
		}
	}
	open := sweep.TrialQuery{States: []sweep.State{sweep.Pending, sweep.Queued, sweep.Running}}
	storeErr := b.store.Trials(ctx, open, func(trial *sweep.TrialRecord) error {
		executions, err := b.store.Executions(ctx, trial.TrialID)
		b.t.Logf("trial that has not ended: %+v, executions %+v: %v", trial, executions, err)
		return nil
	})
	if err = errors.Join(err, storeErr); err != nil {
		b.t.Log(err)
	}
}

// jobs counts those in the broker.
func (b *bench) jobs() (n int64, err error) {
	counts, err := b.wire.JobCounts(b.t.Context())
	for _, jobs := range counts {
		n += jobs
	}
	return n, err
}

func (b *bench) progress(id string) sweep.Progress {
	b.t.Helper()
	p, err := b.store.Progress(context.Background(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// until waits for a condition.
func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	sweeptest.Until(b.t, what, holds)
}

// check verifies that every trial of a sweep has its own outcome, once.
func (b *bench) check(id string, points int64) {
	b.t.Helper()
	next := int64(0)
	err := b.store.Trials(b.t.Context(), sweep.TrialQuery{Sweeps: []string{id}}, func(t *sweep.TrialRecord) error {
		if t.Index != next {
			b.t.Errorf("trial %d where %d was expected", t.Index, next)
		}
		next++
		if t.State != sweep.Completed || t.Result == nil {
			b.t.Errorf("trial %d is %s, with result %v", t.Index, t.State, t.Result)
			return nil
		}
		want := t.TrialID
		if t.ReusedFrom != nil {
			want = *t.ReusedFrom
		}
		if t.Result.Digest != outcome(want).Digest {
			b.t.Errorf("trial %d has another trial's result", t.Index)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if next != points {
		b.t.Errorf("%d trials, want %d", next, points)
	}
	if faults := b.progress(id).Faults; faults != 0 {
		b.t.Errorf("%d reproducibility faults", faults)
	}
}
