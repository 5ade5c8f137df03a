package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	"sweep/worker"
)

func TestResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	limited := job(3)
	limited.Limits.Points = 2
	r.adjust = func(w *worker.Worker) { w.SetAnnounceAfter(patience) } // it is short, however slow the machine is
	r.publish(limited)
	r.start(worker.Options{Name: "somebody"})
	r.queueEmpties()
	n := int64(0)
	eventually(t, "the number of messages", func() bool {
		var err error
		n, err = r.wire.EventCount(t.Context())
		return r.answered(err)
	})
	if n != 1 {
		t.Errorf("a short trial took %d messages", n)
	}
	got := r.result(3)
	if story := r.story(); story != "3:result" {
		t.Errorf("events %s", story)
	}
	want := outcome(sweep.TrainRequest{Trial: limited.Trial})
	want.Curves[0].Steps, want.Curves[0].Values = []int64{1, 3}, []float32{3, .75} // the largest and the smallest
	want.Curves[1].Steps, want.Curves[1].Values = []int64{1, 3}, []float32{1, 1}
	want.Digest = want.ComputeDigest(map[string]bool{"seconds": true})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("result\n%+v, want\n%+v", got, want)
	}
	if e := r.seen[0]; e.Execution == "" || e.Worker != "somebody" || e.Started.IsZero() || e.Started.After(e.Time) ||
		time.Since(e.Started) > patience {
		t.Errorf("event of wrong origin: %+v", e)
	}
}

func TestStartOfALongerTrialIsAnnounced(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		<-finish
		return outcome(request), nil
	})
	r.adjust = func(w *worker.Worker) { w.SetReportTimeout(patience) } // else it is perhaps announced twice
	r.publish(job(1))
	w := r.start(worker.Options{})
	r.last(sweep.EventStarted, 1, 1)
	if s := w.Status().Slots; len(s) != 1 || s[0].Trial == nil || *s[0].Trial != job(1).TrialID ||
		time.Since(s[0].Since) > patience {
		t.Errorf("status %+v while trial 1 runs", s)
	}
	close(finish)
	r.result(1)
	if story := r.story(); story != "1:started 1:result" {
		t.Errorf("events %s", story)
	}
	eventually(t, "an idle slot", func() bool { return w.Status().Slots[0].Trial == nil })
	if got := r.result(1); got.State != sweep.Completed || !r.last(sweep.EventResult, 1, 1).Started.IsZero() {
		t.Error("the result says again when the trial began")
	}
}

func TestPointsOfALongTrialComeAtGrowingIntervals(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		first := sweep.Curve{Metric: "loss"} // as many as are kept, before any are sent
		for step := int64(1); step <= 16; step++ {
			first.Steps, first.Values = append(first.Steps, step), append(first.Values, float32(step))
		}
		if err := sink.Points([]sweep.Curve{first}); err != nil {
			return nil, err
		}
		for step := int64(17); ; step++ {
			select {
			case <-finish:
				result := outcome(request)
				result.Curves = nil
				return result, nil
			case <-ticker.C:
			}
			if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{step},
				Values: []float32{float32(step)}}}); err != nil {
				return nil, err
			}
		}
	})
	r.adjust = func(w *worker.Worker) { w.SetReportTimeout(patience) } // else it is perhaps announced twice
	long := job(1)
	long.Limits.Points = 16
	r.publish(long)
	r.start(worker.Options{})
	first, second := r.last(sweep.EventPoints, 1, 1), r.last(sweep.EventPoints, 1, 2)
	started := r.last(sweep.EventStarted, 1, 1)
	if d := first.Time.Sub(started.Time); d < time.Second {
		t.Errorf("first points after %s, want none in the first second", d)
	}
	if d := second.Time.Sub(first.Time); d < 2*time.Second {
		t.Errorf("second points %s after the first, want 2 s at least", d)
	}
	close(finish)
	r.result(1)
	if n := len(r.of(sweep.EventStarted, 1)); n != 1 {
		t.Errorf("%d started events", n)
	}
	for _, e := range append(r.of(sweep.EventPoints, 1), sweep.Event{Curves: r.result(1).Curves}) {
		if len(e.Curves) != 1 || len(e.Curves[0].Steps) > 17 || len(e.Curves[0].Steps)+e.Curves[0].Offset < 8 {
			t.Errorf("curves not thinned to 16 points and the last: %+v", e.Curves)
		}
	}
}

// The queue's AckWait holds, whatever the worker's own is: the coordinator tells the
// worker, which renews a running job at a third of it.
func TestAckWaitOfQueue(t *testing.T) {
	t.Parallel()
	const ackWait = 1500 * time.Millisecond
	finish := make(chan struct{})
	release := sync.OnceFunc(func() { close(finish) })
	defer release()
	conn := wiretest.Start(t)
	r := rigOn(t, openWireOf(t, conn, ackWait), func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		<-finish
		return succeed(ctx, p, request, sink)
	})
	var renewals atomic.Int64
	subscription, err := conn.Subscribe("$JS.ACK.SWEEP_JOBS_"+r.queueName().Pool+".>", func(m *nats.Msg) {
		if string(m.Data) == "+WPI" {
			renewals.Add(1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = subscription.Unsubscribe() })
	own := openWireOf(t, conn, time.Hour)
	r.publish(job(1))
	r.start(worker.Options{Wire: own})
	r.last(sweep.EventStarted, 1, 1)
	eventually(t, "the worker's wire to renew at a third of the queue's AckWait", func() bool {
		return own.Renewal() == ackWait/3
	})
	before := renewals.Load()
	eventually(t, "two more renewals of the running job", func() bool { return renewals.Load() >= before+2 })
	release()
	r.result(1)
}

// longTrial is a worker of two slots that trains trial 1 until release is called.
type longTrial struct {
	*rig
	conn    *nats.Conn
	js      jetstream.JetStream
	stream  string // of the jobs
	release func()
	begun   atomic.Int64
	started sweep.Event
}

func newLongTrial(t *testing.T) *longTrial {
	finish := make(chan struct{})
	l := &longTrial{conn: wiretest.Start(t), release: sync.OnceFunc(func() { close(finish) })}
	var err error
	if l.js, err = jetstream.New(l.conn); err != nil {
		t.Fatal(err)
	}
	l.rig = rigOn(t, openWire(t, l.conn), func(ctx context.Context, p *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			l.begun.Add(1)
			<-finish
		}
		return succeed(ctx, p, request, sink)
	})
	l.stream = "SWEEP_JOBS_" + l.queueName().Pool
	l.publish(job(1))
	l.start(worker.Options{Slots: 2})
	t.Cleanup(l.release) // before the worker is waited for
	l.started = l.last(sweep.EventStarted, 1, 1)
	return l
}

