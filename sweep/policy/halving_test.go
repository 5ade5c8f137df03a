package policy

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
)

// halvingSpec has points x = 0, 1, … and seeds.
func halvingSpec(points, replicates, cohort int64) *sweep.Spec {
	count := func(first, n int64) sweep.Values {
		return sweep.Values{Range: &sweep.Range{Start: float64(first), Step: 1, Count: n, Integer: true}}
	}
	return &sweep.Spec{Policies: []sweep.Policy{Of(NewHalving("epochs", 1, 9, 3, cohort))}, Axes: []sweep.Axis{
		axisOf("x", count(0, points)), axisOf("epochs", sweep.Values{List: []any{int64(9)}}),
		axisOf(sweep.SeedParameter, count(1, replicates))}, Select: sweep.Select{By: "loss"}}
}

// halve runs a halving with the results of value. Each line is a generation: x:epochs of its trials of seed 1.
func halve(t *testing.T, spec *sweep.Spec, value func(p sweep.Parameters) float64) ([]Trial, string) {
	t.Helper()
	halving := opened[*halving](t, spec, &sweep.Description{})
	var trials []Trial
	var lines []string
	for {
		generation := halving.Generation(int64(len(trials))).Number
		points := next(t, halving, trials)
		if again := next(t, halving, trials); !reflect.DeepEqual(again, points) {
			t.Fatal("another generation from the same trials")
		}
		if generation != int64(len(lines)) {
			t.Fatalf("generation %d after %d", generation, len(lines))
		}
		if len(points) == 0 {
			break
		}
		var line []string
		for _, p := range points {
			trial := Trial{Parameters: p.Parameters, Value: math.NaN(), Skipped: p.Skip}
			if p.Skip == "" {
				trial.Value = value(p.Parameters)
			}
			trials = append(trials, trial)
			if text := fmt.Sprintf("%d:%d", p.Parameters["x"], p.Parameters["epochs"]); p.Parameters["seed"] == int64(1) {
				if p.Skip != "" {
					text = "(" + text + ")"
				}
				line = append(line, text)
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	if int64(len(trials)) != halving.grid.Count() {
		t.Errorf("%d trials, and the grid has %d", len(trials), halving.grid.Count())
	}
	return trials, strings.Join(lines, "\n")
}

func TestHalving(t *testing.T) {
	distance := func(p sweep.Parameters) float64 {
		return math.Abs(float64(p["x"].(int64)) - 12.2)
	}
	for _, test := range []struct {
		name                       string
		points, replicates, cohort int64
		value                      func(p sweep.Parameters) float64
		want                       string
	}{
		{"two cohorts and a part", 20, 1, 9, distance, `
0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1
8:3 7:3 6:3 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:1 17:1
8:9 12:3 13:3 11:3 18:1 19:1
12:9 18:3
18:9`},
		{"one cohort of the smallest size", 9, 1, 0, distance, `
0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1
8:3 7:3 6:3
8:9`},
		{"equal values keep their order", 9, 2, 9, func(sweep.Parameters) float64 { return 1 }, `
0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1
0:3 1:3 2:3
0:9`},
		{"the means of replicates count", 9, 2, 9, func(p sweep.Parameters) float64 {
			return distance(p) * float64(p["seed"].(int64)*2-3) * 10 // the second seed is the opposite
		}, `
0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1
0:3 1:3 2:3
0:9`},
		{"trials without a value", 9, 2, 9, func(p sweep.Parameters) float64 {
			if x := p["x"].(int64); x != 4 && (x != 6 || p["seed"] == int64(2)) {
				return math.NaN()
			}
			return 1
		}, `
0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1
4:3 (0:3) (1:3)
4:9`},
	} {
		t.Run(test.name, func(t *testing.T) {
			trials, got := halve(t, halvingSpec(test.points, test.replicates, test.cohort), test.value)
			if want := strings.TrimSpace(test.want); got != want {
				t.Errorf("generations\n%s\nwant\n%s", got, want)
			}
			for i, trial := range trials {
				if trial.Parameters["seed"] != int64(i)%test.replicates+1 {
					t.Errorf("trial %d has the seed %v", i, trial.Parameters["seed"])
				}
			}
		})
	}
}

func TestHalvingRefused(t *testing.T) {
	for _, test := range []struct {
		want   string
		change func(s *sweep.Spec)
	}{
		{"does not go with race", func(s *sweep.Spec) { s.Policies = append(s.Policies, Of(&Race{Confidence: 0.95})) }},
		{"method: bayes, which needs all results", func(s *sweep.Spec) {
			s.Random, s.Cap, s.Policies = &sweep.Random{}, 9, append(s.Policies, Of(&Bayes{Batch: 4}))
		}},
		{"needs two rungs or more", func(s *sweep.Spec) { s.Policies[0] = Of(NewHalving("epochs", 9, 9, 3, 0)) }},
		{"needs two rungs or more", func(s *sweep.Spec) { s.Policies[0] = Of(NewHalving("epochs", 1, 9, 1, 0)) }},
		{"a cohort needs 3 points or more, not 2", func(s *sweep.Spec) { s.Policies[0] = Of(NewHalving("epochs", 1, 9, 3, 2)) }},
		{"epochs has 2 values", func(s *sweep.Spec) { s.Axes[1].Parameters[0].Values.List = []any{int64(3), int64(9)} }},
		{"the same replicates", func(s *sweep.Spec) { s.Cap = 7 }},
		{"the same replicates", func(s *sweep.Spec) {
			s.Exclude = []sweep.Match{{"seed": {int64(1)}, "x": {int64(1), int64(2)}}}
		}},
		{"at most 100000 trials", func(s *sweep.Spec) { s.Axes[0].Parameters[0].Values.Range.Count = 1e6 }},
	} {
		spec := halvingSpec(9, 2, 9)
		test.change(spec)
		if _, err := NewGrid(spec); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}
