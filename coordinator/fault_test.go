package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// faulty is a store whose methods fail when told to.
type faulty struct {
	sweep.Store
	mu    sync.Mutex
	fails map[string]error
	// calls counts the calls of each method, failed ones included.
	calls map[string]int
}

func newFaulty(store sweep.Store) *faulty {
	return &faulty{Store: store, fails: map[string]error{}, calls: map[string]int{}}
}

// fail makes a method return err from now on; nil mends it.
func (f *faulty) fail(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails[method] = err
}

func (f *faulty) called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *faulty) call(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	if err := f.fails[method]; err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (f *faulty) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	if err := f.call("Record"); err != nil {
		return sweep.RecordReport{}, err
	}
	return f.Store.Record(ctx, events)
}

func (f *faulty) TakePending(ctx context.Context, id string, class, limit int) ([]sweep.Trial, error) {
	if err := f.call("TakePending"); err != nil {
		return nil, err
	}
	return f.Store.TakePending(ctx, id, class, limit)
}

func (f *faulty) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (int, error) {
	if err := f.call("AddTrials"); err != nil {
		return 0, err
	}
	return f.Store.AddTrials(ctx, id, ordinal, from, trials, classes)
}

func (f *faulty) Backlog(ctx context.Context, ids ...string) ([]sweep.Backlog, error) {
	if err := f.call("Backlog"); err != nil {
		return nil, err
	}
	return f.Store.Backlog(ctx, ids...)
}

func TestStoreFailures(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Record", "TakePending", "AddTrials", "Backlog"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.useAckWait(patience) // the worker holds jobs back
			store := newFaulty(b.store)
			c, _ := b.start(Options{Store: store, Window: 32, Page: 20})
			w := &crew{b: b, slots: 2}
			goOn := w.holdBack(40) // each method must still be called then
			w.start()
			id := b.submit(c, submission("faulty", 0, 300))
			b.until("some trials are done", func() bool { return b.progress(id).Completed >= 20 })
			store.fail(method, sweep.Unavailable("the disk is full: %w", syscall.ENOSPC))
			n := store.called(method)
			goOn()
			b.until("it has failed three times", func() bool { return store.called(method) >= n+3 })
			store.fail(method, nil)
			b.finish(c, id)
			b.check(id, 300)
		})
	}
}

// Trials that were marked as queued and not published, by a coordinator that was
// killed in between, are put back by the next one.
func TestKilledBetweenMarkingAndPublishing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &crew{b: b, slots: 2, begin: make(chan struct{})}
	w.start()
	c, stop := b.start(Options{Window: 14})
	id := b.submit(c, submission("killed", 0, 100))
	b.until("the queue is full", func() bool { return b.progress(id).Queued == 16 })
	stop()
	if trials, err := b.store.TakePending(t.Context(), id, 0, 20); err != nil || len(trials) != 20 {
		t.Fatalf("TakePending: %d trials, %v", len(trials), err)
	}
	c, _ = b.start(Options{Window: 14})
	b.until("they are put back", func() bool { return b.progress(id).Queued == 16 })
	close(w.begin)
	b.finish(c, id)
	b.check(id, 100)
	if n := w.runs.Load(); n != 100 {
		t.Errorf("%d executions of 100 trials", n)
	}
}

// A trial that is given back is queued again as soon as its worker has
// acknowledged the old job, though the stream refuses it before.
func TestReleasedTrialStartsAgainSoon(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(patience)                     // the worker says nothing of what it runs
	c, _ := b.start(Options{Lease: time.Hour}) // which brings nothing back within the test
	w := &crew{b: b}
	var released atomic.Bool
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if d.Index != 3 || released.Swap(true) {
			return w.report(ctx, d)
		}
		e := event(sweep.EventReleased, d.TrialID, newExecution())
		e.Release = &sweep.Release{Charged: true, Reason: "killed"}
		if err := w.publish(ctx, e); err != nil {
			return err
		}
		b.until("the release is recorded and the trial refused", func() bool {
			p := b.progress(d.Sweep)
			return p.Pending == 1
		})
		pause(ctx, 3*schedule.DuplicatePause)
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, submission("released", 0, 5))
	b.finish(c, id)
	b.check(id, 5)
}

