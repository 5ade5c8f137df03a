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
	"sync/atomic"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
)

func TestResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	limited := job(3)
	limited.Limits.Points = 2
	r.publish(limited)
	r.start(worker.Options{Name: "somebody"})
	r.queueEmpties()
	if n, err := r.wire.EventCount(t.Context()); n != 1 || err != nil {
		t.Errorf("a short trial took %d messages (%v), want its start in the message of its result", n, err)
	}
	got := r.result(3)
	if story := r.story(); story != "3:started 3:result" {
		t.Errorf("events %s", story)
	}
	want := outcome(sweep.TrainRequest{Trial: limited.Trial})
	want.Curves[0].Steps, want.Curves[0].Values = []int64{2, 3}, []float32{2, .75}
	want.Curves[1].Steps, want.Curves[1].Values = []int64{2, 3}, []float32{1, 1}
	want.Digest = want.ComputeDigest(map[string]bool{"seconds": true})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("result\n%+v, want\n%+v", got, want)
	}
	first, last := r.seen[0], r.seen[1]
	if first.Execution == "" || first.Execution != last.Execution || first.Worker != "somebody" || last.Worker != "somebody" ||
		first.Time.After(last.Time) || time.Since(first.Time) > patience {
		t.Errorf("events of different or wrong origin: %+v, %+v", first, last)
	}
}

func TestStartOfALongerTrialIsAnnounced(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		<-finish
		return outcome(request), nil
	})
	r.publish(job(1))
	w := r.start(worker.Options{})
	r.last(sweep.EventStarted, 1, 1)
	if s := w.Status(); len(s) != 1 || s[0].Trial != job(1).TrialID || time.Since(s[0].Since) > patience {
		t.Errorf("status %+v while trial 1 runs", s)
	}
	close(finish)
	r.result(1)
	if story := r.story(); story != "1:started 1:result" {
		t.Errorf("events %s", story)
	}
	eventually(t, "an idle slot", func() bool { return w.Status()[0].Trial == sweep.TrialID{} })
}

func TestPointsOfALongTrialComeAtGrowingIntervals(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for step := int64(1); ; step++ {
			select {
			case <-finish:
				result := outcome(request)
				result.Curves = nil
				return result, nil
			case <-ticker.C:
			}
			if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{step}, Values: []float32{float32(step)}}}); err != nil {
				return nil, err
			}
		}
	})
	long := job(1)
	long.Limits.Points = 16
	r.publish(long)
	// The trial takes longer than AckWait: without heartbeats the second slot
	// would run it too.
	r.start(worker.Options{Slots: 2})
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
		if len(e.Curves) != 1 || len(e.Curves[0].Steps) > 17 || len(e.Curves[0].Steps) < 8 {
			t.Errorf("curves not thinned to 16 points and the last: %+v", e.Curves)
		}
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
			r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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

func TestTrialThatCannotRunHereIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
	}{
		{"data set changed", fmt.Errorf("loading: %w", sweep.ErrDatasetChanged)},
		{"data set missing", &sweep.DataError{Dataset: "CBF", Err: os.ErrNotExist}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
				if request.Index == 1 {
					return nil, c.err
				}
				return outcome(request), nil
			})
			strange := job(1)
			strange.DatasetDigest = "abc"
			r.publish(strange, job(2))
			r.start(worker.Options{MachineFailures: 2})
			r.result(2)
			eventually(t, "trial 2 acknowledged", func() bool { return r.queue() == 1 })
			if story := r.story(); story != "2:started 2:result" {
				t.Errorf("events %s, want none of a trial that was given back at once", story)
			}
			held, err := r.wire.HeldJobs(t.Context(), []sweep.TrialID{strange.TrialID})
			if err != nil || !held[strange.TrialID] {
				t.Errorf("the job is not in the queue any more: %v, %v", held, err)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			return p.until(ctx)
		}
		return outcome(request), nil
	})
	slow := job(1)
	slow.Limits.Timeout = 30 * time.Millisecond
	r.publish(slow, job(2))
	r.start(worker.Options{MachineFailures: 1})
	if got := r.result(1); got.State != sweep.Failed || !strings.Contains(got.Error, "timed out after 30ms") {
		t.Errorf("result %+v", got)
	}
	r.result(2)
	if n := len(r.launcher.launched()); n != 1 {
		t.Errorf("%d processes, want the one that stopped when it was told to", n)
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
			r := newRig(t, func(ctx context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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
				return !slices.ContainsFunc(w.Status(), func(s worker.SlotStatus) bool { return s.Trial.Sweep == "" })
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
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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
	if n := r.queue(); n != 1 {
		t.Errorf("%d jobs in the queue, want that of the trial that did not start", n)
	}
}

func TestCheckpointThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		refuse   func(*process) (*sweep.Result, error)
		released bool // the execution ends; the next one starts anew
	}{
		{"politely", func(*process) (*sweep.Result, error) { return nil, errors.New("checkpoint: unexpected EOF") }, false},
		{"by death", (*process).die, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, string(job(1).Fingerprint)+".checkpoint")
			if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
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

func TestCheckpointThatCannotBeKeptDoesNoHarm(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
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
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 1 {
			return p.die()
		}
		return outcome(request), nil
	})
	r.publish(job(1), job(2))
	r.start(worker.Options{})
	if got := r.release(1, 1); !got.Charged || got.Reason != errDied.Error() || got.Stderr != "last words of process 0" {
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
		j.Trainer = name
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

func TestBrokenMachineStopsTheWorkerAndIsNotCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if request.Index == 2 {
			return outcome(request), nil // ends the row of 0 and 1
		}
		return p.die()
	})
	r.publish(jobs(10)...)
	w := r.start(worker.Options{})
	var broken *worker.BrokenError
	if err := w.wait(); !errors.As(err, &broken) || broken.Failures != 3 || !errors.Is(err, errDied) || !strings.Contains(err.Error(), "worker w stopped after 3 failures") {
		t.Fatalf("the worker ended with %v", err)
	}
	r.await("all words of the worker", func() bool { return len(r.of(sweep.EventReleased, 3)) == 2 && len(r.of(sweep.EventReleased, 4)) == 2 })
	for index, want := range map[int64][]bool{0: {true}, 1: {true}, 3: {true, false}, 4: {true, false}, 5: {false}, 6: nil} {
		releases := r.of(sweep.EventReleased, index)
		if len(releases) != len(want) {
			t.Errorf("trial %d: %d releases, want %d", index, len(releases), len(want))
			continue
		}
		for i, e := range releases {
			if e.Release.Charged != want[i] || e.Execution != releases[0].Execution {
				t.Errorf("trial %d: release %+v of execution %s, want charged %v of %s", index, e.Release, e.Execution, want[i], releases[0].Execution)
			}
		}
	}
	if n := r.queue(); n != 4 {
		t.Errorf("%d jobs left, want the 4 that were not begun", n)
	}
}

func TestTrainerThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, _ sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		return p.die()
	})
	missing := fmt.Errorf("trainer %q: %w", "fake", sweep.ErrNotFound)
	r.launcher.refuse = func(string) error {
		if len(r.launcher.processes) > 0 {
			return missing
		}
		return nil
	}
	r.publish(jobs(5)...)
	w := r.start(worker.Options{})
	if err := w.wait(); !errors.Is(err, sweep.ErrNotFound) || !strings.Contains(err.Error(), "start trainer fake") {
		t.Fatalf("the worker ended with %v", err)
	}
	// Trial 0 killed its trainer, 1 and 2 found none: the charge of 0 is taken back,
	// the jobs of 1 and 2 wait for another worker.
	if first, second := r.release(0, 1), r.release(0, 2); !first.Charged || second.Charged {
		t.Errorf("releases %+v, %+v", first, second)
	}
	if story := r.story(); story != "0:started 0:released 0:released" {
		t.Errorf("events %s", story)
	}
	if n := r.queue(); n != 4 {
		t.Errorf("%d jobs in the queue, want 4", n)
	}
}

func TestTrialThatKeepsKillingItsTrainerDoesNotBreakTheWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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
		stop func(*rig, *run)
		sees func(*rig)
	}{
		{"cancelled", func(r *rig, _ *run) {
			if err := r.wire.Cancel("s", 1); err != nil {
				r.t.Fatal(err)
			}
		}, func(r *rig) { r.release(1, 1); r.publish(job(2)); r.result(2) }},
		{"timed out", func(*rig, *run) {}, func(r *rig) { r.result(1); r.publish(job(2)); r.result(2) }},
		{"drained", func(_ *rig, w *run) { w.drain() }, func(r *rig) { r.release(1, 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			running := make(chan struct{})
			r := newRig(t, func(_ context.Context, p *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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
			<-running
			c.stop(r, w)
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
			r := newRig(t, func(_ context.Context, _ *process, _ sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
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
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		result := outcome(request)
		result.Diverged = true
		result.Summary = map[string]float64{"a": math.NaN(), "b": math.Inf(1), "c": 1}
		result.Seconds, result.Flops = math.Inf(1), math.NaN()
		result.Curves[0].Values[1] = float32(math.NaN())
		return result, nil
	})
	r.publish(job(1))
	r.start(worker.Options{})
	got := r.result(1)
	if !reflect.DeepEqual(got.Summary, map[string]float64{"c": 1}) || got.Seconds != 0 || got.Flops != 0 || !math.IsNaN(float64(got.Curves[0].Values[1])) {
		t.Errorf("result %+v", got)
	}
	if got.Digest != got.ComputeDigest(map[string]bool{"seconds": true}) {
		t.Error("the digest is not that of the result that is sent")
	}
}

func TestResultThatNoMessageCanCarryFailsTheTrial(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		result := outcome(request)
		result.Error = strings.Repeat("x", 3<<20)
		return result, nil
	})
	r.publish(job(1))
	r.start(worker.Options{})
	if got := r.result(1); got.State != sweep.Failed || !strings.Contains(got.Error, "max_payload") || got.Digest == "" {
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
	r := rigOver(t, server.Connect(t), func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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
	eventually(t, "events again", func() bool {
		events, err := r.wire.Events(t.Context(), true)
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
	r := rigOver(t, conn, func(_ context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
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
	eventually(t, "streams again", func() bool { return r.wire.Setup(t.Context()) == nil })
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
	r := &rig{t: t, wire: openWire(t, conn), launcher: &launcher{train: succeed}}
	r.start(worker.Options{Slots: 2})
	r.setup()
	r.publish(job(1))
	r.result(1)
}

func TestEndBeforeTheFirstJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, succeed)
	w := r.start(worker.Options{Slots: 3, Grace: patience})
	begin := time.Now()
	w.drain()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("an idle worker took %s to end", took)
	}
	if n := len(r.launcher.launched()); n != 0 {
		t.Errorf("%d processes without a job", n)
	}
}
