package coordinator

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// setWallClock returns a time with the same reading of the monotonic clock and another
// one of the wall clock, as after the clock was set. It knows time.Time's first field:
// of a time with a monotonic reading bits 30 to 62 are the seconds of the wall clock.
func setWallClock(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	moved := at
	*(*uint64)(unsafe.Pointer(&moved)) += uint64(by/time.Second) << 30
	if got := moved.Round(0).Sub(at.Round(0)); got != by || moved.Sub(at) != 0 {
		t.Fatalf("time.Time has another form: the wall clock is %v ahead, the monotonic one %v", got, moved.Sub(at))
	}
	return moved
}

// The wall clock may be set: whether events are recorded is told by the monotonic clock.
func TestReconcilerAndWallClock(t *testing.T) {
	looked := time.Now()
	for _, by := range []time.Duration{time.Hour, 0, -time.Hour} {
		r := reconciler{Coordinator: &Coordinator{}, at: setWallClock(t, looked, by)}
		if !r.behind() {
			t.Error("the collector is not behind, though it has received nothing")
		}
		for _, test := range []struct {
			received time.Time
			behind   bool
		}{{looked.Add(time.Millisecond), false}, {looked, true}, {looked.Add(-time.Millisecond), true}} {
			r.received.Store(&test.received)
			if r.behind() != test.behind {
				t.Errorf("events received %v after the look, the wall clock %v ahead then: behind is %v",
					test.received.Sub(looked), by, !test.behind)
			}
		}
	}
}

// listing is a connection to the broker that notes when jobs are first listed.
type listing struct {
	net.Conn
	began *atomic.Pointer[time.Time]
}

func (l listing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("DIRECT.GET."+jobsStream)) {
		now := time.Now()
		l.began.CompareAndSwap(nil, &now)
	}
	return l.Conn.Write(p)
}

// Dial implements nats.CustomDialer.
func (l listing) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return listing{conn, l.began}, err
}

// A job may end while the jobs are listed: its result must be recorded before it counts as lost.
func TestResultsArriveDuringAComparison(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var began atomic.Pointer[time.Time]
	conn, err := nats.Connect(b.conn.ConnectedUrl(), nats.SetCustomDialer(listing{began: &began}),
		nats.Timeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if b.wire, err = wire.New(conn, wire.Options{AckWait: patience, Logger: logger(t)}); err != nil {
		t.Fatal(err)
	}
	c, _ := b.start(Options{})
	w := &crew{b: b}
	w.start()
	b.finish(c, b.submit(c, submission("one", 1, 1))) // makes the queue
	r := reconciler{Coordinator: c}
	began.Store(nil)
	b.until("a comparison", func() bool { return r.look(t.Context()) == nil })
	if !r.at.After(*began.Load()) {
		t.Error("a comparison counts as over when its list of the jobs begins")
	}
}

// replaces is a store with one replaced execution.
type replaces struct {
	sweep.Store
	replaced sweep.Event
}

func (s replaces) Replaced(context.Context) ([]sweep.Event, error) {
	return []sweep.Event{s.replaced}, nil
}

// A heartbeat counts when it arrives: an execution that a worker reports has not vanished, even if
// the scheduler is busy.
func TestHeartbeatsCountBeforeTheNextStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := sweep.TrialID{Sweep: "one"}
	e := event(sweep.EventStarted, id, "first")
	c := New(Options{Store: replaces{b.store, e}, Wire: b.wire, Logger: logger(t)}) // takes no step
	r := reconciler{Coordinator: c, doubt: true, suspects: map[string]time.Time{"first": time.Now().Add(-time.Hour)}}
	c.heartbeat(wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: "w", Name: "w", Pool: sweep.DefaultPool,
		State: wire.WorkerReady, Offer: *noopOffer(1)}, Running: []wire.Running{{TrialID: id, Execution: "first"}}})
	if err := r.vanished(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, suspected := r.suspects["first"]; !suspected {
		t.Error("an execution that a worker reports as running counts as lost")
	}
}

// ownLook marks the context of a test's comparison: the coordinator compares beside it.
type ownLook struct{}

// watchedStore calls reading once when a test's comparison reads the queued and running trials, and recording before
// events are recorded.
type watchedStore struct {
	sweep.Store
	reading, recording atomic.Pointer[func(ctx context.Context)]
}

func (s *watchedStore) Unheard(ctx context.Context, before time.Time, after *sweep.TrialID, limit int) ([]sweep.Heard,
	error) {
	if ctx.Value(ownLook{}) != nil {
		if do := s.reading.Swap(nil); do != nil {
			(*do)(ctx)
		}
	}
	return s.Store.Unheard(ctx, before, after, limit)
}

func (s *watchedStore) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	if do := s.recording.Load(); do != nil {
		(*do)(ctx)
	}
	return s.Store.Record(ctx, events)
}

// A job that is published while the reconciler compares, and whose result is on its way when it compares again, was
// never lost.
func TestTrialBetweenComparisons(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, log := &watchedStore{Store: b.store}, &syncBuffer{}
	c, _ := b.start(Options{Store: s, Lease: time.Hour, // its own comparisons find nothing
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	w := &crew{b: b, begin: make(chan struct{})}
	w.start()
	jobs := func(want int64) func() bool {
		return func() bool {
			counts, err := b.wire.JobCounts(t.Context())
			var n int64
			for _, count := range counts {
				n += count
			}
			return err == nil && n == want
		}
	}
	r := reconciler{Coordinator: c}
	look := func() {
		t.Helper()
		b.until("a comparison", func() bool {
			r.lost = true
			return r.look(context.WithValue(t.Context(), ownLook{}, true)) == nil
		})
	}

	var id string
	publish := func(context.Context) {
		id = b.submit(c, submission("between", 0, 1))
		b.until("its job is published", jobs(1))
	}
	s.reading.Store(&publish)
	look()
	b.until("the events before that comparison are recorded", func() bool { return !r.behind() })
	recorded := make(chan struct{})
	wait := func(ctx context.Context) {
		select {
		case <-recorded:
		case <-ctx.Done():
		}
	}
	s.recording.Store(&wait)
	close(w.begin)
	b.until("the job is acknowledged", jobs(0))
	look()
	close(recorded)
	b.finish(c, id)
	b.check(id, 1)
	if strings.Contains(log.String(), "jobs were lost") {
		t.Error("the trial counted as one whose job was lost")
	}
}
