package coordinator

import (
	"testing"

	"sweep/sweep"
)

// A trial's run is called after the name under which its sweep was submitted, whatever the sweep is called now.
func TestRunNameStays(t *testing.T) {
	t.Parallel()
	submission := sweep.Submission{Spec: sweep.Spec{Name: "first", Script: &sweep.Script{}}}
	extension := sweep.Submission{Spec: sweep.Spec{Name: "second", Script: &sweep.Script{}}}
	a := newActiveSweep(&sweep.SweepRecord{ID: "s", Name: "renamed", Grids: []sweep.GridRecord{
		{Points: 2, Submission: submission}, {Ordinal: 1, First: 2, Points: 2, Submission: extension},
	}})
	for index, want := range []string{"first-s-0", "first-s-1", "first-s-2"} {
		job := a.job(sweep.Trial{TrialID: sweep.TrialID{Sweep: "s", Index: int64(index)}}, nil)
		if job.Script.RunName != want {
			t.Errorf("run %q, want %q", job.Script.RunName, want)
		}
	}
}
