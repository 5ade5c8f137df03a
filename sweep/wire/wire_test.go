package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
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
	if err := w.Setup(t.Context(), cluster, false); err != nil {
		t.Fatal(err)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	return w
}

var cluster = sweep.Cluster{ID: "c1", Database: "test"}

// queue is the one queue of a pool.
func queue(pool string) wire.Queue { return wire.Queue{Pool: pool, Offer: "all"} }

func job(index int64) wire.Job {
	return wire.Job{
		Trial: sweep.Trial{
			TrialID:    sweep.TrialID{Sweep: "s1", Index: index},
			Parameters: sweep.Parameters{"lr": 1e-3, "model": "rnn", "hidden": int64(32)}, Fingerprint: "ab12",
			DatasetDigest: "cd34",
		},
		Requirement: sweep.Requirement{Trainer: "noop", ResultVersion: "1"}, Pool: "cpu", Volatile: []string{"seconds"},
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
	c, err := w.Jobs(queue(pool))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// take waits for a job until ctx ends.
func take(ctx context.Context, c *wire.JobConsumer) (*wire.Delivery, error) {
	for {
		if c.Requested() == 0 {
			if err := c.Request(1); err != nil {
				return nil, err
			}
		}
		if d, err := c.Next(ctx, time.Second); d != nil || err != nil {
			return d, err
		}
	}
}

// patience bounds every wait: the machine may be slow, and busy with other tests.
const patience = sweeptest.Patience

// next waits for a job.
func next(t testing.TB, c *wire.JobConsumer) *wire.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d, err := take(ctx, c)
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
	if d, err := take(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next = %+v, %v; want nothing", d, err)
	}
}

// publish publishes jobs of one pool that are not there yet.
func publish(t testing.TB, w *wire.Wire, jobs ...wire.Job) {
	t.Helper()
	places, err := w.PublishJobs(t.Context(), queue(jobs[0].Pool), jobs)
	if err != nil || slices.Contains(places, 0) {
		t.Fatalf("PublishJobs = %v, %v", places, err)
	}
}

// eventually polls a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	sweeptest.Until(t, what, holds)
}

func count(t testing.TB, w *wire.Wire) int64 {
	t.Helper()
	counts, err := w.JobCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, jobs := range counts {
		n += jobs
	}
	return n
}

func TestSetupIsIdempotentAndKeepsWhatIsThere(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	publish(t, w, jobsOf(3)...)
	updates, err := conn.SubscribeSync("$JS.API.STREAM.UPDATE.>")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.Setup(t.Context(), cluster, false); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, err := updates.Pending(); n != 0 || err != nil {
		t.Errorf("Setup updated %d streams that are as they must be, %v", n, err)
	}
	if n := count(t, w); n != 3 {
		t.Errorf("%d jobs after Setup, want 3", n)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SWEEP_JOBS_cpu", wire.EventsStream} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		if c.Retention != jetstream.WorkQueuePolicy || c.Storage != jetstream.FileStorage {
			t.Errorf("%s: retention %v, storage %v", name, c.Retention, c.Storage)
		}
		if c.Metadata["sweep_cluster"] != cluster.ID || c.Metadata["sweep_database"] != cluster.Database {
			t.Errorf("%s: metadata %v", name, c.Metadata)
		}
		if jobs := name != wire.EventsStream; jobs != (c.DiscardNewPerSubject && c.MaxMsgsPerSubject == 1 &&
			c.Discard == jetstream.DiscardNew) {
			t.Errorf("%s: discard %v, per subject %v, at most %d", name, c.Discard, c.DiscardNewPerSubject,
				c.MaxMsgsPerSubject)
		}
		c.MaxMsgs = 1
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := w.Setup(t.Context(), cluster, false); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Info(t.Context()); err != nil || c.Config.MaxMsgs != -1 {
			t.Errorf("%s: at most %d messages after Setup, %v", name, c.Config.MaxMsgs, err)
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
	if err := d.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, w); n != 0 {
		t.Errorf("%d jobs after Done, want 0", n)
	}
}

