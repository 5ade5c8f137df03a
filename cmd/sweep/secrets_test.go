package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sweep/worker/trainer"
	"sweep/worker/trainer/trainertest"
)

// TestTrainersSeeNoSecrets: of the files by which the program reaches NATS and
// the database, a trainer sees none; of others of the same user it does.
func TestTrainersSeeNoSecrets(t *testing.T) {
	fullOnly(t)
	if err := trainer.CanHide(); err != nil {
		t.Fatalf("this test needs Landlock: %v", err)
	}
	trainers, home := t.TempDir(), t.TempDir()
	if err := trainertest.BuildExample(trainers); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	pass, public := write(t, home, ".pgpass", "a secret"), write(t, home, "notes.txt", "not secret")
	passFile, key := write(t, home, "passwords", "a secret"), write(t, home, "worker.nk", "a secret")
	conf := write(t, home, "sweep.conf", "SWEEP_NATS_CREDS="+write(t, home, "worker.creds", "a secret")+"\n")
	t.Setenv("PGPASSFILE", passFile)
	t.Setenv("SECRET_TOKEN", "a secret")
	t.Setenv("WANTED", "not secret")
	for path, hidden := range map[string]bool{
		pass: true, passFile: true, key: true, conf: true, filepath.Join(home, "worker.creds"): true, public: false,
	} {
		file := write(t, t.TempDir(), "steal.yaml", fmt.Sprintf(
			"name: steal\ntrainer: quadratic\nparameters:\n  epochs: {value: 2}\n  fault: {value: steal}\n  "+
				"fault_file: {value: %q}\n", path))
		_, stderr, code := output(t, t.TempDir(), "run", file, "--trainer-path", trainers, "--config", conf,
			"--nats-key", key, "--trainer-env", "WANTED",
			"--log-level", "debug", "--quiet", "--slots", "1")
		if code != 0 || !strings.Contains(stderr, "steal: done") {
			t.Fatalf("%s: exit code %d: %s", path, code, stderr)
		}
		if strings.Contains(stderr, "stolen by reading") == hidden || strings.Contains(stderr, "a secret") {
			t.Errorf("%s is to be hidden: %v:\n%s", path, hidden, stderr)
		}
	}
	if _, stderr, code := output(t, t.TempDir(), "trainer", "describe", "--trainer-home", pass); code != exitUsage ||
		!strings.Contains(stderr, "--trainer-home") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
