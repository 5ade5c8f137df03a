package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sweep/coordinator/schedule"
	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
)

// picky is a store that does not take what a worker says of one trial.
type picky struct {
	sweep.Store
	guilty sweep.TrialID
	err    error
}

func (p *picky) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	for i := range events {
		if r := events[i].Result; events[i].TrialID == p.guilty && r != nil && r.State == sweep.Completed {
			return sweep.RecordReport{}, p.err
		}
	}
	return p.Store.Record(ctx, events)
}

// The store refuses one row of a thousand, for a reason that it tells or does not
// tell: that trial fails with the reason, its event is kept in quarantine, and
// nobody else notices.
func TestOneRowOfAThousand(t *testing.T) {
	t.Parallel()
	for name, problem := range map[string]error{
		"Refused":   fmt.Errorf("an index row of 3000 bytes: %w", sweep.ErrRefused),
		"Not known": errors.New("an index row of 3000 bytes: XX000"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			metrics := NewMetrics()
			store := &picky{Store: b.store, err: problem}
			w := &crew{b: b, slots: 4, begin: make(chan struct{})}
			w.start()
			// A batch of many events takes longer to divide than the server waits for it on a slow disk.
			c, _ := b.start(Options{Store: store, Metrics: metrics, Window: 60})
			id, beside := b.submit(c, submission("poisoned", 0, 1000)), b.submit(c, submission("beside", 1000, 200))
			store.guilty = sweep.TrialID{Sweep: id, Index: 500}
			close(w.begin)
			b.finish(c, beside)
			b.check(beside, 200)
			if p := b.finish(c, id); p.Completed != 999 || p.Failed != 1 {
				t.Errorf("%+v", p)
			}
			// which comes after its trial's end
			b.until("the event is in quarantine", func() bool { return b.progress(id).Quarantined == 1 })
			trial, err := b.store.Trial(t.Context(), store.guilty)
			if err != nil || trial.State != sweep.Failed ||
				!strings.Contains(trial.Result.Error, "an index row of 3000 bytes") {
				t.Errorf("%+v: %v", trial, err)
			}
			var kept [][]any
			err = b.store.Query(t.Context(), `SELECT trial_index, kind, error, length(event) > 100 FROM quarantine`,
				func(_ []string, row []any) error {
					kept = append(kept, slices.Clone(row))
					return nil
				})
			if err != nil || len(kept) != 1 || kept[0][0] != int64(500) || kept[0][1] != "result" ||
				kept[0][2] != problem.Error() || kept[0][3] != int64(1) {
				t.Errorf("in quarantine: %v: %v", kept, err)
			}
			b.until("the metrics count it", func() bool {
				answer := httptest.NewRecorder()
				metrics.Handler(func() error { return nil }).ServeHTTP(answer,
					httptest.NewRequest("GET", "/metrics", nil))
				return bytes.Contains(answer.Body.Bytes(), []byte("sweep_quarantined_events_total 1\n"))
			})
		})
	}
}

// cramped is a store whose disk is nearly full until there is room: it takes every
// third event that comes alone.
type cramped struct {
	sweep.Store
	room  atomic.Bool
	calls atomic.Int64
}

func (s *cramped) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	if call := s.calls.Add(1); !s.room.Load() && (len(events) > 1 || call%3 != 0) {
		return sweep.RecordReport{}, &sweep.UnavailableError{Err: fmt.Errorf("the disk is full: %w", syscall.ENOSPC)}
	}
	return s.Store.Record(ctx, events)
}

// No event is to blame for a disk that is nearly full, and whoever asks is told of it.
func TestNearlyFullDiskBlamesNoTrial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := &cramped{Store: b.store}
	w := &crew{b: b, slots: 4}
	w.start()
	c, _ := b.start(Options{Store: store})
	id := b.submit(c, submission("innocent", 0, 40))
	b.until("the coordinator says what is wrong, six attempts long", func() bool {
		return errors.Is(c.Problem(), syscall.ENOSPC) && store.calls.Load() >= 6
	})
	store.room.Store(true)
	if p := b.finish(c, id); p.Completed != 40 || p.Quarantined != 0 {
		t.Errorf("%+v", p)
	}
	b.until("nothing is wrong", func() bool { return c.Problem() == nil })
}