// endsOnce lets the trial end, after the free slot has trained another one, and returns its execution.
func (l *longTrial) endsOnce() (execution string) {
	l.t.Helper()
	l.publish(job(2))
	l.result(2)
	l.release()
	execution = l.last(sweep.EventResult, 1, 1).Execution
	l.queueEmpties()
	if n := l.begun.Load(); n != 1 {
		l.t.Errorf("the trial was trained %d times", n)
	}
	return execution
}

// A job that the server delivers again while its trial runs here, as after the machine was suspended, does not run a
// second time: the free slot takes the next.
func TestRunningJobIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	l := newLongTrial(t)
	var consumer *jetstream.ConsumerInfo
	look := func() bool {
		jobs, err := l.js.Stream(t.Context(), l.stream)
		if !l.answered(err) {
			return false
		}
		list := jobs.ListConsumers(t.Context())
		for info := range list.Info() {
			consumer = info
		}
		return l.answered(list.Err()) && consumer != nil
	}
	eventually(t, "the consumer of the queue", look)
	// The job is returned, to be delivered again at once: its first delivery, of the stream's first message.
	first := fmt.Sprintf("$JS.ACK.%s.%s.1.1.1.%d.0", l.stream, consumer.Name, time.Now().UnixNano())
	if err := l.conn.Publish(first, []byte("-NAK")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job to be delivered again", func() bool { return look() && consumer.NumRedelivered > 0 })
	l.endsOnce()
}

// A coordinator that has heard nothing of a worker issues another job of a trial that the worker still runs. It goes on
// for that job, under another name, and the execution before is no loss.
func TestRunningTrialGetsAnotherJob(t *testing.T) {
	t.Parallel()
	l := newLongTrial(t)
	eventually(t, "the first job removed", func() bool {
		jobs, err := l.js.Stream(t.Context(), l.stream)
		if err == nil {
			err = jobs.Purge(t.Context())
		}
		return l.answered(err)
	})
	l.publish(job(1))
	var second sweep.Event
	l.await("the trial announced under another name", func() bool {
		for _, e := range l.of(sweep.EventStarted, 1) {
			if e.Execution != l.started.Execution {
				second = e
			}
		}
		return second.Execution != ""
	})
	if !second.Time.Equal(l.started.Time) {
		t.Errorf("announced again as begun at %s, first at %s", second.Time, l.started.Time)
	}
	if e := l.last(sweep.EventReleased, 1, 1); e.Execution != l.started.Execution || e.Release.Charged {
		t.Errorf("released: %q, %+v", e.Execution, e.Release)
	}
	if execution := l.endsOnce(); execution != second.Execution {
		t.Errorf("the result is of %q, and %q was announced last", execution, second.Execution)
	}
}

// Of a long trial only what is new is sent: all together it is the curve.
func TestPointsAreSentOnce(t *testing.T) {
	t.Parallel()
	next, finish := make(chan int64), make(chan struct{})
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		for step := range next {
			if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{step},
				Values: []float32{float32(step)}}}); err != nil {
				return nil, err
			}
		}
		<-finish
		result := outcome(request)
		result.Curves = nil
		return result, nil
	})
	r.adjust = func(w *worker.Worker) { w.SetReportTimeout(patience) } // points that are given up are sent again
	r.publish(job(1))
	r.start(worker.Options{})
	var steps []int64
	sent := 0
	step := int64(0)
	for n := 1; n <= 2; n++ {
		r.await("points", func() bool {
			step++
			next <- step
			return len(r.of(sweep.EventPoints, 1)) >= n
		})
		c := r.of(sweep.EventPoints, 1)[n-1].Curves[0]
		if c.Offset != len(steps) {
			t.Errorf("points from %d on, want from %d", c.Offset, len(steps))
		}
		steps = append(steps[:c.Offset], c.Steps...)
		sent += len(c.Steps)
	}
	close(next)
	close(finish)
	curve := r.result(1).Curves[0]
	if sent != len(steps) || !slices.Equal(steps, curve.Steps[:len(steps)]) {
		t.Errorf("%d points were sent for %d: %v of %v", sent, len(steps), steps, curve.Steps)
	}
}

func TestFailuresOfTheTrialItself(t *testing.T) {
	t.Parallel()
	refused := &sweep.ParameterError{Parameter: "x", Value: int64(1), Problem: "must be even"}
	unusable := &sweep.DataError{Dataset: "CBF", Err: errors.New("row 7: NaN")}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"parameter", refused, refused.Error()},
		{"data never seen good", fmt.Errorf("loading: %w", unusable), "loading: " + unusable.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
				_ sweep.Sink) (*sweep.Result, error) {
				if request.Index == 9 {
					return outcome(request), nil
				}
				return nil, c.err
			})
			r.publish(append(jobs(5), job(9))...)
			r.start(worker.Options{MachineFailures: 2})
			for i := range int64(5) {
				if got := r.result(i); got.State != sweep.Failed || got.Error != c.want || got.Digest == "" {
					t.Errorf("result %+v, want the failure %q", got, c.want)
				}
			}
			r.result(9)
			r.queueEmpties()
			if n := len(r.launcher.launched()); n != 1 {
				t.Errorf("%d processes for trials that do not harm theirs", n)
			}
		})
	}
}

