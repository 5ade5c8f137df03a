package progress_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"sweep/coordinator/store/storetest"
	"sweep/sweep"
	"sweep/sweep/progress"
)

// bench is a sweep of ten trials in a database.
type bench struct {
	t     *testing.T
	store sweep.Store
	now   time.Time
}

// loss is the metric of trainers that describe it.
var loss = sweep.MetricSchema{Name: "loss", Goal: sweep.Minimize, Curve: true, Summary: true}

func newBench(t *testing.T, flops float64, metrics ...sweep.MetricSchema) *bench {
	t.Helper()
	submission := &sweep.Submission{
		Spec: sweep.Spec{
			Name: "bench", Trainer: "noop", Pool: "cpu", Limits: sweep.Limits{Attempts: 1, Points: 1000},
			Select: sweep.Select{Group: []string{"model"}, By: "loss", Goal: sweep.Minimize},
		},
		Description: sweep.Description{
			Name: "noop", Version: "1", ResultVersion: "1", Metrics: metrics,
		},
		Flops: flops,
	}
	var trials []sweep.Trial
	for i := range int64(10) {
		p := sweep.Parameters{"model": fmt.Sprint("m", i%2), "epochs": int64(200), "lr": float64(i)}
		trials = append(trials, sweep.Trial{TrialID: sweep.TrialID{Sweep: "s1", Index: i}, Parameters: p,
			Fingerprint: sweep.Fingerprint(fmt.Sprintf("%064d", i))})
	}
	b := &bench{t: t, store: storetest.Open(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	example := storetest.Example{ID: "s1", Submission: submission, Trials: trials, Queued: len(trials)}
	example.Add(t, b.store)
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) record(events ...sweep.Event) {
	b.t.Helper()
	for i := range events {
		events[i].Sweep, events[i].Worker, events[i].Time = "s1", "w", b.now
		if events[i].Execution == "" {
			events[i].Execution = fmt.Sprint("e", events[i].Index)
		}
	}
	_, err := b.store.Record(b.t.Context(), events)
	b.must(err)
}

func (b *bench) start(index int64) {
	b.record(sweep.Event{Kind: sweep.EventStarted, TrialID: sweep.TrialID{Index: index}})
}

func (b *bench) complete(index int64, loss float64) {
	b.record(sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Index: index}, Result: &sweep.Result{
		State: sweep.Completed, Summary: map[string]float64{"loss": loss, "flops": 100}, Seconds: 10, Digest: "d",
	}})
}

func (b *bench) look(o *progress.Observer) *progress.Snapshot {
	b.t.Helper()
	o.Hurry()
	s, err := o.Look(b.t.Context(), b.now)
	b.must(err)
	if _, err := json.Marshal(s); err != nil {
		b.t.Errorf("no JSON: %v", err)
	}
	return s
}

func (b *bench) observer() *progress.Observer {
	record, err := b.store.Sweep(b.t.Context(), "s1")
	b.must(err)
	return progress.NewObserver(b.store, record)
}

// A sweep from its first look to its end: the time left comes from the trainer's
// estimate at the speed of what has run, what runs counts by the steps of its
// curves, and failures, refusals and the best of each group are told.
func TestObserver(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1000, loss)
	o := b.observer()
	s := b.look(o)
	if s.Done != 0 || s.Total != 10 || s.Left != 0 || s.Share != 0 || s.Name != "bench" {
		t.Errorf("at the beginning: %+v", s)
	}
	b.start(0)
	b.start(1)
	b.now = b.now.Add(10 * time.Second)
	b.complete(0, 0.5)
	s = b.look(o)
	if s.Done != 1 || len(s.Running) != 1 || s.Running[0].Index != 1 || s.Running[0].Label != "m1" ||
		s.Running[0].Seconds != 10 || s.Running[0].Steps != 200 {
		t.Errorf("after a trial: %+v", s)
	}
	if math.Abs(s.Left-90) > 1 {
		t.Errorf("after 100 of 1000 flop in 10 s: %.1f s left, want 90", s.Left)
	}
	// The other trial is half way.
	b.record(sweep.Event{Kind: sweep.EventPoints, TrialID: sweep.TrialID{Index: 1},
		Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1, 100}, Values: []float32{3, 2}}}})
	s = b.look(o)
	if r := s.Running[0]; r.Step != 100 || r.Share() != 0.5 || r.Left != 10 || r.Metric != "loss" ||
		r.ValueText() != "2" {
		t.Errorf("half of a trial: %+v", r)
	}
	// At 10 flop/s its size is 200.
	if math.Abs(s.Share-0.2) > 1e-9 {
		t.Errorf("100 flop, and half of 200, are a share of %g of 1,000", s.Share)
	}
	if len(s.Best) != 1 || s.Best[0].Group != "m0" || s.Best[0].Value != 0.5 || s.BestBy != "loss" {
		t.Errorf("best: %+v", s.Best)
	}
	b.complete(1, 0.25)
	b.start(2)
	b.record(sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Index: 2},
		Result: &sweep.Result{State: sweep.Failed, Error: "\n  no \x1b[31mmemory\nTraceback"}})
	b.record(sweep.Event{Kind: sweep.EventRefused, TrialID: sweep.TrialID{Index: 3}, Execution: "r",
		Refusal: &sweep.Refusal{Reason: "no data"}})
	s = b.look(o)
	if len(s.Best) != 2 || s.Best[0].Group != "m1" {
		t.Errorf("best of two groups: %+v", s.Best)
	}
	if len(s.Failures) != 1 || s.Failures[0] != (progress.Cause{Reason: "no  [31mmemory", Count: 1}) {
		t.Errorf("failures: %+v", s.Failures)
	}
	if len(s.Refusals) != 1 || s.Refusals[0] != (progress.Cause{Reason: "no data", Count: 1}) {
		t.Errorf("refusals: %+v", s.Refusals)
	}
	for i := int64(3); i < 10; i++ {
		b.start(i)
		b.complete(i, 1)
	}
	if s = b.look(o); s.Share != 1 || s.Left != 0 || s.Done != 10 {
		t.Errorf("at the end: %+v", s)
	}
}