// One event alone that the store does not take, for no reason that it tells, does
// not keep the others waiting for ever.
func TestOneRowAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := &picky{Store: b.store, err: errors.New("an index row of 3000 bytes: XX000")}
	c, _ := b.start(Options{Store: store})
	id := b.submit(c, submission("alone", 0, 1))
	store.guilty = sweep.TrialID{Sweep: id}
	w := &crew{b: b}
	w.start()
	if p := b.finish(c, id); p.Failed != 1 {
		t.Errorf("%+v", p)
	}
	// which comes after its trial's end
	b.until("the event is in quarantine", func() bool { return b.progress(id).Quarantined == 1 })
	next := b.submit(c, submission("next", 1, 20))
	b.finish(c, next)
	b.check(next, 20)
}

// Whatever is submitted while a sweep runs, no trial of it is run again.
func TestOtherSubmissionsRunNothingAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	runs := map[sweep.TrialID]int{}
	w := &crew{b: b, slots: 4}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		mu.Lock()
		runs[d.TrialID]++
		mu.Unlock()
		pause(ctx, 2*time.Millisecond)
		return w.report(ctx, d)
	}
	w.start()
	c, _ := b.start(Options{Window: 64, Page: 100})
	ids := []string{b.submit(c, submission("first", 0, 600))}
	for i := range 4 {
		b.until("some trials are done", func() bool { return b.progress(ids[0]).Completed >= int64(100*(i+1)) })
		next := submission(fmt.Sprint("next ", i), int64(1000*(i+1)), 50)
		next.Spec.Priority = i % 2
		ids = append(ids, b.submit(c, next))
	}
	for _, id := range ids {
		b.finish(c, id)
	}
	b.check(ids[0], 600)
	mu.Lock()
	defer mu.Unlock()
	if len(runs) != 800 {
		t.Errorf("%d trials were run", len(runs))
	}
	for id, n := range runs {
		if n != 1 {
			t.Errorf("%d executions of %s", n, id)
		}
	}
}

// A job whose trial has ended goes from the queue, whatever way it came there.
func TestJobsOfEndedTrialsGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &crew{b: b, slots: 2}
	stopWorker := w.start()
	c, stop := b.start(Options{})
	id, cancelled := b.submit(c, submission("ended", 0, 40)), b.submit(c, submission("cancelled", 100, 40))
	b.finish(c, id)
	b.finish(c, cancelled)
	stopWorker()
	// A worker of the same offer, which has nothing to do, keeps the queue.
	idle := &crew{b: b, begin: make(chan struct{})}
	idle.start()
	stop()
	queue := wire.Queue{Pool: sweep.DefaultPool, Offer: noopOffer(1).Key()}
	again := func() {
		t.Helper()
		b.until("the queue to be opened", func() bool { return b.wire.OpenQueue(t.Context(), queue) == nil })
		var jobs []wire.Job
		for i := range int64(40) {
			jobs = append(jobs, wire.Job{
				Trial: sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: i}}, Pool: sweep.DefaultPool,
				Requirement: sweep.Requirement{Trainer: "noop", ResultVersion: "1"},
			})
		}
		b.until("the jobs to be published", func() bool {
			_, err := b.wire.PublishJobs(t.Context(), queue, jobs)
			return err == nil
		})
	}
	gone := func() bool {
		n := 0
		failed, err := b.wire.QueuedJobs(t.Context(), func(wire.QueuedJob) { n++ })
		return err == nil && len(failed) == 0 && n == 0
	}
	again() // as by a broker that was restored from an older state
	if gone() {
		t.Fatal("no job is queued")
	}
	b.start(Options{Lease: time.Second})
	b.until("they are gone after a start", gone)
	again()
	b.until("they are gone while it runs", gone)
	if n := idle.runs.Load(); n != 0 {
		t.Errorf("%d executions of trials that had ended", n)
	}
}