// lateReports returns from recording a release when a trial has been taken since.
type lateReports struct {
	sweep.Store
	released atomic.Bool
	taken    chan struct{}
	once     sync.Once
}

func (s *lateReports) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	release := slices.ContainsFunc(events, func(e sweep.Event) bool { return e.Kind == sweep.EventReleased })
	s.released.Store(s.released.Load() || release)
	report, err := s.Store.Record(ctx, events)
	if release {
		select {
		case <-s.taken:
		case <-ctx.Done():
		}
	}
	return report, err
}

func (s *lateReports) TakePending(ctx context.Context, id string, class, limit int) ([]sweep.Trial, error) {
	trials, err := s.Store.TakePending(ctx, id, class, limit)
	if s.released.Load() && len(trials) > 0 {
		s.once.Do(func() { close(s.taken) })
	}
	return trials, err
}

// A trial that was given back is dispatched again before the schedule hears of that.
func TestReleasedTrialIsTakenBeforeItIsHeardOf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(patience)
	store := &lateReports{Store: b.store, taken: make(chan struct{})}
	c, _ := b.start(Options{Store: store, Lease: time.Hour}) // which brings nothing back within the test
	w := &crew{b: b}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if store.released.Load() {
			return w.report(ctx, d)
		}
		e := event(sweep.EventReleased, d.TrialID, newExecution())
		e.Release = &sweep.Release{Charged: true, Reason: "killed"}
		if err := w.publish(ctx, e); err != nil {
			return err
		}
		sweeptest.Receive(t, "the trial is taken again", store.taken)
		pause(ctx, 3*schedule.DuplicatePause)
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, submission("late", 0, 1))
	b.finish(c, id)
	b.check(id, 1)
}

// A trial that keeps ending without a result fails after its attempts.
func TestAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, _ := b.start(Options{})
	w := &crew{b: b}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if d.Index != 2 {
			return w.report(ctx, d)
		}
		e := event(sweep.EventReleased, d.TrialID, newExecution())
		e.Release = &sweep.Release{Charged: true, Reason: "killed", Stderr: "panic: no"}
		if err := w.publish(ctx, e); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, submission("attempts", 0, 5))
	if p := b.finish(c, id); p.Completed != 4 || p.Failed != 1 {
		t.Errorf("progress %+v", p)
	}
	if n := w.runs.Load(); n != 4+3 {
		t.Errorf("%d executions, want 7", n)
	}
}

// A worker that vanishes with the job in hand: the broker delivers it again.
// One whose job is gone too: the lease brings the trial back.
func TestWorkerGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(2 * time.Second) // what a worker had comes back soon
	c, _ := b.start(Options{Lease: 300 * time.Millisecond})
	w := &crew{b: b}
	var vanished, emptyHanded atomic.Bool
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		started := event(sweep.EventStarted, d.TrialID, newExecution())
		switch {
		case d.Index == 1 && !vanished.Swap(true):
			return w.publish(ctx, started)
		case d.Index == 2 && !emptyHanded.Swap(true):
			if err := w.publish(ctx, started); err != nil {
				return err
			}
			return d.DoubleAck(ctx)
		}
		return w.report(ctx, d)
	}
	w.start()
	id := b.submit(c, submission("gone", 0, 5))
	b.finish(c, id)
	b.check(id, 5)
	if n := w.runs.Load(); n != 7 {
		t.Errorf("%d executions, want 7", n)
	}
}

