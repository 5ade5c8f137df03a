package storetest

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// stopped returns the result of a trial that was stopped early.
func stopped(marks ...float32) *sweep.Result {
	return &sweep.Result{
		State: sweep.Stopped, Error: "stopped at value 2", Summary: map[string]float64{"loss": float64(marks[len(marks)-1])},
		Seconds: 0.5, Digest: "cut", Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{3, 2}}},
		Marks: &sweep.Marks{Metric: "loss", Values: marks},
	}
}

// marked returns the result of a trial that ran to its end with marks.
func marked(digest string, marks ...float32) *sweep.Result {
	r := completed(1, digest)
	r.Marks = &sweep.Marks{Metric: "loss", Values: marks}
	return r
}

func testStopping(t *testing.T, open func(t *testing.T) sweep.Store) {
	rule := &sweep.StopRule{Metric: "loss", Goal: sweep.Minimize, Generation: 1,
		Limits: []sweep.StopLimit{{At: 2, Value: 0.1, Trials: 5}}}
	generation := func(f *fixture, id string, from, n int64, rule *sweep.StopRule) int {
		f.t.Helper()
		reused, err := f.AddGeneration(f.ctx, id, 0, from, trials(id, from, n), nil, "loss", rule)
		f.must(err)
		return reused
	}

	t.Run("Stopped", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		f.complete(trialID("s1", 0), stopped(3, 2))
		got := f.trial(trialID("s1", 0))
		if got.State != sweep.Stopped || got.Result.Error != "stopped at value 2" || got.Result.Summary["loss"] != 2 ||
			got.Result.Digest != "cut" || got.FinishedAt.IsZero() {
			t.Errorf("%+v, %+v", got, got.Result)
		}
		curves, err := f.Curves(f.ctx, trialID("s1", 0))
		f.must(err)
		if !reflect.DeepEqual(curves, stopped(3, 2).Curves) {
			t.Errorf("curves %v", curves)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 1, Stopped: 1})
		// It has ended: nothing brings it back.
		f.record(f.started(trialID("s1", 0), "late"), f.finished(trialID("s1", 0), "late", completed(1, "a")))
		if n, err := f.RetrySome(f.ctx, "s1", []int64{0}); n != 0 || err != nil {
			t.Errorf("retried %d, %v", n, err)
		}
		if n, err := f.RetryTrials(f.ctx, "s1"); n != 0 || err != nil {
			t.Errorf("retried %d, %v", n, err)
		}
		if n, _, err := f.CancelSome(f.ctx, "s1", []int64{0}); n != 0 || err != nil {
			t.Errorf("cancelled %d, %v", n, err)
		}
		f.wantState(trialID("s1", 0), sweep.Stopped)
		f.complete(trialID("s1", 1), completed(1, "a"))
		f.wantSweep("s1", sweep.SweepFinished)
		if rows := f.rows(`SELECT trial_index FROM best_trials`); len(rows) > 1 || len(rows) == 1 && rows[0][0] != int64(1) {
			t.Errorf("best trials %v", rows)
		}
	})

	t.Run("NotReused", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 3)
		f.complete(trialID("s1", 0), stopped(3, 2))
		f.complete(trialID("s1", 1), completed(1, "a")) // without marks
		f.complete(trialID("s1", 2), marked("b", 4, 3, 2))
		page := func(id string) []sweep.Trial {
			p := trials(id, 0, 3)
			for i, old := range trials("s1", 0, 3) {
				p[i].Fingerprint = old.Fingerprint
			}
			return p
		}
		f.makeSweep("s2", submission("plain"), 3)
		if n := f.write("s2", 0, 0, page("s2")); n != 2 {
			t.Errorf("reused %d results, want 2", n)
		}
		for metric, want := range map[string]int{"loss": 1, "accuracy": 0} {
			f.makeSweep(metric, submission("median"), 3)
			reused, err := f.AddGeneration(f.ctx, metric, 0, 0, page(metric), nil, metric, rule)
			f.must(err)
			if reused != want {
				t.Errorf("by %s: reused %d results, want %d", metric, reused, want)
			}
		}
		marks, err := f.Marks(f.ctx, "loss", "loss", 0, 3)
		f.must(err)
		if !reflect.DeepEqual(marks, [][]float32{{4, 3, 2}}) {
			t.Errorf("marks of a reused result: %v", marks)
		}
		// The marks stay with the result when the sweep goes that it came from.
		_, err = f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		if marks, err = f.Marks(f.ctx, "loss", "loss", 0, 3); err != nil || len(marks) != 1 {
			t.Errorf("marks %v, %v", marks, err)
		}
	})

	t.Run("Generations", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("median"), 6)
		generation(f, "s1", 0, 3, rule)
		second := *rule
		second.Generation, second.Limits = 2, nil
		generation(f, "s1", 3, 2, &second)
		generation(f, "s1", 5, 1, nil) // the rest of it
		for first, want := range map[int64]*sweep.StopRule{0: rule, 3: &second} {
			if got, err := f.StopRule(f.ctx, "s1", first); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("rule from trial %d on: %+v, %v; want %+v", first, got, err, want)
			}
		}
		_, err := f.StopRule(f.ctx, "s1", 5)
		wantError(t, err, sweep.ErrNotFound)
		// What is written already does not change.
		generation(f, "s1", 0, 3, &second)
		if got, err := f.StopRule(f.ctx, "s1", 0); err != nil || !reflect.DeepEqual(got, rule) {
			t.Errorf("the rule became %+v, %v", got, err)
		}

		f.complete(trialID("s1", 3), stopped(7, 8))
		f.complete(trialID("s1", 0), marked("a", 1, 2, 3))
		f.complete(trialID("s1", 1), &sweep.Result{State: sweep.Failed, Error: "no"})
		f.complete(trialID("s1", 2), marked("c"))
		other := marked("d", 9)
		other.Marks.Metric = "accuracy"
		f.complete(trialID("s1", 4), other)
		for _, test := range []struct {
			from, until int64
			want        [][]float32
		}{{0, 6, [][]float32{{1, 2, 3}, {}, {7, 8}}}, {1, 3, [][]float32{{}}}, {3, 4, [][]float32{{7, 8}}}} {
			got, err := f.Marks(f.ctx, "s1", "loss", test.from, test.until)
			f.must(err)
			for i := range got {
				if len(got[i]) == 0 {
					got[i] = []float32{}
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("marks from %d to %d: %v, want %v", test.from, test.until, got, test.want)
			}
		}
		_, err = f.DeleteSweep(f.ctx, "s1")
		if err == nil {
			t.Error("an active sweep was deleted")
		}
		_, err = f.CancelTrials(f.ctx, "s1")
		f.must(err)
		_, err = f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		for _, table := range []string{"marks", "stop_rules"} {
			if rows := f.rows(`SELECT count(*) FROM ` + table); rows[0][0] != int64(0) {
				t.Errorf("%s has %v rows", table, rows[0][0])
			}
		}
	})
}