// A job that needs what the worker lacks is refused, which is nobody's failure,
// and the worker offers less from then on: no such job reaches it again.
func TestOtherDataAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		found string
	}{
		{"data set changed", fmt.Errorf("loading: %w", sweep.ErrDatasetChanged), "found"},
		{"data set missing", &sweep.DataError{Dataset: "CBF", Err: os.ErrNotExist}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
				_ sweep.Sink) (*sweep.Result, error) {
				if request.DatasetDigest == "wanted" {
					return nil, c.err
				}
				return outcome(request), nil
			})
			r.launcher.validate = func() (*sweep.Validation, error) {
				if c.found == "" {
					return nil, c.err
				}
				return &sweep.Validation{DatasetDigest: c.found}, nil
			}
			strange := func(i int64) wire.Job {
				j := job(i)
				j.DatasetDigest, j.Requirement.Dataset, j.Requirement.DatasetDigest = "wanted", "CBF", "wanted"
				return j
			}
			r.publish(strange(1), job(2), strange(3))
			w := r.start(worker.Options{MachineFailures: 1})
			if got := r.refusal(1, 1); !strings.Contains(got.Reason, c.err.Error()) {
				t.Errorf("refusal %+v", got)
			}
			eventually(t, "the coordinator to hear of it", func() bool {
				b, _ := r.lastHeartbeat()
				return slices.Contains(b.Offer.OtherData, "wanted") && b.Offer.Datasets["CBF"] == c.found &&
					len(b.Refusals) > 0
			})
			// What was meant for the offer of before, and was not given back, is refused too.
			r.await("the other jobs' fate", func() bool {
				return len(r.of(sweep.EventResult, 2))+len(r.of(sweep.EventRefused, 3)) == 2 || r.queue() > 0
			})
			status := w.Status()
			if status.Refusals[0].TrialID != strange(1).TrialID || status.Refusals[0].Reason == "" {
				t.Errorf("refusals %+v", status.Refusals)
			}
			// Jobs for the offer that it has now reach it.
			r.offer.OtherData = []string{"wanted"}
			eventually(t, "its queue", func() bool { return r.wire.OpenQueue(t.Context(), r.queueName()) == nil })
			r.publish(job(4))
			r.result(4)
			if n := len(r.launcher.launched()); n != 1 {
				t.Errorf("%d processes: a refusal must not end one", n)
			}
		})
	}
}

// A trainer of another result version would give other bits: it does not train.
// The job comes by an old offer.
func TestTrainerOfAnotherResultVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	old := job(0)
	old.Requirement.ResultVersion = "0"
	r.publish(old, job(1))
	r.start(worker.Options{MachineFailures: 1})
	r.result(1)
	if got := r.refusal(0, 1); !strings.Contains(got.Reason, "results of version 0; 1 worker offers version 1") {
		t.Errorf("refusal %+v", got)
	}
	r.queueEmpties()
}

// What a worker offers besides its trainers.
func TestOffer(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	r.launcher.refuse = func(name string) error {
		if name == "other" {
			return errors.New("no such library")
		}
		return nil
	}
	options := worker.Options{Slots: 3, Memory: 3<<30 + 12345, Labels: map[string]string{"gpu": "a100"}, Pool: "gpu",
		Version: "1.2.3"}
	w := r.start(options)
	var b wire.Heartbeat
	eventually(t, "a heartbeat with the trainers", func() bool {
		b, _ = r.lastHeartbeat()
		return len(b.Offer.Trainers) > 1
	})
	o := b.Offer
	if o.Pool != "gpu" || o.Slots != 3 || o.Memory != 3<<30 || o.Labels["gpu"] != "a100" || len(o.Trainers) != 2 ||
		b.Name != "w" || b.Version != "1.2.3" {
		t.Errorf("heartbeat %+v", b)
	}
	trainers := slices.Clone(o.Trainers) // the next heartbeat reads them too
	slices.SortFunc(trainers, func(a, b sweep.TrainerOffer) int { return strings.Compare(a.Name, b.Name) })
	if f := trainers[0]; f.Name != "fake" || f.ResultVersion != "1" || f.KernelLevel != "go" || len(f.Schema) != 64 ||
		f.Problem != "" {
		t.Errorf("trainer %+v", f)
	}
	if f := trainers[1]; f.Name != "other" || f.ResultVersion != "" || !strings.Contains(f.Problem, "no such library") {
		t.Errorf("trainer %+v", f)
	}
	w.drain()
	eventually(t, "the heartbeat that says that the worker is gone", func() bool {
		b, _ := r.lastHeartbeat()
		return b.Gone
	})
}

// Jobs that wait behind a trial that takes longer than those before go back to
// the queue, for another worker.
func TestLongTrialHoldsUpNobody(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 300 {
			select {
			case <-finish:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return outcome(request), nil
	})
	r.publish(jobs(600)...)
	r.start(worker.Options{Name: "first"})
	r.await("the long trial to run", func() bool { return len(r.of(sweep.EventStarted, 300)) > 0 })
	r.start(worker.Options{Name: "second"})
	r.await("all others", func() bool {
		n := 0
		for i := range int64(600) {
			n += len(r.of(sweep.EventResult, i))
		}
		return n == 599
	})
	close(finish)
	if e := r.last(sweep.EventResult, 300, 1); e.Worker != "first" {
		t.Errorf("the long trial ran at %s", e.Worker)
	}
	second, results := 0, 0
	for _, e := range r.seen {
		if e.Kind == sweep.EventResult {
			results++
			if e.Worker == "second" {
				second++
			}
		}
	}
	if second == 0 {
		t.Error("the second worker got nothing of what waited behind the long trial")
	}
	if results != 600 {
		t.Errorf("%d results of 600 trials: some ran twice", results)
	}
	r.queueEmpties()
}