// An old worker's result comes after another one's: it changes nothing.
func TestLateAndRepeatedResults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, _ := b.start(Options{})
	w := &crew{b: b, slots: 2}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		execution := newExecution()
		for range 2 { // the same execution twice, then another
			e := event(sweep.EventResult, d.TrialID, execution)
			e.Result = outcome(d.TrialID)
			if err := w.publish(ctx, e); err != nil {
				return err
			}
		}
		return w.report(ctx, d)
	}
	w.start()
	id := b.submit(c, submission("late", 0, 50))
	b.finish(c, id)
	b.until("all events are recorded", func() bool {
		n, err := b.wire.EventCount(t.Context())
		return err == nil && n == 0
	})
	b.check(id, 50)
}

// Events that were recorded but not acknowledged, by a coordinator that was
// killed in between, come again and change nothing.
func TestEventsComeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &crew{b: b, begin: make(chan struct{})}
	var published atomic.Int64
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		err := w.report(ctx, d)
		if err == nil {
			published.Add(1)
		}
		return err
	}
	stopWorker := w.start()
	c, stop := b.start(Options{})
	id := b.submit(c, submission("again", 0, 40))
	b.until("all trials are queued", func() bool { return b.progress(id).Queued == 40 })
	stop()
	close(w.begin)
	b.until("all results are published", func() bool { return published.Load() == 40 })
	stopWorker()
	var consumer *wire.EventConsumer
	b.until("a consumer of the events", func() (opened bool) {
		var err error
		consumer, err = b.wire.Events(t.Context(), b.term)
		return err == nil
	})
	var events []sweep.Event
	for len(events) < 50 { // a busy server sends them in several batches
		batch, err := consumer.Fetch(t.Context(), patience)
		if err != nil {
			t.Fatalf("Fetch: %v", err)
		}
		events = append(events, batch.Events...)
	}
	if _, err := b.store.Record(t.Context(), events[:50]); err != nil {
		t.Fatal(err)
	} // and killed here
	c, _ = b.start(Options{})
	b.finish(c, id)
	b.check(id, 40)
	trial, err := b.store.Trial(t.Context(), sweep.TrialID{Sweep: id})
	if err != nil || trial.Executions != 1 {
		t.Errorf("trial 0 has %d executions, %v", trial.Executions, err)
	}
}

func TestExclusiveStartPutsEverythingBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &crew{b: b, begin: make(chan struct{})}
	stopWorker := w.start()
	c, stop := b.start(Options{Window: 15})
	id := b.submit(c, submission("exclusive", 0, 30))
	paused := b.submit(c, submission("paused", 100, 5))
	b.until("both sweeps have their jobs", func() bool {
		return b.progress(id).Queued == 11 && b.progress(paused).Queued == 5
	})
	// One worker dies with a trial in hand, another after its report.
	taken := 0
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		execution := newExecution()
		events := []sweep.Event{event(sweep.EventStarted, d.TrialID, execution)}
		if taken < 2 {
			result := event(sweep.EventResult, d.TrialID, execution)
			result.Result = outcome(d.TrialID)
			events = append(events, result)
		}
		if taken == 3 {
			stop() // its report is left in the stream
		}
		if taken++; taken > 4 {
			return nil // these go with the worker
		}
		return w.publish(ctx, events...)
	}
	close(w.begin)
	b.until("four trials were taken", func() bool { return w.runs.Load() > 4 })
	stopWorker()
	if err := b.store.SetSweepState(t.Context(), paused, sweep.SweepPaused, ""); err != nil {
		t.Fatal(err)
	}
	c, _ = b.start(Options{Exclusive: true, Lease: time.Hour}) // the lease brings nothing back within the test
	w = &crew{b: b}
	w.start()
	b.finish(c, id)
	b.check(id, 30)
	if p := b.progress(paused); p.Queued+p.Running != 0 {
		t.Errorf("the paused sweep: %+v", p)
	}
}

