package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// TestGroupsAndDifferences: groups of trials with mean, deviation and best, two
// sweeps beside each other, and pictures of curves.
func TestGroupsAndDifferences(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := commands{t, t.TempDir()}
	const form = "name: %NAME\ntrainer: noop\nreplicates: 3\nparameters: {x: {values: [0, 1, 2]}, y: {values: [0, " +
		"3]}, points: {value: %POINTS}}\nselect: {by: value, goal: minimize}\n"
	of := func(name, points, more string) string {
		return write(t, c.home, name+".yaml", strings.NewReplacer("%NAME", name, "%POINTS", points).Replace(form)+more)
	}
	c.run(0, []string{"18 completed"}, "run", of("before", "60", ""), "--quiet")
	c.run(0, []string{"12 completed"}, "run", of("after", "61", "exclude: [{x: 2}]\n"), "--quiet")

	stdout := c.run(0, nil, "trials", "before", "--group-by", "*", "--json")
	var order []string
	for line := range strings.Lines(stdout) {
		var group struct {
			Parameters struct{ X, Y float64 }
			Trials     int
			Failed     int
			Metrics    map[string]struct {
				Count     int
				Mean, SD  float64
				Best      float64
				BestTrial int `json:"best_trial"`
			}
		}
		if err := json.Unmarshal([]byte(line), &group); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		m := group.Metrics["value"]
		order = append(order, sweep.JSONText(group.Parameters.X)+","+sweep.JSONText(group.Parameters.Y))
		square := group.Parameters.X*group.Parameters.X + group.Parameters.Y*group.Parameters.Y
		if group.Trials != 3 || m.Count != 3 || m.Best > m.Mean || m.Mean < square || m.Mean > square+1 ||
			m.SD <= 0 || m.SD > 1 {
			t.Errorf("group %s: %+v", order[len(order)-1], group)
		}
		// SQL says the same.
		if got := c.sql("SELECT min(trial_index) FROM results WHERE sweep_name = 'before' AND trial_index = " +
			sweep.JSONText(m.BestTrial)); got != sweep.JSONText(m.BestTrial) {
			t.Errorf("best trial %d: %s", m.BestTrial, got)
		}
	}
	if want := []string{"0,0", "1,0", "2,0", "0,3", "1,3", "2,3"}; !slices.Equal(order, want) {
		t.Errorf("groups in the order %v, want %v", order, want)
	}
	c.run(0, []string{"X  TRIALS  COMPLETED  DIVERGED  FAILED  VALUE", "1 more groups; --limit 0 lists all"},
		"trials", "before", "--group-by", "x", "--limit", "2")
	c.run(exitUsage, []string{"no trial has this parameter; they differ in x, y"}, "trials", "before",
		"--group-by", "unknown")
	c.run(exitUsage, []string{"--best or --after"}, "trials", "before", "--group-by", "x", "--best")

	c.run(0, []string{"PARAMETER  before", "points     60", "61", "value at the 4 grid points of both",
		"2 grid points are only in before"}, "diff", "before", "after")
	c.run(exitFailure, []string{`no grid point has a metric "loss"`}, "diff", "before", "after", "--metric", "loss")
	c.run(exitNotFound, []string{"nothing"}, "diff", "before", "nothing")
	var d comparison
	if err := json.Unmarshal([]byte(c.run(0, nil, "diff", "before", "before", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Parameters) != 0 || len(d.Points) != 6 || d.Only != [2]int{} {
		t.Errorf("a sweep differs from itself: %+v", d)
	}
	for _, p := range d.Points {
		if p.Change != 0 || p.Errors != 0 {
			t.Errorf("a sweep differs from itself: %+v", p)
		}
	}

	c.run(0, []string{"value\n", "┤", "└─", "60"}, "curves", "before", "0", "--plot")
	c.run(0, []string{"a trial 0 · b trial 1 · c trial 2"}, "curves", "before", "0-2", "--plot", "--log-y")
	c.run(exitUsage, []string{"only --plot shows several"}, "curves", "before", "0-2")
	c.run(exitUsage, []string{"requires --plot"}, "curves", "before", "0", "--log-y")
	c.run(exitUsage, []string{"exclude each other"}, "curves", "before", "0", "--plot", "--format", "csv")
	c.run(exitUsage, []string{"at most 26"}, "curves", "before", "0-99", "--plot")

	for _, line := range []struct{ command, has, lacks string }{
		{"trials ", "before\tfinished", "20"},
		{"diff before a", "after\tfinished", "before"},
		{"figure ", "heatmap", "before"},
		{"figure curves b", "before\t", "after"},
		{"trials before --sort v", "value", "x"},
		{"trials before --group-by x,", "x,y", "value"},
		{"trials before --where x=", "x=2", "y"},
		{"trials after --where p", "points=", "value"},
		{"logs before ", "", "before"},
		{"run x.yaml --progress p", "plain", ""},
	} {
		args := strings.Split(line.command, " ")
		got := strings.TrimSuffix(c.run(0, nil, append([]string{"__complete"}, args...)...), "\n")
		got = got[:strings.LastIndexByte(got, ':')]
		if !strings.Contains(got, line.has) || line.lacks != "" && strings.HasPrefix(got, line.lacks) ||
			strings.Contains(got, "\n"+line.lacks) && line.lacks != "" {
			t.Errorf("sweep %s: completed to %q", line.command, got)
		}
	}
}
