package main

import (
	"context"
	"embed"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// files are what a cluster runs: a grid, a search by results, one with trials that are stopped early, and one whose
// replicates results choose, in this order, and their programs. The results of all are the same however often trials
// are interrupted.
//
//go:embed sweeps
var files embed.FS

// sweepFile is a file of files, with the name of its sweep.
type sweepFile struct{ name, file string }

// sweeps are the files of sweeps.
var sweeps = sweepFiles()

func sweepFiles() (list []sweepFile) {
	entries, _ := files.ReadDir("sweeps") // it is part of the program
	for _, e := range entries {
		if _, name, is := strings.Cut(strings.TrimSuffix(e.Name(), ".yaml"), "-"); is {
			list = append(list, sweepFile{name, e.Name()})
		}
	}
	return list
}

// extra is a sweep that is submitted and deleted beside the others; its trials are those of no other.
const extra = `name: %[1]s
trainer: noop
parameters: {x: {min: 1, max: 200}, milliseconds: {value: 20}, z: {value: %[1]s}}
`

// writeSweeps writes the files of the sweeps into a new directory.
func writeSweeps(dir string) error {
	flat, err := fs.Sub(files, "sweeps")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, flat)
}

// selection has what of the results does not depend on when and where trials run.
const selection = `SELECT s.name, r.trial_index, r.state, r.parameters, r.summary, r.weights_digest
	FROM results AS r JOIN sweeps AS s USING (sweep_id) WHERE s.name NOT LIKE 'extra%'
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
		cmd := exec.CommandContext(ctx, p.sweep, "run", "--quiet", "--slots", "4", s.file)
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
			_, err := c.command(ctx, "submit", s.file, "--key", s.name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