// A message of a newer version, which a newer program left, neither keeps an older one from
// starting nor is lost.
func TestExclusiveStartLeavesNewerEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, stop := b.start(Options{}) // makes the stream
	stop()
	if _, err := b.conn.Request("sweep.events.cpu.worker1", []byte(`{"version":99,"events":7}`),
		time.Minute); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c, stop := b.start(Options{Exclusive: true,
		Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&log, t.Output()), nil))})
	w := &crew{b: b}
	w.start()
	id := b.submit(c, submission("older", 0, 5))
	b.finish(c, id)
	b.check(id, 5)
	stop()
	if !strings.Contains(log.String(), "events of version 99") || !strings.Contains(log.String(), "remain: start that version") {
		t.Errorf("the log does not say that a message of version 99 is left: %s", &log)
	}
	// The coordinator may leave messages of its own, which say that the server stores them.
	if n := b.messages(wire.EventsStream, "sweep.events.cpu.worker1"); n != 1 {
		t.Errorf("%d messages of the worker are left; want the newer one", n)
	}
}

// messages counts those of a subject in a stream.
func (b *bench) messages(stream, subject string) uint64 {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	_, s := b.stream(ctx, stream)
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		b.t.Fatal(err)
	}
	return info.State.Subjects[subject]
}

// stream is a stream of the broker.
func (b *bench) stream(ctx context.Context, name string) (jetstream.JetStream, jetstream.Stream) {
	b.t.Helper()
	js, err := jetstream.New(b.conn)
	if err != nil {
		b.t.Fatal(err)
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		b.t.Fatal(err)
	}
	return js, stream
}

// restart stops the broker and starts it again, without its files if wipe is set.
func (b *bench) restart(wipe bool) {
	b.t.Helper()
	port := b.server.Port()
	b.server.Stop()
	if wipe {
		if err := os.RemoveAll(b.dir); err != nil {
			b.t.Fatal(err)
		}
	}
	b.server = wiretest.Run(b.t, wiretest.Options{Dir: b.dir, Port: port})
}

func TestBrokerRestarts(t *testing.T) {
	t.Parallel()
	for name, wipe := range map[string]bool{"with its files": false, "without its files": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c, stop := b.start(Options{Window: 32, Page: 50, Lease: time.Second})
			defer stop() // while there is a broker
			w := &crew{b: b, slots: 2, bound: time.Second}
			w.start()
			id := b.submit(c, submission("restarts", 0, 600))
			for _, done := range []int64{50, 200, 400} {
				b.until("some trials are done", func() bool { return b.progress(id).Completed >= done })
				b.restart(wipe)
			}
			b.finish(c, id)
			b.check(id, 600)
		})
	}
}

// A coordinator starts while there is no broker, and waits for it.
func TestStartsBeforeTheBroker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	port := b.server.Port()
	b.server.Stop()
	c, stop := b.startLater(Options{})
	defer stop()
	id := b.submit(c, submission("before", 0, 20))
	b.server = wiretest.Run(t, wiretest.Options{Dir: b.dir, Port: port})
	<-c.Ready()
	w := &crew{b: b}
	w.start()
	b.finish(c, id)
	b.check(id, 20)
}

// jobsStream is the stream of the default pool's jobs.
const jobsStream = "SWEEP_JOBS_" + sweep.DefaultPool

// lose deletes a stream, as an operator might by mistake.
func (b *bench) lose(stream string) {
	b.t.Helper()
	if _, err := b.conn.Request("$JS.API.STREAM.DELETE."+stream, nil, patience); err != nil {
		b.t.Fatalf("delete stream %s: %v", stream, err)
	}
}

func TestStreamLost(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{jobsStream, wire.EventsStream} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c, _ := b.start(Options{Window: 32, Page: 50, Lease: time.Second})
			w := &crew{b: b, slots: 2, bound: time.Second}
			w.start()
			id := b.submit(c, submission("lost", 0, 400))
			for _, done := range []int64{50, 200} {
				b.until("some trials are done", func() bool { return b.progress(id).Completed >= done })
				b.lose(stream)
			}
			b.finish(c, id)
			b.check(id, 400)
		})
	}
}

