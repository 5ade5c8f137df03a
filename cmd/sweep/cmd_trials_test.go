package main

import (
	"strings"
	"testing"

	"sweep/sweep"
)

// What stands below the list of trials: why some failed or were refused.
func TestTrialNotes(t *testing.T) {
	t.Parallel()
	refused := sweep.TrialRecord{State: sweep.Pending, Refusals: 1, RefusedBy: "node7", LastRefusal: "no such data"}
	refused.Index = 3
	often, over, failed := refused, refused, refused
	often.Refusals = 2
	over.State, over.Result = sweep.Completed, &sweep.Result{State: sweep.Completed}
	failed.State, failed.Result = sweep.Failed, &sweep.Result{State: sweep.Failed, Error: "timed out",
		Stderr: "one\ntwo\n"}
	same, other, long := failed, failed, failed
	same.Index, other.Index, long.Index, long.Sweep = 4, 9, 5, "s"
	other.Result = &sweep.Result{State: sweep.Failed, Error: "exit status 1"}
	long.Result = &sweep.Result{State: sweep.Failed, Stderr: strings.Repeat("line\n", 50)}
	noted := func(index int64, text string) *sweep.TrialRecord {
		r := &sweep.TrialRecord{State: sweep.Completed, Result: &sweep.Result{State: sweep.Completed, Error: text}}
		r.Index = index
		return r
	}
	tail := strings.Repeat("  line\n", noteLines)
	for _, c := range []struct {
		trials []*sweep.TrialRecord
		want   string
	}{
		{[]*sweep.TrialRecord{{State: sweep.Pending}}, ""},
		{[]*sweep.TrialRecord{&refused}, "\ntrial 3 was refused by worker node7: no such data\n"},
		{[]*sweep.TrialRecord{&often}, "\ntrial 3 was refused 2 times, last by worker node7: no such data\n"},
		{[]*sweep.TrialRecord{&over}, ""},
		{[]*sweep.TrialRecord{&failed}, "\ntrial 3 failed: timed out\n  one\n  two\n"},
		{[]*sweep.TrialRecord{&failed, &same, &other}, "\n2 trials (3-4) failed: timed out\n  the log of trial 3\n  " +
			"one\n  two\n\ntrial 9 failed: exit status 1\n"},
		{[]*sweep.TrialRecord{noted(1, "half"), noted(2, "cut"), noted(3, "half"), noted(4, "half"), noted(5, "")},
			"\n3 trials (1, 3-4): half\n\ntrial 2: cut\n"},
		{[]*sweep.TrialRecord{&long}, "\ntrial 5 failed: \n  the end of its log (all: sweep logs s 5)\n" + tail},
	} {
		got := ""
		for _, note := range trialNotes(c.trials) {
			got += note.String()
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestRangesText(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[string][]int64{
		"": nil, "3": {3}, "0-7, 9": {0, 1, 2, 3, 4, 5, 6, 7, 9}, "5, 3": {5, 3},
		"0, 2, 4, 6, 8, 10, 12, 14 …": {0, 2, 4, 6, 8, 10, 12, 14, 16, 18},
	} {
		if got := rangesText(numbers); got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}
