package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep/sweeptest"
	"sweep/worker/trainer/trainertest"
)

// A line of a table is a command and what it must answer.
type line struct {
	args   []string
	code   int
	stdout []string
	stderr []string
}

// check runs the lines.
func check(t *testing.T, run func(args ...string) (stdout, stderr string, code int), lines ...line) {
	t.Helper()
	for _, line := range lines {
		stdout, stderr, code := expecting(t, line.code, func() (string, string, int) { return run(line.args...) })
		name := strings.Join(line.args, " ")
		if code != line.code {
			t.Errorf("sweep %s: exit code %d, want %d\n%s%s", name, code, line.code, stdout, stderr)
		}
		for _, want := range line.stdout {
			if !strings.Contains(stdout, want) {
				t.Errorf("sweep %s: standard output lacks %q:\n%s", name, want, stdout)
			}
		}
		for _, want := range line.stderr {
			if !strings.Contains(stderr, want) {
				t.Errorf("sweep %s: standard error lacks %q:\n%s", name, want, stderr)
			}
		}
	}
}

// Artifacts from the sweep file to the command line, on one machine.
func TestArtifactCommands(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	file := write(t, dir, "small.yaml", "name: small\nreplicates: 2\nparameters:\n  dataset: {value: "+
		"generated-cbf}\n  epochs: {value: 2}\nartifacts: [weights]\n")
	plain := write(t, dir, "plain.yaml", "name: plain\nreplicates: 2\nparameters:\n  dataset: {value: "+
		"generated-cbf}\n  epochs: {value: 2}\n")
	odd := write(t, dir, "odd.yaml", "parameters:\n  dataset: {value: generated-cbf}\nartifacts: [weight]\n")
	noop := write(t, dir, "noop.yaml", "name: noop\ntrainer: noop\nparameters:\n  x: {value: 1}\nartifacts: "+
		"[model.pt]\nlimits: {artifact: 1MiB}\n")
	small := write(t, dir, "limits.yaml", "name: limits\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: "+
		"{value: 2}\n  seed: {value: 9}\nartifacts: [weights]\nlimits: {artifact: 1000}\n")
	weights := filepath.Join(dir, "weights")
	check(t, run,
		line{args: []string{"trainer", "describe"}, stdout: []string{"ARTIFACT", "weights"}},
		line{args: []string{"run", odd}, code: exitUsage, stderr: []string{odd + ":3:13", "hands over no artifact",
			`did you mean "weights"`}},
		line{args: []string{"run", plain, "--quiet"}},
		line{args: []string{"artifacts", "list"}, stdout: []string{"no artifacts"}},
		line{args: []string{"artifacts", "get", "plain", "0", "weights"}, code: exitNotFound,
			stderr: []string{"its sweep does not ask for it"}},
		// Results without weights are not taken over where weights are asked for.
		line{args: []string{"run", file}, stderr: []string{"2 completed (0 reused"}},
		line{args: []string{"artifacts", "list", "small"},
			stdout: []string{"0      weights  stored", "1      weights  stored"}},
		line{args: []string{"artifacts", "list", "small", "1", "--verify", "--json"},
			stdout: []string{`"index":1`, `"state":"stored"`}},
		line{args: []string{"artifacts", "get", "small", "1", "weights", "--output", weights},
			stderr: []string{"SHA-256"}},
		line{args: []string{"artifacts", "get", "small", "1", "weights", "--output", "-"},
			stdout: []string{`"dtype":"F32"`}},
		line{args: []string{"artifacts", "get", "small", "2", "weights"}, code: exitNotFound,
			stderr: []string{"0 to 1"}},
		line{args: []string{"artifacts", "get", "small", "one", "weights"}, code: exitUsage},
		line{args: []string{"trial", "show", "small", "1"}, stdout: []string{"completed: its trainer returned",
			"weights   stored", "epochs", "result"}},
		line{args: []string{"sql", "SELECT count(*) AS n FROM artifacts WHERE name = 'weights' AND problem = ''"},
			stdout: []string{"2"}},
		// With them they are, and with their artifacts.
		line{args: []string{"run", file, "--fresh"}, stderr: []string{"2 completed (2 reused"}},
		line{args: []string{"artifacts", "list", "latest"}, stdout: []string{"0      weights  stored"}},
		line{args: []string{"trial", "show", "latest", "0"},
			stdout: []string{"reused from trial", "weights   stored"}},
		line{args: []string{"logs", "latest", "0"}, stderr: []string{"reused from trial"}},
		// What is missing is named.
		line{args: []string{"run", noop, "--quiet"}, stderr: []string{"does not say which it hands over"}},
		line{args: []string{"artifacts", "list", "noop"}, code: exitArtifacts,
			stdout: []string{"model.pt  missing", "the trainer did not hand it over"}},
		line{args: []string{"artifacts", "get", "noop", "0", "model.pt"}, code: exitArtifacts,
			stderr: []string{"did not hand it over"}},
		line{args: []string{"run", small, "--quiet"}},
		line{args: []string{"artifacts", "list", "limits"}, code: exitArtifacts,
			stdout: []string{"missing", "1000 B (limits.artifact)"}},
		line{args: []string{"run", noop, "--artifacts", "nats://x"}, code: exitUsage, stderr: []string{"--artifacts"}},
		line{args: []string{"run", noop, "--artifacts", "s3://key:geheim@x"}, code: exitUsage,
			stderr: []string{"AWS_ACCESS_KEY_ID"}},
		line{args: []string{"run", noop, "--artifacts", "ftp://x"}, code: exitUsage, stderr: []string{"s3://BUCKET"}},
	)
	content, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	paths, err := filepath.Glob(filepath.Join(home, "artifacts", "cpu", "*", "1", hex.EncodeToString(sum[:])))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v", paths, err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(paths[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, run,
		line{args: []string{"artifacts", "list", "small", "1"}}, // its size has not changed
		line{args: []string{"artifacts", "get", "small", "1", "weights", "--output", weights + ".again"},
			code: exitArtifacts, stderr: []string{"is damaged", "its digest does not match"}},
		line{args: []string{"artifacts", "list", "small", "--verify"}, code: exitArtifacts, stdout: []string{"damaged"},
			stderr: []string{"1 of 2 artifacts"}},
	)
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	check(t, run,
		line{args: []string{"artifacts", "list", "small"}, code: exitArtifacts, stdout: []string{"lost"}},
		line{args: []string{"artifacts", "get", "small", "1", "weights", "--output", weights + ".again"},
			code: exitArtifacts, stderr: []string{"is not there"}},
	)
	if left, err := filepath.Glob(filepath.Join(dir, "*again*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Artifacts, trial commands and logs of a cluster: of a completed trial, a failed
// one, and one that runs.
func TestTrialCommands(t *testing.T) {
	fullOnly(t)
	c := newCluster(t)
	trainers := t.TempDir()
	if err := trainertest.BuildExample(trainers); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SWEEP_TRAINER_PATH", "")
	run := func(args ...string) (string, string, int) {
		return c.output(append(args, "--trainer-path", trainers)...)
	}
	c.start("coordinator", "coordinator")
	c.start("worker", "worker", "--slots", "2", "--name", "host-1", "--trainer-path", trainers)
	c.answered()
	await(t, "the worker", func() bool {
		stdout, _, _ := c.output("workers")
		return strings.Contains(stdout, "ready")
	})
	dir := t.TempDir()
	done := write(t, dir, "done.yaml", "name: done\ntrainer: quadratic\nparameters:\n  epochs: {value: 50}\n  "+
		"log_every: {value: 10}\nartifacts: [weights]\n")
	failing := write(t, dir, "failing.yaml", "name: failing\ntrainer: quadratic\nparameters:\n  epochs: {value: "+
		"50}\n  log_every: {value: 1}\n  fault: {value: exit}\n  fault_epoch: {value: 3}\nlimits: {attempts: 2}\n")
	endless := write(t, dir, "endless.yaml", "name: endless\ntrainer: quadratic\nreplicates: 3\nparameters:\n  "+
		"epochs: {value: 1000000}\n  log_every: {value: 1}\n  pause: {value: 100}\n") // its log is kept for minutes
	weights := filepath.Join(dir, "weights")
	check(t, run,
		line{args: []string{"submit", done, "--watch"}, stderr: []string{"1 completed"}},
		line{args: []string{"logs", "done", "0"}, stdout: []string{"epoch 10: loss", "epoch 50: loss"}},
		line{args: []string{"logs", "-f", "done", "0"}, stdout: []string{"epoch 10: loss", "epoch 50: loss"},
			stderr: []string{"on host-1"}},
		line{args: []string{"artifacts", "list", "done", "--verify"}, stdout: []string{"weights  stored  64 B"}},
		// The database alone does not say where NATS is: nothing is lost.
		line{args: []string{"artifacts", "list", "done", "--store", c.url}, code: exitArtifacts,
			stdout: []string{"weights  unknown  64 B", "nats://SWEEP_ARTIFACTS"}},
		line{args: []string{"artifacts", "get", "done", "0", "weights", "--output", weights}},
		line{args: []string{"trial", "show", "done", "0"}, stdout: []string{"completed: its trainer returned", "host-1",
			"weights   stored", "distance"}},
		line{args: []string{"trial", "retry", "done", "0"}, stdout: []string{"0 of 1 trial"}},
		line{args: []string{"trial", "show", "done", "1"}, code: exitNotFound, stderr: []string{"trial 1"}},
		line{args: []string{"submit", failing, "--watch"}, code: exitTrials},
		line{args: []string{"logs", "failing", "0"}, stdout: []string{"epoch 1: loss", "epoch 3: loss"}},
		line{args: []string{"logs", "failing", "0", "--all"}, stdout: []string{"epoch 3: loss"},
			stderr: []string{"== execution"}},
		line{args: []string{"trial", "show", "failing", "0"},
			stdout: []string{"failed: 2 executions ended without a result", "released, charged", "host-1"}},
		line{args: []string{"trial", "show", "failing", "0", "--json"},
			stdout: []string{`"outcome": "released"`, `"reason":`}},
		line{args: []string{"trial", "cancel", "failing", "0"}, stdout: []string{"0 of 1 trial"}},
		line{args: []string{"trial", "retry", "failing", "0"}, stdout: []string{"1 of 1 trial"}},
		line{args: []string{"watch", "failing"}, code: exitTrials},
		line{args: []string{"submit", endless}},
	)
	if info, err := os.Stat(weights); err != nil || info.Size() != 64 {
		t.Errorf("%v, %v", info, err)
	}
	follow := c.program(filepath.Join(c.dir, "client"), "logs", "-f", "endless", "0")
	followed, err := os.Create(filepath.Join(t.TempDir(), "followed"))
	if err != nil {
		t.Fatal(err)
	}
	defer followed.Close()
	heard := func() []string {
		text, err := os.ReadFile(followed.Name())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	var notes bytes.Buffer
	follow.Stdout, follow.Stderr = followed, &notes
	await(t, "trial 0 to run", func() bool {
		stdout, _, _ := run("logs", "endless", "0")
		return strings.Contains(stdout, "epoch 5: loss")
	})
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "two trials to run", func() bool {
		stdout, _, _ := run("trials", "endless", "--state", "running", "--json")
		return strings.Count(stdout, "\n") == 2
	})
	await(t, "some lines of its log to be followed", func() bool { return len(heard()) >= 20 })
	check(t, run,
		line{args: []string{"trial", "show", "endless", "0"},
			stdout: []string{"running: on worker host-1", "running"}},
		line{args: []string{"trial", "cancel", "endless", "0", "2"}, stdout: []string{"2 of 2 trials"}},
		line{args: []string{"trial", "cancel", "endless", "0", "2"}, stdout: []string{"0 of 2 trials"}},
		line{args: []string{"trial", "cancel", "endless", "0-3"}, code: exitNotFound},
		line{args: []string{"trial", "show", "endless", "0"}, stdout: []string{"cancelled: the trial was cancelled"}},
		line{args: []string{"trials", "endless", "--state", "running"}, stdout: []string{"1      running"}},
	)
	ended := make(chan error, 1)
	go func() { ended <- follow.Wait() }()
	if err := sweeptest.Receive(t, "the end of a log that is followed, whose trial has ended", ended); err != nil {
		t.Errorf("follow: %v: %s", err, &notes)
	}
	// Every line once, to the last that was kept.
	stored, _, _ := run("logs", "endless", "0")
	if lines := heard(); len(lines) < 20 || !strings.HasSuffix(stored, lines[len(lines)-1]+"\n") {
		t.Errorf("%d lines were followed, the last %q; stored ends in %q", len(lines), lines[len(lines)-1],
			stored[max(0, len(stored)-100):])
	} else {
		for i, text := range lines {
			if !strings.HasPrefix(text, fmt.Sprintf("epoch %d: ", i+1)) {
				t.Fatalf("line %d is %q", i+1, text)
			}
		}
	}
	check(t, run,
		line{args: []string{"trial", "retry", "endless", "2"}, stdout: []string{"1 of 1 trial"}},
		line{args: []string{"cancel", "endless"}, stdout: []string{"is cancelled"}},
	)
}

func TestParseBucket(t *testing.T) {
	for text, want := range map[string]struct {
		bucket string
		size   int64
	}{
		"": {"SWEEP_ARTIFACTS", 0}, "//": {"SWEEP_ARTIFACTS", 0}, "//kept": {"kept", 0},
		"//kept?size=2MiB": {"kept", 2 << 20}, "?size=1000": {"SWEEP_ARTIFACTS", 1000},
	} {
		if bucket, size, err := parseBucket(text); bucket != want.bucket || size != want.size || err != nil {
			t.Errorf("%q: %s, %d, %v", text, bucket, size, err)
		}
	}
	for text, want := range map[string]string{"//x?siz=1": "size", "//x?size=": "no size", "//x?size=0": "at least 1",
		"//x?size=%": "invalid URL escape"} {
		if _, _, err := parseBucket(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A completed trial whose artifact was lost is not complete: run ends with a code of its own and the list, and the same
// command trains the trial again. So it is with what is not in the store any more of a reused result.
func TestLostArtifacts(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	file := write(t, dir, "s.yaml", "name: leaving\nreplicates: 2\nparameters:\n  dataset: {value: generated-cbf}\n"+
		"  epochs: {value: 1}\nartifacts: [weights]\n")
	nowhere := filepath.Join(write(t, dir, "regular", ""), "below")
	check(t, run,
		line{args: []string{"run", file, "--artifacts", nowhere}, code: exitArtifacts, stderr: []string{"2 completed",
			"weights of 2 trials (0-1): not stored: ", "2 artifacts of completed trials were lost",
			"run the file again"}},
		line{args: []string{"run", file}, stderr: []string{"2 completed (0 reused"}},
		line{args: []string{"run", file, "--fresh"}, stderr: []string{"2 completed (2 reused"}},
	)
	paths, err := filepath.Glob(filepath.Join(home, "artifacts", "cpu", "*", "1", "*"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v", paths, err)
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	check(t, run,
		line{args: []string{"run", file, "--fresh"}, code: exitArtifacts, stderr: []string{"2 completed (2 reused",
			"weights of trial 1: it is lost in", "--reuse=false", "1 artifact of completed trials"}},
		line{args: []string{"run", file, "--reuse=false"}, stderr: []string{"2 completed (0 reused"}},
	)
}
