package main

import (
	"fmt"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
)

// searchTrials are sweeps of searchCount trials that take some milliseconds each, in which later trials depend on
// the results of earlier ones.
var searchTrials = map[string]string{
	"bayes": `
trainer: noop
method: bayes
run_cap: 40
batch: 8
metric: {name: value, goal: minimize}
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  milliseconds: {value: 15}
`,
	"median": `
trainer: noop
early_terminate: {type: median, startup_trials: 3, warmup_steps: 2}
metric: {name: value, goal: minimize}
batch: 4
replicates: 2
parameters:
  x: {values: [2, -1, 0.5, 1, -2]}
  y: {values: [1, 0, 2, -0.5]}
  points: {value: 50}
  milliseconds: {value: 15}
`,
	"median and bayes": `
trainer: noop
method: bayes
run_cap: 40
batch: 8
metric: {name: value, goal: minimize}
early_terminate: {type: median}
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  points: {value: 20}
  milliseconds: {value: 15}
`,
}

// searchCount is how many trials the search has.
const searchCount = 40

// A search by results has the same trials and results, whose digests stand for their parameters, on one slot and
// on sixteen, on both databases, and with every process killed three times. So has a sweep that stops trials early,
// with the same reasons.
func TestKilledSearchGoesOn(t *testing.T) {
	fullOnly(t)
	for name, text := range searchTrials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKilledSearch(t, write(t, t.TempDir(), "search.yaml", text), strings.Contains(text, "median"))
		})
	}
}

// testKilledSearch runs a file in peace and with kills.
func testKilledSearch(t *testing.T, file string, stops bool) {
	t.Helper()
	found := func(home, database string) string {
		t.Helper()
		stdout, stderr, code := output(t, home, "sql", "SELECT trial_index, state, digest, weights_digest, error FROM results "+
			"ORDER BY trial_index", "--format", "csv", "--store", database)
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	finished := func(home, database, slots string) string {
		t.Helper()
		if _, stderr, code := output(t, home, "run", file, "--slots", slots, "--store", database); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return found(home, database)
	}
	home := t.TempDir()
	want := finished(home, "sqlite:"+home+"/sweep.db", "4")
	completed, stopped := strings.Count(want, ",completed,"), strings.Count(want, ",stopped,")
	if completed+stopped != searchCount || completed < 8 || stops != (stopped >= 8) {
		t.Fatalf("%d completed and %d stopped trials:\n%s", completed, stopped, want)
	}
	for slots, database := range map[string]string{"1": "", "16": postgrestest.Start(t).Database(t)} {
		home := t.TempDir()
		if database == "" {
			database = "sqlite:" + home + "/sweep.db"
		}
		results, err := store.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		for _, ended := range []int64{3, 12, 21} { // in the first three generations
			cmd, _ := start(t, home, "run", file, "--slots", slots, "--store", database)
			waitFor(t, cmd, fmt.Sprint(ended, " results"), func() bool {
				record, err := results.Sweep(t.Context(), "")
				if err != nil {
					return false
				}
				counts, err := results.Progress(t.Context(), record.ID)
				return err == nil && counts.Done() >= ended
			})
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
		}
		if err := results.Close(); err != nil {
			t.Fatal(err)
		}
		if got := finished(home, database, slots); got != want {
			t.Errorf("the trials differ from those of a run in peace:\n%s\nwant\n%s", got, want)
		}
	}
}
