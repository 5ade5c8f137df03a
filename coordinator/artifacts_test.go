package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// unprepared is a backend whose first preparation fails. Those after it may be several.
type unprepared struct {
	artifact.Backend
	attempts atomic.Int64
	failed   chan struct{}
	prepared chan struct{}
	once     sync.Once
}

func (u *unprepared) Prepare(ctx context.Context, pool string) error {
	if u.attempts.Add(1) == 1 {
		close(u.failed)
		return errors.New("it cannot be made yet")
	}
	defer u.once.Do(func() { close(u.prepared) })
	return u.Backend.Prepare(ctx, pool)
}

// A store of artifacts that could not be made is made later, though all jobs are dispatched.
func TestArtifactStoreIsPreparedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects, err := b.wire.Objects(wire.DefaultBucket, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	backend := &unprepared{Backend: objects, failed: make(chan struct{}), prepared: make(chan struct{})}
	c, _ := b.start(Options{Artifacts: artifact.New(backend, logger(t)), Lease: time.Second})
	s := submission("weights", 1, 1)
	s.Spec.Artifacts = []string{"weights"}
	w := &crew{b: b}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		select {
		case <-backend.prepared:
		case <-ctx.Done():
			return nil
		}
		return w.report(ctx, d)
	}
	w.start()
	id := b.submit(c, s)
	sweeptest.Receive(t, "the first preparation", backend.failed)
	b.until("the next one is planned", func() bool {
		again, _ := c.prepared.Load(sweep.DefaultPool)
		at, _ := again.(time.Time)
		return !at.IsZero()
	})
	c.unprepare() // instead of a minute
	sweeptest.Receive(t, "the second preparation", backend.prepared)
	b.finish(c, id)
}

// A coordinator makes a place for a pool's artifacts before workers need it, shows
// what they put there, and removes what nothing refers to any more.
func TestArtifacts(t *testing.T) {
	b := newBench(t)
	objects, err := b.wire.Objects(wire.DefaultBucket, 1<<20) // without a size it probes the free room
	if err != nil {
		t.Fatal(err)
	}
	store := artifact.New(objects, logger(t))
	c, _ := b.start(Options{Artifacts: store})
	s := submission("weights", 1, 4)
	s.Spec.Artifacts = []string{"weights"}
	content := func(id sweep.TrialID) []byte { return fmt.Appendf(nil, "weights of %s", id) }
	w := &crew{b: b}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if !slices.Equal(d.Artifacts, s.Spec.Artifacts) {
			t.Errorf("a job of %v", d.Artifacts)
		}
		r := artifacttest.Record(d.TrialID, content(d.TrialID))
		if err := store.Put(ctx, r.Location, bytes.NewReader(content(d.TrialID)), r.Size); err != nil {
			return err
		}
		result := event(sweep.EventResult, d.TrialID, newExecution())
		result.Result = outcome(d.TrialID)
		result.Result.Artifacts = []sweep.Artifact{r.Artifact}
		if d.Index == 3 {
			result.Result.State = sweep.Failed
		}
		if err := w.publish(ctx, result); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	stop := w.start()
	id := b.submit(c, s)
	b.finish(c, id)
	stop()
	states := func(check sweep.ArtifactCheck) []string { return artifactStates(t, c, "weights", check) }
	for _, check := range []sweep.ArtifactCheck{sweep.CheckNothing, sweep.CheckSize, sweep.CheckDigest} {
		if got := states(check); !slices.Equal(got, []string{"0 stored", "1 stored", "2 stored", "3 stored"}) {
			t.Errorf("%s: %v", check, got)
		}
	}
	trial := func(index int64) sweep.TrialID { return sweep.TrialID{Sweep: id, Index: index} }
	var out bytes.Buffer
	if r, err := c.Artifact(t.Context(), trial(2), "weights", 0, &out); err != nil ||
		!bytes.Equal(out.Bytes(), content(trial(2))) || r.Size != int64(out.Len()) {
		t.Errorf("%+v, %v, %q", r, err, &out)
	}
	whole := bytes.Clone(out.Bytes())
	for _, from := range []int64{1, int64(len(whole)) - 1, int64(len(whole))} {
		out.Reset()
		if _, err := c.Artifact(t.Context(), trial(2), "weights", from, &out); err != nil ||
			!bytes.Equal(out.Bytes(), whole[from:]) {
			t.Errorf("from byte %d: %q, %v", from, &out, err)
		}
	}
	for _, from := range []int64{-1, int64(len(whole)) + 1} {
		if _, err := c.Artifact(t.Context(), trial(2), "weights", from, &out); err == nil {
			t.Errorf("there is a byte %d", from)
		}
	}
	if _, err := c.Artifact(t.Context(), trial(2), "samples", 0, &out); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("%v", err)
	}
	// A retry forgets what a trial left: the bytes are nobody's then.
	if n, err := c.RetryNamed(t.Context(), id, []int64{0, 3}); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	unowned := artifacttest.Record(trial(3), content(trial(3)))
	for range 2 {
		if err := c.removeArtifacts(t.Context(), sweep.DefaultPool, id); err != nil {
			t.Fatal(err)
		}
		var lost *sweep.LostError
		if err := store.Check(t.Context(), unowned, false); !errors.As(err, &lost) {
			t.Errorf("%v", err)
		}
		if got := states(sweep.CheckDigest); !slices.Equal(got, []string{"0 stored", "1 stored", "2 stored"}) {
			t.Errorf("%v", got)
		}
	}
	kept := artifacttest.Record(trial(0), content(trial(0)))
	if _, err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), "weights"); err != nil {
		t.Fatal(err)
	}
	var lost *sweep.LostError
	if err := store.Check(t.Context(), kept, false); !errors.As(err, &lost) {
		t.Errorf("%v", err)
	}
}

