package storetest

import (
	"fmt"
	"slices"
	"testing"

	"sweep/sweep"
)

func testAnnotations(t *testing.T, open func(t *testing.T) sweep.Store) {
	// want compares what a sweep or trial is described by, apart from when it was edited.
	want := func(f *fixture, got sweep.Annotation, notes, by string, tags ...string) {
		f.t.Helper()
		if got.Notes != notes || got.EditedBy != by || !slices.Equal(got.Tags, tags) || got.EditedAt.IsZero() != (by == "") {
			f.t.Errorf("%+v, want %q with the tags %q by %q", got, notes, tags, by)
		}
	}
	labelled := func(digest string, labels *sweep.RunLabels) *sweep.Result {
		r := completed(1, digest)
		r.Labels = labels
		return r
	}
	text := func(s string) *string { return &s }

	t.Run("Sweep", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 1, 1)
		want(f, f.sweep("s1").Annotation, "naïve “test”", "")
		before := f.sweep("s1").UpdatedAt
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Tags: []string{"b", "a", "b"}, By: "ada"}))
		want(f, f.sweep("s1").Annotation, "naïve “test”", "ada", "a", "b")
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Notes: text("two\nlines"), By: "eve"}))
		want(f, f.sweep("s1").Annotation, "two\nlines", "eve", "a", "b")
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Notes: text(""), Tags: []string{}, By: "eve"}))
		want(f, f.sweep("s1").Annotation, "", "eve")
		list, err := f.Sweeps(f.ctx)
		f.must(err)
		want(f, list[0].Annotation, "", "eve")
		if after := f.sweep("s1").UpdatedAt; !after.Equal(before) {
			t.Errorf("an edit moved the end of the sweep from %v to %v", before, after)
		}
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Tags: []string{"x"}}))
		if got := f.rows(`SELECT sweep_name, trial_index, notes, tags, edited_by FROM notes`); !equalRows(got,
			[][]any{{"name-s1", nil, "", "x", nil}}) {
			t.Error(got)
		}
	})

	t.Run("TagsOfFile", func(t *testing.T) {
		f := newFixture(t, open(t))
		s := submission("tagged")
		s.Spec.Tags = []string{"paper", "baseline"}
		f.makeSweep("tagged", s, 1)
		want(f, f.sweep("tagged").Annotation, s.Spec.Description, "", "baseline", "paper")
	})

	t.Run("Trials", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 4, 3)
		f.complete(trialID("s1", 0), labelled("a", &sweep.RunLabels{Name: "swift-fox", Group: "folds", Notes: "naïve",
			Tags: []string{"baseline", "a", "a"}}))
		f.complete(trialID("s1", 1), labelled("b", nil))
		r := f.trial(trialID("s1", 0))
		want(f, r.Annotation, "naïve", "", "a", "baseline")
		if r.RunName != "swift-fox" || r.RunGroup != "folds" {
			t.Errorf("the run is called %q in %q", r.RunName, r.RunGroup)
		}
		// A person's words stay, also when the result comes after them or is made anew.
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Index: new(int64(0)), Tags: []string{"keep"}, By: "ada"}))
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Index: new(int64(2)), Notes: text("watch"), By: "ada"}))
		f.complete(trialID("s1", 2), labelled("c", &sweep.RunLabels{Notes: "lost", Tags: []string{"fold"}}))
		want(f, f.trial(trialID("s1", 0)).Annotation, "naïve", "ada", "keep")
		want(f, f.trial(trialID("s1", 1)).Annotation, "", "")
		want(f, f.trial(trialID("s1", 2)).Annotation, "watch", "ada", "fold")
		if got := f.rows(`SELECT trial_index, run_name, run_group, notes, tags, edited_by FROM notes
			WHERE trial_index IS NOT NULL ORDER BY trial_index`); !equalRows(got, [][]any{
			{int64(0), "swift-fox", "folds", "naïve", "keep", "ada"}, {int64(2), nil, nil, "watch", "fold", "ada"}}) {
			t.Error(got)
		}
		// A trial that reuses a result has its program's labels, not the words of a person.
		f.makeSweep("s2", submission("again"), 1)
		again := trials("s2", 0, 1)
		again[0].Fingerprint = "s1-0"
		if reused := f.write("s2", 0, 0, again); reused != 1 {
			t.Fatal("no result was reused")
		}
		want(f, f.trial(trialID("s2", 0)).Annotation, "naïve", "", "a", "baseline")

		// Readers find what was edited since they read.
		edited := func(after, wantLast int64, want ...int64) {
			t.Helper()
			got, last, err := f.Edited(f.ctx, "s1", after)
			if f.must(err); !slices.Equal(got, want) || last != wantLast {
				t.Errorf("after edit %d: trials %v, last edit %d; want %v and %d", after, got, last, want, wantLast)
			}
		}
		edited(0, 2, 0, 2)
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Index: new(int64(0)), Notes: text("again"), By: "ada"}))
		edited(0, 3, 2, 0)
		edited(2, 3, 0)
		edited(3, 3)
		_, _, err := f.Edited(f.ctx, "none", 0)
		wantError(t, err, sweep.ErrNotFound)

		wantError(t, f.SetAnnotation(f.ctx, "s1", sweep.Edit{Index: new(int64(3)), Notes: text("")}), sweep.ErrNotFound)
		wantError(t, f.SetAnnotation(f.ctx, "none", sweep.Edit{Notes: text("")}), sweep.ErrNotFound)
		for _, refused := range []sweep.Edit{{By: "ada"}, {Tags: []string{"a,b"}}, {Tags: []string{" a"}},
			{Tags: []string{""}}, {Notes: text("\x00")}, {Notes: text(string(make([]byte, sweep.LongestNotes+1)))}} {
			if f.SetAnnotation(f.ctx, "s1", refused) == nil {
				t.Errorf("accepted: %.100v", refused)
			}
		}
		_, err = f.CancelTrials(f.ctx, "s1")
		f.must(err)
		_, err = f.DeleteSweep(f.ctx, "s1")
		f.must(err)
		if got := f.rows(`SELECT count(*) FROM trial_notes`); got[0][0] != int64(0) {
			t.Errorf("a deleted sweep left %v edits", got[0][0])
		}
	})

	t.Run("Selection", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 5, 5)
		for i, tags := range [][]string{{"ab"}, {"a", "c"}, {`q"`}, nil} {
			f.complete(trialID("s1", int64(i)), labelled(fmt.Sprint(i), &sweep.RunLabels{Name: fmt.Sprint("run-", i),
				Tags: tags}))
		}
		f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Index: new(int64(4)), Tags: []string{"a"}, Notes: text("n")}))
		for _, test := range []struct {
			name, operator string
			value          any
			want           []int64
		}{
			{"tag", "=", "a", []int64{1, 4}}, {"tag", "!=", "a", []int64{0, 2, 3}}, {"tag", "=", `q"`, []int64{2}},
			{"tag", "!=", "c", []int64{0, 2, 3, 4}}, {"tag", "=", nil, []int64{3}}, {"tag", "!=", nil, []int64{0, 1, 2, 4}},
			{"run_name", "=", "run-2", []int64{2}}, {"notes", "=", "n", []int64{4}}, {"run_group", "=", "x", nil},
		} {
			var got []int64
			query := sweep.TrialQuery{Sweeps: []string{"s1"}, Where: []sweep.TrialCondition{{Name: sweep.Name(test.name),
				Operator: test.operator, Value: test.value}}}
			f.must(f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
				got = append(got, r.Index)
				return nil
			}))
			if !slices.Equal(got, test.want) {
				t.Errorf("%s %s %v: %v, want %v", test.name, test.operator, test.value, got, test.want)
			}
		}
		var sorted []int64
		f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: "tag", Limit: 3},
			func(r *sweep.TrialRecord) error {
				sorted = append(sorted, r.Index)
				return nil
			}))
		if !slices.Equal(sorted, []int64{4, 1, 0}) {
			t.Errorf("sorted by tags: %v", sorted)
		}
		for _, c := range []sweep.TrialCondition{{Operator: "<", Value: "a"}, {Operator: "=", Value: "a,c"},
			{Operator: "=", Value: 7}, {Operator: "!=", Value: []any{"a"}}} {
			c.Name = "tag"
			if f.Trials(f.ctx, sweep.TrialQuery{Where: []sweep.TrialCondition{c}},
				func(*sweep.TrialRecord) error { return nil }) == nil {
				t.Errorf("%+v was accepted", c)
			}
		}
	})
}
