package storetest

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// lists returns the lists of inputs that fit a query.
func (f *fixture) lists(query sweep.InputQuery) (all []*sweep.InputList) {
	f.t.Helper()
	f.must(f.Inputs(f.ctx, query, func(l *sweep.InputList) error {
		all = append(all, l)
		return nil
	}))
	return all
}

// testInputs: a result that has a list of inputs is reused only where the submitter has found this list unchanged.
func testInputs(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	program := func(name string, unchanged ...string) *sweep.Submission {
		s := submission(name)
		s.Description.Open, s.Unchanged = true, unchanged
		return s
	}
	read := func(digest string) *sweep.Inputs {
		return &sweep.Inputs{Rows: []sweep.Input{{Kind: sweep.FileInput, Name: "model.py", Digest: digest},
			{Kind: sweep.VariableInput, Name: "naïve", Digest: "absent"}}}
	}
	result := func(loss float64, in *sweep.Inputs) *sweep.Result {
		r := completed(loss, "a")
		r.Inputs = in
		return r
	}
	again := func(id string, points int64) []sweep.Trial {
		page := trials(id, 0, points)
		for i, old := range trials("s1", 0, points) {
			page[i].Fingerprint = old.Fingerprint
		}
		return page
	}
	// Trials 0 and 1 have one list, 2 has another, 3 has none and 4 an empty one.
	f.makeSweep("s1", program("one"), 5)
	f.write("s1", 0, 0, trials("s1", 0, 5))
	empty := &sweep.Inputs{Unrecorded: "the program is not Python"}
	for i, in := range []*sweep.Inputs{read("a"), read("a"), read("b"), nil, empty} {
		f.complete(trialID("s1", int64(i)), result(1, in))
	}
	var digests []string
	for _, l := range f.lists(sweep.InputQuery{Program: "d1"}) {
		digests = append(digests, l.ListDigest)
		if l.ListDigest != l.Digest() {
			t.Errorf("a list of digest %s has %s", l.ListDigest, l.Digest())
		}
	}
	a, b := read("a").Digest(), read("b").Digest()
	if want := []string{empty.Digest(), b, a}; !reflect.DeepEqual(digests, want) {
		t.Fatalf("lists %q, want %q", digests, want)
	}
	if all := f.lists(sweep.InputQuery{Program: "d1"}); all[2].Trials != 2 || all[0].Unrecorded != empty.Unrecorded {
		t.Errorf("%+v", all)
	}
	if all := f.lists(sweep.InputQuery{Program: "d2"}); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	sought := []sweep.Fingerprint{trials("s1", 0, 1)[0].Fingerprint, "unknown"}
	if all := f.lists(sweep.InputQuery{Program: "d1", Fingerprints: sought}); len(all[1].Fingerprints) != 0 ||
		!reflect.DeepEqual(all[2].Fingerprints, sought[:1]) {
		t.Errorf("lists of fingerprints: %+v", all)
	}
	index := int64(2)
	if all := f.lists(sweep.InputQuery{Sweep: "s1", Index: &index}); len(all) != 1 ||
		!reflect.DeepEqual(all[0].Rows, read("b").Rows) {
		t.Errorf("%+v", all)
	}

	for id, test := range map[string]struct {
		unchanged []string
		reused    []int64
	}{
		"s2": {nil, []int64{3}},
		"s3": {[]string{a}, []int64{0, 1, 3}},
		"s4": {[]string{b, empty.Digest(), "other"}, []int64{2, 3, 4}},
	} {
		f.makeSweep(id, program(id, test.unchanged...), 5)
		f.write(id, 0, 0, again(id, 5))
		var reused []int64
		for i := range int64(5) {
			if got := f.trial(trialID(id, i)); got.ReusedFrom != nil {
				reused = append(reused, i)
			}
		}
		if !reflect.DeepEqual(reused, test.reused) {
			t.Errorf("with %q trials %v reuse results, want %v", test.unchanged, reused, test.reused)
		}
	}
	if all := f.lists(sweep.InputQuery{Sweep: "s3"}); len(all) != 1 || all[0].ListDigest != a || all[0].Trials != 2 {
		t.Errorf("the lists of a sweep that reuses results: %+v", all)
	}
	rows := f.rows(`SELECT trial_index, kind, name, digest FROM inputs WHERE sweep_id = 's3' ORDER BY 1, 2`)
	if !equalRows(rows, [][]any{{int64(0), "file", "model.py", "a"}, {int64(0), "variable", "naïve", "absent"},
		{int64(1), "file", "model.py", "a"}, {int64(1), "variable", "naïve", "absent"}}) {
		t.Errorf("view %v", rows)
	}

	// Equal points of one grid were made by one submission; those of a later grid were not.
	grid, err := f.AddGrid(f.ctx, "s1", program("more"), 2)
	f.must(err)
	page := trials("s1", 5, 2)
	page[0].Fingerprint = "s1-0"
	f.write("s1", grid.Ordinal, 0, page[:1])
	f.complete(trialID("s1", 5), result(1, read("c")))
	page[1].Fingerprint = "s1-0"
	if n := f.write("s1", grid.Ordinal, 1, page[1:]); n != 1 {
		t.Errorf("reused %d", n)
	}
	if got := f.trial(trialID("s1", 6)); got.ReusedFrom == nil || got.ReusedFrom.Index != 5 {
		t.Errorf("reused from %v", got.ReusedFrom)
	}

	// A trial that is retried has no list until it ends again; a list goes with the last trial that has it, and to the
	// new owner of its result.
	f.makeSweep("s5", program("five"), 1)
	f.write("s5", 0, 0, trials("s5", 0, 1))
	f.complete(trialID("s5", 0), &sweep.Result{State: sweep.Failed, Error: "no", Inputs: read("d")})
	if n, err := f.RetryTrials(f.ctx, "s5"); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	index = 0
	if all := f.lists(sweep.InputQuery{Sweep: "s5", Index: &index}); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	f.record(f.started(trialID("s5", 0), "again"), f.finished(trialID("s5", 0), "again", result(1, read("e"))))
	f.must(f.SetSweepState(f.ctx, "s1", sweep.SweepCancelled, ""))
	_, err = f.DeleteSweep(f.ctx, "s1")
	f.must(err)
	left := f.rows(`SELECT DISTINCT digest FROM stored_inputs WHERE kind = 'file' ORDER BY digest`)
	if !equalRows(left, [][]any{{"a"}, {"b"}, {"e"}}) {
		t.Errorf("inputs left: %v", left)
	}
}