// Without any worker or new job to notice it, a lost queue is made again, with its
// stream or without.
func TestQueueLostWhileIdle(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"STREAM", "CONSUMER"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := &crew{b: b, begin: make(chan struct{})}
			w.start()
			c, _ := b.start(Options{Window: 32})
			id := b.submit(c, submission("idle", 0, 20))
			b.until("all are queued", func() bool { return b.progress(id).Queued == 20 })
			if lost == "STREAM" {
				b.lose(jobsStream)
			} else if _, err := b.conn.Request("$JS.API.CONSUMER.DELETE."+jobsStream+"."+w.offer.Key(), nil,
				patience); err != nil {
				t.Fatal(err)
			}
			close(w.begin)
			b.finish(c, id)
			b.check(id, 20)
		})
	}
}

// A queue that is opened while the reconciler looks at the broker is new, not lost:
// trials would be put back that workers have taken already.
func TestNewQueueIsNotLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log syncBuffer
	c, _ := b.start(Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&log, t.Output()), nil))})
	ctx, cancel := context.WithCancel(t.Context())
	r := reconciler{Coordinator: c}
	looked := make(chan error, 1)
	var looks atomic.Int64
	go func() {
		for ctx.Err() == nil {
			_, _, err := r.restore(ctx)
			switch {
			case err == nil:
				looks.Add(1)
			case !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // else it is slow, or the test over
				looked <- err
				return
			}
		}
		looked <- nil
	}()
	for i := range 40 {
		w := &crew{b: b, offer: noopOffer(1)}
		w.offer.Labels = map[string]string{"kind": strconv.Itoa(i)}
		w.start()
		b.until("its queue", func() bool {
			queues, _, err := b.wire.Queues(t.Context())
			_, there := queues[wire.Queue{Pool: w.pool, Offer: w.offer.Key()}]
			return err == nil && there
		})
		before := looks.Load()
		b.until("a look at the queues", func() bool { return looks.Load() > before || len(looked) > 0 })
	}
	cancel()
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "recreated a lost queue") {
		t.Error("a new queue was taken for a lost one")
	}
}

// Coordinators are stopped at random moments, streams are lost, workers forget
// to acknowledge: every trial ends with its one result.
func TestChaos(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(2 * time.Second) // what a worker had comes back soon
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	w := &crew{b: b, slots: 3, bound: time.Second}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		// a lost stream never answers, and nobody does about a job that was removed
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		mu.Lock()
		luck := random.IntN(100)
		mu.Unlock()
		switch {
		case luck < 2: // dies at once
			return nil
		case luck < 4: // dies after its start
			return w.publish(ctx, event(sweep.EventStarted, d.TrialID, newExecution()))
		case luck < 6: // is told to go, or finds its machine broken
			e := event(sweep.EventReleased, d.TrialID, newExecution())
			e.Release = &sweep.Release{Reason: "drained"}
			if err := w.publish(ctx, e); err != nil {
				return err
			}
		case luck < 8: // reports, and dies before acknowledging
			e := event(sweep.EventResult, d.TrialID, newExecution())
			e.Result = outcome(d.TrialID)
			return w.publish(ctx, e)
		default:
			return w.report(ctx, d)
		}
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(New(Options{Store: b.store, Wire: b.wire, Logger: logger(t)}), submission("chaos", 0, 600))
	for i := range 8 {
		c, stop := b.start(Options{Window: 16, Page: 40, Lease: time.Second})
		target := b.progress(id).Completed + 60
		b.until("some more trials are done", func() bool {
			p := b.progress(id)
			return p.Completed >= target || p.Done() == p.Total()
		})
		if i == 3 {
			b.restart(true)
		}
		if i == 7 {
			b.finish(c, id)
		}
		stop()
	}
	b.check(id, 600)
}

