package storetest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// stopped returns the result of a trial that was stopped early.
func stopped(marks ...float32) *sweep.Result {
	return &sweep.Result{
		State: sweep.Stopped, Error: "stopped at value 2", Summary: map[string]float64{"loss": float64(marks[len(marks)-1])},
		Seconds: 0.5, Digest: "cut", Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{3, 2}}},
		Marks: &sweep.Marks{Metric: "loss", Values: marks, Best: new(slices.Min(marks))},
	}
}

// marked returns the result of a trial that ran to its end with marks.
func marked(digest string, marks ...float32) *sweep.Result {
	r := completed(1, digest)
	r.Marks = &sweep.Marks{Metric: "loss", Values: marks}
	return r
}

// marks are the values that were observed of the trials of a sweep between two indices, in order of index.
func (f *fixture) marks(id string, from, until int64) (all [][]float32) {
	f.t.Helper()
	observed, err := f.Observations(f.ctx, id, "loss", false, from, until)
	f.must(err)
	slices.SortFunc(observed, func(a, b sweep.Observation) int { return cmp.Compare(a.Trial, b.Trial) })
	for _, o := range observed {
		all = append(all, append([]float32{}, o.Values...))
	}
	return all
}

func testStopping(t *testing.T, open func(t *testing.T) sweep.Store) {
	rule := &sweep.StopRule{Metric: "loss", Goal: sweep.Minimize, Generation: 1,
		Rule: "the median", Limits: []sweep.StopLimit{{At: 2, Value: 0.1, Trials: 5}}}
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
		want := [][]float32{{4, 3, 2}}
		if marks := f.marks("loss", 0, 3); !reflect.DeepEqual(marks, want) {
			t.Errorf("marks of a reused result: %v", marks)
		}
		// The marks stay with the result when the sweep goes that it came from.
		_, err := f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		if marks := f.marks("loss", 0, 3); !reflect.DeepEqual(marks, want) {
			t.Errorf("marks %v", marks)
		}
	})

	t.Run("Generations", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("median"), 7)
		generation(f, "s1", 0, 3, rule)
		second := *rule
		second.Generation, second.Limits = 2, nil
		generation(f, "s1", 3, 2, &second)
		generation(f, "s1", 5, 1, nil) // the rest of it
		for _, first := range []int64{0, 3, 5} {
			want := &sweep.StopRule{}
			if first == 0 {
				want = rule
			}
			if name, got, err := f.StopLimits(f.ctx, "s1", first); err != nil || name != want.Rule ||
				!reflect.DeepEqual(got, want.Limits) {
				t.Errorf("from trial %d on %q, %+v, %v; want %+v", first, name, got, err, want)
			}
		}
		// What is written already does not change.
		second.Limits = []sweep.StopLimit{{At: 9}}
		generation(f, "s1", 0, 3, &second)
		if _, got, err := f.StopLimits(f.ctx, "s1", 0); err != nil || !reflect.DeepEqual(got, rule.Limits) {
			t.Errorf("the limits became %+v, %v", got, err)
		}

		f.complete(trialID("s1", 0), marked("a", 1, 2, 3))
		f.complete(trialID("s1", 1), stopped(6, 5))
		f.complete(trialID("s1", 5), &sweep.Result{State: sweep.Failed, Error: "no"})
		// Only the first generation has a threshold.
		f.wantRows(`SELECT trial_index, rule, metric, position, value, threshold, trials, reason FROM decisions
			ORDER BY trial_index`, []any{int64(0), "the median", "loss", int64(2), nil, 0.1, int64(5), nil},
			[]any{int64(1), "the median", "loss", int64(2), 5.0, 0.1, int64(5), "stopped at value 2"})
		f.complete(trialID("s1", 3), stopped(7, 8))
		f.complete(trialID("s1", 2), marked("c"))
		other := marked("d", 9)
		other.Marks.Metric = "accuracy"
		f.complete(trialID("s1", 4), other)
		for _, test := range []struct {
			from, until int64
			want        [][]float32
		}{{0, 6, [][]float32{{1, 2, 3}, {6, 5}, {}, {7, 8}}}, {1, 3, [][]float32{{6, 5}, {}}}, {3, 4, [][]float32{{7, 8}}}} {
			got := f.marks("s1", test.from, test.until)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("marks from %d to %d: %v, want %v", test.from, test.until, got, test.want)
			}
		}
		_, err := f.DeleteSweep(f.ctx, "s1")
		if err == nil {
			t.Error("an active sweep was deleted")
		}
		_, err = f.CancelTrials(f.ctx, "s1")
		f.must(err)
		_, err = f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		for _, table := range []string{"stored_observations", "stored_decisions"} {
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
		e.Marks = &sweep.Marks{Metric: "loss", Bands: []int64{1, 2, 4}, Values: values, Count: n + 1, Best: new(values[n-1])}
		return e
	}
	for index := range int64(4) {
		f.record(f.started(trialID("s1", index), "x"), points(index, float32(index)))
	}
	f.record(points(0, 0)) // as before
	f.record(points(1, 1, 0.5))
	final := completed(1, "a")
	final.Marks = &sweep.Marks{Metric: "loss", Bands: []int64{1, 2, 4}, Values: []float32{3, 2, 1}, Count: 9, Best: new(float32(0.5))}
	f.record(f.finished(trialID("s1", 3), "x", final))
	// observed are the observations, in their order, with their trials and whether these are open.
	observed := func(metric string) (list []string, last int64) {
		t.Helper()
		all, err := f.Observations(f.ctx, "s1", metric, true, 0, 5)
		f.must(err)
		for _, o := range all {
			if o.Number <= last {
				t.Errorf("observation %d after %d", o.Number, last)
			}
			last = o.Number
			list = append(list, fmt.Sprintf("%d at %v: %v, best %v, %t", o.Trial, o.Positions, o.Values, o.Best, o.Open))
		}
		return list, last
	}
	got, last := observed("loss")
	if want := []string{"0 at [1]: [0], best 0, true", "1 at [1]: [1], best 1, true", "2 at [1]: [2], best 2, true",
		"3 at [1]: [3], best 3, false", "1 at [1 2]: [1 0.5], best 0.5, true",
		"3 at [1 2 4]: [3 2 1], best 0.5, false"}; !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, _ := observed("accuracy"); len(got) != 0 {
		t.Errorf("of another metric: %v", got)
	}
	if got := f.marks("s1", 0, 4); len(got) != 0 {
		t.Errorf("of results: %v", got)
	}

	// A decision is carried out about a trial that runs, and stays.
	stop := func(index int64, reason string) sweep.Stop {
		return sweep.Stop{TrialID: trialID("s1", index), Reason: reason, Rule: "the best 1/3", Metric: "loss", Band: 2,
			Value: 3, Threshold: 0.1, Trials: 7, Observation: last}
	}
	f.must(f.AddStops(f.ctx, "s1", []sweep.Stop{stop(0, "a"), stop(1, "b"), stop(2, "c"), stop(3, "d"), stop(4, "e")}))
	f.must(f.AddStops(f.ctx, "s1", []sweep.Stop{stop(0, "again")}))
	check := func(want ...string) {
		t.Helper()
		all, err := f.Stops(f.ctx)
		f.must(err)
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprint(s.Index, " ", s.State, " at ", s.Band, ": ", s.Reason))
		}
		if !slices.Equal(got, want) {
			t.Errorf("decisions %q, want %q", got, want)
		}
	}
	check("0 running at 2: a", "1 running at 2: b", "2 running at 2: c")
	if got, _ := observed("loss"); got[0] != "0 at [1]: [0], best 0, false" {
		t.Errorf("%q", got)
	}
	f.putBack(trialID("s1", 1)) // its worker is lost
	check("0 running at 2: a", "1 pending at 2: b", "2 running at 2: c")
	end := stopped(3, 2)
	end.Marks = nil
	f.record(f.finished(trialID("s1", 1), "coordinator", end)) // with the curves that it has
	f.wantState(trialID("s1", 1), sweep.Stopped)
	end = stopped(3, 2)
	end.Marks.Bands = []int64{1, 2, 4}
	f.record(f.finished(trialID("s1", 0), "x", end))
	check("2 running at 2: c")
	f.record(f.finished(trialID("s1", 2), "x", &sweep.Result{State: sweep.Failed, Error: "no"}))
	check()
	if n, err := f.RetrySome(f.ctx, "s1", []int64{2}); n != 1 || err != nil {
		t.Errorf("retried %d, %v", n, err)
	}
	check() // it is no reason to stop the trial again
	if got, _ := observed("loss"); got[len(got)-1] != "2 at []: [], best 0, false" {
		t.Errorf("after a retry: %q", got)
	}

	// The views say all that.
	f.wantRows(`SELECT trial_index, rule, metric, position, value, threshold, trials, reason FROM decisions
		WHERE sweep_id = 's1' AND trial_index < 2 ORDER BY trial_index`,
		[]any{int64(0), "the best 1/3", "loss", int64(2), 3.0, 0.1, int64(7), "a"},
		[]any{int64(1), "the best 1/3", "loss", int64(2), 3.0, 0.1, int64(7), "b"})
	f.wantRows(`SELECT metric, position, value, best FROM observations WHERE sweep_id = 's1' AND trial_index = 1
		ORDER BY observation_no, position`, []any{"loss", int64(1), 1.0, 1.0}, []any{"loss", int64(1), 1.0, 0.5},
		[]any{"loss", int64(2), 0.5, 0.5})
	f.create("s2", 1, 1)
	alone := points(0, 3)
	alone.TrialID, alone.Marks.Best = trialID("s2", 0), nil // by a rule to which the best value is nothing
	f.record(f.started(alone.TrialID, "x"), alone)
	f.wantRows(`SELECT position, value, best FROM observations WHERE sweep_id = 's2'`, []any{int64(1), 3.0, nil})
}
