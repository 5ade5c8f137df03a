package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// sweeps are what a cluster runs: a grid, a search by results, one with trials that are stopped early, and a race. The
// results of all are the same however often trials are interrupted.
var sweeps = []struct{ name, file string }{
	{"grid", `name: grid
trainer: noop
parameters: {x: {min: 1, max: 240}, milliseconds: {value: 60}, points: {value: 20}}
`},
	{"bayes", `name: bayes
program: bowl.sh
command: [bash, "${program}", "${args_no_hyphens}"]
method: bayes
run_cap: 24
batch: 8
metric: {name: loss, goal: minimize}
parameters:
  x: {min: -5.0, max: 5.0}
  y: {min: -5.0, max: 5.0}
`},
	{"median", `name: median
program: steps.sh
command: [bash, "${program}", "${args_no_hyphens}"]
method: random
run_cap: 16
batch: 8
metric: {name: loss, goal: minimize}
early_terminate: {type: median, startup_trials: 4, warmup_steps: 2}
parameters:
  rate: {min: 0.0, max: 1.0}
`},
	{"race", `name: race
trainer: noop
replicates: 6
race: {by: value, confidence: 0.95}
select: {group: [y], by: value, goal: minimize}
parameters:
  x: {values: [0, 0.5, 1, 1.5]}
  y: {values: [0, 1]}
  milliseconds: {value: 120}
`},
}

// scripts are the programs of the sweeps.
var scripts = map[string]string{
	"bowl.sh": `x=${1#*=} y=${2#*=}
sleep 0.3
echo "{\"loss\": $(awk "BEGIN { x = $x; y = $y; printf \"%.9g\", x*x + 2*y*y + x*y }")}" >> "$SWEEP_EVENTS"
`,
	"steps.sh": `rate=${1#*=}
for step in 1 2 3 4 5 6 7 8; do
  loss=$(awk "BEGIN { r = $rate; printf \"%.9g\", (r - 0.3)^2 + 1/$step }")
  echo "{\"step\": $step, \"loss\": $loss}" >> "$SWEEP_EVENTS"
  sleep 0.1
done
`,
}

// extra is a sweep that is submitted and deleted beside the others; its trials are those of no other.
const extra = `name: %[1]s
trainer: noop
parameters: {x: {min: 1, max: 200}, milliseconds: {value: 20}, z: {value: %[1]s}}
`

// writeSweeps writes the files of the sweeps into a new directory.
func writeSweeps(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	files := map[string]string{}
	for _, s := range sweeps {
		files[s.name+".yaml"] = s.file
	}
	for name, text := range scripts {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// selection has what of the results does not depend on when and where trials run.
const selection = `SELECT s.name, r.trial_index, r.state, r.parameters, r.summary, r.weights_digest
	FROM results AS r JOIN sweeps AS s USING (sweep_id) WHERE s.name IN ('grid', 'bayes', 'median', 'race')
	ORDER BY s.name, r.trial_index`

// results are rows of results.
type results [][]string

// read reads the results of a database, as a user does.
func (p programs) read(ctx context.Context, home, store string) (results, error) {
	arguments := []string{"sql", selection, "--format", "csv"}
	if store != "" {
		arguments = append(arguments, "--store", store)
	}
	cmd := exec.CommandContext(ctx, p.sweep, arguments...)
	cmd.Env = environment(home)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the results: %w: %s", err, lastLine(strings.TrimSpace(problem.String())))
	}
	return csv.NewReader(strings.NewReader(string(out))).ReadAll()
}

// undisturbed runs the sweeps on this machine without faults, and returns their results.
func undisturbed(ctx context.Context, dir string, p programs) (results, error) {
	files, home := filepath.Join(dir, "undisturbed"), filepath.Join(dir, "undisturbed-home")
	if err := writeSweeps(files); err != nil {
		return nil, err
	}
	for _, s := range sweeps {
		cmd := exec.CommandContext(ctx, p.sweep, "run", "--quiet", "--slots", "4", s.name+".yaml")
		cmd.Env, cmd.Dir = environment(home), files
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("running sweep %s undisturbed: %w\n%s", s.name, err, out)
		}
	}
	return p.read(ctx, home, "")
}

// differs says how results differ from others, "" if they do not.
func (r results) differs(want results) string {
	for i := range max(len(r), len(want)) {
		switch {
		case i >= len(r):
			return fmt.Sprintf("%d results, not %d: %q is missing", len(r), len(want), want[i])
		case i >= len(want):
			return fmt.Sprintf("%d results, not %d: %q is too much", len(r), len(want), r[i])
		case !slices.Equal(r[i], want[i]):
			return fmt.Sprintf("a result differs from that of an undisturbed run: %q, not %q", r[i], want[i])
		}
	}
	return ""
}

// submitAll submits the sweeps.
func (c *cluster) submitAll(ctx context.Context) error {
	for _, s := range sweeps {
		err := c.until(ctx, time.Minute, func() error {
			_, err := c.command(ctx, "submit", s.name+".yaml", "--key", s.name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
