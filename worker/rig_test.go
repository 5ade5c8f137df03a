package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
)

// patience bounds every wait of the tests: the machine may be slow, and busy with others.
const patience = sweeptest.Patience

// rig is a server, what a coordinator does with it, and a fake launcher.
type rig struct {
	t        testing.TB
	wire     *wire.Wire
	launcher *launcher
	events   *wire.EventConsumer
	term     int64
	// offer is what the worker is expected to offer: its key names the queue.
	offer sweep.Offer
	// adjust, if set, changes the settings of a worker before it runs.
	adjust func(*worker.Worker)

	mu sync.Mutex
	// heartbeats are those that workers sent; answer is what they are sent.
	heartbeats []wire.Heartbeat
	answer     wire.HeartbeatAnswer
	// seen are the events so far.
	seen []sweep.Event
}

func newRig(t testing.TB, train behaviour) *rig {
	t.Helper()
	return rigOver(t, wiretest.Start(t), train)
}

func rigOver(t testing.TB, conn *nats.Conn, train behaviour) *rig {
	t.Helper()
	return rigOn(t, openWire(t, conn), train)
}

func rigOn(t testing.TB, w *wire.Wire, train behaviour) *rig {
	t.Helper()
	r := &rig{t: t, wire: w, launcher: &launcher{train: train}, offer: fakeOffer()}
	r.setup()
	r.serveHeartbeats()
	return r
}

// fakeOffer is what a worker offers that has the fake launcher.
func fakeOffer() sweep.Offer {
	o := sweep.Offer{Pool: sweep.DefaultPool}
	for _, name := range fakeTrainers {
		o.Trainers = append(o.Trainers, sweep.TrainerOffer{Name: name, ResultVersion: "1"})
	}
	return o
}