// A worker that missed the broadcast of a cancellation hears of it with its next heartbeat.
func TestHeartbeatStopsWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		return p.until(ctx)
	})
	r.publish(job(1))
	r.start(worker.Options{})
	started := r.last(sweep.EventStarted, 1, 1)
	r.mu.Lock()
	r.answer.Stop = []wire.Running{{TrialID: job(1).TrialID, Execution: "of another time"},
		{TrialID: job(1).TrialID, Execution: started.Execution}}
	r.mu.Unlock()
	if got := r.release(1, 1); got.Charged || got.Reason != "cancelled" {
		t.Errorf("release %+v", got)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	want := []wire.Running{{TrialID: job(1).TrialID, Execution: started.Execution}}
	if !slices.ContainsFunc(r.heartbeats, func(b wire.Heartbeat) bool { return slices.Equal(b.Running, want) }) {
		t.Errorf("heartbeats %+v", r.heartbeats)
	}
}

// A trial that uses more memory than its slot has is ended and charged; one that
// was killed while it used less is the machine's failure.
func TestMemory(t *testing.T) {
	t.Parallel()
	const limit = 1 << 30
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		switch request.Index {
		case 1: // grows until it is ended
			p.memory.Store(limit + 1)
			<-p.gone
			return nil, errDied
		case 2: // grows and is killed at once
			p.peak.Store(limit + 1)
			_, _ = p.die()
			return nil, killedError{}
		case 3: // is killed for what others use
			p.peak.Store(limit - 1)
			_, _ = p.die()
			return nil, killedError{}
		}
		return outcome(request), nil
	})
	r.offer.Memory = limit
	eventually(t, "a queue", func() bool { return r.wire.OpenQueue(t.Context(), r.queueName()) == nil })
	r.publish(job(1), job(2), job(3), job(4))
	w := r.start(worker.Options{Memory: limit, MachineFailures: 2})
	for i, want := range map[int64]string{1: "1 GiB of memory; its slot has 1 GiB", 2: "its slot has 1 GiB",
		3: "was killed"} {
		if got := r.release(i, 1); !got.Charged || !strings.Contains(got.Reason, want) || i == 3 &&
			strings.Contains(got.Reason, "slot") {
			t.Errorf("trial %d: release %+v", i, got)
		}
	}
	r.result(4)
	w.drain()
}

// A trial that does nothing for longer than its limit fails, and its process can be used by the next one.
func TestStalled(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return outcome(request), nil
	})
	stalls := job(1)
	stalls.Limits.Silence = 50 * time.Millisecond
	r.publish(stalls, job(2))
	w := r.start(worker.Options{})
	if got := r.result(1); got.State != sweep.Failed || got.Error != "stalled: no metric, no output and no processor time "+
		"for 50ms (limits.silence)" {
		t.Errorf("result %+v", got)
	}
	if got := r.result(2); got.State != sweep.Completed {
		t.Errorf("result %+v", got)
	}
	w.drain()
}

// What comes from a trainer with a name that no database takes fails its trial.
func TestNamesThatNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("m", 3000), "a\x00b", "a\nb", "", "\xff"} {
		for _, where := range []string{"summary", "curve", "points"} {
			t.Run(fmt.Sprintf("%.5q in %s", name, where), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
					sink sweep.Sink) (*sweep.Result, error) {
					result := outcome(request)
					if request.Index != 1 {
						return result, nil
					}
					curve := sweep.Curve{Metric: name, Steps: []int64{1}, Values: []float32{1}}
					switch where {
					case "summary":
						result.Summary[name] = 1
					case "curve":
						result.Curves = append(result.Curves, curve)
					default:
						if err := sink.Points([]sweep.Curve{curve}); err != nil {
							return nil, err
						}
					}
					return result, nil
				})
				r.publish(job(1), job(2))
				r.start(worker.Options{MachineFailures: 1})
				if got := r.release(1, 1); !got.Charged || !strings.Contains(got.Reason, "metric") ||
					len(got.Reason) > 300 {
					t.Errorf("release %+v", got)
				}
				r.result(2)
			})
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			return p.until(ctx)
		}
		return outcome(request), nil
	})
	slow := job(1)
	slow.Limits.Timeout = 30 * time.Millisecond
	r.publish(slow, job(2))
	r.launch(worker.Options{Launcher: r.launcher, MachineFailures: 1}, patience)
	if got := r.result(1); got.State != sweep.Failed || !strings.Contains(got.Error, "timed out after 30ms") {
		t.Errorf("result %+v", got)
	}
	r.result(2)
	if n := len(r.launcher.launched()); n != 1 {
		t.Errorf("%d processes, want the one that stopped when it was told to", n)
	}
}