// Streams belong to one database; another one is told which, and moves them only
// on purpose.
func TestOtherCluster(t *testing.T) {
	conn := wiretest.Start(t)
	publish(t, open(t, conn, wire.Options{}), jobsOf(2)...)
	w, err := wire.New(conn, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stranger := sweep.Cluster{ID: "c2", Database: "sqlite file elsewhere.db"}
	var other *wire.OtherClusterError
	if err := w.Setup(t.Context(), stranger, false); !errors.As(err, &other) || other.Streams != cluster {
		t.Fatalf("Setup = %v", err)
	}
	for _, want := range []string{"c1", "test", "c2", "elsewhere.db", "--adopt"} {
		if !strings.Contains(other.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, other)
		}
	}
	if n := count(t, w); n != 2 {
		t.Errorf("%d jobs after the refusal, want 2", n)
	}
	if _, err := w.Events(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	if err := w.Setup(t.Context(), stranger, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Events(t.Context(), 1); err != nil { // the terms of another database say nothing
		t.Errorf("Events in the first term of the new database: %v", err)
	}
	if err := w.Setup(t.Context(), cluster, false); !errors.As(err, &other) || other.Streams != stranger {
		t.Errorf("Setup of the first after the move: %v", err)
	}
}

func TestOneJobATrial(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	jobs := jobsOf(5000) // more than one page of publications
	publish(t, w, jobs...)
	places, err := w.PublishJobs(t.Context(), queue("cpu"), jobs)
	if err != nil || slices.ContainsFunc(places, func(p uint64) bool { return p != 0 }) {
		t.Fatalf("PublishJobs again: %v; want all duplicates", err)
	}
	if n := count(t, w); n != int64(len(jobs)) {
		t.Fatalf("%d jobs, want %d", n, len(jobs))
	}
	// A job in a worker's hands is in the queue too; once it is done its place is free.
	d := next(t, consumer(t, w, "cpu"))
	if places, err = w.PublishJobs(t.Context(), queue("cpu"), []wire.Job{d.Job}); err != nil || places[0] != 0 {
		t.Fatalf("PublishJobs of a running trial = %v, %v; want a duplicate", places, err)
	}
	if err := d.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, w, d.Job)
}

func queued(t testing.TB, w *wire.Wire) (list []wire.QueuedJob) {
	t.Helper()
	failed, err := w.QueuedJobs(t.Context(), func(h wire.QueuedJob) { list = append(list, h) })
	if err != nil || len(failed) > 0 {
		t.Fatal(err, failed)
	}
	return list
}

func TestQueuedJobs(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	if list := queued(t, w); len(list) != 0 {
		t.Errorf("%v in an empty queue", list)
	}
	const jobs = 2500 // more than two pages
	places, err := w.PublishJobs(t.Context(), queue("cpu"), jobsOf(jobs))
	if err != nil {
		t.Fatal(err)
	}
	gpu := job(7)
	gpu.Pool, gpu.Sweep = "gpu", "s2"
	if err := w.OpenQueue(t.Context(), queue("gpu")); err != nil {
		t.Fatal(err)
	}
	publish(t, w, gpu)
	c := consumer(t, w, "cpu")
	running, done := next(t, c), next(t, c)
	if err := done.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := map[sweep.TrialID]wire.QueuedJob{}
	for _, h := range queued(t, w) {
		found[h.TrialID] = h
	}
	if len(found) != jobs { // one done, one in the other pool
		t.Errorf("%d jobs, want %d", len(found), jobs)
	}
	if h := found[running.TrialID]; h.Queue != queue("cpu") || h.Sequence != places[running.Index] {
		t.Errorf("the running job: %+v, want place %d", h, places[running.Index])
	}
	if h := found[gpu.TrialID]; h.Queue != queue("gpu") {
		t.Errorf("the job of the other pool: %+v", h)
	}
	if h, there := found[done.TrialID]; there {
		t.Errorf("the job that is done: %+v", h)
	}
}

// What is withdrawn was given to nobody, and what was given out is known, however
// many workers pull meanwhile.
func TestWithdraw(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{AckWait: time.Hour})
	const jobs = 600
	list := jobsOf(jobs)
	for i := range list {
		list[i].Sweep = fmt.Sprint("s", i%3)
	}
	publish(t, w, list...)
	var mu sync.Mutex
	given := map[sweep.TrialID]int{}
	// At most half of the jobs are given out before the withdrawal has ended, however fast the workers are.
	var early atomic.Int64
	withdrawn := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var pulling sync.WaitGroup
	for range 3 {
		c := consumer(t, w, "cpu")
		pulling.Go(func() {
			for ctx.Err() == nil {
				if early.Add(1) > jobs/2 {
					select {
					case <-withdrawn:
					case <-ctx.Done():
					}
				}
				d, err := take(ctx, c)
				if err != nil {
					continue
				}
				mu.Lock()
				given[d.TrialID]++
				mu.Unlock()
			}
		})
	}
	eventually(t, "some jobs are given out", func() bool { mu.Lock(); defer mu.Unlock(); return len(given) > 20 })
	taken, err := w.Withdraw(t.Context(), queue("cpu"), "s0", "s1")
	close(withdrawn)
	if err != nil {
		t.Fatal(err)
	}
	// The rest of s2 goes on.
	eventually(t, "all other jobs are given out", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(given) >= jobs-len(taken)
	})
	cancel()
	pulling.Wait()
	for _, j := range list {
		want := 1
		if slices.Contains(taken, j.TrialID) {
			want = 0
		}
		if given[j.TrialID] != want {
			t.Errorf("job %s was given out %d times, want %d", j.TrialID, given[j.TrialID], want)
		}
	}
	if slices.ContainsFunc(taken, func(id sweep.TrialID) bool { return id.Sweep == "s2" }) {
		t.Error("jobs of the other sweep were withdrawn")
	}
	if len(taken) == 0 {
		t.Error("nothing was left to withdraw")
	}
	for _, j := range queued(t, w) {
		if slices.Contains(taken, j.TrialID) {
			t.Errorf("the job of trial %s was withdrawn and is still there", j.TrialID)
		}
	}
}

// The jobs of another sweep that a withdrawal returns to their queue are there when it ends.
func TestWithdrawOneAfterTheOther(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	for round := range 200 {
		list := jobsOf(10)
		for i := range list {
			list[i].Sweep = fmt.Sprint("s", i%2)
		}
		publish(t, w, list...)
		for _, step := range []struct {
			sweep string
			jobs  int
		}{{"other", 0}, {"s0", 5}, {"other", 0}, {"s1", 5}} {
			taken, err := w.Withdraw(t.Context(), queue("cpu"), step.sweep)
			if err != nil {
				t.Fatal(err)
			}
			if len(taken) != step.jobs {
				t.Fatalf("round %d: %d jobs of sweep %s were withdrawn, want %d", round, len(taken), step.sweep, step.jobs)
			}
		}
	}
}