// A job that the broker would not deliver again, as NATS does (2.15.2) after the purge of a job
// that a worker has, does not keep its trial running for ever.
func TestJobIsNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(2 * time.Second)
	c, _ := b.start(Options{Lease: time.Second})
	w := &crew{b: b, slots: 3}
	var taken atomic.Int64
	var order []sweep.TrialID // in which the jobs were published, and delivered
	all, purged, acknowledged := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		switch n := taken.Add(1); {
		case n > 3:
			return w.report(ctx, d)
		case n == 3:
			failed, err := b.wire.QueuedJobs(ctx, func(q wire.QueuedJob) { order = append(order, q.TrialID) })
			if err = errors.Join(err, failed[w.pool]); err != nil {
				b.t.Error(err)
			}
			close(all)
		}
		<-all
		switch slices.Index(order, d.TrialID) {
		case 0: // dies after its start
			<-acknowledged
			return w.publish(ctx, event(sweep.EventStarted, d.TrialID, newExecution()))
		case 1: // its job is purged
			defer close(purged)
			_, stream := b.stream(ctx, jobsStream)
			subject := fmt.Sprintf("sweep.work.%s.%s.%s.%d", w.pool, w.offer.Key(), d.Sweep, d.Index)
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return err
			}
			e := event(sweep.EventResult, d.TrialID, newExecution())
			e.Result = outcome(d.TrialID)
			return w.publish(ctx, e)
		default:
			defer close(acknowledged)
			<-purged
			return w.report(ctx, d)
		}
	}
	w.start()
	id := b.submit(c, submission("three", 0, 3))
	b.finish(c, id)
	b.check(id, 3)
}

// TestWorkerVanishes has a job delivered again and again: its first worker goes on with
// it, which is no loss, and its second is killed, which is one.
func TestWorkerVanishes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(2 * time.Second) // what a worker had comes back soon
	c, _ := b.start(Options{})
	id := sweep.TrialID{Sweep: b.submit(c, submission("one", 1, 1))}
	end := make(chan struct{})
	hold := func(name string) *crew {
		w := &crew{b: b}
		w.run = func(ctx context.Context, d *wire.Delivery) error {
			execution := name
			if name == "" { // the one that its heartbeats name
				w.mu.Lock()
				execution = w.busy[d.TrialID]
				w.mu.Unlock()
			}
			if err := w.publish(ctx, event(sweep.EventStarted, d.TrialID, execution)); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-end:
			}
			result := event(sweep.EventResult, d.TrialID, execution)
			result.Result = outcome(d.TrialID)
			return w.publish(ctx, result)
		}
		return w
	}
	executions := func(n int) func() bool {
		return func() bool {
			list, err := b.store.Executions(t.Context(), id)
			return err == nil && len(list) == n
		}
	}
	hold("").start()
	b.until("the first worker to start the trial", executions(1))
	second := hold("second")
	second.vanishes = true
	stop := second.start()
	b.until("the second worker to start the trial", executions(2))
	stop()
	hold("third").start()
	b.until("the third worker to start the trial", executions(3))
	b.until("the second execution to be counted as lost", func() bool {
		trial, err := b.store.Trial(t.Context(), id)
		return err == nil && trial.Losses > 0
	})
	list, err := b.store.Executions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Charged != (e.ID == "second") {
			t.Errorf("%+v", e)
		}
	}
	close(end)
	if p := b.finish(c, id.Sweep); p.Completed != 1 {
		t.Errorf("%+v", p)
	}
}