// The time limit of a trial begins with its training, and not while the worker waits for NATS: a trial
// that may have killed a worker is announced before.
func TestTimeoutBeginsWithTheTraining(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, p *process, _ sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		return p.until(ctx)
	})
	r.adjust = func(w *worker.Worker) { w.SetReportTimeout(patience) }
	slow := job(1)
	slow.Limits.Timeout = 1
	r.publish(slow)
	queue, err := r.wire.Jobs(r.queueName())
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	eventually(t, "the job to be delivered once and returned", func() bool {
		if queue.Requested() == 0 {
			_ = queue.RequestNow(1) // Next says what fails
		}
		d, err := queue.Next(t.Context(), time.Second)
		return err == nil && d != nil && d.NakWithDelay(time.Millisecond) == nil
	})
	r.start(worker.Options{})
	if got := r.result(1); !strings.Contains(got.Error, "timed out after 1ns") {
		t.Errorf("result %+v", got)
	}
	if !r.last(sweep.EventResult, 1, 1).Started.IsZero() || len(r.of(sweep.EventStarted, 1)) == 0 {
		t.Errorf("events %s: the worker did not wait until the trial was announced", r.story())
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		indices []int64
		stopped map[int64]bool // trials 1 and 2 are of the sweep, 3 is of another
	}{
		{"trial", []int64{7, 1}, map[int64]bool{1: true}},
		{"sweep", nil, map[int64]bool{1: true, 2: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			finish := make(chan struct{})
			r := newRig(t, func(ctx context.Context, _ *process, request sweep.TrainRequest,
				_ sweep.Sink) (*sweep.Result, error) {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-finish:
					return outcome(request), nil
				}
			})
			other := job(3)
			other.Sweep = "other"
			r.publish(job(1), job(2), other)
			w := r.start(worker.Options{Slots: 3})
			eventually(t, "all run", func() bool {
				return !slices.ContainsFunc(w.Status().Slots, func(s wire.WorkerSlot) bool { return s.Trial == nil })
			})
			if err := r.wire.Cancel("s", c.indices...); err != nil {
				t.Fatal(err)
			}
			for i := range c.stopped {
				if got := r.release(i, 1); got.Charged || got.Reason != "cancelled" {
					t.Errorf("release %+v", got)
				}
			}
			close(finish)
			for i := int64(1); i <= 3; i++ {
				if !c.stopped[i] {
					r.result(i)
				}
			}
			r.queueEmpties()
		})
	}
}

// resumable is a trainer that keeps a checkpoint and waits in the middle, unless
// it goes on from one.
func resumable(from chan<- string) behaviour {
	return func(ctx context.Context, p *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		from <- string(request.Checkpoint)
		if len(request.Checkpoint) > 0 {
			return outcome(request), nil
		}
		if err := sink.Checkpoint(4, []byte("state after 4")); err != nil {
			return nil, err
		}
		return p.until(ctx)
	}
}

func TestDrainGivesTrialsBackWithTheirCheckpoints(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{0, 300 * time.Millisecond} {
		t.Run(grace.String(), func(t *testing.T) {
			from := make(chan string, 10)
			dir := filepath.Join(t.TempDir(), "checkpoints")
			r := newRig(t, resumable(from))
			r.adjust = func(w *worker.Worker) { w.SetResultTimeout(patience) }
			r.publish(job(1))
			first := r.start(worker.Options{Grace: grace, CheckpointDir: dir})
			if e := r.last(sweep.EventCheckpoint, 1, 1); e.Checkpoint != 4 {
				t.Errorf("checkpoint event %+v", e)
			}
			begin := time.Now()
			first.drain()
			if took := time.Since(begin); took < grace {
				t.Errorf("drained after %s, which cuts a trial's grace of %s short", took, grace)
			}
			if got := r.release(1, 1); got.Charged || got.Reason != "the worker was stopped" {
				t.Errorf("release %+v", got)
			}
			r.queueEmpties()
			if p := r.launcher.launched()[0]; !p.closed.Load() {
				t.Error("the trainer outlives its worker")
			}

			r.publish(job(1))
			second := r.start(worker.Options{CheckpointDir: dir})
			if got, want := r.result(1), outcome(sweep.TrainRequest{Trial: job(1).Trial}); got.Digest != want.ComputeDigest(map[string]bool{"seconds": true}) {
				t.Errorf("another digest after the interruption: %+v", got)
			}
			if a, b := <-from, <-from; a != "" || b != "state after 4" {
				t.Errorf("began from %q, then from %q", a, b)
			}
			second.drain()
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("checkpoints after the result: %v, %v", left, err)
			}
		})
	}
}

func TestDrainLetsTrialsFinishInTheirGrace(t *testing.T) {
	t.Parallel()
	running, finish := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		close(running)
		<-finish
		return outcome(request), nil
	})
	r.publish(job(1), job(2))
	w := r.start(worker.Options{Grace: patience})
	<-running
	w.stop()
	close(finish)
	if err := w.wait(); err != nil {
		t.Fatal(err)
	}
	r.result(1)
	eventually(t, "only the job of the trial that did not start in the queue", func() bool { return r.queue() == 1 })
}

// A worker that is to stop while the server takes no reports stops all the same.
func TestDrainWithoutEvents(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{0, 500 * time.Millisecond} {
		t.Run(grace.String(), func(t *testing.T) {
			t.Parallel()
			conn := wiretest.Start(t)
			running, finish := make(chan struct{}), make(chan struct{})
			r := rigOver(t, conn, func(_ context.Context, _ *process, request sweep.TrainRequest,
				_ sweep.Sink) (*sweep.Result, error) {
				close(running)
				<-finish
				return outcome(request), nil
			})
			r.publish(job(1))
			w := r.start(worker.Options{Grace: grace})
			<-running
			deleteStreams(t, conn)
			close(finish)
			w.drain()
		})
	}
}

func TestCheckpointThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		refuse   func(*process) (*sweep.Result, error)
		released bool // the execution ends; the next one starts anew
	}{
		{"politely", func(*process) (*sweep.Result, error) {
			return nil, errors.New("checkpoint: unexpected EOF")
		}, false},
		{"by death", (*process).die, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, string(job(1).Fingerprint)+".checkpoint")
			state := `{"sweep":"s","index":1,"trainer":"fake","result_version":"1","kernel_level":"go","step":3}` +
				"\nrubbish"
			if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
				sink sweep.Sink) (*sweep.Result, error) {
				if len(request.Checkpoint) > 0 {
					if err := sink.Points([]sweep.Curve{{Metric: "ghost", Steps: []int64{1}, Values: []float32{1}}}); err != nil {
						return nil, err
					}
					return c.refuse(p)
				}
				return outcome(request), nil
			})
			r.publish(job(1))
			r.start(worker.Options{CheckpointDir: dir})
			if c.released {
				if got := r.release(1, 1); !got.Charged {
					t.Errorf("release %+v", got)
				}
				r.queueEmpties()
				r.publish(job(1))
			}
			got := r.result(1)
			if len(got.Curves) != 2 || got.State != sweep.Completed {
				t.Errorf("the result is not that of a trial from its start: %+v", got)
			}
			eventually(t, "the checkpoint removed", func() bool {
				_, err := os.Stat(path)
				return errors.Is(err, os.ErrNotExist)
			})
		})
	}
}

