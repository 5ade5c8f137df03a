package main

import (
	"fmt"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
)

// searchTrials is a search by results of searchCount trials that take some milliseconds each.
const searchTrials = `
name: search
trainer: noop
method: bayes
run_cap: 40
batch: 8
metric: {name: value, goal: minimize}
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  milliseconds: {value: 15}
`

// searchCount is how many trials the search has.
const searchCount = 40

// A search by results has the same trials and results, whose digests stand for their parameters, on one slot and
// on sixteen, on both databases, and with every process killed three times.
func TestKilledSearchGoesOn(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "search.yaml", searchTrials)
	found := func(home, database string) string {
		t.Helper()
		stdout, stderr, code := output(t, home, "sql", "SELECT trial_index, state, digest, weights_digest FROM results "+
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
	if n := strings.Count(want, ",completed,"); n != searchCount {
		t.Fatalf("%d completed trials:\n%s", n, want)
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
