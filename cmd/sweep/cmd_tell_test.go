package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// toldTrialsFile is a sweep to which points are told.
const toldTrialsFile = `
name: own
trainer: noop
method: random
run_cap: 2
replicates: 2
select: {by: value, goal: minimize}
parameters:
  x: {min: -2.5, max: 2.5}
  y: {values: [0, 1, 2]}
  milliseconds: {value: 1}
`

// A method of one's own tells points and asks for their results: each command may be repeated.
func TestTellAndAsk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("worker", "worker", "--slots", "2")
	dir := t.TempDir()
	c.submit(write(t, dir, "own.yaml", toldTrialsFile))
	ask := func(args ...string) (trials []askedTrial) {
		t.Helper()
		stdout, stderr, code := c.output(append([]string{"ask", "own"}, args...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		for line := range strings.Lines(stdout) {
			var trial askedTrial
			if err := json.Unmarshal([]byte(line), &trial); err != nil {
				t.Fatal(err)
			}
			trials = append(trials, trial)
		}
		return trials
	}
	if got := ask(); len(got) != 2 {
		t.Fatalf("%d results of the first trials", len(got))
	}
	// Another sweep may be told the same points.
	c.submit(write(t, dir, "other.yaml", strings.Replace(toldTrialsFile, "name: own", "name: other", 1)))
	same := write(t, dir, "same.jsonl", "{\"x\": 0.0, \"y\": 0}\n")
	for range 2 {
		if stdout, stderr, code := c.output("tell", "other", same, "--from", "2"); stdout != "{\"index\":2,\"trials\":2}\n" ||
			code != 0 {
			t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	from := 2
	for round := range 3 {
		points := write(t, dir, fmt.Sprint(round, ".jsonl"),
			fmt.Sprintf("{\"x\": 0.%d, \"y\": %[1]d}\n\n{\"x\": 1.%[1]d, \"y\": 0, \"seed\": 7}\n", round))
		want := fmt.Sprintf("{\"index\":%d,\"trials\":2}\n{\"index\":%d}\n", from, from+2)
		for range 2 {
			if stdout, stderr, code := c.output("tell", "own", points, "--from", fmt.Sprint(from)); stdout != want || code != 0 {
				t.Fatalf("exit code %d: %s%s\nwant\n%s", code, stdout, stderr, want)
			}
		}
		got := ask("--from", fmt.Sprint(from), "-n", "3")
		if len(got) != 3 {
			t.Fatalf("%d results", len(got))
		}
		for i, trial := range got {
			var p struct{ X, Seed, Milliseconds float64 }
			if err := json.Unmarshal(trial.Parameters, &p); err != nil {
				t.Fatal(err)
			}
			x, seed := float64(round)/10, float64(i+1)
			if i == 2 {
				x, seed = 1+x, 7
			}
			if trial.Index != int64(from+i) || p.X != x || p.Seed != seed || p.Milliseconds != 1 || trial.Value == nil ||
				*trial.Value != trial.Metrics["value"] {
				t.Errorf("result %d of round %d: %+v, parameters %s", i, round, trial, trial.Parameters)
			}
		}
		from += 3
	}
	if got := ask("-n", "3"); len(got) != 3 || got[0].Index != 0 {
		t.Errorf("the first three: %+v", got)
	}
	// A sweep is a set of points: those that it has are not added again, however they are told.
	known := write(t, dir, "known.jsonl", "{\"x\": 0.1, \"y\": 1}\n{\"x\": 1.2, \"y\": 0}\n{\"x\": 1.0, \"y\": 0, \"seed\": 7}\n")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"tell", "own", known}, "{\"index\":5,\"trials\":2,\"had\":true}\n{\"index\":11,\"trials\":2}\n" +
			"{\"index\":4,\"had\":true}\n"},
		{[]string{"tell", "own", known, "--from", "11"}, "{\"index\":5,\"trials\":2,\"had\":true}\n{\"index\":11,\"trials\":2}\n" +
			"{\"index\":4,\"had\":true}\n"},
		{[]string{"tell", "own", known}, "{\"index\":5,\"trials\":2,\"had\":true}\n" +
			"{\"index\":11,\"trials\":2,\"had\":true}\n{\"index\":4,\"had\":true}\n"},
		{[]string{"tell", "own", write(t, dir, "rest.jsonl", "{\"x\": 1.0, \"y\": 0}\n")}, "{\"index\":13,\"trials\":2}\n"},
		{[]string{"tell", "own", write(t, dir, "one.jsonl", "{\"x\": 1.5, \"y\": 0, \"seed\": 2}\n")}, "{\"index\":15}\n"},
		{[]string{"tell", "own", write(t, dir, "both.jsonl", "{\"x\": 1.5, \"y\": 0}\n")},
			"{\"index\":16,\"trials\":2,\"indices\":[16,15]}\n"},
	} {
		if stdout, stderr, code := c.output(test.args...); stdout != test.want || code != 0 {
			t.Errorf("%q: exit code %d: %s%s\nwant\n%s", test.args, code, stdout, stderr, test.want)
		}
	}
	if got := ask(); len(got) != 17 {
		t.Errorf("%d trials", len(got))
	}
	for _, test := range []struct {
		points, want string
		code         int
		args         []string
	}{
		{`{"x": 0}`, "bad.jsonl:1: the point has no value for y, which varies in the sweep", exitUsage, nil},
		{`{"x": 0, "y": 1}` + "\n" + `{"x": 0.0, "y": 1.0}`, "bad.jsonl:2: the point repeats that of line 1", exitUsage, nil},
		{`{"x": "much", "y": 1}`, `bad.jsonl:1: x must be a number, not much`, exitUsage, nil},
		{`{"x": 0, "y": 1, "zz": 1}`, "bad.jsonl:1: the sweep has no parameter \"zz\"", exitUsage, nil},
		{"\uFEFF" + `{"x": 0}`, "bad.jsonl:1: the point has no value for y", exitUsage, nil},
		{"\n{" + strings.Repeat(" ", longestPoint), "bad.jsonl:2: the line is longer than 1 MiB", exitUsage, nil},
		{`[1]`, "bad.jsonl:1: expected a point as a JSON object", exitUsage, nil},
		{"\n", "bad.jsonl has no points", exitUsage, nil},
		{`{"x": 0, "y": 1}`, "has other trials from 5 on", exitFailure, []string{"--from", "5"}},
		{`{"x": 0, "y": 1}`, "has 17 trials", exitUsage, []string{"--from", "18"}},
	} {
		write(t, dir, "bad.jsonl", test.points)
		args := append([]string{"tell", "own", filepath.Join(dir, "bad.jsonl")}, test.args...)
		if _, stderr, code := c.output(args...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, want %d: %s, want %s", test.points, code, test.code, stderr, test.want)
		}
	}
	if _, stderr, code := c.output("ask", "own", "--from", "16", "-n", "2"); code != exitUsage || !strings.Contains(stderr,
		"has 17 trials, too few for --from 16 --count 2") {
		t.Errorf("more than there are: exit code %d: %s", code, stderr)
	}
	// A sweep gets no points of a program that has changed.
	program := write(t, dir, "program.yaml", "name: program\ncommand: [sh, p.sh]\nparameters: {x: {values: [1]}}\n")
	write(t, dir, "p.sh", "exit 0\n")
	submitted := []string{"submit", program}
	more := []string{"tell", "program", write(t, dir, "more.jsonl", "{\"x\": 2}\n")}
	extended := []string{"extend", "program", program}
	check(t, c.output, line{args: submitted}, line{args: extended, stdout: []string{"added 0 trials"}})
	write(t, dir, "p.sh", "exit 1\n")
	check(t, c.output, line{args: more, code: exitFailure, stderr: []string{"p.sh in " + dir, "has changed since"}},
		line{args: extended, code: exitFailure, stderr: []string{"p.sh in " + dir, "has changed since"}})
	if _, stderr, code := output(t, t.TempDir(), "tell", "own"); code != exitUsage || !strings.Contains(stderr, "needs a cluster") {
		t.Errorf("without a cluster: exit code %d: %s", code, stderr)
	}
}