// A checkpoint that does not fit the trainer is set aside, and the trial starts
// from the beginning; its history says so.
func TestCheckpointThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, note string }{
		"trainer": {`{"sweep":"s","index":1,"trainer":"other","result_version":"1","kernel_level":"go"}`,
			"of trainer other"},
		"version": {`{"sweep":"s","index":1,"trainer":"fake","result_version":"0","kernel_level":"go"}`,
			"result version 0"},
		"level": {`{"sweep":"s","index":1,"trainer":"fake","result_version":"1","kernel_level":"avx2"}`,
			"kernel level avx2, and this worker's is go"},
		"unnamed": {`{"sweep":"s","index":1,"trainer":"fake","result_version":"1"}`, "it names no kernel level, and " +
			"this worker's is go"},
		"without": {"a state of before", "first line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, string(job(1).Fingerprint)+".checkpoint")
			if err := os.WriteFile(path, []byte(c.first+"\nstate"), 0o600); err != nil {
				t.Fatal(err)
			}
			aside := make(chan bool, 1)
			r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
				_ sweep.Sink) (*sweep.Result, error) {
				_, err := os.Stat(path + ".aside")
				aside <- len(request.Checkpoint) == 0 && err == nil
				return outcome(request), nil
			})
			r.publish(job(1))
			r.start(worker.Options{CheckpointDir: dir})
			if note := r.note(1); !strings.Contains(note, "set aside") || !strings.Contains(note, c.note) {
				t.Errorf("note %q", note)
			}
			if !<-aside {
				t.Error("the trial did not start from the beginning, or the checkpoint was not kept meanwhile")
			}
			eventually(t, "no checkpoint left", func() bool {
				left, err := os.ReadDir(dir)
				return err == nil && len(left) == 0
			})
		})
	}
}

// A trial whose trainer starts slowly is announced before its checkpoint is loaded: what became of that
// is reported all the same.
func TestNoteOfATrialWhoseTrainerStartsSlowly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := `{"sweep":"s","index":1,"trainer":"fake","result_version":"1","kernel_level":"go","step":3}` + "\nstate"
	path := filepath.Join(dir, string(job(1).Fingerprint)+".checkpoint")
	if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, succeed)
	launches, ready := 0, make(chan struct{})
	release := sync.OnceFunc(func() { close(ready) })
	defer release()
	r.launcher.refuse = func(name string) error {
		if name != "fake" {
			return nil
		}
		if launches++; launches > 1 { // the first one is only asked what it is
			<-ready
		}
		return nil
	}
	r.publish(job(1))
	r.start(worker.Options{CheckpointDir: dir})
	r.last(sweep.EventStarted, 1, 1)
	release()
	if note := r.note(1); note != "resumed from the checkpoint at step 3" {
		t.Errorf("note %q", note)
	}
}

// A checkpoint goes when the trial has ended elsewhere.
func TestCheckpointOfATrialThatEndedElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		text := fmt.Sprintf(`{"sweep":"s","index":%d,"trainer":"fake","result_version":"1"}`+"\nstate", i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".checkpoint")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, succeed)
	r.answer.Ended = []sweep.TrialID{job(1).TrialID}
	r.start(worker.Options{CheckpointDir: dir})
	eventually(t, "one checkpoint to go", func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 1 && left[0].Name() == "0.checkpoint"
	})
	if b, _ := r.lastHeartbeat(); len(b.Checkpoints) == 0 {
		t.Errorf("heartbeat without checkpoints: %+v", b)
	}
}

func TestCheckpointThatCannotBeKeptDoesNoHarm(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		return outcome(request), sink.Checkpoint(1, []byte("state"))
	})
	r.publish(job(1))
	r.start(worker.Options{CheckpointDir: filepath.Join(file, "below a file")})
	if got := r.result(1); got.State != sweep.Completed {
		t.Errorf("result %+v", got)
	}
	if n := len(r.of(sweep.EventCheckpoint, 1)); n != 0 {
		t.Errorf("%d checkpoints reported that are not kept", n)
	}
}

func TestDeathOfTheTrainer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			return p.die()
		}
		return outcome(request), nil
	})
	r.publish(job(1), job(2))
	r.start(worker.Options{})
	if got := r.release(1, 1); !got.Charged || got.Reason != errDied.Error() ||
		!strings.HasPrefix(got.Stderr, "last words of process ") {
		t.Errorf("release %+v", got)
	}
	r.result(2)
	if n := len(r.launcher.launched()); n != 2 {
		t.Errorf("%d processes, want a new one after the death", n)
	}
}

func TestDeathBetweenTrials(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	r.publish(job(1))
	r.start(worker.Options{MachineFailures: 1})
	r.result(1)
	r.queueEmpties()
	if _, err := r.launcher.launched()[0].die(); err == nil {
		t.Fatal("no death")
	}
	r.publish(job(2))
	r.result(2) // nobody is charged
}

func TestOneProcessAsLongAsTheTrainerIsTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	r.start(worker.Options{})
	for i, name := range []string{"fake", "fake", "other", "other", "fake"} {
		j := job(int64(i))
		j.Requirement.Trainer = name
		r.publish(j)
		r.result(j.Index)
	}
	var names []string
	for _, p := range r.launcher.launched() {
		names = append(names, p.name)
	}
	if got := strings.Join(names, " "); got != "fake other fake" {
		t.Errorf("launched %s", got)
	}
}

