package storetest

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

func testRecord(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("OneTrial", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		started := f.started(id, "x")
		if report := f.record(started); report != (sweep.RecordReport{}) {
			t.Errorf("%+v", report)
		}
		got := f.trial(id)
		if got.State != sweep.Running || got.Executions != 1 || got.Worker != "worker-x" ||
			!got.StartedAt.Equal(started.Time) || got.Result != nil {
			t.Errorf("%+v", got)
		}
		want := completed(0.125, "a")
		finished := f.finished(id, "x", want)
		if report := f.record(finished); report != (sweep.RecordReport{Terminal: 1}) {
			t.Errorf("%+v", report)
		}
		got = f.trial(id)
		if got.State != sweep.Completed || got.Executions != 1 || got.Charged != 0 ||
			!got.FinishedAt.Equal(finished.Time) || got.SweepName != "name-s1" {
			t.Errorf("%+v", got)
		}
		stored := *want
		stored.Curves = nil
		if !reflect.DeepEqual(got.Result, &stored) {
			t.Errorf("result changed on its way:\n got %+v\nwant %+v", got.Result, &stored)
		}
		curves, err := f.Curves(f.ctx, id)
		f.must(err)
		if !reflect.DeepEqual(curves, want.Curves) {
			t.Errorf("curves changed on their way:\n got %+v\nwant %+v", curves, want.Curves)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Completed: 1})
	})

	t.Run("FirstResultWins", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		f.record(f.started(id, "x"), f.started(id, "y"))
		if got := f.trial(id); got.Executions != 2 || got.Worker != "worker-y" {
			t.Errorf("%+v", got)
		}
		// The slow worker comes back with its result, then the other one.
		f.record(f.finished(id, "x", completed(1, "a")))
		before := f.trial(id)
		if before.Worker != "worker-x" {
			t.Errorf("the result is by %s", before.Worker)
		}
		second := f.finished(id, "y", completed(1, "a"))
		if report := f.record(second); report != (sweep.RecordReport{Repeated: 1}) {
			t.Errorf("%+v", report)
		}
		if report := f.record(f.started(id, "z"), f.finished(id, "z", completed(2, "b"))); report != (sweep.RecordReport{Repeated: 1, Faults: 1}) {
			t.Errorf("%+v", report)
		}
		other := completed(2, "c")
		other.KernelLevel = "scalar" // other bits are no fault at another level
		if report := f.record(f.finished(id, "w", other)); report != (sweep.RecordReport{Repeated: 1}) {
			t.Errorf("%+v", report)
		}
		slow := completed(2, "d")
		slow.State, slow.Error = sweep.Failed, "timed out" // it has a part of the curves
		if report := f.record(f.finished(id, "v", slow)); report != (sweep.RecordReport{Repeated: 1}) {
			t.Errorf("%+v", report)
		}
		after := f.trial(id)
		if after.Executions != 5 {
			t.Errorf("%d executions, want 5", after.Executions)
		}
		after.Executions = before.Executions
		if !reflect.DeepEqual(before, after) {
			t.Errorf("a repeat changed the trial:\n got %+v\nwant %+v", after, before)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Completed: 1, Faults: 1})
		if row := f.rows(`SELECT execution, expected, found FROM reproducibility_faults`); !reflect.DeepEqual(row,
			[][]any{{"z", "a", "b"}}) {
			t.Errorf("faults: %v", row)
		}
	})

	t.Run("Redelivery", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 3)
		f.mark([]sweep.TrialID{trialID("s1", 0), trialID("s1", 1), trialID("s1", 2)})
		points := f.event(sweep.EventPoints, trialID("s1", 1), "b")
		points.Curves = []sweep.Curve{{Metric: "loss", Steps: []int64{1}, Values: []float32{1}}}
		batch := []sweep.Event{
			f.started(trialID("s1", 0), "a"),
			f.started(trialID("s1", 1), "b"),
			points,
			f.finished(trialID("s1", 0), "a", completed(1, "a")),
			f.started(trialID("s1", 0), "a2"),
			f.finished(trialID("s1", 0), "a2", completed(1, "b")),
			f.released(trialID("s1", 1), "b", true, "killed"),
			f.started(trialID("s1", 1), "b2"),
			f.started(trialID("s1", 2), "c"),
			f.released(trialID("s1", 2), "c", true, "killed"),
			f.released(trialID("s1", 2), "c", false, "the machine's"),
		}
		f.record(batch...)
		snapshot := func() []any {
			var all []any
			for i := range int64(3) {
				all = append(all, *f.trial(trialID("s1", i)))
			}
			p, err := f.Progress(f.ctx, "s1")
			f.must(err)
			return append(all,
				p,
				f.rows(`SELECT execution, worker, outcome, charged, reason, stderr FROM executions ORDER BY execution`))
		}
		want := snapshot()
		if p := want[3].(sweep.Progress); p != (sweep.Progress{Completed: 1, Running: 1, Pending: 1, Faults: 1}) {
			t.Errorf("%+v", p)
		}
		f.record(batch...)
		if got := snapshot(); !reflect.DeepEqual(got, want) {
			t.Errorf("the batch that came again changed something:\n got %+v\nwant %+v", got, want)
		}
		for i := range batch { // and each event alone, in any place
			f.record(batch[i])
			if got := snapshot(); !reflect.DeepEqual(got, want) {
				t.Fatalf("event %d (%s) that came again changed something:\n got %+v\nwant %+v",
					i, batch[i].Kind, got, want)
			}
		}
		f.checkCounters("s1")
	})

	t.Run("Points", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		nan := float32(math.NaN())
		points := f.event(sweep.EventPoints, id, "x")
		points.Curves = []sweep.Curve{
			{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{3, nan}},
			{Metric: "gone", Steps: []int64{1}, Values: []float32{3}},
		}
		f.record(f.started(id, "x"), points)
		later := f.event(sweep.EventPoints, id, "x")
		later.Curves = []sweep.Curve{
			{Metric: "loss", Steps: []int64{1, 2, 3}, Values: []float32{3, 2, float32(math.Inf(1))}},
			{Metric: "empty"},
			{Metric: "loss2", Steps: []int64{-5, 1 << 60}, Values: []float32{-1e-45, math.MaxFloat32}},
		}
		f.record(later)
		curves, err := f.Curves(f.ctx, id)
		f.must(err)
		if len(curves) != 3 || !reflect.DeepEqual(curves[0], later.Curves[0]) ||
			!reflect.DeepEqual(curves[2], later.Curves[2]) ||
			curves[1].Metric != "empty" || len(curves[1].Steps) != 0 {
			t.Errorf("curves %+v", curves)
		}
		// A result without curves keeps those that came before it; points that come after it are late.
		result := completed(1, "a")
		result.Curves = nil
		f.record(f.finished(id, "x", result))
		f.record(points)
		if again, err := f.Curves(f.ctx, id); err != nil || !reflect.DeepEqual(again, curves) {
			t.Errorf("curves %+v (%v)", again, err)
		}
	})

	t.Run("Checkpoint", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(f.started(id, "x"))
		for _, step := range []int64{10, 30, 20} {
			e := f.event(sweep.EventCheckpoint, id, "x")
			e.Checkpoint = step
			f.record(e)
		}
		if row := f.rows(`SELECT checkpoint FROM executions`); row[0][0] != int64(30) {
			t.Errorf("checkpoint at %v", row[0][0])
		}
		f.wantState(id, sweep.Running)
	})

	t.Run("Unknown", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 1)
		report := f.record(
			f.started(trialID("nil", 0), "x"),
			f.started(trialID("s1", 1), "x"), // not written yet
			f.finished(trialID("s1", -1), "x", completed(1, "a")),
			f.started(trialID("s1", 0), "y"),
		)
		if report != (sweep.RecordReport{Unknown: 3}) {
			t.Errorf("%+v", report)
		}
		f.wantState(trialID("s1", 0), sweep.Running)
		f.record()
	})

	t.Run("Malformed", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		report := f.record(
			f.event("danced", id, "x"),
			f.event(sweep.EventResult, id, "x"),
			f.event(sweep.EventReleased, id, "x"),
			f.event(sweep.EventStarted, id, ""),
			f.finished(id, "x", &sweep.Result{State: sweep.Running}),
			f.finished(id, "x", &sweep.Result{}),
		)
		if report != (sweep.RecordReport{Malformed: 6}) {
			t.Errorf("%+v", report)
		}
		f.wantState(id, sweep.Pending)
		// What no database can hold must not hold up the batch either.
		odd := completed(math.NaN(), "a\x00\xff")
		odd.Summary["infinite"] = math.Inf(-1)
		odd.Seconds = math.NaN()
		odd.Error, odd.Stderr = "e\x00\xff", strings.Repeat("é\x00", 1<<17)
		odd.Curves = append(odd.Curves, sweep.Curve{Metric: "short\x00", Steps: []int64{1, 2}, Values: []float32{1}},
			odd.Curves[0])
		e := f.finished(id, "x\x00\xff", odd)
		e.Worker = "w\x00\xff"
		e.Time = time.Time{}
		if report := f.record(e, e); report != (sweep.RecordReport{Terminal: 1, Repeated: 1}) {
			t.Errorf("%+v", report)
		}
		got := f.trial(id)
		// A metric whose last value is not finite is one of the sweep's all the same, and in no mean.
		if want := []string{"infinite", "train_loss", "validation_loss"}; !slices.Equal(got.Result.NotFinite, want) {
			t.Errorf("not finite: %v, want %v", got.Result.NotFinite, want)
		}
		if len(got.Result.Summary) != 2 || len(got.Result.Stderr) > 1<<18 || got.FinishedAt.IsZero() {
			t.Errorf("%+v", got.Result.Summary)
		}
	})

	t.Run("WithoutStart", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		id := trialID("s1", 0)
		f.record(f.finished(id, "x", completed(1, "a")))
		if got := f.trial(id); got.State != sweep.Completed || got.Executions != 1 || got.Worker != "worker-x" {
			t.Errorf("%+v", got)
		}
		f.record(f.started(id, "x"))
		if got := f.trial(id); got.State != sweep.Completed || got.Executions != 1 {
			t.Errorf("%+v", got)
		}
	})

	t.Run("Diverged", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 3)
		f.complete(trialID("s1", 0), &sweep.Result{State: sweep.Completed, Diverged: true})
		f.complete(trialID("s1", 1), &sweep.Result{State: sweep.Failed, Diverged: true, Error: "no"})
		f.complete(trialID("s1", 2), &sweep.Result{State: sweep.Cancelled})
		if r := f.trial(trialID("s1", 0)).Result; !r.Diverged || r.State != sweep.Completed {
			t.Errorf("%+v", r)
		}
		if r := f.trial(trialID("s1", 1)).Result; r.Diverged || r.Error != "no" {
			t.Errorf("%+v", r)
		}
		f.wantProgress("s1", sweep.Progress{Completed: 1, Failed: 1, Cancelled: 1, Diverged: 1})
	})
}
