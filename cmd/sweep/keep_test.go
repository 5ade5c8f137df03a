package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// A sweep keeps the checkpoints of its best trials alone: the others are said to be dropped, which is no error, and
// are trained from their beginning.
func TestKeep(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	file := func(name, rates, keep string) string {
		return write(t, dir, name+".yaml", "name: "+name+"\nparameters:\n  dataset: {value: generated-cbf}\n  lr: {values: ["+
			rates+"]}\n  epochs: {value: 3}\n  open_ended: {value: true}\n"+keep+"\n")
	}
	const rates = "0.001, 0.003, 0.01, 0.03, 0.1"
	check(t, run, line{args: []string{"run", file("some", rates, "keep: {checkpoint: 2}"), "--quiet"}})
	files := 0
	err := filepath.WalkDir(filepath.Join(home, "artifacts", "cpu", idOf(t, home, "some")),
		func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files++
			}
			return err
		})
	if files != 2 || err != nil {
		t.Errorf("%d files are kept: %v", files, err)
	}
	listed, _, _ := run("trials", "some", "--sort", "validation_loss", "--limit", "2", "--json")
	var best []string
	for text := range strings.Lines(listed) {
		var r sweep.TrialRecord
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		best = append(best, fmt.Sprint(r.Index))
	}
	stdout, stderr, code := run("artifacts", "list", "some", "--verify", "--json")
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	dropped := ""
	for text := range strings.Lines(stdout) {
		var a sweep.CheckedArtifact
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		index, want := fmt.Sprint(a.Index), sweep.ArtifactDropped
		if slices.Contains(best, index) {
			want = sweep.ArtifactStored
		} else {
			dropped = index
		}
		if a.State != want {
			t.Errorf("best %v: %s", best, text)
		}
	}
	const reason = "not kept: the trial is not among the 2 best by validation_loss"
	check(t, run,
		line{args: []string{"artifacts", "list", "some", dropped}, stdout: []string{"dropped", reason}},
		line{args: []string{"trial", "show", "some", dropped}, stdout: []string{"dropped", reason}},
		line{args: []string{"artifacts", "get", "some", dropped, "checkpoint"}, code: exitNotFound, stderr: []string{reason}},
		line{args: []string{"longer", "some", "--set", "epochs=6", "--dry-run"}, stderr: []string{
			"2 of 5 trials continue", "3 from the beginning: the checkpoint is " + reason}},
		line{args: []string{"longer", "some", "--set", "epochs=6", "--best", "2", "--quiet"}, stderr: []string{
			"2 of 2 trials continue", "2 completed"}},
		// Those that are not kept are reused by a sweep that keeps as many, not by one that keeps all.
		line{args: []string{"run", file("more", rates+", 0.2", "keep: {checkpoint: 2}"), "--quiet"},
			stderr: []string{"6 completed (5 reused"}},
		line{args: []string{"run", file("all", rates, "artifacts: [checkpoint]"), "--quiet"},
			stderr: []string{"5 completed (2 reused"}},
	)
}