// Before anything has run, the speed of earlier sweeps of the trainer tells the
// time left; without estimates every trial counts as one.
func TestObserverExpects(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1000, loss)
	b.start(0)
	b.record(sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Index: 0}, Result: &sweep.Result{
		State: sweep.Completed, Seconds: 0.5, Summary: map[string]float64{"flops": 1}, Digest: "d",
	}})
	if rate, short, err := progress.Speed(t.Context(), b.store, "noop"); err != nil || rate != 2 || !short {
		t.Errorf("speed %g, short %t, %v; want 2 flop/s of a short trial", rate, short, err)
	}
	b.start(1)
	b.complete(1, 1)
	if rate, short, err := progress.Speed(t.Context(), b.store, "noop"); err != nil || rate != 101/10.5 || short {
		t.Errorf("speed %g, short %t, %v; want %g flop/s", rate, short, err, 101/10.5)
	}
	if rate, _, err := progress.Speed(t.Context(), b.store, "other"); err != nil || rate != 0 {
		t.Errorf("speed of another trainer %g, %v", rate, err)
	}
	b.start(2)
	b.start(3)
	if s := b.look(b.observer()); math.Abs(s.Left-899/2/(101/10.5)) > 1 {
		t.Errorf("899 flop left on two slots: %.1f s, want %.1f", s.Left, 899/2/(101/10.5))
	}
	none := newBench(t, 0, loss)
	o := none.observer()
	none.look(o)
	none.start(0)
	none.complete(0, 1)
	none.start(1)
	none.start(2)
	none.now = none.now.Add(time.Minute)
	if s := none.look(o); s.Left != 45 || s.Share != 0.1 {
		t.Errorf("one of ten in 10 s, and two slots: %+v", s)
	}
	counts, err := none.store.Progress(t.Context(), "s1")
	none.must(err)
	if left := none.observer().Left(t.Context(), none.now, counts); left != 45 {
		t.Errorf("%g s left to one who has just come, want 45", left)
	}
}

// What a trial did before it was interrupted is done, and says nothing about how fast
// it goes on.
func TestObserverOfResumedTrials(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1000, loss)
	reach := func(execution string, step int64) {
		b.record(sweep.Event{Kind: sweep.EventPoints, TrialID: sweep.TrialID{Index: 0}, Execution: execution,
			Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{step}, Values: []float32{1}}}})
	}
	b.start(0)
	reach("e0", 100)
	_, err := b.store.RequeueUnheard(t.Context(), []sweep.Heard{{TrialID: sweep.TrialID{Sweep: "s1", Index: 0}}})
	b.must(err)
	_, err = b.store.TakePending(t.Context(), "s1", 0, 1)
	b.must(err)
	o := b.observer()
	b.look(o)
	b.now = b.now.Add(time.Second)
	b.record(sweep.Event{Kind: sweep.EventStarted, TrialID: sweep.TrialID{Index: 0}, Execution: "e1"})
	b.now = b.now.Add(2 * time.Second)
	reach("e1", 110)
	s := b.look(o)
	if r := s.Running[0]; r.Step != 110 || r.Left != 0 || s.Left != 0 {
		t.Errorf("before anything was seen to go on: %+v, %g s left", r, s.Left)
	}
	b.now = b.now.Add(10 * time.Second)
	reach("e1", 120)
	s = b.look(o)
	if r := s.Running[0]; r.Left != 80 { // a step a second
		t.Errorf("after ten more steps: %+v, want 80 s left", r)
	}
	// 5 of 1000 flop in 13 s since the first look, 940 left.
	if want := 940 / (5. / 13); math.Abs(s.Left-want) > want/100 {
		t.Errorf("%.0f s left, want %.0f", s.Left, want)
	}
}

