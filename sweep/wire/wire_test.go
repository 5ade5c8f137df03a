package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// open returns a Wire whose streams are there.
func open(t testing.TB, conn *nats.Conn, options wire.Options) *wire.Wire {
	t.Helper()
	w, err := wire.New(conn, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func job(index int64) wire.Job {
	return wire.Job{
		Trial: sweep.Trial{
			TrialID:    sweep.TrialID{Sweep: "s1", Index: index},
			Parameters: sweep.Parameters{"lr": 1e-3, "model": "rnn", "hidden": int64(32)}, Fingerprint: "ab12", DatasetDigest: "cd34",
		},
		Trainer: "noop", ResultVersion: "1", Pool: "cpu", Volatile: []string{"seconds"},
		Limits: sweep.Limits{Timeout: time.Minute, Attempts: 3, Points: 100},
	}
}

func jobsOf(n int) []wire.Job {
	list := make([]wire.Job, n)
	for i := range list {
		list[i] = job(int64(i))
	}
	return list
}

func consumer(t testing.TB, w *wire.Wire, pool string) *wire.JobConsumer {
	t.Helper()
	c, err := w.Jobs(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// next waits for a job, ten seconds at most.
func next(t testing.TB, c *wire.JobConsumer) *wire.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	d, err := c.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// none asserts that no job comes within a time.
func none(t testing.TB, c *wire.JobConsumer, wait time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	if d, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next = %+v, %v; want nothing", d, err)
	}
}

func publish(t testing.TB, w *wire.Wire, jobs ...wire.Job) {
	t.Helper()
	if held, err := w.PublishJobs(t.Context(), jobs); err != nil || len(held) > 0 {
		t.Fatalf("PublishJobs = %v, %v", held, err)
	}
}

// eventually polls a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func count(t testing.TB, w *wire.Wire) int64 {
	t.Helper()
	n, err := w.JobCount(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSetupIsIdempotentAndKeepsWhatIsThere(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	publish(t, w, jobsOf(3)...)
	for range 3 {
		if err := w.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, w); n != 3 {
		t.Errorf("%d jobs after Setup, want 3", n)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{wire.JobsStream, wire.EventsStream} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		if c.Retention != jetstream.WorkQueuePolicy || c.Storage != jetstream.FileStorage {
			t.Errorf("%s: retention %v, storage %v", name, c.Retention, c.Storage)
		}
		if jobs := name == wire.JobsStream; jobs != (c.DiscardNewPerSubject && c.MaxMsgsPerSubject == 1 && c.Discard == jetstream.DiscardNew) {
			t.Errorf("%s: discard %v, per subject %v, at most %d", name, c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject)
		}
	}
}

func TestJobArrivesAsPublished(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	want := job(7)
	publish(t, w, want)
	d := next(t, consumer(t, w, "cpu"))
	if !reflect.DeepEqual(d.Job, want) {
		t.Errorf("got  %+v\nwant %+v", d.Job, want)
	}
	if err := d.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, w); n != 0 {
		t.Errorf("%d jobs after Done, want 0", n)
	}
}

func TestOneJobATrial(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	jobs := jobsOf(5000) // more than one page of publications
	publish(t, w, jobs...)
	held, err := w.PublishJobs(t.Context(), jobs)
	if err != nil || len(held) != len(jobs) {
		t.Fatalf("PublishJobs again: %d held, %v; want %d held", len(held), err, len(jobs))
	}
	if n := count(t, w); n != int64(len(jobs)) {
		t.Fatalf("%d jobs, want %d", n, len(jobs))
	}
	// A job in a worker's hands is held too; once it is done its place is free.
	d := next(t, consumer(t, w, "cpu"))
	if held, err = w.PublishJobs(t.Context(), []wire.Job{d.Job}); err != nil || len(held) != 1 || held[0] != d.TrialID {
		t.Fatalf("PublishJobs of a running trial = %v, %v; want it held", held, err)
	}
	if err := d.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, w, d.Job)
}

func TestHeldJobs(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	publish(t, w, jobsOf(4)...)
	d := next(t, consumer(t, w, "cpu"))
	asked := []sweep.TrialID{{Sweep: "s1", Index: d.Index}, {Sweep: "s1", Index: 3}, {Sweep: "s1", Index: 4}, {Sweep: "s2", Index: 0}}
	held, err := w.HeldJobs(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	want := map[sweep.TrialID]bool{asked[0]: true, asked[1]: true}
	if !reflect.DeepEqual(held, want) {
		t.Errorf("held %v, want %v", held, want)
	}
}

func TestPurge(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	other := job(0)
	other.Sweep, other.Pool = "s2", "gpu"
	publish(t, w, append(jobsOf(4), other)...)
	jobs := consumer(t, w, "cpu")
	running := next(t, jobs)
	if err := w.PurgeJobs(t.Context(), "s1", running.TrialID); err != nil {
		t.Fatal(err)
	}
	if n := count(t, w); n != 2 {
		t.Errorf("%d jobs after the purge of what waits of one sweep, want 2", n)
	}
	none(t, jobs, 100*time.Millisecond)
	if err := running.Later(0); err != nil {
		t.Fatal(err)
	}
	if again := next(t, jobs); again.TrialID != running.TrialID {
		t.Errorf("the job that was kept came back as %s", again.TrialID)
	}
	if err := w.PurgeJobs(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, w); n != 1 {
		t.Errorf("%d jobs after the purge of one sweep, want 1", n)
	}
	if err := running.Done(t.Context()); err != nil {
		t.Errorf("Done of a purged job: %v", err)
	}
	publish(t, w, job(running.Index))
	if err := w.ResetJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, w, job(running.Index))
}

func TestPoolsAreSeparate(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	gpu := job(1)
	gpu.Pool = "gpu"
	publish(t, w, job(0), gpu)
	if d := next(t, consumer(t, w, "gpu")); d.Index != 1 {
		t.Errorf("pool gpu got trial %s", d.TrialID)
	}
	if d := next(t, consumer(t, w, "cpu")); d.Index != 0 {
		t.Errorf("pool cpu got trial %s", d.TrialID)
	}
}

func TestRedeliveryAfterAckWait(t *testing.T) {
	const ackWait = 300 * time.Millisecond
	w := open(t, wiretest.Start(t), wire.Options{AckWait: ackWait})
	publish(t, w, job(0))
	first, second := consumer(t, w, "cpu"), consumer(t, w, "cpu")
	d := next(t, first)
	for range 6 { // in progress for twice AckWait
		none(t, second, ackWait/3)
		if err := d.InProgress(); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	again := next(t, second) // and silent
	if again.TrialID != d.TrialID || time.Since(begin) < ackWait/2 {
		t.Errorf("redelivered %s after %v", again.TrialID, time.Since(begin))
	}
	if err := again.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Done(t.Context()); err != nil { // the store sorts this out
		t.Errorf("the old holder's Done: %v", err)
	}
}

func TestLater(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	publish(t, w, job(0))
	c := consumer(t, w, "cpu")
	const delay = 300 * time.Millisecond
	begin := time.Now()
	if err := next(t, c).Later(delay); err != nil {
		t.Fatal(err)
	}
	next(t, c)
	if waited := time.Since(begin); waited < delay || waited > 5*time.Second {
		t.Errorf("came again after %v, want %v", waited, delay)
	}
}

// A consumer that is closed while it waits leaves nothing behind: the next job
// reaches another consumer at once, not after AckWait.
func TestCloseLosesNothing(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	for i := range int64(30) {
		c, err := w.Jobs(t.Context(), "cpu")
		if err != nil {
			t.Fatal(err)
		}
		// The job is published while the pull is given up: either may be first.
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() { publish(t, w, job(i)) })
		wait.Go(cancel)
		d, err := c.Next(ctx)
		wait.Wait()
		c.Close()
		if err != nil {
			d = next(t, consumer(t, w, "cpu"))
		}
		if d.Index != i {
			t.Fatalf("round %d: trial %s", i, d.TrialID)
		}
		if err := d.Done(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A job that was asked for ahead comes with the next Next, once, or goes back.
func TestAskAhead(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	first, err := w.Jobs(t.Context(), "cpu")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, w, jobsOf(3)...)
	for i := range int64(2) {
		for range 2 { // asking again changes nothing
			if err := first.Ask(); err != nil {
				t.Fatal(err)
			}
		}
		d := next(t, first)
		if d.Index != i {
			t.Errorf("job %d, want %d", d.Index, i)
		}
		if err := d.Done(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Ask(); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if d := next(t, consumer(t, w, "cpu")); d.Index != 2 {
		t.Errorf("another consumer gets job %d, want the one that was given back", d.Index)
	}
}

func TestTokens(t *testing.T) {
	for name, valid := range map[string]bool{
		"cpu": true, "a-b_c": true, "größe": true, strings.Repeat("x", 128): true,
		"": false, "a.b": false, "*": false, ">": false, "a b": false, "a\n": false, "a/b": false, `a\b`: false, "\x7f": false, "a\xff": false, strings.Repeat("x", 129): false,
	} {
		if err := wire.CheckToken("pool", name); (err == nil) != valid {
			t.Errorf("CheckToken(%q) = %v", name, err)
		}
	}
	w := open(t, wiretest.Start(t), wire.Options{})
	if _, err := w.Jobs(t.Context(), "a.b"); err == nil {
		t.Error("Jobs takes a pool a.b")
	}
	bad := job(0)
	bad.Sweep = "*"
	if _, err := w.PublishJobs(t.Context(), []wire.Job{bad}); err == nil {
		t.Error("PublishJobs takes a sweep *")
	}
	if err := w.Cancel("a b"); err == nil {
		t.Error("Cancel takes a sweep with a space")
	}
}

func TestMalformedJobsAreTerminated(t *testing.T) {
	conn := wiretest.Start(t)
	var log bytes.Buffer
	w := open(t, conn, wire.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	bad := map[string]string{
		"sweep.jobs.cpu.s1.0":   "not json",
		"sweep.jobs.cpu.s1.1":   `{"version":99,"sweep":"s1","index":1,"trainer":"noop","pool":"cpu"}`,
		"sweep.jobs.cpu.s1.2":   `{"version":1,"sweep":"s1","index":3,"trainer":"noop","pool":"cpu"}`,
		"sweep.jobs.cpu.s1.3":   `{"version":1,"sweep":"s1","index":3,"pool":"cpu"}`,
		"sweep.jobs.cpu.s1.4":   `{"version":1,"sweep":"s1","index":4,"trainer":"noop","pool":"gpu"}`,
		"sweep.jobs.cpu.s1.x":   `{"version":1,"sweep":"s1","index":0,"trainer":"noop","pool":"cpu"}`,
		"sweep.jobs.cpu.s1":     `{}`,
		"sweep.jobs.cpu.s1.5.6": `{"version":1,"sweep":"s1","index":5,"trainer":"noop","pool":"cpu"}`,
		"sweep.jobs.cpu.s1.7":   ``,
		"sweep.jobs.cpu.s1.8":   `{"sweep":"s1","index":8,"trainer":"noop","pool":"cpu"}`,
		"sweep.jobs.cpu.s1.9":   `{"version":1,"sweep":"s1","index":9,"trainer":"noop","pool":"cpu","parameters":[1]}`,
		"sweep.jobs.cpu.s1.10":  `{"version":1,"sweep":"s1","index":10,"trainer":"noop","pool":"cpu","limits":{"timeout":-1}}`,
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for subject, data := range bad {
		if _, err := js.Publish(t.Context(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, w, job(100))
	if d := next(t, consumer(t, w, "cpu")); d.Index != 100 {
		t.Errorf("trial %s came through", d.TrialID)
	}
	if n := w.Malformed(); n != int64(len(bad)) {
		t.Errorf("%d counted, want %d", n, len(bad))
	}
	eventually(t, "all malformed jobs are gone", func() bool { return count(t, w) == 1 })
	for _, want := range []string{"version 99", "sweep.jobs.cpu.s1.0"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not mention %q", want)
		}
	}
}

func curve(metric string, n int) sweep.Curve {
	c := sweep.Curve{Metric: metric, Steps: make([]int64, n), Values: make([]float32, n)}
	for i := range n {
		c.Steps[i], c.Values[i] = int64(i+1), float32(i)/3
	}
	return c
}

func event(kind sweep.EventKind, index int64) sweep.Event {
	e := sweep.Event{
		Kind: kind, TrialID: sweep.TrialID{Sweep: "s1", Index: index}, Execution: fmt.Sprintf("e%d", index), Worker: "w",
		Time: time.Date(2026, 11, 21, 5, 0, 0, 123456789, time.UTC),
	}
	switch kind {
	case sweep.EventPoints:
		e.Curves = []sweep.Curve{curve("loss", 10)}
	case sweep.EventCheckpoint:
		e.Checkpoint = 12
	case sweep.EventResult:
		e.Result = &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": 0.1}, Curves: []sweep.Curve{curve("loss", 10)}, Digest: "d"}
	case sweep.EventReleased:
		e.Release = &sweep.Release{Charged: true, Reason: "died", Stderr: "panic"}
	}
	return e
}

func events(t testing.TB, w *wire.Wire) *wire.EventConsumer {
	t.Helper()
	c, err := w.Events(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fetch gathers events until n have come.
func fetch(t testing.TB, c *wire.EventConsumer, n int) (got []sweep.Event, batches []*wire.EventBatch) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(got) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d events within 10 s, want %d", len(got), n)
		}
		b, err := c.Fetch(t.Context(), 100, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		got, batches = append(got, b.Events...), append(batches, b)
	}
	return got, batches
}

func TestEventsArriveInOrderAndOnce(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	kinds := []sweep.EventKind{sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint, sweep.EventReleased, sweep.EventStarted, sweep.EventResult}
	var want []sweep.Event
	for _, k := range kinds[:4] {
		want = append(want, event(k, 0))
		if err := w.Publish(t.Context(), event(k, 0)); err != nil {
			t.Fatal(err)
		}
	}
	// Two events in one message, and a repeat of the message.
	both := []sweep.Event{event(sweep.EventStarted, 1), event(sweep.EventResult, 1)}
	want = append(want, both...)
	for range 2 {
		if err := w.Publish(t.Context(), both...); err != nil {
			t.Fatal(err)
		}
	}
	c := events(t, w)
	got, batches := fetch(t, c, len(want))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, b := range batches {
		if err := b.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "acknowledged events are gone", func() bool {
		n, err := w.EventCount(t.Context())
		return err == nil && n == 0
	})
}

func TestEventsNotAcknowledgedComeAgainToAFreshCollector(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	for i := range int64(20) {
		if err := w.Publish(t.Context(), event(sweep.EventResult, i)); err != nil {
			t.Fatal(err)
		}
	}
	fetch(t, events(t, w), 20)
	c, err := w.Events(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := fetch(t, c, 20); got[0].Index != 0 || got[19].Index != 19 {
		t.Errorf("from trial %s to %s", got[0].TrialID, got[19].TrialID)
	}
}

func TestPublishAsyncKeepsOrder(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	p, err := w.PublishAsync(event(sweep.EventStarted, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(t.Context(), event(sweep.EventResult, 0)); err != nil {
		t.Fatal(err)
	}
	got, _ := fetch(t, events(t, w), 2)
	if got[0].Kind != sweep.EventStarted || got[1].Kind != sweep.EventResult {
		t.Errorf("%s before %s", got[0].Kind, got[1].Kind)
	}
	eventually(t, "the publication is stored", p.Stored)
}

func TestMalformedEventsAreTerminated(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	head := `{"version":1,"events":[{"sweep":"s1","index":0,"execution":"e","worker":"w","time":"2026-11-21T05:00:00Z",`
	bad := []string{
		``, `{`, `[]`, `"x"`, `{"version":1`, `{"version":2,"events":"other"}`, `{"events":[]}`,
		head + `"kind":"strange"}]}`,
		head + `"kind":"result"}]}`,
		head + `"kind":"result","result":{"state":"running"}}]}`,
		head + `"kind":"released"}]}`,
		head + `"kind":"points","curves":[{"metric":"m","steps":"Ag==","values":"AAAA"}]}]}`,
		head + `"kind":"points","curves":[{"metric":"m","steps":"AgIC","values":"AACAPw=="}]}]}`,
		head + `"kind":"points","curves":[{"metric":"m\u0000","steps":"","values":""}]}]}`,
		strings.Replace(head, `"index":0`, `"index":1`, 1) + `"kind":"started"}]}`,
		strings.Replace(head, `"execution":"e",`, ``, 1) + `"kind":"started"}]}`,
		strings.Repeat(`{"a":`, 20000),
	}
	for _, data := range bad {
		if err := conn.Publish("sweep.events.s1.0.result", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Publish("sweep.events.x", []byte(head+`"kind":"started"}]}`)); err != nil {
		t.Fatal(err)
	}
	// Texts lose their NUL characters, which databases refuse.
	nul := event(sweep.EventReleased, 0)
	nul.Release = &sweep.Release{Reason: "a\x00b", Stderr: "\x00"}
	if err := w.Publish(t.Context(), nul); err != nil {
		t.Fatal(err)
	}
	got, batches := fetch(t, events(t, w), 1)
	if len(got) != 1 || got[0].Release == nil || got[0].Release.Reason != "ab" || got[0].Release.Stderr != "" {
		t.Errorf("got %+v", got)
	}
	if n := w.Malformed(); n != int64(len(bad)+1) {
		t.Errorf("%d counted, want %d", n, len(bad)+1)
	}
	for _, b := range batches {
		if err := b.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "malformed events are gone", func() bool {
		n, err := w.EventCount(t.Context())
		return err == nil && n == 0
	})
}

func TestLargeMessages(t *testing.T) {
	server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), MaxPayload: 64 << 10})
	w := open(t, server.Connect(t), wire.Options{})

	long := event(sweep.EventResult, 0)
	long.Result.Curves = []sweep.Curve{curve("a", 50000), curve("b", 7)}
	long.Result.Stderr = strings.Repeat("é", 50000) + "the end"
	if err := w.Publish(t.Context(), long); err != nil {
		t.Fatalf("a long curve: %v", err)
	}
	if n := len(long.Result.Curves[0].Steps); n != 50000 {
		t.Errorf("the caller's curve was cut to %d points", n)
	}
	got, _ := fetch(t, events(t, w), 1)
	r := got[0].Result
	if a := r.Curves[0]; len(a.Steps) < 1000 || a.Steps[len(a.Steps)-1] != 50000 || a.Values[len(a.Steps)-1] != curve("a", 50000).Values[49999] {
		t.Errorf("thinned to %d points, the last at %d", len(a.Steps), a.Steps[len(a.Steps)-1])
	}
	if !strings.HasSuffix(r.Stderr, "the end") || r.Summary["loss"] != 0.1 {
		t.Errorf("stderr %q, summary %v", r.Stderr, r.Summary)
	}

	var tooLarge *wire.TooLargeError
	huge := event(sweep.EventResult, 1)
	huge.Result.Error = strings.Repeat("x", 70000)
	if err := w.Publish(t.Context(), huge); !errors.As(err, &tooLarge) || tooLarge.Index != 1 {
		t.Errorf("a huge text: %v", err)
	}

	// A job that is too large does not keep the others from the queue.
	jobs := jobsOf(3)
	jobs[1].Parameters = sweep.Parameters{"text": strings.Repeat("x", 70000)}
	if _, err := w.PublishJobs(t.Context(), jobs); !errors.As(err, &tooLarge) || tooLarge.TrialID != jobs[1].TrialID {
		t.Errorf("a huge job: %v", err)
	}
	if n := count(t, w); n != 2 {
		t.Errorf("%d jobs, want the 2 others", n)
	}
}

func TestCancellationsReachEveryWorker(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	type heard struct {
		worker  int
		id      string
		indices []int64
	}
	channel := make(chan heard, 10)
	for i := range 2 {
		unsubscribe, err := w.Cancellations(func(id string, indices []int64) { channel <- heard{i, id, indices} })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unsubscribe() })
	}
	if err := conn.Publish("sweep.cancel.s1", []byte("junk")); err != nil {
		t.Fatal(err)
	}
	if err := w.Cancel("s1", 3, 4); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case h := <-channel:
			if h.id != "s1" || !reflect.DeepEqual(h.indices, []int64{3, 4}) {
				t.Errorf("heard %+v", h)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("not heard within 5 s")
		}
	}
	if n := w.Malformed(); n != 2 {
		t.Errorf("%d counted, want the junk at both", n)
	}
}

// The broker may lose everything it has, and be another one afterwards.
func TestBrokerLostWithItsFiles(t *testing.T) {
	dir := t.TempDir()
	server := wiretest.Run(t, wiretest.Options{Dir: dir, Port: -1})
	w := open(t, server.Connect(t), wire.Options{})
	c, err := w.Jobs(t.Context(), "cpu")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, w, job(0))
	d := next(t, c)
	waiting := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := c.Next(t.Context())
		waiting <- err
	})
	published := make(chan error, 1)

	port := server.Port()
	server.Stop()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wait.Go(func() { published <- w.Publish(t.Context(), event(sweep.EventResult, 0)) })
	wiretest.Run(t, wiretest.Options{Dir: dir, Port: port})
	select {
	case err := <-waiting:
		if !wire.IsLost(err) {
			t.Errorf("Next after the loss: %v; want one that IsLost", err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("Next did not notice the loss within 15 s")
	}
	c.Close()
	if _, err := w.Jobs(t.Context(), "cpu"); !wire.IsLost(err) {
		t.Errorf("Jobs without streams: %v; want one that IsLost", err)
	}
	if err := w.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The event that nobody took is published again until somebody does.
	select {
	case err := <-published:
		if err != nil {
			t.Errorf("Publish: %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("the event was not taken within 15 s")
	}
	bound, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = d.Done(bound) // of a job that nobody knows any more: an error or none, but an end
	publish(t, w, job(0))
	next(t, consumer(t, w, "cpu"))
	wait.Wait()
}

// What the server may say instead of a job: some of it only means to ask again.
func TestAnswersWithoutAJob(t *testing.T) {
	for _, c := range []struct {
		status, description string
		lost, goesOn        bool
	}{
		{status: "404", description: "No Messages", goesOn: true},
		{status: "408", description: "Request Timeout", goesOn: true},
		{status: "409", description: "Server Shutdown", goesOn: true},
		{status: "409", description: "Leadership Change", goesOn: true},
		{status: "409", description: "Consumer Deleted", lost: true},
		{status: "409", description: "Exceeded MaxWaiting"},
		{status: "503", lost: true},
		{status: "400", description: "Bad Request"},
	} {
		t.Run(c.status+" "+c.description, func(t *testing.T) {
			server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir()})
			w := open(t, server.Connect(t), wire.Options{})
			// Somebody who hears the pull requests answers the first of them.
			other := server.Connect(t)
			answered := make(chan error, 1)
			pulls, err := other.Subscribe("$JS.API.CONSUMER.MSG.NEXT.>", func(m *nats.Msg) {
				answered <- other.PublishMsg(&nats.Msg{Subject: m.Reply, Header: nats.Header{"Status": {c.status}, "Description": {c.description}}})
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := pulls.AutoUnsubscribe(1); err != nil {
				t.Fatal(err)
			}
			if err := other.Flush(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			jobs := consumer(t, w, "cpu")
			var wait sync.WaitGroup
			wait.Go(func() {
				if err := <-answered; err != nil {
					t.Error(err)
				}
				if c.goesOn {
					if _, err := w.PublishJobs(ctx, []wire.Job{job(0)}); err != nil {
						t.Error(err)
					}
				}
			})
			d, err := jobs.Next(ctx)
			wait.Wait()
			if c.goesOn && (err != nil || d.TrialID != job(0).TrialID) {
				t.Errorf("Next = %+v, %v; want the job", d, err)
			}
			if !c.goesOn && (err == nil || ctx.Err() != nil || wire.IsLost(err) != c.lost) {
				t.Errorf("Next = %+v, %v; want an error at once, lost: %v", d, err, c.lost)
			}
		})
	}
}

// A consumer that waits while the server restarts gets the next job soon,
// opened again if the server was not ready for it.
func TestBrokerRestarted(t *testing.T) {
	dir := t.TempDir()
	server := wiretest.Run(t, wiretest.Options{Dir: dir, Port: -1})
	w := open(t, server.Connect(t), wire.Options{})
	publish(t, w, job(0))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wait sync.WaitGroup
	defer wait.Wait()
	c := consumer(t, w, "cpu")
	if err := next(t, c).Done(ctx); err != nil {
		t.Fatal(err)
	}
	wait.Go(func() {
		d, err := c.Next(ctx)
		for wire.IsLost(err) && ctx.Err() == nil {
			again, opening := w.Jobs(ctx, "cpu")
			if opening != nil {
				continue
			}
			d, err = again.Next(ctx)
			again.Close()
		}
		if err != nil {
			t.Errorf("Next: %v", err)
		} else if d.Index != 1 {
			t.Errorf("trial %s", d.TrialID)
		}
	})
	port := server.Port()
	server.Stop()
	other := wiretest.Run(t, wiretest.Options{Dir: dir, Port: port})
	publish(t, open(t, other.Connect(t), wire.Options{}), job(1))
}

func TestExecutionsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for range 10000 {
		id := wire.NewExecution()
		if seen[id] {
			t.Fatalf("%s twice", id)
		}
		seen[id] = true
	}
}
