package storetest

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

func testReuse(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("FromEarlierSweeps", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 4, 4)
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.complete(trialID("s1", 1), &sweep.Result{State: sweep.Failed, Error: "no"})
		f.complete(trialID("s1", 2), &sweep.Result{State: sweep.Completed, Diverged: true, Digest: "d",
			Error: "the sweep's metric loss was never logged"})
		page := func(id string) []sweep.Trial {
			p := trials(id, 0, 4)
			for i, old := range trials("s1", 0, 4) {
				p[i].Fingerprint = old.Fingerprint
			}
			return p
		}
		f.makeSweep("s2", submission("again"), 4)
		if n := f.write("s2", 0, 0, page("s2")); n != 2 {
			t.Errorf("reused %d, want 2", n)
		}
		f.wantProgress("s2", sweep.Progress{Pending: 2, Completed: 2, Reused: 2, Diverged: 1})
		old, got := f.trial(trialID("s1", 0)), f.trial(trialID("s2", 0))
		if !reflect.DeepEqual(got.Result, old.Result) || got.ReusedFrom == nil || *got.ReusedFrom != old.TrialID ||
			got.Executions != 0 || got.FinishedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		if old.ReusedFrom != nil {
			t.Errorf("%+v", old)
		}
		curves, err := f.Curves(f.ctx, trialID("s2", 0))
		f.must(err)
		if !reflect.DeepEqual(curves, completed(1, "a").Curves) {
			t.Errorf("%+v", curves)
		}
		if got := f.trial(trialID("s2", 2)); !got.Result.Diverged || got.Result.Error != "" {
			t.Errorf("%+v", got.Result)
		}
		rows := f.rows(
			`SELECT metric, step, value FROM curves WHERE sweep_id = 's2' AND trial_index = 0 ORDER BY metric, step`)
		want := [][]any{
			{"train_loss", int64(1), 3.0}, {"train_loss", int64(2), 2.0}, {"train_loss", int64(4), 1.0},
			{"validation_loss", int64(1), 3.5}, {"validation_loss", int64(2), 2.5}, {"validation_loss", int64(4), 1.5},
		}
		if !equalRows(rows, want) {
			t.Errorf("curves %v", rows)
		}

		// From a trial that took its result over, the source is still the trial that ran.
		f.makeSweep("s3", submission("again"), 4)
		f.write("s3", 0, 0, page("s3"))
		if got := f.trial(trialID("s3", 0)); *got.ReusedFrom != trialID("s1", 0) {
			t.Errorf("reused from %v", got.ReusedFrom)
		}

		// Of several results the newest counts: a program may have read what nobody recorded.
		anew := submission("anew")
		anew.Reuse = false
		f.makeSweep("s4", anew, 4)
		f.write("s4", 0, 0, page("s4"))
		f.complete(trialID("s4", 0), completed(1, "a"))
		f.makeSweep("s5", submission("again"), 4)
		f.write("s5", 0, 0, page("s5"))
		if got := f.trial(trialID("s5", 0)); got.ReusedFrom == nil || *got.ReusedFrom != trialID("s4", 0) {
			t.Errorf("reused from %v", got.ReusedFrom)
		}
		rows = f.rows(
			`SELECT reused_from_sweep, reused_from_index FROM results WHERE sweep_id = 's3' ORDER BY trial_index`)
		if !equalRows(rows, [][]any{{"s1", int64(0)}, {nil, nil}, {"s1", int64(2)}, {nil, nil}}) {
			t.Errorf("reused from %v", rows)
		}
		// A repeat of it is compared like any other.
		if report := f.record(f.finished(trialID("s3", 0), "x", completed(1, "b"))); report.Faults != 1 {
			t.Errorf("%+v", report)
		}
	})

	t.Run("Refused", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		f.complete(trialID("s1", 0), completed(1, "a"))
		again := submission("again")
		again.Reuse = false
		f.makeSweep("s2", again, 1)
		page := trials("s2", 0, 1)
		page[0].Fingerprint = trials("s1", 0, 1)[0].Fingerprint
		if n := f.write("s2", 0, 0, page); n != 0 {
			t.Errorf("reused %d", n)
		}
		f.wantProgress("s2", sweep.Progress{Pending: 1})
	})

	t.Run("WithinTheSweep", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.wantSweep("s1", sweep.SweepFinished)
		grid, err := f.AddGrid(f.ctx, "s1", submission("more"), 2)
		f.must(err)
		page := trials("s1", 1, 2)
		page[0].Fingerprint, page[1].Fingerprint = "s1-0", "s1-0"
		if n := f.write("s1", grid.Ordinal, 0, page); n != 2 {
			t.Errorf("reused %d", n)
		}
		f.wantProgress("s1", sweep.Progress{Completed: 3, Reused: 2})
		f.wantSweep("s1", sweep.SweepFinished) // nothing is left to run
	})

	t.Run("Objective", func(t *testing.T) {
		f := newFixture(t, open(t))
		program := func(name, metric string) *sweep.Submission {
			s := submission(name)
			s.Description.Open, s.Spec.Select = true, sweep.Select{By: metric, Goal: sweep.Minimize}
			return s
		}
		f.makeSweep("s1", program("one", "loss"), 3)
		f.write("s1", 0, 0, trials("s1", 0, 3))
		f.complete(trialID("s1", 0), &sweep.Result{State: sweep.Completed})
		f.complete(trialID("s1", 1), &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": 1, "<a>": 1}})
		f.complete(trialID("s1", 2), &sweep.Result{State: sweep.Completed, Diverged: true, NotFinite: []string{"loss"}})
		for id, test := range map[string]struct {
			metric string
			reused int
		}{"s2": {"loss", 2}, "s3": {"<a>", 2}, "s4": {"los", 1}, "s5": {"", 3}} {
			page := trials(id, 0, 3)
			for i, old := range trials("s1", 0, 3) {
				page[i].Fingerprint = old.Fingerprint
			}
			f.makeSweep(id, program(id, test.metric), 3)
			if n := f.write(id, 0, 0, page); n != test.reused {
				t.Errorf("%d results without %q are reused, want %d", n, test.metric, test.reused)
			}
		}
		// A metric that is not finite is a column of the sweep's trials.
		f.must(f.QuerySweep(f.ctx, "s1", "SELECT loss FROM t ORDER BY trial_index", func(_ []string, row []any) error {
			return nil
		}))
		rows := f.rows(`SELECT metric, n FROM point_means WHERE sweep_id = 's1' ORDER BY metric`)
		if !equalRows(rows, [][]any{{"<a>", int64(1)}, {"loss", int64(1)}}) {
			t.Errorf("means %v", rows)
		}
	})

	t.Run("Inputs", func(t *testing.T) { testInputs(t, open) })

	t.Run("NoFingerprint", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", submission("one"), 2)
		page := trials("s1", 0, 2)
		page[0].Fingerprint, page[1].Fingerprint = "", ""
		f.write("s1", 0, 0, page[:1])
		f.complete(trialID("s1", 0), completed(1, "a"))
		if n := f.write("s1", 0, 1, page[1:]); n != 0 {
			t.Error("a trial without fingerprint reused a result")
		}
	})
}
