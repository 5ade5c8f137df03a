package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"sweep/sweep"
)

// testRequests: a submitter that repeats a request with its key gets what came
// of it, and nothing is done twice.
func testRequests(t *testing.T, open func(t *testing.T) sweep.Store) {
	keyed := func(name, key string) *sweep.Submission {
		s := submission(name)
		s.Key = key
		return s
	}

	t.Run("Repeated", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", keyed("one", "k1"), 5)
		id, err := f.CreateSweep(f.ctx, "s2", keyed("one", "k1"), 5)
		f.must(err)
		if id != "s1" {
			t.Errorf("sweep %s", id)
		}
		f.makeSweep("s2", keyed("one", "k2"), 5)
		f.makeSweep("s3", keyed("one", ""), 5)
		f.makeSweep("s4", keyed("one", ""), 5)

		grid, err := f.AddGrid(f.ctx, "s1", keyed("more", "k3"), 3)
		f.must(err)
		f.write("s1", 0, 0, trials("s1", 0, 5))
		f.write("s1", 1, 0, trials("s1", 5, 2))
		again, err := f.AddGrid(f.ctx, "s1", keyed("more", "k3"), 3)
		f.must(err)
		if grid.Cursor = 2; !reflect.DeepEqual(again, grid) {
			t.Errorf("\n got %+v\nwant %+v", again, grid)
		}
		if got := f.sweep("s1"); len(got.Grids) != 2 || got.Grids[1].Submission.Key != "k3" {
			t.Errorf("%+v", got.Grids)
		}
		// An id that comes again with a key of its own.
		id, err = f.CreateSweep(f.ctx, "s4", keyed("one", ""), 5)
		f.must(err)
		if records, err := f.Sweeps(f.ctx); err != nil || id != "s4" || len(records) != 4 {
			t.Errorf("%s: %d sweeps: %v", id, len(records), err)
		}
	})

	t.Run("OtherSweep", func(t *testing.T) { // a key of one sweep's extension says nothing of another's
		f := newFixture(t, open(t))
		for _, id := range []string{"s1", "s2"} {
			f.makeSweep(id, keyed("one", ""), 5)
			for range 2 {
				grid, err := f.AddGrid(f.ctx, id, keyed("more", "k"), 3)
				f.must(err)
				if grid.Ordinal != 1 || grid.First != 5 {
					t.Errorf("%s: %+v", id, grid)
				}
			}
			if got := f.sweep(id); got.Points() != 8 || got.Grids[1].Submission.Key != "k" {
				t.Errorf("%s: %+v", id, got.Grids)
			}
		}
	})

	t.Run("Refused", func(t *testing.T) { // a request that failed may come again
		f := newFixture(t, open(t))
		f.makeSweep("s1", keyed("one", ""), 5)
		_, err := f.CreateSweep(f.ctx, "s1", keyed("two", "k1"), 5)
		wantError(t, err, sweep.ErrExists)
		_, err = f.AddGrid(f.ctx, "s1", keyed("more", "k1"), -1)
		if err == nil {
			t.Error("a grid of -1 points was taken")
		}
		f.makeSweep("s2", keyed("two", "k1"), 5)
		odd := strings.Repeat("é", 50_000)
		if id, err := f.CreateSweep(f.ctx, "s3", keyed("three", odd), 5); err == nil {
			again, err := f.CreateSweep(f.ctx, "s4", keyed("three", odd), 5)
			if err != nil || again != id {
				t.Errorf("%s and %s: %v", id, again, err)
			}
		} else {
			wantError(t, err, sweep.ErrRefused)
		}
	})

	t.Run("Agents", func(t *testing.T) { // the id that wandb.sweep gave finds the newest sweep of its agents
		f := newFixture(t, open(t))
		f.makeSweep("s1", keyed("one", sweep.AgentKey("c5026c86")+"x"), 5)
		f.makeSweep("s2", keyed("one", sweep.AgentKey("c5026c86")+"y"), 5)
		f.makeSweep("s3", keyed("one", sweep.AgentKey("c5026c87")+"y"), 5)
		if found := f.sweep("c5026c86"); found.ID != "s2" {
			t.Errorf("sweep %s", found.ID)
		}
		_, err := f.Sweep(f.ctx, "c5026c8")
		wantError(t, err, sweep.ErrNotFound)
	})

	t.Run("AtOnce", func(t *testing.T) {
		f := newFixture(t, open(t))
		const clients = 8
		ids := make([]string, clients)
		var wait sync.WaitGroup
		for i := range clients {
			wait.Go(func() {
				var err error
				if ids[i], err = f.CreateSweep(f.ctx, fmt.Sprint("s", i), keyed("one", "k"), 5); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("sweeps %v", ids)
			}
		}
		records, err := f.Sweeps(f.ctx)
		f.must(err)
		if len(records) != 1 {
			t.Errorf("%d sweeps", len(records))
		}
	})
}
