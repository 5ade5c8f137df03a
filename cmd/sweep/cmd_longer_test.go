package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openEnded is a sweep file whose trials can be trained longer, with so many epochs.
func openEnded(epochs int) string {
	return fmt.Sprintf(`name: grid
replicates: 2
parameters:
  dataset: {value: generated-cbf}
  model: {values: [rnn, spectral-rnn]}
  m1: {values: [4, 8], when: {model: spectral-rnn}}
  epochs: {value: %d}
  open_ended: {value: true}
artifacts: [checkpoint]
`, epochs)
}

// digestsOf is the query of the results of a sweep by their parameters.
func digestsOf(id string) string {
	return "SELECT model, m1, seed, epochs, digest FROM (SELECT parameters ->> 'model' AS model, parameters ->> 'm1' AS m1, " +
		"parameters ->> 'seed' AS seed, parameters ->> 'epochs' AS epochs, digest FROM results WHERE sweep_id = '" + id +
		"') AS r ORDER BY 1, 2, 3"
}

// Trials are trained longer from their checkpoints, with the same bits as at once; what has none starts anew and
// says why.
func TestLonger(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	digests := func(home, name string) string {
		t.Helper()
		stdout, stderr, code := output(t, home, "sql", digestsOf(idOf(t, home, name)), "--format", "csv")
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	short, whole := write(t, dir, "short.yaml", openEnded(5)), write(t, dir, "whole.yaml", openEnded(30))
	refit := write(t, dir, "refit.yaml", "name: refit\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: {value: 3}\n")
	linear := write(t, dir, "linear.yaml", "name: linear\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: "+
		"{value: 3}\n  refit: {value: 0}\n  schedule: {value: linear}\n")
	plain := write(t, dir, "plain.yaml", "name: plain\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: {value: "+
		"3}\n  refit: {value: 0}\n")
	rungs := write(t, dir, "rungs.yaml", strings.Replace(openEnded(5), "epochs: {value: 5}", "epochs: {values: [2, 4]}", 1))
	ended := write(t, dir, "ended.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  refit: {value: 0}\nartifacts: "+
		"[checkpoint]\n")
	noop := write(t, dir, "noop.yaml", "name: noop\ntrainer: noop\nparameters:\n  x: {value: 1}\n")
	other := t.TempDir()
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, other, args...) },
		line{args: []string{"run", whole, "--quiet"}})
	want := digests(other, "grid")
	check(t, run,
		line{args: []string{"run", short, "--quiet"}},
		line{args: []string{"longer", "grid", "--set", "epochs=30", "--dry-run"},
			stderr: []string{"6 of 6 trials continue from their checkpoint"}},
		line{args: []string{"longer", "grid", "--set", "epochs=30", "--quiet"},
			stderr: []string{"6 of 6 trials continue", "6 completed (0 reused"}},
		line{args: []string{"trial", "show", "latest", "3"}, stdout: []string{"continued from the checkpoint of trial"}},
	)
	if got := digests(home, "grid epochs=30"); got != want {
		t.Errorf("continued trials have the bits\n%s, want\n%s", got, want)
	}
	// Again nothing is added, and a trial that was continued is continued again.
	sweeps, _, _ := run("status")
	check(t, run,
		line{args: []string{"longer", "grid", "--set", "epochs=30", "--quiet"}},
		line{args: []string{"longer", "grid", "--set", "epochs=5"}, stderr: []string{"left out: 6 trials with epochs of 5",
			"no trial is left"}})
	if again, _, _ := run("status"); again != sweeps {
		t.Errorf("repeated, the command changes\n%sto\n%s", sweeps, again)
	}
	check(t, run,
		line{args: []string{"longer", "grid epochs=30", "--set", "epochs=40", "--best", "2", "--where", "model=rnn", "--quiet"},
			stderr: []string{"2 of 2 trials continue", "2 completed (0 reused"}},
		line{args: []string{"trial", "show", "latest", "0"}, stdout: []string{"continued from the checkpoint of trial"}})
	// A damaged and a lost checkpoint.
	var found []string
	err := filepath.WalkDir(filepath.Join(home, "artifacts", "cpu", idOf(t, home, "grid")),
		func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				found = append(found, path)
			}
			return err
		})
	if err != nil || len(found) != 6 {
		t.Fatalf("%v %v", found, err)
	}
	if err := os.WriteFile(found[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(found[1]); err != nil {
		t.Fatal(err)
	}
	check(t, run,
		line{args: []string{"longer", "grid", "--set", "epochs=25", "--quiet"}, stderr: []string{"6 completed"}},
		line{args: []string{"trial", "show", "latest", "0"}, stdout: []string{"starts from its beginning", "damaged"}},
		line{args: []string{"trial", "show", "latest", "1"}, stdout: []string{"starts from its beginning", "lost"}},
		line{args: []string{"trial", "show", "latest", "2"}, stdout: []string{"continued from the checkpoint"}},
	)
	// Of the same point the trial with the most epochs is taken.
	check(t, run,
		line{args: []string{"run", rungs, "--quiet"}},
		line{args: []string{"longer", "latest", "--set", "epochs=6", "--best", "4", "--where", "seed=1", "--dry-run"},
			stderr: []string{"left out: 3 trials whose point has a trial with more epochs", "3 of 3 trials continue"}})
	// What cannot be trained longer, or not continued.
	check(t, run,
		line{args: []string{"run", refit, "--quiet"}}, line{args: []string{"run", linear, "--quiet"}},
		line{args: []string{"run", plain, "--quiet"}}, line{args: []string{"run", noop, "--quiet"}},
		line{args: []string{"longer", "refit", "--set", "epochs=9"}, code: exitUsage,
			stderr: []string{"trial 0: parameter refit = 0.5", "depends on where training ends"}},
		line{args: []string{"longer", "linear", "--set", "epochs=9"}, code: exitUsage,
			stderr: []string{"trial 0: parameter schedule = \"linear\"", "depends on where training ends"}},
		line{args: []string{"longer", "plain", "--set", "epochs=9", "--quiet"}, stderr: []string{"0 of 1 trial continue",
			"1 from the beginning: no checkpoint is kept", "1 completed"}},
		line{args: []string{"longer", "noop", "--set", "x=2"}, code: exitUsage, stderr: []string{"does not say"}},
		line{args: []string{"longer", "plain", "--set", "lr=2"}, code: exitUsage, stderr: []string{"epochs or steps"}},
		line{args: []string{"longer", "plain", "--set", "epochs"}, code: exitUsage, stderr: []string{"--set epochs=2000"}},
		line{args: []string{"longer", "plain", "--set", "epochs=9", "--best", "-1"}, code: exitUsage},
		line{args: []string{"longer", "nothing", "--set", "epochs=9"}, code: exitNotFound},
		line{args: []string{"expand", ended}, code: exitUsage, stderr: []string{"open_ended", "artifacts: [checkpoint]"}},
	)
}

// idOf is the id of the newest sweep of a name.
func idOf(t *testing.T, home, name string) string {
	t.Helper()
	stdout, stderr, code := output(t, home, "sql", "SELECT sweep_id FROM sweeps WHERE name = '"+name+
		"' ORDER BY sweep_no DESC LIMIT 1", "--format", "csv")
	lines := strings.Fields(stdout)
	if code != 0 || len(lines) != 2 {
		t.Fatalf("sweep %s: %s%s", name, stdout, stderr)
	}
	return lines[1]
}

// In a cluster of two workers, one of which is killed meanwhile, the bits are the same.
func TestLongerInACluster(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir, alone := t.TempDir(), t.TempDir()
	long := write(t, dir, "long.yaml", openEnded(2500))
	if _, stderr, code := output(t, alone, "run", long, "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	want, _, _ := output(t, alone, "sql", digestsOf(idOf(t, alone, "grid")), "--format", "csv")
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	for _, name := range []string{"worker-0", "worker-1"} {
		c.start(name, "worker", "--slots", "1")
	}
	id := c.submit(write(t, dir, "short.yaml", openEnded(500)))
	await(t, "the short trials", func() bool { return c.progress(id).Completed == 6 })
	stdout, stderr, code := c.output("longer", id, "--set", "epochs=2500")
	longer := strings.TrimSpace(stdout)
	if code != 0 || !strings.Contains(stderr, "6 of 6 trials continue") {
		t.Fatalf("longer: %s%s", stdout, stderr)
	}
	if again, _, _ := c.output("longer", id, "--set", "epochs=2500"); strings.TrimSpace(again) != longer {
		t.Errorf("repeated, the command makes %s and not %s", again, longer)
	}
	await(t, "a trial that runs", func() bool { p := c.progress(longer); return p.Running+p.Completed > 0 })
	c.kill("worker-0")
	c.again("worker-0")
	await(t, "the long trials", func() bool { return c.progress(longer).Completed == 6 })
	got, stderr, code := c.output("sql", digestsOf(longer), "--format", "csv")
	if code != 0 || got != want {
		t.Errorf("continued trials have the bits\n%s%s, want\n%s", got, stderr, want)
	}
	notes, _, _ := c.output("sql", "SELECT note FROM executions WHERE note LIKE 'continued from%'", "--format", "csv")
	if strings.Count(notes, "continued from") < 5 {
		t.Errorf("the notes of the executions: %s", notes)
	}
}
