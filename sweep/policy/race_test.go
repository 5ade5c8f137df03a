package policy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
)

// raceSpec has a number of points in each of two groups, and replicates.
func raceSpec(points, replicates int64, confidence float64) *sweep.Spec {
	integers := func(n int64) sweep.Values {
		return sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: n, Integer: true}}
	}
	return &sweep.Spec{Policies: []sweep.Policy{Of(&Race{By: "loss", Confidence: confidence})},
		Select: sweep.Select{Group: []string{"model"}},
		Axes: []sweep.Axis{axisOf(sweep.SeedParameter, integers(replicates)),
			axisOf("model", sweep.Values{List: []any{"a", "b"}}), axisOf("x", integers(points))}}
}

// runRace runs a race with the results of value, and returns its trials and why points are out, in order.
func runRace(t *testing.T, spec *sweep.Spec, value func(p sweep.Parameters) float64) (trials []Trial, reasons []string) {
	t.Helper()
	race := opened[*race](t, spec, &sweep.Description{})
	said := map[string]bool{}
	for {
		if got, want := race.Generation(int64(len(trials))).Number, int64(len(trials))/race.points; got != want {
			t.Fatalf("generation %d after %d trials", got, len(trials))
		}
		points := next(t, race, trials)
		if again := next(t, race, trials); !reflect.DeepEqual(again, points) {
			t.Fatal("another generation from the same trials")
		}
		if len(points) == 0 {
			return trials, reasons
		}
		for _, p := range points {
			trial := Trial{Parameters: p.Parameters, Value: math.NaN(), Skipped: p.Skip}
			if p.Skip == "" {
				trial.Value = value(p.Parameters)
			} else if key := fmt.Sprintf("%s %d", p.Parameters["model"], p.Parameters["x"]); !said[key] {
				said[key] = true
				reasons = append(reasons, fmt.Sprintf("%s, seed %d: %s", key, p.Parameters["seed"], p.Skip))
			}
			trials = append(trials, trial)
		}
	}
}

// Points that are worse on each replicate are out as soon as the tests have the replicates, each group for
// itself; what does not differ runs to the end.
func TestRace(t *testing.T) {
	value := func(p sweep.Parameters) float64 {
		x, seed := p["x"].(int64), p["seed"].(int64)
		switch {
		case p["model"] == "b":
			return float64(seed*x%7) / 8 // no point is the best
		case x == 4:
			return math.NaN()
		}
		return float64(x) + float64(seed)/16
	}
	trials, reasons := runRace(t, raceSpec(4, 8, 0.95), value)
	want := []string{
		"a 2, seed 6: cannot win: loss is 2.188 after 5 replicates, and 1.188 at trial 0 (Wilcoxon, p = 0.031)",
		"a 3, seed 6: cannot win: loss is 3.188 after 5 replicates, and 1.188 at trial 0 (Wilcoxon, p = 0.031)",
		"a 4, seed 6: cannot win: loss is not available in all after 5 replicates, and 1.188 at trial 0 " +
			"(Wilcoxon, p = 0.031)",
	}
	if len(trials) != 64 || strings.Join(reasons, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d trials:\n%s\nwant\n%s", len(trials), strings.Join(reasons, "\n"), strings.Join(want, "\n"))
	}
	skipped := 0
	for i, trial := range trials {
		if trial.Skipped != "" {
			skipped++
		} else if i >= 40 && trial.Parameters["model"] == "a" && trial.Parameters["x"] != int64(1) {
			t.Errorf("trial %d runs", i)
		}
	}
	if skipped != 9 {
		t.Errorf("%d trials are skipped", skipped)
	}
	// The best point has no value of seed 3, the other ones have none of seeds 3 and 4.
	trials, reasons = runRace(t, raceSpec(2, 9, 0.95), func(p sweep.Parameters) float64 {
		x, seed := p["x"].(int64), p["seed"].(int64)
		if seed == 3 || seed == 4 && x == 2 {
			return math.NaN()
		}
		return float64(x)
	})
	if len(reasons) == 0 || !strings.Contains(reasons[0], "loss is not available in all after 6 replicates, and not "+
		"available in all at trial 0 ") {
		t.Errorf("%d trials: %q", len(trials), reasons)
	}
	spec := raceSpec(4, 8, 0.95)
	spec.Policies[0] = Of(&Race{By: "loss", Goal: sweep.Maximize, Confidence: 0.95})
	_, largest := runRace(t, spec, value) // policies have such a metric with its sign reversed
	if want := "a 2, seed 6: cannot win: loss is -2.188 after 5 replicates, and -1.188 at trial 0 (Wilcoxon, p = 0.031)"; largest[0] != want {
		t.Errorf("a metric that is to be large: %s, want %s", largest[0], want)
	}
}

// A point that is out stays out, whatever the results of earlier trials are afterwards.
func TestRaceRetried(t *testing.T) {
	spec := raceSpec(3, 9, 0.95)
	trials, _ := runRace(t, spec, func(p sweep.Parameters) float64 { return float64(p["x"].(int64)) })
	race := opened[*race](t, spec, &sweep.Description{})
	until := 6 * race.points
	for i := range trials {
		trials[i].Value = -trials[i].Value
	}
	for i, p := range next(t, race, trials[:until]) {
		if was := trials[int(until-race.points)+i].Skipped; was != "" && p.Skip != was {
			t.Errorf("point %d: %q was %q", i, p.Skip, was)
		}
	}
}

// With noise the best point is seldom out, and bad ones save most of their replicates.
func TestRaceSaves(t *testing.T) {
	lost, ran, all := 0, 0, 0
	for round := range int64(40) {
		noise := func(p sweep.Parameters) float64 {
			x, seed := p["x"].(int64), p["seed"].(int64)
			h := uint64(x*7919+seed*104729+round*1299709) * 0x9e3779b97f4a7c15
			return float64(x)/4 + float64(h>>40)/(1<<24)
		}
		trials, _ := runRace(t, raceSpec(8, 20, 0.95), noise)
		for i, trial := range trials {
			all++
			if trial.Skipped == "" {
				ran++
			} else if i >= len(trials)-16 && trial.Parameters["x"] == int64(1) {
				lost++
			}
		}
	}
	if lost > 12 || ran*2 > all { // of 80 races
		t.Errorf("the best was out %d times, %d of %d trials ran", lost, ran, all)
	}
	t.Logf("the best was out %d times of 80, %d of %d trials ran", lost, ran, all)
}

func TestRaceEnds(t *testing.T) {
	race := opened[*race](t, raceSpec(2, 6, 0.95), &sweep.Description{})
	trials, _ := runRace(t, raceSpec(2, 6, 0.95), func(sweep.Parameters) float64 { return 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := race.Step(ctx, Observations{Trials: trials[:20], Written: 20}); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on without its context: %v", err)
	}
}
