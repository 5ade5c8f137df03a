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