// The last trials of a sweep do not wait for a worker that is slow: one of another offer
// has all that the slow one does not train.
func TestIdleWorkersOfAnotherOffer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(patience) // the slow worker says nothing of what it runs
	release := make(chan struct{})
	slow := &crew{b: b}
	slow.run = func(ctx context.Context, d *wire.Delivery) error {
		execution := newExecution()
		if err := slow.publish(ctx, event(sweep.EventStarted, d.TrialID, execution)); err != nil {
			return err
		}
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
		return slow.report(ctx, d)
	}
	slow.start()
	c, _ := b.start(Options{})
	id := b.submit(c, submission("tail", 0, 60))
	b.until("the slow worker trains", func() bool { return b.progress(id).Running == 1 })
	other := noopOffer(2)
	other.Labels = map[string]string{"kind": "fast"}
	fast := &crew{b: b, slots: 2, offer: other}
	fast.start()
	b.until("the other has done the rest", func() bool { return b.progress(id).Completed == 59 })
	close(release)
	b.finish(c, id)
	b.check(id, 60)
}

// stops are the trials whose executions an answer to a heartbeat stops.
func stops(a wire.HeartbeatAnswer) (ids []sweep.TrialID) {
	for _, r := range a.Stop {
		ids = append(ids, r.TrialID)
	}
	return ids
}

// A worker that did not hear a cancellation is told with its heartbeats, and so is one
// that keeps checkpoints of what has ended.
func TestCancelReachesWhoMissedIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, _ := b.start(Options{Lease: time.Second})
	var running atomic.Int64
	w := &crew{b: b, slots: 2} // it does not listen to cancellations
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if err := w.publish(ctx, event(sweep.EventStarted, d.TrialID, "execution of "+d.String())); err != nil {
			return err
		}
		running.Add(1)
		for ctx.Err() == nil && !w.told(stops, d.TrialID) {
			pause(ctx, 10*time.Millisecond)
		}
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, submission("missed", 0, 5))
	b.until("two run", func() bool { return running.Load() == 2 })
	if _, err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	b.until("they are told to stop", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.busy) == 0
	})
	keeper := sweep.TrialID{Sweep: id, Index: 1}
	b.until("one is told of its checkpoint", func() bool {
		answer, err := b.wire.SendHeartbeat(t.Context(), wire.Heartbeat{
			WorkerStatus: wire.WorkerStatus{ID: "keeper", Name: "keeper", Pool: sweep.DefaultPool,
				State: wire.WorkerDraining, Offer: *noopOffer(1)},
			Checkpoints: []sweep.TrialID{keeper},
		})
		return err == nil && slices.Contains(answer.Ended, keeper)
	})
}

// told reports whether an answer to a heartbeat named a trial.
func (w *crew) told(of func(wire.HeartbeatAnswer) []sweep.TrialID, id sweep.TrialID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.heard, func(a wire.HeartbeatAnswer) bool { return slices.Contains(of(a), id) })
}

// A coordinator that does not know yet that another leads ends when it meets the
// other's work, and leaves it alone.
func TestDeposedLeaderEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &crew{b: b, slots: 2}
	w.start()
	b.term++
	deposed := New(Options{Store: b.store, Wire: b.wire, Logger: logger(t), Cluster: b.cluster, Term: b.term})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { ended <- deposed.Run(ctx) }()
	sweeptest.Receive(t, "the coordinator to be ready", deposed.Ready())
	id := b.submit(deposed, submission("both", 0, 600))
	b.until("some trials are done", func() bool { return b.progress(id).Completed >= 50 })
	c, _ := b.start(Options{})
	var superseded *wire.SupersededError
	if err := sweeptest.Receive(t, "the end of Run", ended); !errors.As(err, &superseded) || superseded.Later != b.term {
		t.Errorf("Run of the first: %v", err)
	}
	b.finish(c, id)
	b.check(id, 600)
}