// A sweep does not end before its longest running trial, however fast the others were.
func TestObserverOfUnequalTrials(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1000, loss)
	o := b.observer()
	b.look(o)
	for i := range int64(9) {
		b.start(i)
		b.now = b.now.Add(time.Second)
		b.complete(i, 1)
	}
	b.start(9)
	b.now = b.now.Add(10 * time.Second)
	b.record(sweep.Event{Kind: sweep.EventPoints, TrialID: sweep.TrialID{Index: 9},
		Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{10}, Values: []float32{1}}}})
	s := b.look(o)
	if s.Left != 190 {
		t.Errorf("after 10 of 200 steps in 10 s: %g s left, want 190", s.Left)
	}
	if math.Abs(s.Share-0.905) > 1e-9 { // the last one has just what is left
		t.Errorf("900 of 1,000 flop, and 10 of 200 steps of the last trial, are a share of %g", s.Share)
	}
}

// A trial that runs has done what a slot does in its time, of whatever size the trials are.
func TestObserverOfSmallTrials(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1000, loss)
	b.start(0)
	b.complete(0, 1) // 10 flop/s
	o := b.observer()
	b.look(o)
	b.start(1)
	for _, c := range []struct {
		step  int64
		share float64
	}{{50, 0.12}, {100, 0.14}, {150, 0.16}} {
		b.now = b.now.Add(2 * time.Second)
		b.record(sweep.Event{Kind: sweep.EventPoints, TrialID: sweep.TrialID{Index: 1},
			Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{c.step}, Values: []float32{1}}}})
		s := b.look(o)
		if math.Abs(s.Share-c.share) > 1e-9 || math.Abs(s.Left-(1-c.share)*100) > 1e-6 {
			t.Errorf("at step %d of 200: share %g, %g s left; want %g and %g", c.step, s.Share, s.Left, c.share,
				(1-c.share)*100)
		}
	}
}

func TestLabelAndSteps(t *testing.T) {
	for _, c := range []struct {
		p     sweep.Parameters
		group []string
		label string
		steps int64
	}{
		{sweep.Parameters{"dataset": "CBF", "model": "rnn", "epochs": int64(7)}, []string{"dataset", "model"},
			"CBF, rnn", 7},
		{sweep.Parameters{"lr": 0.1, "max_steps": 20.0}, nil, "lr 0.1", 20},
		{sweep.Parameters{"lr": 0.13578872890743543, "seed": int64(3), "epochs": "many"}, nil, "lr 0.135789, seed 3", 0},
		{sweep.Parameters{"epochs": int64(-1), "text": "a\nb\x1b]0;x"}, []string{"text"}, "a", 0},
		{sweep.Parameters{"epochs": 2.5}, []string{"absent"}, "epochs 2.5", 0},
	} {
		if got := progress.Label(c.p, c.group, []string{"lr", "seed"}); got != c.label {
			t.Errorf("%v by %v: label %q, want %q", c.p, c.group, got, c.label)
		}
		if got := progress.Steps(c.p); got != c.steps {
			t.Errorf("%v: %d steps, want %d", c.p, got, c.steps)
		}
	}
}

// A running trial shows the metric that trials are compared by, else the first that it
// reports, and says if that is not finite.
func TestObserverOfMetrics(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	b.start(0)
	report := func(step int64, values map[string]float32) {
		var curves []sweep.Curve
		for name, value := range values {
			curves = append(curves, sweep.Curve{Metric: name, Steps: []int64{step}, Values: []float32{value}})
		}
		b.record(sweep.Event{Kind: sweep.EventPoints, TrialID: sweep.TrialID{Index: 0}, Curves: curves})
	}
	b.now = b.now.Add(10 * time.Second)
	o := b.observer()
	for i, c := range []struct {
		values       map[string]float32
		metric, text string
	}{
		{nil, "", ""},
		{map[string]float32{"accuracy": 0.25}, "accuracy", "0.25"},
		{map[string]float32{"accuracy": 0.5, "loss": 1.23456, "zeal": 1}, "loss", "1.235"},
		{map[string]float32{"loss": float32(math.NaN())}, "loss", "not finite"},
	} {
		report(int64(i+1), c.values)
		if r := b.look(o).Running[0]; r.Metric != c.metric || r.ValueText() != c.text {
			t.Errorf("after %v: %s %q, want %s %q", c.values, r.Metric, r.ValueText(), c.metric, c.text)
		}
	}
}