func testDecisions(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	f.create("s1", 5, 5)
	points := func(index int64, values ...float32) sweep.Event {
		e := f.event(sweep.EventPoints, trialID("s1", index), "x")
		n := int64(len(values))
		e.Marks = &sweep.Marks{Metric: "loss", Bands: "1 2 4", Values: values, Count: n + 1, Best: values[n-1]}
		return e
	}
	for index := range int64(4) {
		f.record(f.started(trialID("s1", index), "x"), points(index, float32(index)))
	}
	f.record(points(1, 1, 0.5)) // in place of the earlier ones
	final := completed(1, "a")
	final.Marks = &sweep.Marks{Metric: "loss", Bands: "1 2 4", Values: []float32{3, 2, 1}, Count: 9, Best: 0.5}
	f.record(f.finished(trialID("s1", 3), "x", final))
	marks := func(bands string) (list []sweep.MarkedTrial) {
		list, err := f.BandMarks(f.ctx, "s1", "loss", bands)
		f.must(err)
		return list
	}
	want := []sweep.MarkedTrial{
		{TrialID: trialID("s1", 0), State: sweep.Running, Marks: sweep.Marks{Metric: "loss", Bands: "1 2 4", Values: []float32{0},
			Count: 2}},
		{TrialID: trialID("s1", 1), State: sweep.Running, Marks: sweep.Marks{Metric: "loss", Bands: "1 2 4",
			Values: []float32{1, 0.5}, Count: 3, Best: 0.5}},
		{TrialID: trialID("s1", 2), State: sweep.Running, Marks: sweep.Marks{Metric: "loss", Bands: "1 2 4", Values: []float32{2},
			Count: 2, Best: 2}},
		{TrialID: trialID("s1", 3), State: sweep.Completed, Marks: sweep.Marks{Metric: "loss", Bands: "1 2 4",
			Values: []float32{3, 2, 1}, Count: 9, Best: 0.5}},
	}
	if got := marks("1 2 4"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if got := marks("1 2"); len(got) != 0 {
		t.Errorf("at other bands: %+v", got)
	}
	if got, err := f.Marks(f.ctx, "s1", "loss", 0, 4); err != nil || len(got) != 0 {
		t.Errorf("for the median: %v, %v", got, err)
	}

	// A decision is about a trial that runs, and stays.
	stop := func(index int64, reason string) sweep.Stop {
		return sweep.Stop{TrialID: trialID("s1", index), Reason: reason, Band: 2, Value: 3, Threshold: 0.1, Trials: 7}
	}
	f.must(f.AddStops(f.ctx, "s1", []sweep.Stop{stop(0, "a"), stop(1, "b"), stop(2, "c"), stop(3, "d"), stop(4, "e")}))
	f.must(f.AddStops(f.ctx, "s1", []sweep.Stop{stop(0, "again")}))
	check := func(want ...sweep.Stop) {
		t.Helper()
		got, err := f.Stops(f.ctx)
		f.must(err)
		if len(got) != len(want) {
			t.Fatalf("decisions %+v, want %+v", got, want)
		}
		for i := range want {
			want[i].State = f.trial(want[i].TrialID).State
			if got[i] != want[i] {
				t.Errorf("decision %+v, want %+v", got[i], want[i])
			}
		}
	}
	check(stop(0, "a"), stop(1, "b"), stop(2, "c"))
	if got := marks("1 2 4"); !got[0].Deciding || got[3].Deciding {
		t.Errorf("%+v", got)
	}
	f.putBack(trialID("s1", 1)) // its worker is lost
	check(stop(0, "a"), stop(1, "b"), stop(2, "c"))
	f.wantState(trialID("s1", 1), sweep.Pending)
	end := stopped(3, 2)
	end.Marks = nil
	f.record(f.finished(trialID("s1", 1), "coordinator", end)) // with the curves that it has
	f.wantState(trialID("s1", 1), sweep.Stopped)
	end = stopped(3, 2)
	end.Marks.Bands = "1 2 4"
	f.record(f.finished(trialID("s1", 0), "x", end))
	check(stop(2, "c"))
	f.record(f.finished(trialID("s1", 2), "x", &sweep.Result{State: sweep.Failed, Error: "no"}))
	check()
	if n, err := f.RetrySome(f.ctx, "s1", []int64{2}); n != 1 || err != nil {
		t.Errorf("retried %d, %v", n, err)
	}
	check() // the decision is forgotten
}
