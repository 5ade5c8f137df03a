package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
)

// inProcess executes a command line in this process.
func inProcess(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var out, errs bytes.Buffer
	code = execute(ctx, args, strings.NewReader(""), guarded(t, &out, stop), guarded(t, &errs, stop))
	return out.String(), errs.String(), code
}

func TestSettingsComeFromFlagsThenEnvironmentThenFile(t *testing.T) {
	fullOnly(t)
	dir := t.TempDir()
	file := write(t, dir, "sweep.conf", "# the cluster\n\nSWEEP_NATS=nats://user:secret@file:4222\nSWEEP_SLOTS = "+
		"3\nSWEEP_POOL='big mem'\nSWEEP_DATA=/file\n"+
		"SWEEP_NATS_CREDS=/etc/sweep/worker.creds\n")
	t.Setenv("SWEEP_CONFIG", file)
	t.Setenv("SWEEP_HOME", dir)
	t.Setenv("SWEEP_STORE", "")
	t.Setenv("SWEEP_TRAINER_PATH", "")
	t.Setenv("SWEEP_NATS", "")
	t.Setenv("SWEEP_DATA", "/environment")
	t.Setenv("SWEEP_LISTEN", ":1")
	stdout, stderr, code := inProcess(t, "config", "--listen", ":2")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	got := map[string]string{}
	for line := range strings.Lines(stdout) {
		fields := strings.Fields(line)
		got[fields[0]] = strings.Join(fields[1:], " ")
	}
	for name, want := range map[string]string{
		"SWEEP_NATS":       "nats://user:xxxxx@file:4222 " + file + ":3",
		"SWEEP_SLOTS":      "3 " + file + ":4",
		"SWEEP_POOL":       "big mem " + file + ":5",
		"SWEEP_DATA":       "/environment environment SWEEP_DATA",
		"SWEEP_LISTEN":     ":2 flag",
		"SWEEP_STORE":      "sqlite:" + filepath.Join(dir, "sweep.db") + " default",
		"SWEEP_ACK_WAIT":   "30s default",
		"SWEEP_NATS_CREDS": "/etc/sweep/worker.creds " + file + ":7",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SWEEP_HOME", dir)
	for text, want := range map[string]string{
		"SWEEP_NATS":                               ":1: expected NAME=VALUE",
		"SWEEP_NATS nats://user:secret@host":       ":1: expected NAME=VALUE",
		"\nSWEEP_NAST=x":                           ":2: unknown setting SWEEP_NAST; known are SWEEP_HOME",
		"SWEEP_NATS=a\nSWEEP_NATS=b":               ":2: SWEEP_NATS is set already at",
		"SWEEP_SLOTS=many":                         ":1: SWEEP_SLOTS: ",
		"SWEEP_ACK_WAIT=" + "30":                   ":1: SWEEP_ACK_WAIT: ",
		"SWEEP_POOL=" + strings.Repeat("x", 1<<17): "token too long",
	} {
		file := write(t, dir, "sweep.conf", text)
		_, stderr, code := inProcess(t, "config", "--config", file)
		if code == 0 || !strings.Contains(stderr, file) || !strings.Contains(stderr, want) ||
			strings.Contains(stderr, "secret") {
			t.Errorf("%.40q: exit code %d: %s", text, code, stderr)
		}
	}
	if _, stderr, code := inProcess(t, "config", "--config", filepath.Join(dir, "none")); code != exitNotFound ||
		!strings.Contains(stderr, "none") {
		t.Errorf("no such file: exit code %d: %s", code, stderr)
	}
}

// A database that is named on the command line is asked itself, whatever
// cluster the environment names.
func TestStoreOnTheCommandLineIsMeant(t *testing.T) {
	t.Setenv("SWEEP_HOME", t.TempDir())
	t.Setenv("SWEEP_NATS", "nats://127.0.0.1:1")
	stdout, stderr, code := inProcess(t, "status", "--store", filepath.Join(t.TempDir(), "sweep.db"))
	if code != 0 || !strings.Contains(stdout, "no sweeps yet") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// A run keeps its artifacts beside its own database, whatever cluster the environment names.
func TestRunIsLocal(t *testing.T) {
	home := t.TempDir()
	t.Setenv("SWEEP_HOME", home)
	t.Setenv("SWEEP_NATS", "nats://127.0.0.1:1")
	file := write(t, home, "small.yaml", "trainer: noop\nparameters:\n  x: {value: 1}\n")
	if _, stderr, code := inProcess(t, "run", file); code != 0 || !strings.Contains(stderr, "1 completed") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Without a cluster the commands that change sweeps change the local database.
func TestLocalSweepsAreChanged(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home := t.TempDir()
	dir := t.TempDir()
	failing := write(t, dir, "failing.yaml", "name: failing\nparameters:\n  dataset: {value: generated-cbf}\n  "+
		"epochs: {value: 100000}\nlimits: {timeout: 300ms}\n")
	for _, line := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"submit", failing}, exitUsage, "", `"sweep run `},
		{[]string{"extend", "latest", failing}, exitUsage, "", "existing results are reused"},
		{[]string{"workers"}, exitUsage, "", "needs a cluster"},
		{[]string{"coordinator"}, exitUsage, "", "--nats"},
		{[]string{"worker"}, exitUsage, "", "--nats"},
		{[]string{"cancel", "latest"}, exitNotFound, "", "no sweeps yet"},
		{[]string{"run", failing}, exitTrials, "", "1 failed"},
		{[]string{"pause", "failing"}, exitFailure, "", "only an active sweep"},
		{[]string{"watch"}, exitTrials, "", "1 failed"},
		{[]string{"retry", "failing"}, 0, "retrying 1 trial", "run the file of sweep"},
		{[]string{"priority", "failing", "4"}, 0, "has priority 4", ""},
		{[]string{"priority", "failing", "high"}, exitUsage, "", "whole number"},
		{[]string{"note", "failing", "0", "look at it"}, 0, "trial 0 of sweep ", ""},
		{[]string{"tag", "failing", "0", "outlier, slow"}, 0, "tags changed", ""},
		{[]string{"tag", "failing", "7", "outlier"}, exitNotFound, "", "trial 7"},
		{[]string{"tag", "failing", "0", "outlier,,"}, exitUsage, "", `tag ""`},
		{[]string{"note", "failing", "first\nsecond"}, 0, "notes changed", ""},
		{[]string{"status", "failing"}, 0, "notes: first\n  second\n", ""},
		{[]string{"trial", "show", "failing", "0"}, 0, "notes: look at it\ntags: outlier, slow\nedited by ", ""},
		{[]string{"trials", "failing", "--where", "tag=slow", "--json"}, 0, `"tags":`, ""},
		{[]string{"trials", "failing", "--where", "tag=slo"}, 0, "", ""},
		{[]string{"tag", "failing", "paper"}, 0, "tags changed", ""},
		{[]string{"trials", "failing", "--where", "tag=slow", "--columns", "tag,notes"}, 0, "outlier,slow  look at it", ""},
		{[]string{"trials", "failing", "--where", "tag=7"}, 1, "", `write tag="7"`},
		{[]string{"export", "failing"}, 0, `,look at it,"outlier,slow"`, ""},
		{[]string{"status", "--tag", "paper"}, 0, "TAGS   CREATED", ""},
		{[]string{"status", "failing", "--tag", "paper"}, exitUsage, "", "leave SWEEP out"},
		{[]string{"status", "--tag", "pape"}, 0, `no sweep has the tag "pape"`, ""},
		{[]string{"sql", "SELECT notes, tags FROM notes WHERE trial_index = 0"}, 0, "outlier,slow", ""},
		{[]string{"pause", "failing"}, 0, "is paused", ""},
		{[]string{"resume", "failing"}, 0, "is active", ""},
		{[]string{"cancel", "failing"}, 0, "is cancelled, with 0 trials", ""},
		{[]string{"status"}, 0, "cancelled", ""},
	} {
		stdout, stderr, code := output(t, home, line.args...)
		if code != line.code || !strings.Contains(stdout, line.stdout) || !strings.Contains(stderr, line.stderr) {
			t.Errorf("sweep %s: exit code %d, want %d\n%s%s", strings.Join(line.args, " "), code, line.code,
				stdout, stderr)
		}
	}
}

// The database of a home that an earlier program made is refused by one sentence, which names the file to move away
// and says how its results are kept.
func TestEarlierDatabase(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "sweep.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	err = s.(*store.Store).Database().Update(t.Context(), func(tx database.Tx) error {
		return tx.Script(t.Context(), `UPDATE schema_migrations SET name = 'tables' WHERE number = 1`)
	})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status"}, {"export"}, {"sql", "SELECT 1"}} {
		stdout, stderr, code := output(t, home, args...)
		for _, want := range []string{path, `"1 tables"`, "sweep export", "move that file away"} {
			if code == 0 || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("sweep %v, exit code %d, without %q in one line: %s%s", args, code, want, stdout, stderr)
			}
		}
	}
}
