package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// testKeep: a sweep keeps artifacts of its best trials alone, whatever the order in which they end, and those that
// another sweep keeps.
func testKeep(t *testing.T, open func(t *testing.T) sweep.Store) {
	keeping := func(name string, keep map[string]int64) *sweep.Submission {
		s := submission(name)
		s.Spec.Artifacts, s.Spec.Keep = []string{"weights"}, keep
		return s
	}
	digest := func(index int64) string { return fmt.Sprintf("%064x", index) }
	leaving := func(index int64, loss float64) *sweep.Result {
		r := completed(loss, fmt.Sprint(index))
		r.Artifacts = []sweep.Artifact{{Name: "weights", Size: 7, Digest: digest(index), Store: "file:///a"}}
		return r
	}
	// same are trials of a sweep whose results those of s1 are.
	same := func(id string, indices ...int64) []sweep.Trial {
		page := trials(id, 0, int64(len(indices)))
		for i, index := range indices {
			page[i].Fingerprint = trials("s1", index, 1)[0].Fingerprint
		}
		return page
	}
	// kept are the indices of the trials of a sweep whose weights are kept; the others say why they are not.
	kept := func(f *fixture, id string) string {
		f.t.Helper()
		var indices []string
		for _, r := range f.artifacts(sweep.ArtifactQuery{Sweep: id, Name: "weights"}) {
			switch {
			case r.Problem == "":
				indices = append(indices, fmt.Sprint(r.Index))
			case r.Dropped != strings.HasPrefix(r.Problem, "not kept: the trial is not among the "):
				f.t.Errorf("%+v", r)
			}
		}
		return strings.Join(indices, " ")
	}
	// dropped are the places that are to be emptied.
	dropped := func(f *fixture) (locations []string) {
		f.t.Helper()
		locations, err := f.DroppedArtifacts(f.ctx)
		f.must(err)
		slices.Sort(locations)
		return locations
	}
	want := func(f *fixture, id, indices string) {
		f.t.Helper()
		if got := kept(f, id); got != indices {
			f.t.Errorf("sweep %s keeps those of %s, want %s", id, got, indices)
		}
	}
	wantDropped := func(f *fixture, locations ...string) {
		f.t.Helper()
		if got := dropped(f); !slices.Equal(got, locations) {
			f.t.Errorf("dropped: %v, want %v", got, locations)
		}
	}

	// Of equal trials the first is better; those that diverged, were stopped or have no value come last.
	t.Run("Best", func(t *testing.T) {
		f := newFixture(t, open(t))
		for seed, test := range []struct {
			by   sweep.Select
			k    int64
			want string
		}{
			{k: 1, want: "2"}, {k: 2, want: "2 4"}, {k: 3, want: "1 2 4"}, {k: 5, want: "0 1 2 3 4"},
			{k: 6, want: "0 1 2 3 4 5"}, {k: 100, want: "0 1 2 3 4 5 6 7"},
			{by: sweep.Select{By: "train_loss", Goal: sweep.Maximize}, k: 2, want: "0 3"},
		} {
			id := fmt.Sprint("s", seed)
			s := keeping(id, map[string]int64{"weights": test.k})
			s.Spec.Select = test.by
			f.makeSweep(id, s, 9)
			f.write(id, 0, 0, trials(id, 0, 9))
			var events []sweep.Event
			for i, loss := range []float64{5, 2, 1, 5, 1, 0, 0, 0, 0} {
				r := leaving(int64(i), loss)
				switch i {
				case 5:
					r.Diverged = true
				case 6:
					r.State, r.Error = sweep.Stopped, "stopped"
				case 7:
					r.Summary = nil
				case 8:
					r.State, r.Artifacts = sweep.Failed, nil
				}
				events = append(events, f.finished(trialID(id, int64(i)), "x", r))
			}
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			for len(events) > 0 {
				n := 1 + random.IntN(min(4, len(events)))
				f.record(events[:n]...)
				f.record(events[:n]...) // again
				events = events[n:]
			}
			want(f, id, test.want)
			rest := 8 - int64(len(strings.Fields(test.want)))
			locations := dropped(f)
			if int64(len(locations)) != rest || !slices.Equal(locations, dropped(f)) {
				t.Errorf("of %d best dropped: %v", test.k, locations)
			}
			f.must(f.ForgetDropped(f.ctx, locations))
			wantDropped(f)
			want(f, id, test.want)
			rows := f.rows(`SELECT * FROM kept_artifacts JOIN sweeps USING (sweep_no) WHERE sweep_id = '` + id + `'`)
			if int64(len(rows)) != min(test.k, 8) {
				t.Errorf("%d rows of the best %d", len(rows), test.k)
			}
		}
	})

	// Two artifacts with the same bytes are in one place.
	t.Run("Place", func(t *testing.T) {
		f := newFixture(t, open(t))
		s := keeping("one", map[string]int64{"weights": 2, "samples": 1})
		s.Spec.Artifacts = []string{"weights", "samples"}
		f.makeSweep("s1", s, 3)
		f.write("s1", 0, 0, trials("s1", 0, 3))
		for i := range int64(3) {
			r := leaving(i, float64(i))
			r.Artifacts = append(r.Artifacts, r.Artifacts[0])
			r.Artifacts[1].Name = "samples"
			f.complete(trialID("s1", i), r)
		}
		want(f, "s1", "0 1")
		wantDropped(f, "cpu/s1/2/"+digest(2))
		f.must(f.ForgetDropped(f.ctx, dropped(f)))
		wantDropped(f)
		f.complete(trialID("s1", 0), leaving(0, 0))
		if got := f.locations("cpu/"); len(got) != 3 {
			t.Errorf("%v", got)
		}
	})

	// What a sweep keeps that reuses the results stays, and so it does if that sweep keeps the best as well.
	t.Run("Reuse", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", keeping("one", map[string]int64{"weights": 2}), 4)
		f.write("s1", 0, 0, trials("s1", 0, 4))
		f.complete(trialID("s1", 0), leaving(0, 3))
		f.complete(trialID("s1", 1), leaving(1, 4))
		f.makeSweep("s2", keeping("two", nil), 1)
		if n := f.write("s2", 0, 0, same("s2", 0)); n != 1 {
			t.Errorf("%d reused", n)
		}
		f.makeSweep("s3", keeping("three", map[string]int64{"weights": 1}), 2)
		if n := f.write("s3", 0, 0, same("s3", 1, 3)); n != 1 {
			t.Errorf("%d reused", n)
		}
		f.complete(trialID("s1", 2), leaving(2, 1))
		f.complete(trialID("s1", 3), leaving(3, 2))
		want(f, "s1", "0 1 2 3")
		want(f, "s2", "0")
		want(f, "s3", "0")
		wantDropped(f)
		f.complete(trialID("s3", 1), leaving(3, 2)) // is better than trial 1 of s1
		want(f, "s3", "1")
		want(f, "s1", "0 2 3")
		wantDropped(f, "cpu/s1/1/"+digest(1))
		// A sweep that keeps those of all does not reuse a result whose own is dropped. One that keeps the best does,
		// and then its bytes stay if it is one of them.
		f.makeSweep("s4", keeping("four", nil), 1)
		if n := f.write("s4", 0, 0, same("s4", 1)); n != 0 {
			t.Error("a result is reused without what the sweep keeps")
		}
		f.makeSweep("s5", keeping("five", map[string]int64{"weights": 1}), 2)
		if n := f.write("s5", 0, 0, same("s5", 1, 0)); n != 2 {
			t.Errorf("%d reused", n)
		}
		wantDropped(f, "cpu/s1/1/"+digest(1))
	})

	t.Run("Again", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", keeping("one", map[string]int64{"weights": 1}), 2)
		f.write("s1", 0, 0, trials("s1", 0, 2))
		f.complete(trialID("s1", 0), leaving(0, 3))
		f.complete(trialID("s1", 1), leaving(1, 2))
		want(f, "s1", "1")
		// It is dropped, but its bytes are there: who keeps it from now on has it again.
		f.makeSweep("s2", keeping("two", map[string]int64{"weights": 1}), 1)
		if n := f.write("s2", 0, 0, same("s2", 0)); n != 1 {
			t.Errorf("%d reused", n)
		}
		wantDropped(f)
		want(f, "s1", "0 1")
		want(f, "s2", "0")
		// Once they are to be removed, they are not there again.
		f.makeSweep("s3", keeping("three", map[string]int64{"weights": 1}), 2)
		f.write("s3", 0, 0, trials("s3", 0, 2))
		f.complete(trialID("s3", 0), leaving(0, 3))
		f.complete(trialID("s3", 1), leaving(1, 2))
		wantDropped(f, "cpu/s3/0/"+digest(0))
		f.makeSweep("s4", keeping("four", map[string]int64{"weights": 1}), 1)
		page := trials("s4", 0, 1)
		page[0].Fingerprint = trials("s3", 0, 1)[0].Fingerprint
		if n := f.write("s4", 0, 0, page); n != 1 {
			t.Errorf("%d reused", n)
		}
		wantDropped(f, "cpu/s3/0/"+digest(0))
		f.must(f.ForgetDropped(f.ctx, dropped(f)))
		want(f, "s4", "")
	})

	t.Run("Deleted", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", keeping("one", map[string]int64{"weights": 1}), 2)
		f.write("s1", 0, 0, trials("s1", 0, 2))
		f.complete(trialID("s1", 0), leaving(0, 1))
		f.makeSweep("s2", keeping("two", nil), 1)
		f.write("s2", 0, 0, same("s2", 0))
		f.complete(trialID("s1", 1), leaving(1, 2))
		_, err := f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		want(f, "s2", "0")
		wantDropped(f)
		if got := f.locations("cpu/"); !slices.Equal(got, []string{"cpu/s1/0/" + digest(0)}) {
			t.Errorf("%v", got)
		}
		if rows := f.rows(`SELECT * FROM kept_artifacts`); len(rows) > 0 {
			t.Errorf("of a deleted sweep: %v", rows)
		}
	})
}
