package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/sweep"
)

// sql returns the rows of a query, without their header.
func (c commands) sql(statement string, more ...string) string {
	c.t.Helper()
	stdout, stderr, code := output(c.t, c.home, append([]string{"sql", statement, "--format", "csv"}, more...)...)
	if code != 0 {
		c.t.Fatalf("sweep sql: exit code %d\n%s", code, stderr)
	}
	_, rows, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
	return strings.ReplaceAll(rows, "\n", " ")
}

// commands runs the program in one home.
type commands struct {
	t    *testing.T
	home string
}

// run runs a command and wants its exit code and pieces of what it writes.
func (c commands) run(code int, pieces []string, args ...string) string {
	c.t.Helper()
	stdout, stderr, got := expecting(c.t, code, func() (string, string, int) { return output(c.t, c.home, args...) })
	if got != code {
		c.t.Errorf("sweep %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	for _, piece := range pieces {
		if !strings.Contains(stdout+stderr, piece) {
			c.t.Errorf("sweep %s lacks %q:\n%s%s", strings.Join(args, " "), piece, stdout, stderr)
		}
	}
	return stdout
}

// TestAppliesWhen: a network is trained once for all values of a parameter that
// it does not have.
func TestAppliesWhen(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := commands{t, t.TempDir()}
	grid := write(t, c.home, "grid.yaml", `parameters:
  dataset: {value: generated-cbf}
  model: {values: [lstm, ornn]}
  hidden: {value: 8}
  m1: {values: [2, 4]}
  slope: {values: [0.1, 0.2]}
  epochs: {value: 1}
`)
	c.run(0, []string{"5 completed (0 reused"}, "run", grid)
	if got := c.sql("SELECT parameters ->> 'model', count(*), count(DISTINCT fingerprint), sum(executions) FROM " +
		"results GROUP BY 1 ORDER BY 1"); got != "lstm,1,1,1 ornn,4,4,4" {
		t.Errorf("model, trials, fingerprints, executions: %s", got)
	}
	alone := write(t, c.home, "alone.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  model: {value: "+
		"lstm}\n  hidden: {value: 8}\n  epochs: {value: 1}\n  m1: {values: [8, 16]}\n")
	c.run(0, []string{"its 2 values are one", "1 completed (1 reused"}, "run", alone)
	fixed := write(t, c.home, "fixed.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  model: {value: "+
		"lstm}\n  m1: {value: 8}\n")
	c.run(exitUsage, []string{"fixed.yaml:4:15: parameters.m1: has no effect here: it applies only where model is " +
		"ornn or spectral-rnn"}, "run", fixed)
	c.run(0, []string{"applies for model ornn|spectral-rnn"}, "trainer", "describe")
}

// TestSelectDecides: select decides the table, the view and the order of a list
// alike.
func TestSelectDecides(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := commands{t, t.TempDir()}
	const form = `name: %s
replicates: 2
parameters:
  dataset: {value: generated-cbf}
  model: {values: [rnn, lstm]}
  hidden: {value: 4}
  lr: {values: [0.001, 0.01, 0.03]}
  epochs: {value: 3}
select: {group: [%s], by: %s, goal: %s}
`
	for name, choice := range map[string][3]string{
		"usual": {"dataset, model", "validation_loss", "minimize"},
		"most":  {"dataset, model", "train_loss", "maximize"},
		"all":   {"dataset", "test_accuracy", "maximize"},
	} {
		file := write(t, c.home, name+".yaml", fmt.Sprintf(form, name, choice[0], choice[1], choice[2]))
		c.run(0, []string{"12 completed"}, "run", file)
		function := map[string]string{"minimize": "min", "maximize": "max"}[choice[2]]
		want := c.sql(fmt.Sprintf("SELECT %s(%s) AS x FROM t GROUP BY %s ORDER BY x", function, choice[1], choice[0]),
			"--sweep", name)
		if got := c.sql(fmt.Sprintf("SELECT score FROM best_trials WHERE sweep_name = '%s' ORDER BY score",
			name)); got != want {
			t.Errorf("%s: best_trials has %s, want %s", name, got, want)
		}
		view := c.sql(fmt.Sprintf("SELECT model, round(test_accuracy, 9) FROM ucr_table WHERE sweep_name = '%s' AND "+
			"selection = 'single' ORDER BY model", name))
		table := c.run(0, nil, "table", "ucr", name, "--select", "single", "--format", "csv")
		for _, row := range strings.Fields(view) {
			model, accuracy, _ := strings.Cut(row, ",")
			if !strings.Contains(table, "generated-cbf,"+model+",single,"+accuracy[:min(len(accuracy), 6)]) {
				t.Errorf("%s: the table lacks %s:\n%s", name, row, table)
			}
		}
		if rows := strings.Count(table, "\n") - 1; rows != len(strings.Fields(view)) {
			t.Errorf("%s: %d rows in the table, %d in the view", name, rows, len(strings.Fields(view)))
		}
	}
	c.run(exitUsage, []string{"make a table for each"}, "table", "ucr", "usual", "all")
	c.run(exitUsage, []string{"do not name any"}, "table", "ucr", "usual", "--all")

	best := func(args ...string) string {
		out := c.run(0, nil, append([]string{"trials", "usual", "--json"}, args...)...)
		index := ""
		for line := range strings.Lines(out) {
			_, rest, _ := strings.Cut(line, `"index":`)
			number, _, _ := strings.Cut(rest, ",")
			index += number + " "
		}
		return index
	}
	all := best("--sort", "test_accuracy")
	if first := best("--sort", "test_accuracy", "--limit", "3"); !strings.HasPrefix(all, first) {
		t.Errorf("the first three are %s, all are %s", first, all)
	}
	third := strings.Fields(all)[2]
	if rest := best("--sort", "test_accuracy", "--after", third); strings.Join(strings.Fields(all)[3:],
		" ") != strings.TrimSpace(rest) {
		t.Errorf("after %s come %s, all are %s", third, rest, all)
	}
	descending := c.sql("SELECT trial_index FROM t ORDER BY test_accuracy DESC, trial_index", "--sweep", "usual")
	if descending != strings.TrimSpace(all) {
		t.Errorf("the best accuracy first: %s, want %s", all, descending)
	}
	if got := c.sql("SELECT trial_index FROM best_trials WHERE sweep_name = 'usual' ORDER BY " +
		"trial_index"); got != strings.TrimSpace(best("--best")) {
		t.Errorf("--best lists %s, want %s", best("--best"), got)
	}
}

// TestOddResults: what is empty or not finite is shown all the same.
func TestOddResults(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := commands{t, t.TempDir()}
	c.run(0, nil, "run", write(t, c.home, "one.yaml", "trainer: noop\nparameters: {x: {value: 1}}\n"))
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(c.home, "sweep.db"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Sweeps(ctx)
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	if _, err := s.AddGrid(ctx, records[0].ID, &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	id := sweep.TrialID{Sweep: records[0].ID, Index: 1}
	if _, err := s.AddTrials(ctx, id.Sweep, 1, 0, []sweep.Trial{{TrialID: id}}, nil); err != nil {
		t.Fatal(err)
	}
	_, err = s.Record(ctx, []sweep.Event{{Kind: sweep.EventResult, TrialID: id, Execution: "x",
		Result: &sweep.Result{State: sweep.Completed, Curves: []sweep.Curve{
			{Metric: "empty"}, {Metric: "odd", Steps: []int64{1, 2},
				Values: []float32{float32(math.NaN()), float32(math.Inf(1))}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.run(0, []string{"empty", "odd"}, "curves", "latest", "1")
	c.run(0, []string{"odd,1,NaN"}, "curves", "latest", "1", "--format", "csv")
	c.run(0, []string{`"values": []`}, "curves", "latest", "1", "--format", "json")
	if got := c.run(0, nil, "sql", "SELECT 9e999 AS a, -9e999 AS b, 1e300 AS c, 'x' AS d", "--format",
		"json"); strings.TrimSpace(got) != `{"a":null,"b":null,"c":1e+300,"d":"x"}` {
		t.Errorf("%s", got)
	}
	c.run(exitUsage, []string{"two.yaml:1:10: trainer: ", "nope", "not found"}, "run",
		write(t, c.home, "two.yaml", "trainer: nope\nparameters: {x: {value: 1}}\n"))
	c.run(exitUsage, []string{"/dev/zero:1:1: a sweep file has at most 16 MiB"}, "expand", "/dev/zero", "--no-trainer")
}

// TestRetentionCommands: a sweep is deleted, unless it runs, and what ended sweeps
// keep is pruned.
func TestRetentionCommands(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := commands{t, t.TempDir()}
	c.run(0, nil, "run", write(t, c.home, "one.yaml", "trainer: noop\nparameters: {x: {min: 1, max: 3}, points: "+
		"{value: 4}}\n"))
	c.run(0, []string{"3 completed (3 reused"}, "run", write(t, c.home, "two.yaml", "trainer: noop\nparameters: "+
		"{x: {min: 1, max: 3}, points: {value: 4}}\n"))
	c.run(exitUsage, []string{"--older 30d"}, "prune")
	c.run(exitUsage, []string{"as in 30d"}, "prune", "--older", "month")
	c.run(exitUsage, []string{"kept at least as long as events"}, "prune", "--older", "30d", "--curves", "12h")
	c.run(0, []string{"removed: 0 records"}, "prune", "--older", "30d")
	c.run(0, []string{"sweep ", "is deleted: 3 trials"}, "delete", "one")
	c.run(exitNotFound, nil, "status", "one")
	c.run(0, []string{"value"}, "curves", "two", "0")
	c.run(0, []string{"removed: 3 records of executions", "0 curves"}, "prune", "--older", "0s")
	c.run(0, []string{"removed: 0 records", "3 curves"}, "prune", "--curves", "0s")
	c.run(0, []string{"no curves: none was reported, or they were pruned"}, "curves", "two", "0")
	c.run(0, []string{"1 sweep with 3 trials"}, "prune", "--sweeps", "0d")
	c.run(exitNotFound, nil, "delete", "two")
}

// TestTies: of trials that are exactly as good the same one is the best whatever the order
// of the file, in lists and views alike, and lists say how many there are.
func TestTies(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := commands{t, t.TempDir()}
	write(t, c.home, "half.sh", `echo '{"loss": 0.5}' >> "$SWEEP_EVENTS"`+"\n")
	const form = "name: %s\nprogram: half.sh\ncommand: [sh, \"${program}\"]\nmetric: {name: loss, goal: " +
		"minimize}\nparameters:\n  x: {values: [%s]}\n"
	var best []string
	for name, values := range map[string]string{"forward": "1, 2, 3, 4", "backward": "4, 3, 2, 1"} {
		file := write(t, c.home, name+".yaml", fmt.Sprintf(form, name, values))
		const told = "(ties: 3)"
		c.run(0, []string{"4 completed", "best loss 0.5: trial ", told}, "run", file, "--reuse=false")
		c.run(0, []string{": ties in its group: 3"}, "trials", name, "--best")
		best = append(best, c.sql("SELECT parameters, ties FROM best_trials WHERE sweep_name = '"+name+"'"))
	}
	if best[0] != best[1] || !strings.HasSuffix(best[0], ",3") {
		t.Errorf("the best are %s", strings.Join(best, " and "))
	}
}