// TestPoolWithoutStream has workers of a pool whose stream the server refuses, beside
// another pool: that one goes on, and the reason is in the status and once in the log.
func TestPoolWithoutStream(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log syncBuffer
	c, _ := b.start(Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&log, t.Output()), nil))})
	(&crew{b: b}).start()
	b.finish(c, b.submit(c, submission("before", 1, 1)))
	b.server.LimitStreams(t, 2) // those of the events and of the first pool
	for range 4 {
		(&crew{b: b, pool: "gpu"}).start()
	}
	other := submission("other", 1000, 10)
	other.Spec.Pool = "gpu"
	waits := b.submit(c, other)
	b.until("the reason why the other pool's sweep waits", func() bool {
		record, err := b.store.Sweep(t.Context(), waits)
		return err == nil && record.State == sweep.SweepWaiting && strings.Contains(record.Reason, "pool gpu: ") &&
			strings.Contains(record.Reason, "maximum number of streams")
	})
	// On a busy machine another problem may come and go.
	b.until("the pool's problem, which is not the coordinator's", func() bool {
		err := c.Problem()
		return err != nil && strings.Contains(err.Error(), "pool gpu: ") && c.Outage() == nil
	})
	id := b.submit(c, submission("beside", 2, 300))
	if p := b.finish(c, id); p.Completed != 300 {
		t.Errorf("%+v", p)
	}
	b.server.LimitStreams(t, 0)
	if p := b.finish(c, waits); p.Completed != 10 {
		t.Errorf("%+v", p)
	}
	b.until("nothing is wrong", func() bool { return c.Problem() == nil })
	text := log.String()
	if began, ended := strings.Count(text, "failed scheduling trials of pool gpu"),
		strings.Count(text, "recovered: scheduling trials of pool gpu"); began != 1 || ended != 1 {
		t.Errorf("the log says %d times that scheduling fails and %d times that it works again", began, ended)
	}
}

// A pool whose jobs the broker does not list keeps no other pool's lost queue from being
// made again, and none of its own jobs counts as lost.
func TestPoolThatIsNotListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, _ := b.start(Options{Window: 32, Lease: time.Second})
	cpu, gpu := &crew{b: b, begin: make(chan struct{})}, &crew{b: b, pool: "gpu", begin: make(chan struct{})}
	cpu.start()
	gpu.start()
	id := b.submit(c, submission("cpu", 0, 20))
	other := submission("gpu", 100, 20)
	other.Spec.Pool = "gpu"
	unlisted := b.submit(c, other)
	queued := func(id string) func() bool { return func() bool { return b.progress(id).Queued == 20 } }
	b.until("the one pool's trials are queued", queued(id))
	b.until("the other pool's trials are queued", queued(unlisted))
	var again time.Time
	b.until("the reason why jobs are not compared", func() bool {
		// The coordinator may be making the stream as it should be. When both do so at
		// once, the server may go on listing though the stream's settings say otherwise.
		if now := time.Now(); now.After(again) {
			b.allowLists("gpu", true)
			b.allowLists("gpu", false)
			again = now.Add(2 * time.Second)
		}
		err := c.Problem()
		return err != nil && strings.Contains(err.Error(), "pool gpu: ") && c.Outage() == nil
	})
	b.lose(jobsStream)
	close(cpu.begin)
	b.finish(c, id) // by a look of the reconciler, which did not take the others for lost
	b.check(id, 20)
	if !queued(unlisted)() {
		t.Errorf("the other pool's trials: %+v", b.progress(unlisted))
	}
	b.allowLists("gpu", true)
	b.until("nothing is wrong", func() bool { return c.Problem() == nil })
	close(gpu.begin)
	b.finish(c, unlisted)
	b.check(unlisted, 20)
	if n := gpu.runs.Load(); n != 20 {
		t.Errorf("%d executions of 20 trials", n)
	}
}

// allowLists has the broker list the jobs of a pool, or refuse to.
func (b *bench) allowLists(pool string, allowed bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	js, stream := b.stream(ctx, "SWEEP_JOBS_"+pool)
	config := stream.CachedInfo().Config
	config.AllowDirect = allowed
	if _, err := js.UpdateStream(ctx, config); err != nil {
		b.t.Fatal(err)
	}
}

// syncBuffer is what several goroutines write to.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