// A coordinator whose writes are refused, since another has the lead, ends and records
// nothing of what it has in hand.
func TestFencedLeaderEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useAckWait(patience) // the worker holds jobs back
	w := &crew{b: b, slots: 2}
	goOn := w.holdBack(100) // so that results are left to record
	w.start()
	lead, err := b.store.Lead(t.Context(), sweep.LeadOptions{Holder: "the first"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lead.Resign(context.Background()) }() // it is over
	b.term = lead.Term()
	deposed := New(Options{Store: b.store, Wire: b.wire, Logger: logger(t), Cluster: b.cluster, Term: b.term,
		Leads: lead.Holds})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { ended <- deposed.Run(ctx) }()
	sweeptest.Receive(t, "the coordinator to be ready", deposed.Ready())
	id := b.submit(deposed, submission("both", 0, 600))
	b.until("some trials are done", func() bool { return b.progress(id).Completed >= 50 })
	// The next term begins in the database, as if its lease had run out.
	err = b.store.(*store.Store).Database().UpdateLead(t.Context(), database.Takeover, func(tx database.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE cluster SET term = term + 1, leader = 'the second'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before := b.progress(id).Completed
	goOn()
	var refused *sweep.DeposedError
	if err := sweeptest.Receive(t, "the end of Run", ended); !errors.As(err, &refused) || refused.Leader != "the second" {
		t.Errorf("Run of the first: %v", err)
	}
	if after := b.progress(id).Completed; after != before {
		t.Errorf("%d results were recorded by the deposed coordinator", after-before)
	}
	if lead.Holds() {
		t.Error("its lease holds")
	}
	// What it had in hand is recorded by its successor.
	next := b.open()
	c, _ := b.start(Options{Store: next})
	b.store = next
	b.finish(c, id)
	b.check(id, 600)
}

// While it is not certain that it leads, a coordinator dispatches nothing and leaves
// workers' heartbeats to another; and goes on when it is.
func TestUncertainLeaderWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var leads atomic.Bool
	c, _ := b.start(Options{Leads: leads.Load})
	w := &crew{b: b, slots: 2}
	w.start()
	id := b.submit(c, submission("s", 0, 20))
	b.until("it says that it is uncertain", func() bool { return errors.Is(c.Problem(), errUncertain) })
	w.heartbeat(t.Context(), false)
	if p := b.progress(id); p.Queued+p.Running+p.Completed != 0 || len(c.Workers()) > 0 {
		t.Errorf("meanwhile %+v, %d workers", p, len(c.Workers()))
	}
	leads.Store(true)
	b.finish(c, id)
	b.check(id, 20)
}

// A loop that does not come back from what it does is found.
func TestStuckLoopIsFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, _ := b.start(Options{})
	if err := c.Stuck(patience); err != nil {
		t.Error(err)
	}
	leave, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- c.between(t.Context(), func() error {
			<-leave
			return nil
		})
	}()
	b.until("the scheduler is found to be stuck", func() bool {
		err := c.Stuck(2 * schedule.LookInterval)
		return err != nil && strings.Contains(err.Error(), "scheduler")
	})
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.until("it moves again", func() bool { return c.Stuck(2*schedule.LookInterval) == nil })
}

// Whether any worker could run a submission is known when the workers had the time
// to be heard of: who asks for it waits.
func TestRequireWorkersWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, _ := b.start(Options{})
	var none *NoWorkerError
	if _, err := c.Submit(t.Context(), submission("refused", 0, 3), true); !errors.As(err, &none) {
		t.Errorf("Submit at the start: %v", err)
	}
	w := &crew{b: b}
	w.start()
	b.until("the worker is heard of", func() bool {
		done, err := c.Submit(t.Context(), submission("taken", 0, 3), true)
		return err == nil && done.Waiting == ""
	})
	if sweeps, err := b.store.Sweeps(t.Context()); err != nil || len(sweeps) != 1 || sweeps[0].Name != "taken" {
		t.Errorf("%+v: %v", sweeps, err)
	}
}