// killedError is the error of a trainer that a signal from outside ended.
type killedError struct{}

func (killedError) Error() string { return "the trainer was killed" }
func (killedError) Killed() bool  { return true }

func TestBrokenMachineStopsTheWorkerAndIsNotCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 2 {
			return outcome(request), nil // ends the row of 0 and 1
		}
		_, _ = p.die()
		return nil, killedError{}
	})
	r.adjust = func(w *worker.Worker) { w.SetLongestWait(patience) } // a job that is returned comes later
	r.publish(jobs(10)...)
	w := r.start(worker.Options{})
	var broken *worker.BrokenError
	if err := w.wait(); !errors.As(err, &broken) || broken.Failures != 3 || !errors.As(err, &killedError{}) ||
		!strings.Contains(err.Error(), "worker w stopped after 3 failures") {
		t.Fatalf("the worker ended with %v", err)
	}
	r.await("all words of the worker", func() bool {
		return len(r.of(sweep.EventReleased, 3)) == 2 && len(r.of(sweep.EventReleased, 4)) == 2
	})
	for index, want := range map[int64][]bool{0: {true}, 1: {true}, 3: {true, false}, 4: {true, false},
		5: {false}, 6: nil} {
		releases := r.of(sweep.EventReleased, index)
		if len(releases) != len(want) {
			t.Errorf("trial %d: %d releases, want %d", index, len(releases), len(want))
			continue
		}
		for i, e := range releases {
			if e.Release.Charged != want[i] || e.Execution != releases[0].Execution {
				t.Errorf("trial %d: release %+v of execution %s, want charged %v of %s", index, e.Release, e.Execution,
					want[i], releases[0].Execution)
			}
		}
	}
	r.await("the 4 jobs that were not begun are left", func() bool { return r.queue() == 4 })
}

// A worker whose machine is broken takes no more, but what runs well on its other
// slots goes on to its end.
func TestBrokenMachineEndsNoGoodTrial(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index > 0 {
			_, _ = p.die()
			return nil, killedError{}
		}
		select {
		case <-finish:
			return outcome(request), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	r.publish(job(0))
	w := r.start(worker.Options{Slots: 2}) // without grace
	r.last(sweep.EventStarted, 0, 1)
	r.publish(jobs(4)[1:]...)
	r.release(3, 1)
	eventually(t, "the worker to say that it takes no more", func() bool {
		b, _ := r.lastHeartbeat()
		return b.State == wire.WorkerDraining
	})
	close(finish)
	if got := r.result(0); got.State != sweep.Completed {
		t.Errorf("result %+v", got)
	}
	var broken *worker.BrokenError
	if err := w.wait(); !errors.As(err, &broken) {
		t.Errorf("the worker ended with %v", err)
	}
}

// A trainer that ran before and does not start any more is the machine's failure;
// one that never ran is refused, and not offered any more.
func TestTrainerThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	t.Run("ran before", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(_ context.Context, p *process, _ sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
			return p.die()
		})
		var dead atomic.Bool
		r.launcher.refuse = func(string) error {
			if dead.Load() {
				return errors.New("exec format error")
			}
			return nil
		}
		r.publish(job(0))
		w := r.start(worker.Options{})
		r.release(0, 1)
		dead.Store(true)
		for i := int64(1); i < 5; i++ {
			r.publish(job(i))
		}
		if err := w.wait(); err == nil || !strings.Contains(err.Error(), "start trainer fake, which ran before: exec "+
			"format error") {
			t.Fatalf("the worker ended with %v", err)
		}
		r.await("its words", func() bool {
			return len(r.of(sweep.EventReleased, 1)) == 2 &&
				len(r.of(sweep.EventReleased, 2)) == 2
		})
		if len(r.of(sweep.EventReleased, 0)) != 1 {
			t.Error("the death of trial 0 was taken back, which was its own")
		}
	})
	t.Run("never ran", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, succeed)
		r.launcher.refuse = func(name string) error {
			if name == "other" {
				return errors.New("no such library")
			}
			return nil
		}
		r.offer.Trainers = r.offer.Trainers[:1]
		eventually(t, "a queue", func() bool { return r.wire.OpenQueue(t.Context(), r.queueName()) == nil })
		other := job(1)
		other.Requirement.Trainer = "other"
		r.publish(other, job(2))
		r.start(worker.Options{MachineFailures: 1})
		if got := r.refusal(1, 1); !strings.Contains(got.Reason, "no such library") {
			t.Errorf("refusal %+v", got)
		}
		r.result(2)
		r.queueEmpties()
	})
}

func TestTrialThatKeepsKillingItsTrainerDoesNotBreakTheWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index < 2 {
			return p.die()
		}
		return outcome(request), nil
	})
	r.start(worker.Options{MachineFailures: 3})
	for n := 1; n <= 10; n++ {
		for i := range int64(2) {
			r.publish(job(i))
			if got := r.release(i, n); !got.Charged {
				t.Fatalf("release %d of trial %d is not charged: %+v", n, i, got)
			}
		}
		r.queueEmpties()
	}
	r.publish(job(2))
	r.result(2)
}

func TestTrainerThatDoesNotStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stop func(*rig, *run) // once the trial runs; nil if it stops itself, perhaps before
		sees func(*rig)
	}{
		{"cancelled", func(r *rig, _ *run) {
			if err := r.wire.Cancel("s", 1); err != nil {
				r.t.Fatal(err)
			}
		}, func(r *rig) { r.release(1, 1); r.publish(job(2)); r.result(2) }},
		{"timed out", nil, func(r *rig) { r.result(1); r.publish(job(2)); r.result(2) }},
		{"drained", func(_ *rig, w *run) { w.drain() }, func(r *rig) { r.release(1, 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			running := make(chan struct{})
			r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest,
				_ sweep.Sink) (*sweep.Result, error) {
				if request.Index == 1 {
					close(running)
					<-p.gone // only its end stops it
					return nil, errDied
				}
				return outcome(request), nil
			})
			stubborn := job(1)
			if c.name == "timed out" {
				stubborn.Limits.Timeout = 50 * time.Millisecond
			}
			r.publish(stubborn)
			w := r.start(worker.Options{MachineFailures: 1})
			if c.stop != nil {
				sweeptest.Receive(t, "the trial to run", running)
				c.stop(r, w)
			}
			c.sees(r)
			if !r.launcher.launched()[0].closed.Load() {
				t.Error("the trainer was not ended")
			}
			for _, e := range r.of(sweep.EventReleased, 1) {
				if e.Release.Charged {
					t.Errorf("charged: %+v", e.Release)
				}
			}
		})
	}
}

