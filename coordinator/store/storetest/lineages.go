package storetest

import (
	"maps"
	"testing"

	"sweep/sweep"
)

// testLineages: a trial continues from the longest of the shorter trials of its lineage that left their
// checkpoint, of any sweep in its pool.
func testLineages(t *testing.T, open func(t *testing.T) sweep.Store) {
	const long = "0123456789abcdef0123456789abcdef"
	checkpoint := sweep.Artifact{Name: sweep.CheckpointArtifact, Size: 7, Digest: digestOf("c"), Store: "file:///a"}
	leaving := func(a sweep.Artifact) *sweep.Result {
		r := completed(1, "d"+a.Digest+a.Problem)
		r.Artifacts = []sweep.Artifact{a}
		return r
	}
	trial := func(id string, index, budget int64, lineage sweep.Fingerprint) sweep.Trial {
		t := trials(id, index, 1)[0]
		t.Lineage, t.Budget = lineage, budget
		return t
	}
	// prepare makes sweep s1, whose trials 0 to 2 have budgets 10, 20 and 40, and have completed but for the last.
	prepare := func(t *testing.T) *fixture {
		f := newFixture(t, open(t))
		s := submission("one")
		s.Spec.Artifacts = []string{sweep.CheckpointArtifact}
		f.makeSweep("s1", s, 5)
		f.write("s1", 0, 0, []sweep.Trial{trial("s1", 0, 10, long+"x"), trial("s1", 1, 20, long+"x"),
			trial("s1", 2, 40, long+"x"), trial("s1", 3, 10, "other"), trial("s1", 4, 10, "")})
		f.complete(trialID("s1", 0), leaving(checkpoint))
		f.complete(trialID("s1", 1), leaving(checkpoint))
		return f
	}
	check := func(f *fixture, id string, want map[int64]sweep.TrialID, trials ...sweep.Trial) {
		f.t.Helper()
		found, err := f.Checkpoints(f.ctx, id, trials)
		f.must(err)
		got := map[int64]sweep.TrialID{}
		for index, r := range found {
			got[index] = r.TrialID
			if r.Artifact != checkpoint ||
				r.Location != sweep.ArtifactLocation("cpu", r.TrialID, checkpoint.Digest) {
				f.t.Errorf("trial %d continues from %+v", index, r)
			}
		}
		if !maps.Equal(got, want) {
			f.t.Errorf("trials of %s continue from %v, want %v", id, got, want)
		}
	}

	t.Run("Longest", func(t *testing.T) {
		f := prepare(t)
		check(f, "s1", map[int64]sweep.TrialID{1: trialID("s1", 0), 2: trialID("s1", 1)}, trial("s1", 0, 10, long+"x"),
			trial("s1", 1, 20, long+"x"), trial("s1", 2, 40, long+"x"), trial("s1", 3, 50, "other"),
			trial("s1", 4, 50, ""))
		check(f, "s1", nil, trial("s1", 4, 50, ""))
		// A checkpoint that was not stored is none, and neither is that of a trial that failed.
		f.complete(trialID("s1", 2), leaving(sweep.Artifact{Name: sweep.CheckpointArtifact, Problem: "no room"}))
		f.complete(trialID("s1", 3), &sweep.Result{State: sweep.Failed})
		check(f, "s1", map[int64]sweep.TrialID{2: trialID("s1", 1)}, trial("s1", 2, 80, long+"x"),
			trial("s1", 3, 50, "other"))
	})

	// That of a trial that was stopped early is one, too, also with the same budget, if there is no other.
	t.Run("Stopped", func(t *testing.T) {
		f := prepare(t)
		stopped := leaving(checkpoint)
		stopped.State = sweep.Stopped
		f.complete(trialID("s1", 2), stopped)
		f.complete(trialID("s1", 3), stopped)
		f.create("s2", 3, 3)
		check(f, "s2", map[int64]sweep.TrialID{0: trialID("s1", 1), 1: trialID("s1", 3)}, trial("s2", 0, 80, long+"x"),
			trial("s2", 1, 10, "other"), trial("s2", 2, 9, "other"))
	})

	t.Run("Elsewhere", func(t *testing.T) {
		f := prepare(t)
		from := map[int64]sweep.TrialID{0: trialID("s1", 1)}
		f.create("s2", 1, 1)
		check(f, "s2", from, trial("s2", 0, 30, long+"x"))
		gpu := submission("gpu")
		gpu.Spec.Pool = "gpu"
		f.makeSweep("s3", gpu, 1)
		f.write("s3", 0, 0, trials("s3", 0, 1))
		check(f, "s3", nil, trial("s3", 0, 30, long+"x"))
		// A sweep that reuses nothing continues its own trials alone.
		anew := submission("anew")
		anew.Spec.Artifacts, anew.Reuse = []string{sweep.CheckpointArtifact}, false
		f.makeSweep("s4", anew, 2)
		f.write("s4", 0, 0, []sweep.Trial{trial("s4", 0, 5, long+"x"), trial("s4", 1, 30, long+"x")})
		check(f, "s4", nil, trial("s4", 1, 30, long+"x"))
		f.complete(trialID("s4", 0), leaving(checkpoint))
		check(f, "s4", map[int64]sweep.TrialID{1: trialID("s4", 0)}, trial("s4", 1, 30, long+"x"))
	})

	t.Run("Charged", func(t *testing.T) {
		f := prepare(t)
		f.record(f.started(trialID("s1", 2), "x"), f.released(trialID("s1", 2), "x", false, "drained"))
		check(f, "s1", map[int64]sweep.TrialID{2: trialID("s1", 1)}, trial("s1", 2, 40, long+"x"))
		f.record(f.started(trialID("s1", 2), "y"), f.released(trialID("s1", 2), "y", true, "the trainer died"))
		check(f, "s1", nil, trial("s1", 2, 40, long+"x"))
	})

	t.Run("Deleted", func(t *testing.T) {
		f := prepare(t)
		f.create("s2", 1, 1)
		_, err := f.CancelTrials(f.ctx, "s1")
		f.must(err)
		_, err = f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		check(f, "s2", nil, trial("s2", 0, 30, long+"x"))
		if rows := f.rows(`SELECT * FROM lineages`); len(rows) > 0 {
			t.Errorf("lineages of deleted trials: %v", rows)
		}
	})
}
