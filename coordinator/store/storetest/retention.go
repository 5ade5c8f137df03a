package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"sweep/sweep"
)

func testRetention(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("Delete", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 10, 6)
		_, err := f.DeleteSweep(f.ctx, "s1")
		wantError(t, err, sweep.ErrRunning)
		_, err = f.DeleteSweep(f.ctx, "nil")
		wantError(t, err, sweep.ErrNotFound)
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.complete(trialID("s1", 1), &sweep.Result{State: sweep.Failed, Error: "no"})
		f.record(f.started(trialID("s1", 2), "x2"))
		f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepPaused, ""))
		_, err = f.DeleteSweep(f.ctx, "s1") // paused, but a trial runs
		wantError(t, err, sweep.ErrRunning)
		f.wantProgress("s1", sweep.Progress{Pending: 7, Running: 1, Completed: 1, Failed: 1})
		_, err = f.CancelTrials(f.ctx, "s1")
		f.must(err)
		f.create("s2", 1, 1)
		f.must(f.Quarantine(f.ctx, []sweep.Quarantined{{Event: f.started(trialID("s1", 0), "q"), Problem: "p"}}))

		removed, err := f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		if removed.Trials != 6 || removed.Sweeps != 1 {
			t.Errorf("removed %+v", removed)
		}
		for name, do := range map[string]func() error{
			"Sweep":    func() error { _, err := f.Sweep(f.ctx, "s1"); return err },
			"Progress": func() error { _, err := f.Progress(f.ctx, "s1"); return err },
			"Trial":    func() error { _, err := f.Trial(f.ctx, trialID("s1", 0)); return err },
			"Curves":   func() error { _, err := f.Curves(f.ctx, trialID("s1", 0)); return err },
			"AddGrid":  func() error { _, err := f.AddGrid(f.ctx, "s1", submission("more"), 1); return err },
		} {
			if err := do(); err == nil {
				t.Errorf("%s finds it", name)
			}
		}
		for _, table := range []string{"trials", "outcomes", "scores", "metric_values", "metric_names", "point_aggregates",
			"groups",
			"executions", "curve_arrays", "trial_refusals", "grids", "counters", "classes", "standings"} {
			left := f.rows(`SELECT count(*) FROM ` + table)[0][0].(int64)
			want := map[string]int64{"trials": 1, "metric_names": 1, "grids": 1, "counters": 1, "classes": 1}[table]
			if left != want {
				t.Errorf("%d rows in %s, want %d", left, table, want)
			}
		}
		if records, err := f.Sweeps(f.ctx); err != nil || len(records) != 1 || records[0].ID != "s2" {
			t.Errorf("%v, %v", records, err)
		}
		if got := f.sweep("latest").ID; got != "s2" {
			t.Errorf("the latest is %s", got)
		}
		// What comes late about it is nobody's; workers hear that it is not needed.
		if report := f.record(f.finished(trialID("s1", 2), "x2", completed(1, "late"))); report.Unknown != 1 {
			t.Errorf("%+v", report)
		}
		states, err := f.States(f.ctx, []sweep.TrialID{trialID("s1", 2), trialID("s2", 0), trialID("s3", 0)})
		f.must(err)
		if want := map[sweep.TrialID]sweep.State{trialID("s1", 2): sweep.Cancelled,
			trialID("s2", 0): sweep.Pending}; !reflect.DeepEqual(states, want) {
			t.Errorf("states %v", states)
		}
		if _, err := f.DeleteSweep(f.ctx, "s1"); err != nil { // once more is no harm
			t.Error(err)
		}
		if _, err := f.CreateSweep(f.ctx, "s1", submission("again"), 1); err == nil {
			t.Error("the id was given again")
		}
	})

	t.Run("Reused", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 3, 3)
		f.complete(trialID("s1", 0), completed(1, "a"))
		f.complete(trialID("s1", 1), completed(2, "b"))
		f.complete(trialID("s1", 2), &sweep.Result{State: sweep.Completed, Diverged: true, Digest: "d"})
		again := func(id string, n int64) {
			f.makeSweep(id, submission(id), n)
			page := trials(id, 0, n)
			for i := range page {
				page[i].Parameters, page[i].Fingerprint = trials("s1", 0, 3)[i%3].Parameters,
					trials("s1", 0, 3)[i%3].Fingerprint
			}
			if reused := f.write(id, 0, 0, page); reused != int(n) {
				t.Fatalf("sweep %s reused %d results", id, reused)
			}
		}
		again("s2", 4) // two of them the same
		again("s3", 3)
		source := f.trial(trialID("s1", 0))
		curves, err := f.Curves(f.ctx, trialID("s1", 0))
		f.must(err)
		results := map[sweep.TrialID]*sweep.Result{}
		for _, id := range []sweep.TrialID{trialID("s2", 0), trialID("s2", 2), trialID("s2", 3), trialID("s3", 0),
			trialID("s3", 1)} {
			results[id] = f.trial(id).Result
		}
		tables := f.rows(`SELECT * FROM accuracy_table WHERE sweep_id <> 's1'
			ORDER BY sweep_id, dataset, model, selection, trial_index`)

		_, err = f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		for id, want := range results {
			if got := f.trial(id); !reflect.DeepEqual(got.Result, want) || got.State != sweep.Completed {
				t.Errorf("trial %v has %+v, want %+v", id, got.Result, want)
			}
		}
		owner := f.trial(trialID("s2", 0))
		if owner.ReusedFrom != nil || owner.Worker != source.Worker || owner.Executions != source.Executions ||
			!owner.StartedAt.Equal(source.StartedAt) {
			t.Errorf("the new owner is %+v", owner)
		}
		for _, id := range []sweep.TrialID{trialID("s2", 3), trialID("s3", 0)} {
			if got := f.trial(id); got.ReusedFrom == nil || *got.ReusedFrom != owner.TrialID {
				t.Errorf("trial %v is from %v", id, got.ReusedFrom)
			}
			got, err := f.Curves(f.ctx, id)
			f.must(err)
			if !reflect.DeepEqual(got, curves) {
				t.Errorf("the curves of %v are %v", id, got)
			}
		}
		if got := f.rows(`SELECT * FROM accuracy_table
			ORDER BY sweep_id, dataset, model, selection, trial_index`); !equalRows(got, tables) {
			t.Errorf("tables %v, want %v", got, tables)
		}
		f.wantProgress("s2", sweep.Progress{Completed: 4, Reused: 1, Diverged: 1})
		f.wantProgress("s3", sweep.Progress{Completed: 3, Reused: 3, Diverged: 1})
		again("s4", 3) // it is found again
		_, err = f.DeleteSweep(f.ctx, "s2")
		f.must(err)
		if got := f.trial(trialID("s4", 1)); got.ReusedFrom == nil || *got.ReusedFrom != trialID("s3", 1) {
			t.Errorf("trial s4/1 is from %v", got.ReusedFrom)
		}
	})

	t.Run("UnderLoad", func(t *testing.T) {
		f := newFixture(t, open(t))
		recorded := int64(0)
		// attempt removes a sweep of many pages and meanwhile records results of another one. It reports whether one
		// was recorded while some of the trials were gone, and some were not: it waited for a page at most.
		attempt := func(big, small string) (between bool) {
			const points = 12 * 500
			f.makeSweep(big, submission(big), points)
			for from := int64(0); from < points; from += pageSize {
				page := trials(big, from, pageSize)
				f.write(big, 0, from, page)
				var events []sweep.Event
				for i := range page {
					events = append(events, f.finished(page[i].TrialID, fmt.Sprint("x", page[i].Index),
						completed(float64(page[i].Index), "d")))
				}
				f.record(events...)
			}
			f.create(small, 1<<20, 1000)
			var deleting sync.WaitGroup
			defer deleting.Wait()
			deleting.Go(func() {
				removed, err := f.DeleteSweep(f.ctx, big)
				if err != nil || removed.Trials != points {
					t.Errorf("removed %+v: %v", removed, err)
				}
			})
			for i := range int64(1000) {
				f.record(f.finished(trialID(small, i), fmt.Sprint("y", i), completed(1, "d")))
				recorded++
				left := f.rows(`SELECT count(*) FROM trials AS t JOIN sweeps AS s USING (sweep_no)
					WHERE s.sweep_id = '` + big + `'`)[0][0].(int64)
				between = between || left > 0 && left < points
				if left == 0 {
					break
				}
			}
			return between
		}
		// On a busy machine either may be done before the other one begins.
		const attempts = 5
		n := 1
		for !attempt(fmt.Sprint("big", n), fmt.Sprint("small", n)) {
			if n++; n > attempts {
				t.Fatal("nothing was recorded while the sweep was removed")
			}
		}
		if got := f.rows(`SELECT count(*) FROM scores`); got[0][0] != recorded {
			t.Errorf("%v scores of the other sweeps are left, want %d", got[0][0], recorded)
		}
	})

	t.Run("Prune", func(t *testing.T) {
		f := newFixture(t, open(t))
		complete := func(id sweep.TrialID, digest string) { // an execution that left a log besides its result
			e := f.finished(id, "x", completed(1, digest))
			e.Log = "its log"
			f.record(e)
		}
		for _, id := range []string{"s1", "s2", "s3"} {
			f.create(id, 2, 2)
			complete(trialID(id, 0), "a")
		}
		complete(trialID("s1", 1), "b")
		complete(trialID("s2", 1), "b") // s3 runs on
		f.makeSweep("s4", submission("again"), 1)
		page := trials("s4", 0, 1)
		page[0].Fingerprint = trials("s1", 0, 1)[0].Fingerprint
		f.write("s4", 0, 0, page)
		f.must(f.Quarantine(f.ctx, []sweep.Quarantined{{Event: f.started(trialID("s1", 0), "q"), Problem: "p"}}))
		counts := func() string {
			var all []any
			for _, table := range []string{"sweeps WHERE deleted_at IS NULL", "trials", "outcomes",
				"stored_executions", "curve_arrays", "quarantine"} {
				all = append(all, f.rows(`SELECT count(*) FROM ` + table)[0][0])
			}
			return fmt.Sprint(all...)
		}
		prune := func(keep sweep.Retention, want sweep.Removed, left string) {
			t.Helper()
			removed, err := f.PruneSweeps(f.ctx, keep)
			f.must(err)
			if int64(len(removed.Deleted)) != want.Sweeps {
				t.Errorf("deleted %+v", removed.Deleted)
			}
			removed.Deleted = nil
			if !reflect.DeepEqual(removed, want) || counts() != left {
				t.Errorf("%+v: removed %+v, left %s; want %+v and %s", keep, removed, counts(), want, left)
			}
		}
		ago, ahead := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		prune(sweep.Retention{}, sweep.Removed{}, "4 7 6 5 10 1")
		prune(sweep.Retention{Events: ago, Curves: ago, Sweeps: ago}, sweep.Removed{}, "4 7 6 5 10 1")
		prune(sweep.Retention{Events: ahead}, sweep.Removed{Events: 5}, "4 7 6 1 10 0")
		// Two curves of s1 are also those of s4.
		prune(sweep.Retention{Curves: ahead}, sweep.Removed{Curves: 6}, "4 7 6 1 4 0")
		if curves, err := f.Curves(f.ctx, trialID("s4", 0)); err != nil || len(curves) != 2 {
			t.Errorf("%d curves are left of reused results: %v", len(curves), err)
		}
		// A result without its curves is not reused: s2/1 lost them; s1/0 has them, because s4 reuses it.
		f.makeSweep("s5", submission("again"), 2)
		page = trials("s5", 0, 2)
		for i, source := range []sweep.Trial{trials("s1", 0, 1)[0], trials("s2", 1, 1)[0]} {
			page[i].Fingerprint = source.Fingerprint
		}
		if reused := f.write("s5", 0, 0, page); reused != 1 || f.trial(trialID("s5", 0)).ReusedFrom == nil {
			t.Errorf("%d results reused", reused)
		}
		f.must(f.SetSweepState(f.ctx, "s5", sweep.SweepCancelled, ""))
		_, err := f.DeleteSweep(f.ctx, "s5")
		f.must(err)
		prune(sweep.Retention{Sweeps: ahead}, sweep.Removed{Sweeps: 3, Trials: 5}, "1 2 1 1 2 0")
		var ids []string
		records, err := f.Sweeps(f.ctx)
		f.must(err)
		for i := range records {
			ids = append(ids, records[i].ID)
		}
		if !slices.Equal(ids, []string{"s3"}) {
			t.Errorf("left are %v", ids)
		}
	})
}
