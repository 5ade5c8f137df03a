package main

import (
	"maps"
	"testing"

	"sweep/sweep"
)

// What stands below the list of trials: why some failed or were refused.
func TestTrialNote(t *testing.T) {
	t.Parallel()
	refused := sweep.TrialRecord{State: sweep.Pending, Refusals: 1, RefusedBy: "node7", LastRefusal: "no such data"}
	refused.Index = 3
	often, over, failed := refused, refused, refused
	often.Refusals = 2
	over.State, over.Result = sweep.Completed, &sweep.Result{State: sweep.Completed}
	failed.State, failed.Result = sweep.Failed, &sweep.Result{State: sweep.Failed, Error: "timed out",
		Stderr: "one\ntwo\n"}
	for _, c := range []struct {
		trial sweep.TrialRecord
		want  string
	}{
		{sweep.TrialRecord{State: sweep.Pending}, ""},
		{refused, "\ntrial 3 was refused by worker node7: no such data\n"},
		{often, "\ntrial 3 was refused 2 times, last by worker node7: no such data\n"},
		{over, ""},
		{failed, "\ntrial 3 failed: timed out\n  one\n  two\n"},
	} {
		if got := trialNote(&c.trial); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// What results note stands below the list once, with the first of its trials.
func TestResultNotes(t *testing.T) {
	t.Parallel()
	var trials []*sweep.TrialRecord
	for i, text := range []string{"", "half of it", "cut", "half of it", "half of it"} {
		r := &sweep.TrialRecord{State: sweep.Completed, Result: &sweep.Result{State: sweep.Completed, Error: text}}
		r.Index = int64(i)
		trials = append(trials, r)
	}
	trials = append(trials, &sweep.TrialRecord{State: sweep.Failed, Result: &sweep.Result{Error: "cut"}},
		&sweep.TrialRecord{State: sweep.Running})
	want := map[int64]string{1: "\ntrial 1 and 2 others: half of it\n", 2: "\ntrial 2: cut\n"}
	if got := resultNotes(trials); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
