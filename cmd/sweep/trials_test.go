package main

import (
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