func TestWhatTrainersMustNotReturn(t *testing.T) {
	t.Parallel()
	broken := []sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{1}}}
	for _, c := range []struct {
		name   string
		result *sweep.Result
		points []sweep.Curve
		reason string
	}{
		{"nothing", nil, nil, "without a result"},
		{"no state", &sweep.Result{}, nil, "state"},
		{"running", &sweep.Result{State: sweep.Running}, nil, "state"},
		{"curve of the result", &sweep.Result{State: sweep.Completed, Curves: broken}, nil, "2 steps and 1 values"},
		{"points", &sweep.Result{State: sweep.Completed}, broken, "2 steps but 1 values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, _ *process, _ sweep.TrainRequest,
				sink sweep.Sink) (*sweep.Result, error) {
				if err := sink.Points(c.points); err != nil {
					return nil, err
				}
				return c.result, nil
			})
			r.publish(job(1))
			r.start(worker.Options{})
			if got := r.release(1, 1); !got.Charged || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("release %+v", got)
			}
		})
	}
}

func TestNumbersThatMessagesCannotCarry(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		result := outcome(request)
		result.Diverged = true
		result.Summary = map[string]float64{"a": math.NaN(), "b": math.Inf(1), "c": 1}
		result.Seconds = math.Inf(1)
		result.Curves[0].Values[1] = float32(math.NaN())
		return result, nil
	})
	r.publish(job(1))
	r.start(worker.Options{})
	got := r.result(1)
	if !reflect.DeepEqual(got.Summary, map[string]float64{"c": 1}) || got.Seconds != 0 ||
		!math.IsNaN(float64(got.Curves[0].Values[1])) {
		t.Errorf("result %+v", got)
	}
	if got.Digest != got.ComputeDigest(map[string]bool{"seconds": true}) {
		t.Error("the digest is not that of the result that is sent")
	}
}

func TestResultThatNoMessageCanCarryFailsTheTrial(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		result := outcome(request)
		result.Error = strings.Repeat("x", 3<<20)
		return result, nil
	})
	r.publish(job(1))
	r.start(worker.Options{})
	if got := r.result(1); got.State != sweep.Failed || !strings.Contains(got.Error, "max_payload") ||
		got.Digest == "" {
		t.Errorf("result %+v", got)
	}
	r.queueEmpties()
}

func TestServerRestartedWhileATrialRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := wiretest.Run(t, wiretest.Options{Dir: dir, Port: -1})
	port := server.Port()
	var executions atomic.Int64
	running, finish := make(chan struct{}, 10), make(chan struct{})
	r := rigOver(t, server.Connect(t), func(_ context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		executions.Add(1)
		running <- struct{}{}
		<-finish
		return outcome(request), nil
	})
	r.publish(job(1))
	w := r.start(worker.Options{})
	<-running
	server.Stop()
	close(finish) // the trial ends while nobody can be told
	wiretest.Run(t, wiretest.Options{Dir: dir, Port: port})
	r.term++
	eventually(t, "events again", func() bool {
		events, err := r.wire.Events(t.Context(), r.term)
		r.events = events
		return err == nil
	})
	if got := r.result(1); got.State != sweep.Completed {
		t.Errorf("result %+v", got)
	}
	r.queueEmpties()
	r.publish(job(2))
	r.result(2)
	w.drain()
	// The server may have forgotten that it delivered the job: then it was run twice.
	if n := executions.Load(); n < 2 || n > 3 {
		t.Errorf("%d executions of 2 trials", n)
	}
}

func TestStreamsLost(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	running, finish := make(chan struct{}, 10), make(chan struct{})
	r := rigOver(t, conn, func(_ context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			running <- struct{}{}
			<-finish
		}
		return outcome(request), nil
	})
	r.publish(job(1))
	r.start(worker.Options{Slots: 2}) // one runs, one waits
	<-running
	deleteStreams(t, conn)
	close(finish)
	r.setup()
	if got := r.result(1); got.State != sweep.Completed {
		t.Errorf("result %+v", got)
	}
	r.publish(job(2), job(3))
	r.result(2)
	r.result(3)
	r.queueEmpties()
}

func TestWorkerComesBeforeItsStreams(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	r := &rig{t: t, wire: openWire(t, conn), launcher: &launcher{train: succeed}, offer: fakeOffer()}
	r.start(worker.Options{Slots: 2})
	r.setup()
	r.publish(job(1))
	r.result(1)
}

func TestEndBeforeTheFirstJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	w := r.start(worker.Options{Slots: 3, Grace: 2 * patience}) // which it does not take
	w.drain()
	if n := len(r.launcher.launched()); n != 0 {
		t.Errorf("%d processes without a job", n)
	}
}

// What bounds a worker's end does not begin before: one that runs for long still reaches the server.
func TestWorkerThatRunsForLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	r.adjust = func(w *worker.Worker) { w.SetFarewell(time.Nanosecond) }
	w := r.start(worker.Options{})
	for i := range int64(3) {
		r.publish(job(i))
		r.result(i)
	}
	if w.CutOff() {
		t.Error("the worker counts as cut off while it runs")
	}
}
