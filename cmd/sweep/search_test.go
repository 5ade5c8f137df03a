package main

import (
	"fmt"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
)

// searches are sweeps of trials of some milliseconds, by all methods: results decide about later trials of most.
var searches = map[string]struct {
	text string
	// ended are the numbers of trials after which everything is killed, and count is that of all trials, of which
	// some are skipped, and some or none are stopped.
	ended          []int64
	count, skipped int
	stops          bool
}{
	"grid": {`
replicates: 2
parameters:
  x: {values: [2, -1, 0.5, 1]}
  y: {values: [1, 0, 2]}
  milliseconds: {value: 60}
`, []int64{3, 9, 17}, 24, 0, false},
	"random": {`
method: random
run_cap: 24
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  milliseconds: {value: 60}
`, []int64{3, 9, 17}, 24, 0, false},
	"bayes": {`
method: bayes
run_cap: 40
batch: 8
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  milliseconds: {value: 15}
`, []int64{3, 12, 21}, 40, 0, false},
	"halving": {`
method: sobol
run_cap: 20
early_terminate: {type: halving, parameter: milliseconds, min_iter: 3, eta: 3}
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  milliseconds: {value: 27}
`, []int64{3, 12, 23}, 30, 0, false},
	"race": {`
replicates: 8
race: {confidence: 0.9}
parameters:
  x: {values: [0, 0.1, 1, 2]}
  y: {value: 0.1}
  milliseconds: {value: 10}
`, []int64{2, 9, 21}, 32, 8, false},
	"median": {`
early_terminate: {type: median, startup_trials: 3, warmup_steps: 2}
batch: 4
replicates: 2
parameters:
  x: {values: [2, -1, 0.5, 1, -2]}
  y: {values: [1, 0, 2, -0.5]}
  points: {value: 50}
  milliseconds: {value: 15}
`, []int64{3, 12, 21}, 40, 0, true},
	"median and bayes": {`
method: bayes
run_cap: 40
batch: 8
early_terminate: {type: median}
parameters:
  x: {min: -2.5, max: 2.5}
  y: {min: -2.5, max: 2.5}
  points: {value: 20}
  milliseconds: {value: 15}
`, []int64{3, 12, 21}, 40, 0, true},
}

// A search by results has the same trials and results, whose digests stand for their parameters, on one slot and
// on eight, on both databases, with every process killed, and in the order before a deadline. So has a sweep that
// stops trials early, with the same reasons. "make chaos" kills three times, else each database has one moment of
// its own.
func TestKilledSearchGoesOn(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	server := postgrestest.Start(t)
	for name := range searches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killSearch(t, server, name)
		})
	}
}

// killSearch runs a search in peace, and with kills.
func killSearch(t *testing.T, server *postgrestest.Server, name string) {
	search := searches[name]
	file := write(t, t.TempDir(), "search.yaml", "name: search\ntrainer: noop\nmetric: {name: value, goal: minimize}"+
		search.text)
	found := func(home, database string) string {
		t.Helper()
		stdout, stderr, code := output(t, home, "sql", "SELECT trial_index, state, digest, weights_digest, error FROM results "+
			"WHERE sweep_id = (SELECT min(sweep_id) FROM sweeps) ORDER BY trial_index", "--format", "csv", "--store", database)
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	finished := func(home, database, slots string) string {
		t.Helper()
		args := []string{"run", file, "--slots", slots, "--store", database}
		if slots == "1" {
			args = append(args, "--until", "24h")
		}
		if _, stderr, code := output(t, home, args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return found(home, database)
	}
	home := t.TempDir()
	want := finished(home, "sqlite:"+home+"/sweep.db", "4")
	completed, skipped := strings.Count(want, ",completed,"), strings.Count(want, ",skipped,")
	stopped := strings.Count(want, ",stopped,")
	if completed+stopped != search.count-search.skipped || skipped != search.skipped || search.stops != (stopped >= 8) ||
		completed < 8 {
		t.Fatalf("%d trials are completed, %d skipped and %d stopped:\n%s", completed, skipped, stopped, want)
	}
	for slots, database := range map[string]string{"1": "", "8": server.Database(t)} {
		home, moments := t.TempDir(), search.ended[1:2]
		if database == "" {
			database, moments = "sqlite:"+home+"/sweep.db", search.ended[2:]
		}
		if chaos() {
			moments = search.ended
		}
		results, err := store.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		for _, ended := range moments { // in the first three generations
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
