package storetest

import (
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
)

// digestOf is a digest that a test can tell from others.
func digestOf(letter string) string { return strings.Repeat(letter, 64) }

func weights(letter string) sweep.Artifact {
	return sweep.Artifact{Name: "weights", MediaType: "application/octet-stream", Size: 5 << 30,
		Digest: digestOf(letter), Store: "file:///a"}
}

// artifacts lists what fits a query.
func (f *fixture) artifacts(query sweep.ArtifactQuery) (list []sweep.ArtifactRecord) {
	f.t.Helper()
	f.must(f.Artifacts(f.ctx, query, func(r *sweep.ArtifactRecord) error {
		list = append(list, *r)
		return nil
	}))
	return list
}

// locations lists where bytes are.
func (f *fixture) locations(prefix string) (list []string) {
	f.t.Helper()
	f.must(f.ArtifactLocations(f.ctx, prefix, func(location string) error {
		list = append(list, location)
		return nil
	}))
	return list
}

func testArtifacts(t *testing.T, open func(t *testing.T) sweep.Store) {
	leaving := func(digest string, artifacts ...sweep.Artifact) *sweep.Result {
		r := completed(1, digest)
		r.Artifacts = artifacts
		return r
	}
	asking := func(name string, artifacts ...string) *sweep.Submission {
		s := submission(name)
		s.Spec.Artifacts = artifacts
		return s
	}

	t.Run("Recorded", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", asking("one", "weights", "samples"), 4)
		f.write("s1", 0, 0, trials("s1", 0, 4))
		missing := sweep.Artifact{Name: "samples", Problem: "the trainer did not hand it over"}
		first := []sweep.Event{f.started(trialID("s1", 0), "x"),
			f.finished(trialID("s1", 0), "x", leaving("a", weights("a"), missing))}
		f.record(first...)
		want := []sweep.ArtifactRecord{
			{TrialID: trialID("s1", 0), Artifact: missing},
			{TrialID: trialID("s1", 0), Artifact: weights("a"), Location: "cpu/s1/0/" + digestOf("a")},
		}
		query := sweep.ArtifactQuery{Sweep: "s1", Indices: []int64{0}}
		if got := f.artifacts(query); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
		// The same execution again, and another one that leaves something else,
		// change nothing.
		f.record(first...)
		f.record(f.finished(trialID("s1", 0), "y", leaving("a", weights("b"))))
		if got := f.artifacts(query); !reflect.DeepEqual(got, want) {
			t.Errorf("after a repeat: %+v", got)
		}
		// What its worker said nothing of is named, behind what was recorded.
		f.complete(trialID("s1", 2), leaving("c", weights("c")))
		f.complete(trialID("s1", 1), leaving("b"))
		f.complete(trialID("s1", 3), &sweep.Result{State: sweep.Failed})
		var lines []string
		for _, r := range f.artifacts(sweep.ArtifactQuery{Sweep: "s1"}) {
			lines = append(lines, r.String()+" "+r.Name+" "+r.Problem)
		}
		older := "its worker reported nothing of it"
		if got, want := strings.Join(lines, "\n"), strings.Join([]string{
			"s1/0 samples the trainer did not hand it over", "s1/0 weights ", "s1/2 weights ",
			"s1/1 weights " + older, "s1/1 samples " + older, "s1/2 samples " + older}, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := f.artifacts(sweep.ArtifactQuery{Sweep: "s1", Name: "weights", Indices: []int64{1, 2}}); len(got) != 2 || got[0].Index != 2 || got[1].Index != 1 || got[1].Problem != older {
			t.Errorf("%+v", got)
		}
		if got := f.artifacts(sweep.ArtifactQuery{Sweep: "s1", From: 1, Until: 2}); len(got) != 2 ||
			got[0].Index != 1 || got[1].Index != 1 {
			t.Errorf("%+v", got)
		}
		if got := f.artifacts(sweep.ArtifactQuery{Sweep: "s1", From: 2}); len(got) != 2 || got[0].Index != 2 ||
			got[0].Name != "weights" {
			t.Errorf("%+v", got)
		}
		rows := f.rows(`SELECT sweep_id, trial_index, name, size, problem FROM artifacts ORDER BY trial_index, name`)
		if !equalRows(rows, [][]any{{"s1", int64(0), "samples", int64(0), missing.Problem},
			{"s1", int64(0), "weights", int64(5 << 30), ""}, {"s1", int64(2), "weights", int64(5 << 30), ""}}) {
			t.Errorf("%v", rows)
		}
		if got := f.locations("cpu/s1/"); len(got) != 2 {
			t.Errorf("%v", got)
		}
		if got := f.locations("cpu/s10/"); len(got) != 0 {
			t.Errorf("%v", got)
		}
		none := func(*sweep.ArtifactRecord) error { return nil }
		wantError(t, f.Artifacts(f.ctx, sweep.ArtifactQuery{Sweep: "s1", Indices: []int64{1, 9}}, none),
			sweep.ErrNotFound)
		wantError(t, f.Artifacts(f.ctx, sweep.ArtifactQuery{Sweep: "none"}, none), sweep.ErrNotFound)
	})

	t.Run("Retried", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.makeSweep("s1", asking("one", "weights"), 1)
		f.write("s1", 0, 0, trials("s1", 0, 1))
		id := trialID("s1", 0)
		failed := leaving("a", weights("a"))
		failed.State = sweep.Failed
		f.complete(id, failed)
		if got := f.artifacts(sweep.ArtifactQuery{Sweep: "s1"}); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		if _, err := f.RetryTrials(f.ctx, "s1"); err != nil {
			t.Fatal(err)
		}
		if got := f.artifacts(sweep.ArtifactQuery{Sweep: "s1"}); len(got) != 0 {
			t.Errorf("after the retry: %+v", got)
		}
		f.record(f.finished(id, "again", leaving("b", weights("b"))))
		if got := f.artifacts(sweep.ArtifactQuery{Sweep: "s1"}); len(got) != 1 || got[0].Digest != digestOf("b") {
			t.Errorf("%+v", got)
		}
	})

	t.Run("Malformed", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		odd := weights("a")
		odd.MediaType, odd.Store = "a\x00\xff", "b\x00"
		f.complete(trialID("s1", 0), leaving("a",
			sweep.Artifact{Name: "../../etc/passwd", Digest: digestOf("a")},
			sweep.Artifact{Name: "none", Digest: "7", Size: 1},
			sweep.Artifact{Name: "negative", Digest: digestOf("a"), Size: -1}, weights("b"), odd))
		var lines []string
		for _, r := range f.artifacts(sweep.ArtifactQuery{Sweep: "s1"}) {
			lines = append(lines, r.Name+" "+r.MediaType+" "+r.Problem+" "+r.Location)
		}
		want := "negative  its worker reported no digest of it \nnone  its worker reported no digest of it \nweights " +
			"a\uFFFD\uFFFD  cpu/s1/0/" + digestOf("a")
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	})

	// A result is reused with its artifacts, and not if it lacks one.
	t.Run("Reuse", func(t *testing.T) {
		f := newFixture(t, open(t))
		same := func(id string) []sweep.Trial {
			page := trials(id, 0, 2)
			for i, old := range trials("s1", 0, 2) {
				page[i].Fingerprint = old.Fingerprint
			}
			return page
		}
		f.create("s1", 2, 2)
		f.complete(trialID("s1", 0), leaving("a"))
		f.complete(trialID("s1", 1), leaving("b"))
		f.makeSweep("s2", asking("two", "weights"), 2)
		if n := f.write("s2", 0, 0, same("s2")); n != 0 {
			t.Errorf("%d reused that have no weights", n)
		}
		f.complete(trialID("s2", 0), leaving("a", weights("a")))
		f.complete(trialID("s2", 1), leaving("b", sweep.Artifact{Name: "weights", Problem: "too large"}))
		f.makeSweep("s3", asking("three", "weights"), 2)
		if n := f.write("s3", 0, 0, same("s3")); n != 1 {
			t.Errorf("%d reused, want 1", n)
		}
		if got := f.trial(trialID("s3", 0)); got.ReusedFrom == nil || *got.ReusedFrom != trialID("s2", 0) {
			t.Errorf("%+v", got.ReusedFrom)
		}
		got := f.artifacts(sweep.ArtifactQuery{Sweep: "s3"})
		want := sweep.ArtifactRecord{TrialID: trialID("s3", 0), Artifact: weights("a"),
			Location: "cpu/s2/0/" + digestOf("a")}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%+v", got)
		}
		// What others reuse is kept when it is deleted.
		log := f.event(sweep.EventReleased, trialID("s2", 1), "z")
		log.Release, log.Log = &sweep.Release{Reason: "stopped"}, "words"
		f.record(log)
		f.complete(trialID("s3", 1), leaving("b", weights("c")))
		f.must(f.SetSweepState(f.ctx, "s2", sweep.SweepPaused, ""))
		removed, err := f.DeleteSweep(f.ctx, "s2")
		f.must(err)
		if !reflect.DeepEqual(removed.Deleted, []sweep.DeletedSweep{{ID: "s2", Pool: "cpu"}}) {
			t.Errorf("%+v", removed)
		}
		if got := f.locations("cpu/"); !reflect.DeepEqual(got,
			[]string{"cpu/s2/0/" + digestOf("a"), "cpu/s3/1/" + digestOf("c")}) {
			t.Errorf("%v", got)
		}
		f.makeSweep("s4", asking("four", "weights", "weight_"), 2)
		if n := f.write("s4", 0, 0, same("s4")); n != 0 {
			t.Errorf("%d reused that lack one of two", n)
		}
		f.makeSweep("s5", submission("five"), 2)
		if n := f.write("s5", 0, 0, same("s5")); n != 2 {
			t.Errorf("%d reused, want 2", n)
		}
	})
}
