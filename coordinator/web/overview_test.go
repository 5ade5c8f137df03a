package web_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"sweep/sweep"
)

type overview struct {
	Best *struct {
		Index int64
		Cells []any
	}
	Left     *float64
	Failed   int64
	Examined int
	Causes   []struct {
		Text   string
		Trials int
		First  int64
		Output string
	}
}

// TestOverview holds that the best trial has completed and has the metric, that errors which
// differ in numbers and paths alone are one cause, and that the time left follows from how long trials took.
func TestOverview(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		const id = "20260303-120000-abcdef"
		begin(t, f.store, id, "broken", 30, 30, func(index int64, result *sweep.Result) {
			result.Seconds = 3
			if index >= 5 && index < 12 {
				text := fmt.Sprintf("exit status 1: out of memory at step %d in /tmp/run-%d/x", index, index)
				*result = sweep.Result{State: sweep.Failed, Error: text, Stderr: "Traceback " + fmt.Sprint(index),
					Digest: fmt.Sprint(index)}
			}
		})
		started := sweep.Event{Kind: sweep.EventStarted, TrialID: sweep.TrialID{Sweep: id, Index: 28},
			Execution: "x", Worker: "w", Time: time.Now()}
		if _, err := f.store.Record(t.Context(), []sweep.Event{started}); err != nil {
			t.Fatal(err)
		}
		var got overview
		f.get("sweeps/broken/overview", url.Values{"metric": {"loss"}, "column": {"model", "lr"}}, &got)
		// of the trials of rnn and 0.001, the best ones have failed
		if got.Best == nil || got.Best.Index != 12 || fmt.Sprint(got.Best.Cells) != "[0.003 rnn 0.001]" {
			t.Errorf("the best trial is %+v", got.Best)
		}
		if got.Failed != 8 || got.Examined != 8 || len(got.Causes) != 2 {
			t.Fatalf("%+v", got)
		}
		if c := got.Causes[0]; c.Text != "exit status 1: out of memory at step … in …" || c.Trials != 7 ||
			c.First != 5 || c.Output != "Traceback 5" {
			t.Errorf("%+v", c)
		}
		if c := got.Causes[1]; c.Text != "exit code 1" || c.Trials != 1 || c.First != 4 {
			t.Errorf("%+v", c)
		}
		// One runs and one waits, and trials took 3 seconds.
		if got.Left == nil || *got.Left != 6 {
			t.Errorf("%v seconds left", got.Left)
		}
		got = overview{}
		f.get("sweeps/first/overview", url.Values{"metric": {"accuracy"}}, &got)
		if got.Best == nil || got.Best.Index != 10 || got.Left != nil {
			t.Errorf("maximized: %+v", got)
		}
		got = overview{}
		f.get("sweeps/first/overview", nil, &got)
		if got.Best == nil || got.Failed != 1 {
			t.Errorf("by the sweep's own metric: %+v", got)
		}
	})
}

// TestCurvesOfTrials holds that curves can be asked for by trial, in the order asked, with their
// durations by group.
func TestCurvesOfTrials(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	var curves struct {
		Bands []struct {
			First    int64
			Mean     []float64
			Seconds  *float64
			LastStep int64 `json:"last_step"`
			Result   struct {
				N    int64
				Mean *float64
			}
		}
	}
	f.get("sweeps/first/curves", url.Values{"metric": {"loss"}, "trial": {"12", "2"}}, &curves)
	if len(curves.Bands) != 2 || curves.Bands[0].First != 12 || curves.Bands[1].First != 2 ||
		len(curves.Bands[0].Mean) != 20 {
		t.Errorf("%+v", curves)
	}
	f.get("sweeps/first/curves", url.Values{"metric": {"loss"}, "rank": {"loss"}, "time": {"1"}}, &curves)
	if b := curves.Bands[0]; b.First != 10 || b.Seconds == nil || *b.Seconds != 1.5 || b.LastStep != 20 ||
		b.Result.N != 5 || b.Result.Mean == nil {
		t.Errorf("%+v", b)
	}
}