// A consumer hears of a job a moment after the job is confirmed: what was just published
// is withdrawn all the same.
func TestWithdrawAtOnce(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	for round := range 500 {
		list := jobsOf(10)
		publish(t, w, list...)
		taken, err := w.Withdraw(t.Context(), queue("cpu"), list[0].Sweep)
		if err != nil {
			t.Fatal(err)
		}
		if len(taken) != len(list) {
			t.Fatalf("round %d: %d of %d jobs were withdrawn", round, len(taken), len(list))
		}
	}
}

func TestRemove(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	if err := w.RemoveJobs(t.Context(), "nowhere", "s1"); err != nil {
		t.Errorf("a pool without a stream: %v", err)
	}
	other := job(0)
	other.Sweep = "s2"
	publish(t, w, append(jobsOf(4), other)...)
	running, removed := next(t, consumer(t, w, "cpu")), jobOf(t, w, job(3).TrialID)
	for range 2 { // again, it is gone
		if err := w.RemoveJob(t.Context(), removed); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, w); n != 4 {
		t.Errorf("%d jobs after one was removed, want 4", n)
	}
	if err := w.RemoveJobs(t.Context(), "cpu", "s1"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, w); n != 1 {
		t.Errorf("%d jobs after those of a sweep were removed, want 1", n)
	}
	if err := running.DoubleAck(t.Context()); err != nil {
		t.Errorf("Done of a removed job: %v", err)
	}
	publish(t, w, job(running.Index))
	if err := w.RemoveQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, w); n != 0 {
		t.Errorf("%d jobs after their queue was removed", n)
	}
	if _, err := take(t.Context(), consumer(t, w, "cpu")); !wire.IsLost(err) {
		t.Errorf("a queue that was removed: %v", err)
	}
	if err := w.ResetJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	publish(t, w, job(running.Index))
}

