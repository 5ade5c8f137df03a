package coordinator

import (
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

	"sweep/coordinator/store/sqlite"
	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

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
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	server := wiretest.Run(t, wiretest.Options{Dir: dir, Port: -1})
	conn := server.Connect(t)
	w, err := wire.New(conn, wire.Options{AckWait: 2 * time.Second, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sweep.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{t, server, dir, conn, w, store}
}

// logger shows the log of a test that fails, or of all with -v.
func logger(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// start runs a coordinator until the returned function is called, which waits,
// and returns when it is ready.
func (b *bench) start(options Options) (c *Coordinator, stop func()) {
	b.t.Helper()
	c, stop = b.startLater(options)
	select {
	case <-c.Ready():
	case <-time.After(30 * time.Second):
		b.t.Fatal("the coordinator is not ready after 30 s")
	}
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

// crew are the slots of a worker.
type crew struct {
	b     *bench
	pool  string
	slots int
	// run handles a job; nil reports its outcome at once.
	run func(ctx context.Context, d *wire.Delivery) error
	// runs counts executions.
	runs atomic.Int64
}

// start runs the slots until the returned function is called, which waits.
func (w *crew) start() (stop func()) {
	if w.pool == "" {
		w.pool = sweep.DefaultPool
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	for range max(w.slots, 1) {
		wait.Go(func() { w.slot(ctx) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		wait.Wait()
	})
	w.b.t.Cleanup(stop)
	return stop
}

func (w *crew) slot(ctx context.Context) {
	for ctx.Err() == nil {
		// Not for long: a broker that goes away never answers.
		bound, cancel := context.WithTimeout(ctx, time.Second)
		jobs, err := w.b.wire.Jobs(bound, w.pool)
		cancel()
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		for {
			d, err := jobs.Next(ctx)
			if err != nil {
				jobs.Close() // the stream may be gone: open it again
				pause(ctx, 20*time.Millisecond)
				break
			}
			w.runs.Add(1)
			run := w.run
			if run == nil {
				run = w.report
			}
			if err := run(ctx, d); err != nil && ctx.Err() == nil && !wire.IsLost(err) && !errors.Is(err, context.DeadlineExceeded) {
				w.b.t.Errorf("worker: %v", err)
			}
		}
	}
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
	// Not for long: a lost stream never answers.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := w.b.wire.Publish(ctx, started, result); err != nil {
		return err
	}
	return d.Done(ctx)
}

// submission is a sweep over x = from … from+points-1.
func submission(name string, from, points int64) *sweep.Submission {
	return &sweep.Submission{
		Spec: sweep.Spec{
			Name: name, Trainer: "noop", Pool: sweep.DefaultPool,
			Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{
				Name: "x", Values: sweep.Values{Range: &sweep.Range{Start: float64(from), Step: 1, Count: points, Integer: true}},
			}}}},
			Limits: sweep.Limits{Attempts: 3, Points: 10},
		},
		Description: sweep.Description{
			Name: "noop", Version: "1", ResultVersion: "1",
			Parameters: []sweep.ParameterSchema{
				{Name: "x", Type: sweep.IntegerType, Required: true, Dataset: true},
				{Name: "y", Type: sweep.NumberType, Default: 0.5},
			},
			Metrics: []sweep.MetricSchema{{Name: "loss", Curve: true, Summary: true}, {Name: "seconds", Volatile: true}},
		},
		Datasets: map[string]string{`{"x":1}`: "digest of one"},
		Reuse:    true,
	}
}

func (b *bench) submit(c *Coordinator, s *sweep.Submission) string {
	b.t.Helper()
	id, _, err := c.Submit(b.t.Context(), s)
	if err != nil {
		b.t.Fatalf("Submit: %v", err)
	}
	return id
}

// finish waits for a sweep's end and returns its counts.
func (b *bench) finish(c *Coordinator, id string) sweep.Progress {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Wait(ctx, id); err != nil {
		b.t.Fatalf("Wait: %v; progress %+v", err, b.progress(id))
	}
	return b.progress(id)
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
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
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