// serveHeartbeats does what a coordinator does when it hears of a worker.
func (r *rig) serveHeartbeats() {
	r.t.Helper()
	stop, err := r.wire.ServeHeartbeats(func(b wire.Heartbeat) *wire.HeartbeatAnswer {
		q := wire.Queue{Pool: b.Pool, Offer: b.Offer.Key()}
		go func() { _ = r.wire.OpenQueue(r.t.Context(), q) }() // the streams may be lost
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heartbeats = append(r.heartbeats, b)
		answer := r.answer
		return &answer
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(stop)
}

// last heartbeat of a worker, and whether there was one.
func (r *rig) lastHeartbeat() (wire.Heartbeat, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.heartbeats) == 0 {
		return wire.Heartbeat{}, false
	}
	return r.heartbeats[len(r.heartbeats)-1], true
}

func (r *rig) queueName() wire.Queue {
	return wire.Queue{Pool: r.offer.Pool, Offer: r.offer.Key()}
}

// openWire has the AckWait of earnest: on a machine that stands still for some seconds
// no job is delivered twice.
func openWire(t testing.TB, conn *nats.Conn) *wire.Wire {
	t.Helper()
	return openWireOf(t, conn, wire.DefaultAckWait)
}

func openWireOf(t testing.TB, conn *nats.Conn, ackWait time.Duration) *wire.Wire {
	t.Helper()
	w, err := wire.New(conn, wire.Options{AckWait: ackWait, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// logger writes to the test's log.
func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// setup creates the streams, again if they were lost, and opens the events. The server may answer late, or
// refuse while it still removes the files of lost streams.
func (r *rig) setup() {
	r.t.Helper()
	eventually(r.t, "streams and their queue", func() bool { return r.answered(r.open()) })
}

// answered reports whether there is no error, which it logs.
func (r *rig) answered(err error) bool {
	if err != nil {
		r.t.Log(err)
	}
	return err == nil
}

// open makes the streams and the queue, as a coordinator does that begins a term.
func (r *rig) open() error {
	r.term++
	err := r.wire.Setup(r.t.Context(), sweep.Cluster{ID: "c"}, false)
	if err == nil {
		err = r.wire.OpenQueue(r.t.Context(), r.queueName())
	}
	if err == nil {
		r.events, err = r.wire.Events(r.t.Context(), r.term)
	}
	return err
}

// job is the job of a trial of sweep s.
func job(index int64) wire.Job {
	return wire.Job{
		Trial: sweep.Trial{
			TrialID: sweep.TrialID{Sweep: "s", Index: index}, Parameters: sweep.Parameters{"x": index},
			Fingerprint: sweep.NewFingerprint("fake", "1", "", fmt.Append(nil, index)),
		},
		Requirement: sweep.Requirement{Trainer: "fake", ResultVersion: "1"}, Pool: sweep.DefaultPool,
		Volatile: []string{"seconds"}, Limits: sweep.Limits{Attempts: 3, Points: 1000},
	}
}

func jobs(n int64) []wire.Job {
	var list []wire.Job
	for i := range n {
		list = append(list, job(i))
	}
	return list
}

func (r *rig) publish(jobs ...wire.Job) {
	r.t.Helper()
	again := false // after an error, and then the server may have the jobs
	eventually(r.t, "the jobs published", func() bool {
		places, err := r.wire.PublishJobs(r.t.Context(), r.queueName(), jobs)
		if err == nil && !again && slices.Contains(places, 0) {
			r.t.Fatalf("places %v", places)
		}
		again = true
		return r.answered(err)
	})
}

// run is a running worker.
type run struct {
	*worker.Worker
	t    testing.TB
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs a worker, with one slot unless options say otherwise; the test's
// end stops it and sees that it left no goroutine.
func (r *rig) start(options worker.Options) *run {
	r.t.Helper()
	if options.Launcher == nil {
		options.Launcher = r.launcher
	}
	return r.launch(options, 50*time.Millisecond)
}

func (r *rig) launch(options worker.Options, stopGrace time.Duration) *run {
	r.t.Helper()
	if options.Wire == nil {
		options.Wire = r.wire
	}
	options.Logger = logger(r.t)
	if options.Name == "" {
		options.Name = "w"
	}
	ctx, stop := context.WithCancel(context.Background())
	started := &run{Worker: worker.New(options), t: r.t, stop: stop, done: make(chan struct{})}
	started.SetStopGrace(stopGrace)
	started.SetOfferTimes(patience) // the offer, which names the queue, does not depend on the machine's speed
	if r.adjust != nil {
		r.adjust(started.Worker)
	}
	go func() {
		defer close(started.done)
		started.err = started.Run(ctx)
	}()
	r.t.Cleanup(func() {
		stop()
		started.wait()
	})
	return started
}

// wait returns what Run returned.
func (w *run) wait() error {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		w.t.Fatal("the worker does not end")
	}
	return w.err
}

// drain ends the worker, which must go quietly.
func (w *run) drain() {
	w.t.Helper()
	w.stop()
	if err := w.wait(); err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	sweeptest.Until(t, what, holds)
}

// await reads events until done holds of all that were seen.
func (r *rig) await(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			sweeptest.Fail(r.t, fmt.Sprintf("%s; events so far: %s", what, r.story()))
		}
		batch, err := r.events.Fetch(r.t.Context(), 50*time.Millisecond)
		if wire.IsReconnect(err) {
			eventually(r.t, "the events after a reconnect", func() bool {
				r.term++
				r.events, err = r.wire.Events(r.t.Context(), r.term)
				return r.answered(err)
			})
			batch = &wire.EventBatch{}
		}
		if err == nil {
			r.seen = append(r.seen, batch.Events...)
			err = batch.Ack()
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// of returns the events of a kind about a trial, in order.
func (r *rig) of(kind sweep.EventKind, index int64) []sweep.Event {
	var found []sweep.Event
	for _, e := range r.seen {
		if e.Kind == kind && e.Index == index {
			found = append(found, e)
		}
	}
	return found
}

// last awaits the n-th event of a kind about a trial and returns it.
func (r *rig) last(kind sweep.EventKind, index int64, n int) sweep.Event {
	r.t.Helper()
	r.await(fmt.Sprintf("event %s of trial %d, number %d", kind, index, n), func() bool {
		return len(r.of(kind, index)) >= n
	})
	return r.of(kind, index)[n-1]
}

// result awaits a trial's result.
func (r *rig) result(index int64) *sweep.Result {
	r.t.Helper()
	return r.last(sweep.EventResult, index, 1).Result
}

// note awaits a trial's result and returns the note on its execution, which is in the result or, if the
// trial was announced after it, in the started event.
func (r *rig) note(index int64) string {
	r.t.Helper()
	note := r.last(sweep.EventResult, index, 1).Note
	for _, e := range r.of(sweep.EventStarted, index) {
		note += e.Note
	}
	return note
}

// refusal awaits a trial's n-th refusal.
func (r *rig) refusal(index int64, n int) *sweep.Refusal {
	r.t.Helper()
	return r.last(sweep.EventRefused, index, n).Refusal
}

// release awaits a trial's n-th release.
func (r *rig) release(index int64, n int) *sweep.Release {
	r.t.Helper()
	return r.last(sweep.EventReleased, index, n).Release
}

// story lists the events that were seen.
func (r *rig) story() string {
	var words []string
	for _, e := range r.seen {
		words = append(words, fmt.Sprintf("%d:%s", e.Index, e.Kind))
	}
	return strings.Join(words, " ")
}

// queueEmpties waits until the server holds no job.
func (r *rig) queueEmpties() {
	r.t.Helper()
	eventually(r.t, "an empty queue", func() bool { return r.queue() == 0 })
}

// queue returns how many jobs the server holds.
func (r *rig) queue() (n int64) {
	r.t.Helper()
	var counts map[string]int64
	eventually(r.t, "the number of jobs", func() bool {
		var err error
		counts, err = r.wire.JobCounts(r.t.Context())
		return r.answered(err)
	})
	for _, jobs := range counts {
		n += jobs
	}
	return n
}

// leaks reports the goroutines that are in the worker's code.
func leaks() []string {
	buffer := make([]byte, 4<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	return slices.DeleteFunc(stacks, func(s string) bool {
		return !strings.Contains(s, "sweep/worker.(") || strings.Contains(s, "testing.tRunner")
	})
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(exampleDir); err != nil {
		fmt.Println(err)
		code = 1
	}
	deadline := time.Now().Add(patience)
	for len(leaks()) > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if left := leaks(); code == 0 && len(left) > 0 {
		fmt.Printf("%d goroutines of the worker are left:\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}
