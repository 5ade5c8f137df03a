package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"sweep/coordinator/store/query"
	"sweep/sweep"
)

// testSlowReaders takes every place that readers have and does not let go, by
// answers that nobody takes further: what writes goes on all the same.
func testSlowReaders(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	const lists, places = 64, 16 // that wait, and that surely have their answers begun
	f.create("s1", 100, 50)
	asking, done := context.WithCancel(f.ctx)
	let := make(chan struct{})
	listed, queried := make(chan struct{}, lists), make(chan struct{}, lists)
	var readers sync.WaitGroup
	hold := func(entered chan<- struct{}) error {
		entered <- struct{}{}
		select {
		case <-let:
		case <-asking.Done():
		}
		return nil
	}
	for range lists {
		readers.Go(func() {
			err := f.Trials(asking, sweep.TrialQuery{Limit: 1}, func(*sweep.TrialRecord) error { return hold(listed) })
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("listing: %v", err)
			}
		})
	}
	for range 2 * query.Places {
		readers.Go(func() {
			err := f.Query(asking, `SELECT count(*) FROM trials`, func([]string, []any) error { return hold(queried) })
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("asking: %v", err)
			}
		})
	}
	for range places {
		<-listed
	}
	for range query.Places {
		<-queried
	}

	f.write("s1", 0, 50, trials("s1", 50, 50))
	taken, err := f.TakePending(f.ctx, "s1", 0, 100)
	f.must(err)
	for _, trial := range taken {
		f.complete(trial.TrialID, completed(1, "d"))
	}
	f.must(f.SetSweepPriority(f.ctx, "s1", 7))

	done()
	readers.Wait()
	close(let)
	f.wantProgress("s1", sweep.Progress{Completed: 100})
}
