package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// stoppedSweeps are sweeps that stop trials early, of the built-in trainer and of a program.
var stoppedSweeps = map[string]string{
	"builtin.yaml": `
early_terminate: {type: median, startup_trials: 2, warmup_steps: 1}
batch: 4
parameters:
  dataset: {value: generated-cbf}
  model: {values: [rnn, lstm]}
  lr: {values: [1e-2, 1e-5, 3e-3, 1e-4, 1e-3, 1e-6]}
  epochs: {value: 20}
  open_ended: {value: true}
artifacts: [checkpoint]
`,
	"script.yaml": `
program: train.py
early_terminate: {type: median, startup_trials: 3}
metric: {name: accuracy, goal: maximize}
batch: 4
parameters:
  level: {values: [0.5, 0.25, 0.75, 0.125, 0.625, 0.1875, 0.875, 0.3125]}
`,
	"train.py": `
import time, wandb
run = wandb.init()
level = run.config.level
for step in range(12):
    wandb.log({"accuracy": level * (1 - 1 / (step + 2)), "other": step})
    time.sleep(0.002)
run.summary["done"] = 1
`,
}

// The same trials of real trainers stop, with the same curves, on one slot and on four. A stopped trial has its reason and
// the samples up to there, nowhere counts as a failure, is not retried, and runs again where a completed one is reused.
func TestStoppedSweeps(t *testing.T) {
	fullOnly(t)
	pythonFirst(t)
	dir := folder(t, stoppedSweeps)
	for _, name := range []string{"builtin.yaml", "script.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ""
			for _, slots := range []string{"1", "4"} {
				home := t.TempDir()
				ask := func(args ...string) string {
					t.Helper()
					stdout, stderr, code := output(t, home, args...)
					if code != 0 {
						t.Fatalf("%v: exit code %d: %s", args, code, stderr)
					}
					return stdout + stderr
				}
				if told := ask("run", filepath.Join(dir, name), "--slots", slots); !strings.Contains(told, " stopped early") ||
					!strings.Contains(told, " 0 failed") {
					t.Errorf("it says %s", told)
				}
				all := "SELECT r.trial_index, state, digest, error, summary, count(step) AS samples, max(step) AS last FROM " +
					"results AS r LEFT JOIN curves AS c ON c.sweep_id = r.sweep_id AND c.trial_index = r.trial_index " +
					"WHERE r.sweep_id = (SELECT %s(sweep_id) FROM sweeps) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1"
				got := ask("sql", strings.Replace(all, "%s", "max", 1), "--format", "csv")
				if want == "" {
					want = got
				}
				if got != want || strings.Count(got, ",stopped,") < 2 ||
					strings.Count(got, ",completed,") < 4 {
					t.Errorf("on %s slots:\n%s\nwant\n%s", slots, got, want)
				}
				if stopped := ask("trials", "--state", "stopped", "--json"); strings.Count(stopped, "\n") !=
					strings.Count(got, ",stopped,") || !strings.Contains(stopped, "the median of ") {
					t.Errorf("stopped trials:\n%s", stopped)
				}
				for line := range strings.Lines(ask("ask", "latest")) {
					if strings.Contains(line, `"state":"stopped"`) && !strings.Contains(line, `"value":`) {
						t.Errorf("a stopped trial has no value: %s", line)
					}
				}
				if told := ask("retry", "latest"); !strings.Contains(told, "0 trials") {
					t.Errorf("retry: %s", told)
				}
				ask("run", filepath.Join(dir, name), "--slots", "4")
				if again := ask("sql", strings.Replace(all, "%s", "max", 1), "--format", "csv"); again != got {
					t.Errorf("again:\n%s\nwant\n%s", again, got)
				}
				if name == "builtin.yaml" && slots == "4" {
					checkStoppedLonger(t, home, strings.Count(got, ",stopped,"), ask)
				}
			}
		})
	}
}

// checkStoppedLonger: trials that were stopped are trained longer only if they are selected, also to the end that they
// had, with the bits of trials that were not stopped.
func checkStoppedLonger(t *testing.T, home string, count int, ask func(args ...string) string) {
	t.Helper()
	stopped := sweep.CountText(count, "trial")
	if told := ask("longer", "builtin", "--set", "epochs=25", "--dry-run"); !strings.Contains(told, "left out: "+stopped+
		" that were stopped early") {
		t.Errorf("without the stopped ones: %s", told)
	}
	if told := ask("longer", "builtin", "--set", "epochs=20", "--where", "state=stopped", "--quiet"); !strings.Contains(told,
		"of "+stopped+" continue") || strings.Contains(told, "left out") {
		t.Errorf("the stopped ones: %s", told)
	}
	other := t.TempDir()
	whole := write(t, other, "builtin.yaml", strings.Join(slices.DeleteFunc(strings.Split(stoppedSweeps["builtin.yaml"], "\n"),
		func(line string) bool {
			return strings.HasPrefix(line, "early") || strings.HasPrefix(line, "batch")
		}), "\n"))
	if _, stderr, code := output(t, other, "run", whole, "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	digests := func(home, name string) []string {
		t.Helper()
		stdout, stderr, code := output(t, home, "sql", "SELECT parameters ->> 'model', parameters ->> 'lr', digest FROM results "+
			"WHERE sweep_id = '"+idOf(t, home, name)+"' AND state = 'completed'", "--format", "csv")
		if code != 0 {
			t.Fatal(stderr)
		}
		return strings.Split(strings.TrimSpace(stdout), "\n")[1:]
	}
	all, some := digests(other, "builtin"), digests(home, "builtin epochs=20")
	if len(some) != count {
		t.Errorf("%d of %d trials that were stopped have completed", len(some), count)
	}
	for _, one := range some {
		if !slices.Contains(all, one) {
			t.Errorf("%s is not among %v", one, all)
		}
	}
}