// A queue that is opened again keeps what its operator has changed.
func TestOpenQueueKeepsSettings(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.Consumer(t.Context(), "SWEEP_JOBS_cpu", "all")
	if err != nil {
		t.Fatal(err)
	}
	config := c.CachedInfo().Config
	config.MaxAckPending = 77
	if _, err := js.UpdateConsumer(t.Context(), "SWEEP_JOBS_cpu", config); err != nil {
		t.Fatal(err)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	if c, err = js.Consumer(t.Context(), "SWEEP_JOBS_cpu", "all"); err != nil ||
		c.CachedInfo().Config.MaxAckPending != 77 {
		t.Errorf("max_ack_pending %d, %v", c.CachedInfo().Config.MaxAckPending, err)
	}
}

func TestQueuesAreSeparate(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	gpu := job(1)
	gpu.Pool = "gpu"
	if err := w.OpenQueue(t.Context(), queue("gpu")); err != nil {
		t.Fatal(err)
	}
	second := wire.Queue{Pool: "cpu", Offer: "second"}
	if err := w.OpenQueue(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	publish(t, w, job(0))
	publish(t, w, gpu)
	if _, err := w.PublishJobs(t.Context(), second, []wire.Job{job(2)}); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[wire.Queue]int64{queue("cpu"): 0, queue("gpu"): 1, second: 2} {
		c, err := w.Jobs(q)
		if err != nil {
			t.Fatal(err)
		}
		if d := next(t, c); d.Index != want {
			t.Errorf("queue %s gives trial %s", q, d.TrialID)
		}
		c.Close()
	}
}

func TestRedeliveryAfterAckWait(t *testing.T) {
	t.Parallel()
	const ackWait = 2 * time.Second // the first holder may stand still for most of it
	w := open(t, wiretest.Start(t), wire.Options{AckWait: ackWait})
	publish(t, w, job(0))
	first, second := consumer(t, w, "cpu"), consumer(t, w, "cpu")
	heard, d := time.Now(), next(t, first)
	if err := d.InProgress(); err != nil {
		t.Fatal(err)
	}
	sure := true                                           // that the server has heard of the progress often enough
	for begin := heard; time.Since(begin) < 3*ackWait/2; { // in progress for longer than AckWait
		ctx, cancel := context.WithTimeout(t.Context(), ackWait/5)
		taken, err := take(ctx, second)
		cancel()
		if silent := time.Since(heard); taken != nil && sure && silent < ackWait {
			t.Fatalf("redelivered %s, which was in progress %v ago", taken.TrialID, silent)
		}
		if taken != nil { // the machine stood still for so long: from the beginning
			begin, d, sure = time.Now(), taken, true
			first, second = second, first
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		before := heard
		heard = time.Now()
		if err := d.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		sure = sure && time.Since(before) < ackWait
	}
	again := next(t, second) // and silent
	if silent := time.Since(heard); again.TrialID != d.TrialID || sure && silent < ackWait {
		t.Errorf("redelivered %s after %v", again.TrialID, silent)
	}
	if err := again.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.DoubleAck(t.Context()); err != nil { // the store sorts this out
		t.Errorf("the old holder's Done: %v", err)
	}
}

func TestLater(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{AckWait: time.Hour})
	publish(t, w, job(0))
	c := consumer(t, w, "cpu")
	const delay = 300 * time.Millisecond
	begin := time.Now()
	if err := next(t, c).NakWithDelay(delay); err != nil {
		t.Fatal(err)
	}
	next(t, c)
	if waited := time.Since(begin); waited < delay {
		t.Errorf("came again after %v, want %v", waited, delay)
	}
}

// A consumer that is closed while it waits leaves nothing behind: the next job
// reaches another consumer at once, not after AckWait.
func TestCloseLosesNothing(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	for i := range int64(30) {
		c, err := w.Jobs(queue("cpu"))
		if err != nil {
			t.Fatal(err)
		}
		// The job is published while the pull is given up: either may be first.
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() { publish(t, w, job(i)) })
		wait.Go(cancel)
		d, err := take(ctx, c)
		wait.Wait()
		c.Close()
		if err != nil {
			d = next(t, consumer(t, w, "cpu"))
		}
		if d.Index != i {
			t.Fatalf("round %d: trial %s", i, d.TrialID)
		}
		if err := d.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Several jobs come for one request, and what was asked for and not taken goes
// back when the consumer closes.
func TestAskForSeveral(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	first, err := w.Jobs(queue("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, w, jobsOf(7)...)
	if err := first.Request(4); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		d, err := first.Next(t.Context(), patience)
		if err != nil || d == nil || d.Index != i {
			t.Fatalf("job %d: %+v, %v", i, d, err)
		}
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if n := first.Requested(); n != 1 {
		t.Errorf("%d jobs owed, want 1", n)
	}
	first.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	// A consumer hears of a job a moment after the job is confirmed.
	eventually(t, "the consumer knows of the other jobs", func() bool {
		known, err := js.Consumer(t.Context(), "SWEEP_JOBS_cpu", "all")
		return err == nil && known.CachedInfo().NumPending >= 3
	})
	second := consumer(t, w, "cpu")
	if err := second.RequestNow(100); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for {
		d, err := second.Next(t.Context(), patience)
		if err != nil {
			t.Fatal(err)
		}
		if d == nil {
			break
		}
		got = append(got, d.Index)
	}
	if second.Requested() != 0 || len(got) < 3 {
		t.Errorf("got %v at once, %d owed", got, second.Requested())
	}
	if len(got) == 3 { // the one that was given back comes after its delay
		got = append(got, next(t, second).Index)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int64{3, 4, 5, 6}) {
		t.Errorf("another consumer gets %v, want what is left", got)
	}
}

// A request is bounded in bytes: of large jobs a few come at a time.
func TestJobsAreBoundedInBytes(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	jobs := jobsOf(8)
	for i := range jobs {
		jobs[i].Parameters = sweep.Parameters{"text": strings.Repeat("x", 400_000)}
	}
	publish(t, w, jobs...)
	c := consumer(t, w, "cpu")
	if err := c.Request(8); err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		d, err := c.Next(t.Context(), patience)
		if err != nil {
			t.Fatal(err)
		}
		if d == nil {
			break
		}
		n++
	}
	if n == 0 || n > 3 || c.Requested() != 0 {
		t.Errorf("%d jobs of 400 kB came, %d are owed", n, c.Requested())
	}
}

func TestTokens(t *testing.T) {
	for name, valid := range map[string]bool{
		"cpu": true, "a-b_c": true, "größe": true, strings.Repeat("x", 128): true,
		"": false, "a.b": false, "*": false, ">": false, "a b": false, "a\n": false, "a/b": false, `a\b`: false,
		"\x7f": false, "a\xff": false, strings.Repeat("x", 129): false,
	} {
		if err := wire.CheckToken("pool", name); (err == nil) != valid {
			t.Errorf("CheckToken(%q) = %v", name, err)
		}
	}
	w := open(t, wiretest.Start(t), wire.Options{})
	if _, err := w.Jobs(queue("a.b")); err == nil {
		t.Error("Jobs takes a pool a.b")
	}
	if err := w.OpenQueue(t.Context(), queue("a.b")); err == nil {
		t.Error("OpenQueue takes a pool a.b")
	}
	bad := job(0)
	bad.Sweep = "*"
	if _, err := w.PublishJobs(t.Context(), queue("cpu"), []wire.Job{bad}); err == nil {
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
	const head = `"requirement":{"trainer":"noop"},"pool":"cpu"`
	bad := map[string]string{
		"0":   "not json",
		"2":   `{"version":5,"sweep":"s1","index":3,` + head + `}`,
		"3":   `{"version":5,"sweep":"s1","index":3,"pool":"cpu"}`,
		"4":   `{"version":5,"sweep":"s1","index":4,"requirement":{"trainer":"noop"},"pool":"gpu"}`,
		"x":   `{"version":5,"sweep":"s1","index":0,` + head + `}`,
		"5.6": `{"version":5,"sweep":"s1","index":5,` + head + `}`,
		"7":   ``,
		"8":   `{"sweep":"s1","index":8,` + head + `}`,
		"9":   `{"version":5,"sweep":"s1","index":9,` + head + `,"parameters":[1]}`,
		"10":  `{"version":5,"sweep":"s1","index":10,` + head + `,"limits":{"timeout":-1}}`,
		"11":  `{"version":1,"sweep":"s1","index":11,` + head + `}`,
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	for index, data := range bad {
		if _, err := js.Publish(t.Context(), "sweep.work.cpu.all.s1."+index, []byte(data)); err != nil {
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
	for _, want := range []string{"job of version 1", "sweep.work.cpu.all.s1.0"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not mention %q", want)
		}
	}
}

// What a newer program wrote stays for those who know it.
func TestNewerMessagesAreLeft(t *testing.T) {
	conn := wiretest.Start(t)
	var log bytes.Buffer
	w := open(t, conn, wire.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	for subject, data := range map[string]string{
		"sweep.work.cpu.all.s1.0":  `{"version":6,"sweep":{"of":"another form"}}`,
		"sweep.events.cpu.worker1": `{"version":6,"events":7}`,
	} {
		if _, err := js.Publish(t.Context(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	newer := consumer(t, w, "cpu")
	eventually(t, "the newer job is refused", func() bool {
		none(t, newer, 50*time.Millisecond)
		return strings.Contains(log.String(), "of version 6")
	})
	c := events(t, w)
	if batch, err := c.Fetch(t.Context(), 50*time.Millisecond); err != nil || len(batch.Events)+len(batch.Bad) != 0 {
		t.Errorf("Fetch = %+v, %v", batch, err)
	}
	if n := count(t, w); n != 1 {
		t.Errorf("%d jobs, want the newer one", n)
	}
	if n, err := w.EventCount(t.Context()); err != nil || n != 1 {
		t.Errorf("%d events, %v; want the newer one", n, err)
	}
	if w.Malformed() != 0 {
		t.Errorf("%d malformed; log %s", w.Malformed(), &log)
	}
}

// Through a leaf node with a JetStream of its own, coordinator and worker use that of the
// domain they are told.
func TestDomain(t *testing.T) {
	hub, leaf := wiretest.Leaf(t)
	at := open(t, hub.Connect(t), wire.Options{})
	far := open(t, leaf.Connect(t), wire.Options{Domain: "hub"})
	publish(t, far, job(1), job(2))
	if list := queued(t, far); len(list) != 2 {
		t.Errorf("the list of jobs is %v, want two", list)
	}
	if n := count(t, at); n != 2 {
		t.Fatalf("%d jobs in the hub's domain, want 2", n)
	}
	d := next(t, consumer(t, far, "cpu"))
	if d.Redelivered() {
		t.Error("a job that was never delivered counts as delivered again")
	}
	if err := d.DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
	if n := count(t, at); n != 1 {
		t.Errorf("%d jobs in the hub's domain after one was done, want 1", n)
	}
	report(t, far, event(sweep.EventStarted, 1))
	_, batches := fetch(t, events(t, far), 1)
	if err := batches[0].Ack(); err != nil {
		t.Error(err)
	}
	eventually(t, "the event to be acknowledged", func() bool {
		n, err := at.EventCount(t.Context())
		return err == nil && n == 0
	})
	if _, err := wire.New(hub.Connect(t), wire.Options{Domain: "a.b"}); err == nil ||
		!strings.Contains(err.Error(), "a.b") {
		t.Errorf("a domain with a dot: %v", err)
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
		Kind: kind, TrialID: sweep.TrialID{Sweep: "s1", Index: index},
		Execution: fmt.Sprintf("e%d", index), Worker: "w",
		Time: time.Date(2026, 11, 21, 5, 0, 0, 123456789, time.UTC),
	}
	switch kind {
	case sweep.EventPoints:
		e.Curves = []sweep.Curve{curve("loss", 10)}
	case sweep.EventCheckpoint:
		e.Checkpoint = 12
	case sweep.EventResult:
		e.Result = &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": 0.1},
			Curves: []sweep.Curve{curve("loss", 10)}, Digest: "d"}
	case sweep.EventReleased:
		e.Release = &sweep.Release{Charged: true, Reason: "died", Stderr: "panic"}
	case sweep.EventRefused:
		e.Refusal = &sweep.Refusal{Reason: "no such trainer"}
	}
	return e
}

func events(t testing.TB, w *wire.Wire) *wire.EventConsumer {
	t.Helper()
	c, err := w.Events(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// report publishes events as worker w1 of pool cpu.
func report(t testing.TB, w *wire.Wire, events ...sweep.Event) {
	t.Helper()
	if err := w.Publish(t.Context(), "cpu", "w1", events...); err != nil {
		t.Fatal(err)
	}
}

// fetch gathers events until n have come.
func fetch(t testing.TB, c *wire.EventConsumer, n int) (got []sweep.Event, batches []*wire.EventBatch) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(got) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d events within %v, want %d", len(got), patience, n)
		}
		b, err := c.Fetch(t.Context(), 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		got, batches = append(got, b.Events...), append(batches, b)
	}
	return got, batches
}

func TestEventsArriveInOrder(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	kinds := []sweep.EventKind{sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint, sweep.EventReleased,
		sweep.EventRefused}
	var want []sweep.Event
	for _, k := range kinds {
		want = append(want, event(k, 0))
		report(t, w, event(k, 0))
	}
	// Events of several executions in one message.
	several := []sweep.Event{event(sweep.EventStarted, 1), event(sweep.EventResult, 1), event(sweep.EventResult, 2)}
	want = append(want, several...)
	report(t, w, several...)
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

// A coordinator that takes over gets what the one before had not acknowledged,
// at once; and that one, should it still be there, touches nothing of the new.
func TestCollectorsOfSuccessiveTerms(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	for i := range int64(20) {
		report(t, w, event(sweep.EventResult, i))
	}
	first := events(t, w)
	fetch(t, first, 20)
	second, err := w.Events(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got, _ := fetch(t, second, 20); got[0].Index != 0 || got[19].Index != 19 {
		t.Errorf("from trial %s to %s", got[0].TrialID, got[19].TrialID)
	}
	var superseded *wire.SupersededError
	if _, err := w.Events(t.Context(), 1); !errors.As(err, &superseded) || superseded.Later != 2 {
		t.Errorf("Events of the first term: %v", err)
	}
	eventually(t, "the first hears that it is lost", func() bool {
		batch, err := first.Fetch(t.Context(), 50*time.Millisecond)
		if err != nil && !wire.IsLost(err) || len(batch.Events) > 0 {
			t.Fatalf("Fetch of the first: %+v, %v", batch, err)
		}
		return err != nil
	})
	report(t, w, event(sweep.EventResult, 20))
	if got, _ := fetch(t, second, 1); got[0].Index != 20 {
		t.Errorf("the second gets trial %s", got[0].TrialID)
	}
	// Whoever leads next learns the term, also with a database that knows of neither.
	if term, err := w.Term(t.Context()); err != nil || term != 2 {
		t.Errorf("Term = %d, %v", term, err)
	}
	if err := w.ForgetTerms(t.Context()); err != nil {
		t.Fatal(err)
	}
	if term, err := w.Term(t.Context()); err != nil || term != 0 {
		t.Errorf("Term = %d, %v, after it was forgotten", term, err)
	}
}

// A batch is bounded in number and bytes, and says whether there may be more.
func TestFetchIsBounded(t *testing.T) {
	w := open(t, wiretest.Start(t), wire.Options{})
	large := event(sweep.EventResult, 0)
	large.Result.Curves = []sweep.Curve{curve("a", 60_000)}
	const messages = 40
	for i := range int64(messages) {
		large.Index, large.Execution = i, fmt.Sprint("e", i)
		report(t, w, large)
	}
	c := events(t, w)
	batch, err := c.Fetch(t.Context(), time.Second)
	if err != nil || !batch.Full || len(batch.Events) == 0 || len(batch.Events) > 25 {
		t.Fatalf("%d events of about 400 kB, full: %v, %v", len(batch.Events), batch.Full, err)
	}
	for n := len(batch.Events); n < messages; n += len(batch.Events) {
		if batch, err = c.Fetch(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if batch.Full {
		t.Error("the last batch says that there is more")
	}
}

// The server says that a pull is completed after its last message, so that the next pull reads it.
// It does not mean that this one ended at its limit of bytes.
func TestCompletedPullLeavesTheNextAlone(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	c := events(t, w)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for round := range int64(3) {
		fetched := make(chan error, 1)
		go func() {
			batch, err := c.Fetch(t.Context(), time.Minute)
			if err == nil {
				err = batch.Ack()
			}
			fetched <- err
		}()
		eventually(t, "a pull that waits", func() bool {
			stream, err := js.Stream(t.Context(), wire.EventsStream)
			if err != nil {
				return false
			}
			for info := range stream.ListConsumers(t.Context()).Info() {
				if info.NumWaiting > 0 {
					return true
				}
			}
			return false
		})
		report(t, w, event(sweep.EventResult, 100*round+99))
		if err := <-fetched; err != nil {
			t.Fatal(err)
		}
		const messages = 31
		for i := range int64(messages) {
			report(t, w, event(sweep.EventResult, 100*round+i))
		}
		batch, err := c.Fetch(t.Context(), time.Second) // the server has answered, so its word has arrived
		if err != nil || len(batch.Events) != messages || batch.Full {
			t.Errorf("%d events, full: %v, %v", len(batch.Events), batch.Full, err)
		}
		if err := batch.Ack(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whether there may be more is told by the messages, however many events each has.
func TestFullCountsMessages(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	c := events(t, w)
	for i := range int64(300) { // fewer messages than are asked for, more events
		first, second := event(sweep.EventResult, 2*i), event(sweep.EventResult, 2*i+1)
		report(t, w, first, second)
	}
	batch, err := c.Fetch(t.Context(), time.Second)
	if err != nil || len(batch.Events) != 600 || batch.Full {
		t.Errorf("%d events, full: %v, %v", len(batch.Events), batch.Full, err)
	}
	if err := batch.Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "acknowledged events are gone", func() bool {
		n, err := w.EventCount(t.Context())
		return err == nil && n == 0
	})
	for range 600 { // more messages, and hardly an event
		if err := conn.Publish("sweep.events.cpu.w1", []byte("{")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all messages to be there", func() bool {
		n, err := w.EventCount(t.Context())
		return err == nil && n == 600
	})
	if batch, err = c.Fetch(t.Context(), time.Second); err != nil || len(batch.Events) != 0 || !batch.Full {
		t.Errorf("%d events, full: %v, %v", len(batch.Events), batch.Full, err)
	}
}

// Curves arrive as they were sent, those of events and of results, of one step pattern
// and of several, whole and in part.
func TestSamples(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	sent := []sweep.Event{event(sweep.EventStarted, 0), event(sweep.EventPoints, 0), event(sweep.EventResult, 0),
		event(sweep.EventResult, 1)}
	part := curve("part", 3)
	part.Offset = 7
	sparse := sweep.Curve{Metric: "sparse", Steps: []int64{-5, 1 << 40}, Values: []float32{float32(math.Inf(1)), -0.5}}
	sent[1].Curves = []sweep.Curve{curve("loss", 10), curve("error", 10), part,
		{Metric: "none", Steps: []int64{}, Values: []float32{}}, sparse, curve("last", 10)}
	sent[2].Result.Curves = []sweep.Curve{sparse, curve("loss", 2)}
	sent[3].Result.Curves = nil
	before := slices.Clone(sent[1].Curves)
	c := events(t, w)
	report(t, w, sent...)
	if got, _ := fetch(t, c, len(sent)); !reflect.DeepEqual(got, sent) || !reflect.DeepEqual(before, sent[1].Curves) {
		t.Errorf("got  %+v\nwant %+v", got, sent)
	}
}

// A message that cannot be read is ended; an event that no store could take is
// told apart from its neighbours.
func TestMalformedEvents(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	head := `{"version":5,"pool":"cpu","events":[{"sweep":"s1","index":0,"execution":"e","worker":"w","time":"2026-11-21T05:00:00Z",`
	unreadable := []string{
		``, `{`, `[]`, `"x"`, `{"version":1`, `{"version":5,"events":"other"}`, `{"events":[]}`,
		`{"version":5,"pool":"gpu","events":[]}`, `{"version":5,"events":[]}`, `{"version":4,"pool":"cpu","events":[]}`,
		head + `"kind":"points","curves":[{"metric":"m","steps":"Ag==","values":"AAAA"}]}]}`,
		head + `"kind":"points","curves":[{"metric":"m","steps":"AgIC","values":"AACAPw=="}]}]}`,
		strings.Repeat(`{"a":`, 20000),
		`{"version":5,"pool":"cpu","events":[],"samples":"AAEA"}`,        // of an event that there is not
		head + `"kind":"points"}],"samples":"AQEBbQABAQIAAIA/"}`,         // of a result that there is not
		head + `"kind":"points"}],"samples":"AAEBbQABAQIAAIA"}`,          // no base64
		head + `"kind":"points"}],"samples":"AAEBbQABAQIAAA=="}`,         // ends too early
		head + `"kind":"points"}],"samples":"AAEBbQACAQIAAIA/AACAPw=="}`, // two values for one step
		head + `"kind":"points"}],"samples":"AP///////////w8="}`,         // very many
	}
	bad := []string{
		head + `"kind":"strange"}]}`,
		head + `"kind":"result"}]}`,
		head + `"kind":"result","result":{"state":"running"}}]}`,
		head + `"kind":"released"}]}`,
		head + `"kind":"refused"}]}`,
		head + `"kind":"points","curves":[{"metric":"m\u0000","steps":"","values":""}]}]}`,
		head + `"kind":"points","curves":[{"metric":"` + strings.Repeat("m", 3000) + `","steps":"","values":""}]}]}`,
		head + `"kind":"result","result":{"state":"completed","summary":{"a\nb":1}}}]}`,
		strings.Replace(head, `"index":0`, `"index":-1`, 1) + `"kind":"started"}]}`,
		strings.Replace(head, `"sweep":"s1"`, `"sweep":"*"`, 1) + `"kind":"started"}]}`,
		strings.Replace(head, `"execution":"e",`, ``, 1) + `"kind":"started"}]}`,
	}
	for _, data := range append(unreadable, bad...) {
		if err := conn.Publish("sweep.events.cpu.w1", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Publish("sweep.events.x", []byte(strings.Replace(head, "2", "1", 1)+`"kind":"started"}]}`)); err != nil {
		t.Fatal(err)
	}
	// Texts lose their NUL characters, which databases refuse; a bad event does not
	// take its neighbours with it.
	nul, long := event(sweep.EventReleased, 0), event(sweep.EventResult, 1)
	nul.Release = &sweep.Release{Reason: "a\x00b", Stderr: "\x00"}
	long.Result.Summary = map[string]float64{strings.Repeat("m", 3000): 1}
	report(t, w, long, nul)
	got, batches := fetch(t, events(t, w), 1)
	if len(got) != 1 || got[0].Release == nil || got[0].Release.Reason != "ab" || got[0].Release.Stderr != "" {
		t.Errorf("got %+v", got)
	}
	told := 0
	for _, b := range batches {
		told += len(b.Bad)
		for _, e := range b.Bad {
			if e.Err == nil {
				t.Errorf("event %+v without what is wrong with it", e)
			}
		}
		if err := b.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if told != len(bad)+1 || w.Malformed() != int64(len(unreadable)+1+len(bad)+1) {
		t.Errorf("%d bad events, want %d; %d counted, want %d", told, len(bad)+1, w.Malformed(),
			len(unreadable)+1+len(bad)+1)
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
	report(t, w, long)
	if n := len(long.Result.Curves[0].Steps); n != 50000 {
		t.Errorf("the caller's curve was cut to %d points", n)
	}
	got, _ := fetch(t, events(t, w), 1)
	r := got[0].Result
	if a := r.Curves[0]; len(a.Steps) < 1000 || a.Steps[len(a.Steps)-1] != 50000 ||
		a.Values[len(a.Steps)-1] != curve("a", 50000).Values[49999] {
		t.Errorf("thinned to %d points, the last at %d", len(a.Steps), a.Steps[len(a.Steps)-1])
	}
	if !strings.HasSuffix(r.Stderr, "the end") || r.Summary["loss"] != 0.1 {
		t.Errorf("stderr %q, summary %v", r.Stderr, r.Summary)
	}

	var tooLarge *wire.TooLargeError
	huge := event(sweep.EventResult, 1)
	huge.Result.Error = strings.Repeat("x", 70000)
	if err := w.Publish(t.Context(), "cpu", "w1", huge); !errors.As(err, &tooLarge) || tooLarge.Index != 1 {
		t.Errorf("a huge text: %v", err)
	}

	// One that is too large does not keep its neighbours from the collector, and
	// together they may be more than a message takes.
	neighbours := []sweep.Event{event(sweep.EventStarted, 2), event(sweep.EventResult, 2), huge,
		event(sweep.EventResult, 3), event(sweep.EventResult, 4)}
	neighbours[1].Result.Error, neighbours[3].Result.Error = strings.Repeat("y", 40000), strings.Repeat("z", 40000)
	if large, rest := wire.TooLarge(w.Publish(t.Context(), "cpu", "w1", neighbours...)); len(large) != 1 ||
		large[0].Index != 1 || rest != nil {
		t.Errorf("too large: %v; rest %v", large, rest)
	}
	got, _ = fetch(t, events(t, w), 5)
	seen := map[int64]int{}
	for _, e := range got[1:] {
		seen[e.Index]++
	}
	if seen[2] != 2 || seen[3] != 1 || seen[4] != 1 || len(got) != 5 {
		t.Errorf("events of trials %v", seen)
	}

	// A job that is too large does not keep the others from the queue.
	jobs := jobsOf(3)
	jobs[1].Parameters = sweep.Parameters{"text": strings.Repeat("x", 70000)}
	if _, err := w.PublishJobs(t.Context(), queue("cpu"), jobs); !errors.As(err, &tooLarge) ||
		tooLarge.TrialID != jobs[1].TrialID {
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
		unsubscribe, err := w.Cancellations(func(id string, indices []int64, _ map[int64]wire.Halt) { channel <- heard{i, id, indices} })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(unsubscribe)
	}
	if err := conn.Publish("sweep.cancel.s1", []byte("junk")); err != nil {
		t.Fatal(err)
	}
	if err := w.Cancel("s1", 3, 4); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if h := sweeptest.Receive(t, "the cancellation", channel); h.id != "s1" ||
			!reflect.DeepEqual(h.indices, []int64{3, 4}) {
			t.Errorf("heard %+v", h)
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
	c, err := w.Jobs(queue("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, w, job(0))
	d := next(t, c)
	waiting := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := take(t.Context(), c)
		waiting <- err
	})
	published := make(chan error, 1)

	port := server.Port()
	server.Stop()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wait.Go(func() { published <- w.Publish(t.Context(), "cpu", "w1", event(sweep.EventResult, 0)) })
	wiretest.Run(t, wiretest.Options{Dir: dir, Port: port})
	if err := sweeptest.Receive(t, "Next to notice the loss", waiting); !wire.IsLost(err) && !wire.IsReconnect(err) {
		t.Errorf("Next after the loss: %v; want one that IsLost or IsReconnect", err)
	}
	c.Close()
	for err = errors.New("not yet"); !wire.IsLost(err); {
		// The connection may be restored only now.
		if _, err = take(t.Context(), consumer(t, w, "cpu")); !wire.IsLost(err) && !wire.IsReconnect(err) {
			t.Fatalf("jobs without streams: %v; want an error that IsLost", err)
		}
	}
	if err := w.Setup(t.Context(), cluster, false); err != nil {
		t.Fatal(err)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	// The event that nobody took is published again until somebody does.
	if err := sweeptest.Receive(t, "the end of Publish", published); err != nil {
		t.Errorf("Publish: %v", err)
	}
	bound, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = d.DoubleAck(bound) // of a job that nobody knows any more: an error or none, but an end
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
				answered <- other.PublishMsg(&nats.Msg{Subject: m.Reply,
					Header: nats.Header{"Status": {c.status}, "Description": {c.description}}})
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := pulls.AutoUnsubscribe(1); err != nil {
				t.Fatal(err)
			}
			if err := other.FlushTimeout(patience); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			jobs := consumer(t, w, "cpu")
			var wait sync.WaitGroup
			wait.Go(func() {
				if err := <-answered; err != nil {
					t.Error(err)
				}
				if c.goesOn {
					if _, err := w.PublishJobs(ctx, queue("cpu"), []wire.Job{job(0)}); err != nil {
						t.Error(err)
					}
				}
			})
			d, err := take(ctx, jobs)
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wait sync.WaitGroup
	defer wait.Wait()
	c := consumer(t, w, "cpu")
	if err := next(t, c).DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	wait.Go(func() {
		d, err := take(ctx, c)
		for (wire.IsLost(err) || wire.IsReconnect(err)) && ctx.Err() == nil {
			again, opening := w.Jobs(queue("cpu"))
			if opening != nil {
				continue
			}
			d, err = take(ctx, again)
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