// Some trials of a sweep are cancelled: their jobs go, their workers are told, and
// the others go on to the sweep's end.
func TestCancelNamed(t *testing.T) {
	b := newBench(t)
	b.useAckWait(patience) // the worker says nothing of what it runs
	c, _ := b.start(Options{})
	var mu sync.Mutex
	told := map[int64]bool{}
	unsubscribe, err := b.wire.Cancellations(func(_ string, indices []int64, _ map[int64]wire.Halt) {
		mu.Lock()
		defer mu.Unlock()
		for _, index := range indices {
			told[index] = true
		}
		if len(indices) == 0 {
			t.Error("all trials are stopped")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unsubscribe()
	began, end := make(chan int64, 8), make(chan struct{})
	w := &crew{b: b, slots: 2}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		began <- d.Index
		select {
		case <-end:
		case <-ctx.Done():
			return nil
		}
		return w.report(ctx, d)
	}
	w.start()
	id := b.submit(c, submission("some", 1, 8))
	first, second := <-began, <-began
	other := slices.IndexFunc([]int64{0, 1, 2, 3}, func(i int64) bool { return i != first && i != second })
	if n, err := c.CancelNamed(t.Context(), id, nil); n != 0 || err != nil {
		t.Errorf("no trials: %d, %v", n, err)
	}
	for want := int64(2); want >= 0; want -= 2 {
		if n, err := c.CancelNamed(t.Context(), id, []int64{first, int64(other)}); n != want || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	if _, err := c.CancelNamed(t.Context(), id, []int64{second, 8}); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("%v", err)
	}
	b.until("the workers to be told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return told[first] && told[int64(other)] && !told[second]
	})
	close(end)
	record, err := c.Wait(t.Context(), id)
	if err != nil || record.State != sweep.SweepFinished {
		t.Fatalf("%+v, %v", record, err)
	}
	progress, err := b.store.Progress(t.Context(), id)
	if err != nil || progress.Completed != 6 || progress.Cancelled != 2 {
		t.Errorf("%+v, %v", progress, err)
	}
	b.until("no job is left", func() bool {
		jobs, err := b.jobs()
		return err == nil && jobs == 0
	})
}

// logOf is a log that a test counts lines of.
type logOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logOf) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logOf) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// lines counts those that have all of some texts.
func (l *logOf) lines(texts ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			n++
		}
	}
	return n
}

