package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// testLongLists lists more trials than one transaction reads: each once and in order,
// and who takes them slowly holds no snapshot, so that what others change meanwhile
// shows.
func testLongLists(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	const points, done = 1203, 801
	f.create("s1", points, points)
	loss := func(index int64) int64 { return index * 7 % done } // each another
	var ids []sweep.TrialID
	var results []sweep.Event
	for index := range int64(done) {
		id := trialID("s1", index)
		ids = append(ids, id)
		results = append(results, f.finished(id, fmt.Sprint("e", index), completed(float64(loss(index)), "d")))
	}
	f.mark(ids)
	f.record(results...)
	list := func(query sweep.TrialQuery) (indices []int64) {
		t.Helper()
		query.Sweeps = []string{"s1"}
		f.must(f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
			indices = append(indices, r.Index)
			return nil
		}))
		return indices
	}
	var upwards, byLoss []int64
	for index := range int64(points) {
		upwards = append(upwards, index)
	}
	byLoss = slices.Clone(upwards) // those without a loss come last
	slices.SortStableFunc(byLoss[:done], func(a, b int64) int { return int(loss(a) - loss(b)) })
	downwards := slices.Clone(upwards)
	slices.Reverse(downwards)
	for name, c := range map[string]struct {
		query sweep.TrialQuery
		want  []int64
	}{
		"in order":            {sweep.TrialQuery{}, upwards},
		"in order, downwards": {sweep.TrialQuery{Descending: true}, downwards},
		"by a metric":         {sweep.TrialQuery{OrderBy: "validation_loss"}, byLoss},
		"by a parameter":      {sweep.TrialQuery{OrderBy: "lr", Descending: true}, downwards},
		"completed ones":      {sweep.TrialQuery{States: []sweep.State{sweep.Completed}}, upwards[:done]},
		"the first by loss":   {sweep.TrialQuery{OrderBy: "validation_loss", Limit: 901}, byLoss[:901]},
		"the first in order":  {sweep.TrialQuery{Limit: 500}, upwards[:500]},
		"the first by lr":     {sweep.TrialQuery{OrderBy: "lr", Limit: 701}, upwards[:701]},
		"a rest by loss": {sweep.TrialQuery{OrderBy: "validation_loss",
			After: &sweep.TrialID{Sweep: "s1", Index: byLoss[100]}}, byLoss[101:]},
		"a rest without loss": {sweep.TrialQuery{OrderBy: "validation_loss",
			After: &sweep.TrialID{Sweep: "s1", Index: byLoss[done]}}, byLoss[done+1:]},
		"a rest by loss, not all": {sweep.TrialQuery{OrderBy: "validation_loss",
			After: &sweep.TrialID{Sweep: "s1", Index: byLoss[100]}, Limit: 950}, byLoss[101:1051]},
		"a rest without loss, not all": {sweep.TrialQuery{OrderBy: "validation_loss",
			After: &sweep.TrialID{Sweep: "s1", Index: byLoss[done]}, Limit: 300}, byLoss[done+1 : done+301]},
		"by a column, downwards": {sweep.TrialQuery{OrderBy: "diverged", Descending: true}, upwards},
		"a rest by lr, not all": {sweep.TrialQuery{OrderBy: "lr", After: &sweep.TrialID{Sweep: "s1", Index: 99},
			Limit: 600}, upwards[100:700]},
	} {
		if got := list(c.query); !slices.Equal(got, c.want) {
			at := 0
			for at < min(len(got), len(c.want)) && got[at] == c.want[at] {
				at++
			}
			t.Errorf("%s: %d trials, want %d; they differ from place %d on", name, len(got), len(c.want), at)
		}
	}
	// Of several sweeps, named in any order, the earlier one comes first.
	const more = 702
	f.create("s2", more, more)
	for _, descending := range []bool{false, true} {
		for name, after := range map[string]*sweep.TrialID{"": nil, " after the first sweep's 600": new(trialID("s1", 600)),
			" after the second sweep's 600": new(trialID("s2", 600))} {
			var want []sweep.TrialID
			for index := range int64(points) {
				want = append(want, trialID("s1", index))
			}
			for index := range int64(more) {
				want = append(want, trialID("s2", index))
			}
			if descending {
				slices.Reverse(want)
			}
			if after != nil {
				want = want[slices.Index(want, *after)+1:]
			}
			var got []sweep.TrialID
			f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s2", "s1", "s2"}, Descending: descending,
				After: after}, func(r *sweep.TrialRecord) error {
				got = append(got, r.TrialID)
				return nil
			}))
			if !slices.Equal(got, want) {
				t.Errorf("two sweeps, descending %v%s: %d trials, want %d", descending, name, len(got), len(want))
			}
		}
	}
	for _, query := range []sweep.TrialQuery{{}, {OrderBy: "validation_loss"}, {OrderBy: "lr"}} {
		last := trialID("s1", points-1)
		f.mark([]sweep.TrialID{last})
		execution, seen := "last by "+string(query.OrderBy), ""
		f.must(f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
			if seen == "" { // another works on while the first trial is taken
				f.record(f.started(last, execution))
				seen = "nothing"
			}
			if r.TrialID == last {
				seen = string(r.State)
			}
			return nil
		}))
		if seen != string(sweep.Running) {
			t.Errorf("in a list by %q the last trial, which began to run meanwhile, is %s: its snapshot was held",
				query.OrderBy, seen)
		}
		f.putBack(last)
	}
}
