package storetest

import (
	"fmt"
	"sync"
	"testing"

	"sweep/sweep"
)

// testConcurrency runs what a coordinator and its clients do at once: pages
// are written, trials queued, events recorded, by several at a time, while
// others read.
func testConcurrency(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	const sweeps, points, page = 2, 60, 20
	var wait sync.WaitGroup
	fail := func(err error) bool {
		if err != nil {
			t.Error(err)
		}
		return err != nil
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				records, err := f.Sweeps(f.ctx)
				if fail(err) {
					return
				}
				for _, r := range records {
					p, err := f.Progress(f.ctx, r.ID)
					if fail(err) {
						return
					}
					if p.Total() != points {
						t.Errorf("sweep %s has %d trials", r.ID, p.Total())
						return
					}
				}
				n := 0
				if fail(f.Trials(f.ctx, sweep.TrialQuery{States: []sweep.State{sweep.Completed},
					OrderBy: "validation_loss"},
					func(*sweep.TrialRecord) error { n++; return nil })) {
					return
				}
				if fail(f.Query(f.ctx, `SELECT count(*) FROM curves`, func([]string, []any) error { return nil })) {
					return
				}
			}
		})
	}
	for s := range sweeps {
		id := fmt.Sprint("s", s)
		wait.Go(func() {
			if _, err := f.CreateSweep(f.ctx, id, submission("same"), points); fail(err) {
				return
			}
			var work sync.WaitGroup
			for range 2 { // two coordinators write the same pages
				work.Go(func() {
					for from := int64(0); from < points; from += page {
						if _, err := f.AddTrials(f.ctx, id, 0, from, trials(id, from, page), nil); fail(err) {
							return
						}
					}
				})
			}
			work.Wait()
			for w := range 3 { // and three workers run every trial
				work.Go(func() {
					for i := range int64(points) {
						trial := trialID(id, (i*7+int64(w)*13)%points)
						execution := fmt.Sprint(w, "-", i)
						if _, err := f.TakePending(f.ctx, id, 0, 1); fail(err) {
							return
						}
						result := completed(float64(trial.Index), "same")
						_, err := f.Record(f.ctx, []sweep.Event{
							{Kind: sweep.EventStarted, TrialID: trial, Execution: execution, Worker: "w"},
							{Kind: sweep.EventResult, TrialID: trial, Execution: execution, Worker: "w",
								Result: result},
						})
						if fail(err) {
							return
						}
					}
				})
			}
			work.Wait()
		})
	}
	wait.Wait()
	close(stop)
	readers.Wait()
	for s := range sweeps {
		id := fmt.Sprint("s", s)
		f.wantProgress(id, sweep.Progress{Completed: points})
		f.wantSweep(id, sweep.SweepFinished)
		if rows := f.rows(`SELECT min(executions), max(executions) FROM results WHERE sweep_id = '` + id +
			`'`); rows[0][0] != int64(3) || rows[0][1] != int64(3) {
			t.Errorf("executions %v", rows)
		}
	}
}