// Trials whose artifacts have no room end all the same, and the coordinator tells
// so: once in its log, and to who asks how it goes. It is no outage.
func TestFullArtifactStore(t *testing.T) {
	b := newBench(t)
	log := &logOf{}
	c, _ := b.start(Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()), nil))})
	s := submission("full", 1, 4)
	s.Spec.Artifacts = []string{"weights"}
	w := &crew{b: b}
	const problem = "not stored: no room"
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		result := event(sweep.EventResult, d.TrialID, newExecution())
		result.Result = outcome(d.TrialID)
		result.Result.Artifacts = []sweep.Artifact{{Name: "weights", Problem: problem, Full: true}}
		if err := w.publish(ctx, result); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, s)
	if p := b.finish(c, id); p.Completed != 4 {
		t.Errorf("%+v", p)
	}
	// It may be noted after the trials' end, and another problem may come and go.
	b.until("the problem, which names the pool and the reason and is no outage", func() bool {
		err := c.Problem()
		return err != nil && strings.Contains(err.Error(), "pool cpu") && strings.Contains(err.Error(), problem) &&
			c.Outage() == nil
	})
	b.until("a line of the log", func() bool { return log.count("the artifact store is full") > 0 })
	if n := log.count("the artifact store is full"); n != 1 {
		t.Errorf("%d lines of the log say that the artifact store is full, want 1", n)
	}
	err := b.store.Artifacts(t.Context(), sweep.ArtifactQuery{Sweep: id}, func(a *sweep.ArtifactRecord) error {
		if a.Problem != problem {
			t.Errorf("artifact %s: %q", a, a.Problem)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A broker whose storage is full keeps jobs and results from coming through: the
// coordinator says so, once in its log, until there is room again.
func TestFullBroker(t *testing.T) {
	b := newBenchOf(t, wiretest.Options{MaxStore: 4 << 20})
	log := &logOf{}
	c, _ := b.start(Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()), nil))})
	w := &crew{b: b}
	w.start()
	b.until("a queue for the worker", func() bool { return log.count("opened a queue") == 1 })
	js, err := jetstream.New(b.conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "OTHERS", Subjects: []string{"others"}}); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		if n == 100 {
			t.Fatal("the server takes more than it should")
		}
		_, err := js.Publish(ctx, "others", make([]byte, 512<<10))
		if errors.As(err, new(*jetstream.APIError)) { // it refuses; other errors may be of a slow server
			break
		}
	}
	id := b.submit(c, submission("blocked", 1, 3))
	b.until("the coordinator to say that the broker is full", func() bool {
		err := c.Outage()
		return err != nil && strings.Contains(err.Error(), "JetStream storage of the NATS servers is full")
	})
	if err := js.DeleteStream(ctx, "OTHERS"); err != nil {
		t.Fatal(err)
	}
	b.finish(c, id)
	b.check(id, 3)
	b.until("the outage to be over", func() bool { return c.Outage() == nil })
	// Other activities may meet it too.
	if n := log.lines("failed scheduling trials of pool cpu", "JetStream storage of the NATS servers is full"); n != 1 {
		t.Errorf("%d lines of the log say that the broker is full, want 1", n)
	}
}

// That workers cannot report, as to a full broker, is known by their heartbeats:
// these are stored nowhere.
func TestWorkersThatCannotReport(t *testing.T) {
	b := newBench(t)
	log := &logOf{}
	c, _ := b.start(Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()), nil))})
	heartbeat := wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: "w-1", Name: "node1", Pool: "cpu", State: wire.WorkerReady,
		Offer: *noopOffer(1), Problem: "no room"}}
	send := func() {
		t.Helper()
		b.until("the heartbeat to be answered", func() bool { // a repeated one changes nothing
			_, err := b.wire.SendHeartbeat(t.Context(), heartbeat)
			return err == nil
		})
	}
	send()
	send()
	if err := c.Outage(); err == nil || !strings.Contains(err.Error(), "node1") ||
		!strings.Contains(err.Error(), "no room") {
		t.Errorf("the outage is %v, want one that names the worker and its problem", err)
	}
	if n := log.count("no room"); n != 1 {
		t.Errorf("%d lines of the log tell of it, want 1", n)
	}
	heartbeat.Problem = ""
	send()
	if err := c.Outage(); err != nil {
		t.Errorf("the worker reports again, and the outage is %v", err)
	}
}

// artifactStates are the states of a sweep's artifacts, each after the index of its trial.
func artifactStates(t *testing.T, c *Coordinator, id string, check sweep.ArtifactCheck) (list []string) {
	t.Helper()
	err := c.CheckArtifacts(t.Context(), sweep.ArtifactQuery{Sweep: id}, check, func(a *sweep.CheckedArtifact) error {
		list = append(list, fmt.Sprint(a.Index, " ", a.State))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
