package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep/report"
)

// asProgram makes the test binary behave as the program, so that tests start
// real processes without building anything.
const asProgram = "SWEEP_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	trainer := len(os.Args) > 2 && os.Args[1] == "trainer" && os.Args[2] == "serve" // started with a clean environment
	if trainer || os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns a command line of the program with its own home directory.
func program(t testing.TB, home string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "SWEEP_HOME="+home, "SWEEP_STORE=", "SWEEP_DATA=", "SWEEP_TRAINER_PATH=", "SWEEP_NATS=", "SWEEP_CONFIG=/dev/null")
	return cmd
}

// output runs the program to its end and returns what it wrote and its exit code.
func output(t testing.TB, home string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := program(t, home, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// write puts a file into dir.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A line of the table is a command line and what it must answer; the lines of
// one test share a home directory, so that it reads as a manual.
func TestCommands(t *testing.T) {
	home := t.TempDir()
	dir := t.TempDir()
	small := write(t, dir, "small.yaml", `
name: small
replicates: 3
parameters:
  dataset: {value: generated-cbf}
  model: {values: [rnn, spectral-rnn]}
  lr: {values: [0.003, 1e-2]}
  epochs: {value: 4}
  m1: {values: [4, 8], when: {model: spectral-rnn}}
`)
	misspelt := write(t, dir, "misspelt.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  modell: {values: [rnn]}\n")
	wrongType := write(t, dir, "type.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  batch: {values: [16, many]}\n")
	unknownSet := write(t, dir, "set.yaml", "parameters:\n  dataset: {values: [NoSuchSet]}\n")
	refused := write(t, dir, "refused.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  m1: {values: [16, 64]}\n")
	failing := write(t, dir, "failing.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  epochs: {value: 100000}\nlimits: {timeout: 300ms}\n")

	for _, line := range []struct {
		args   []string
		code   int
		stdout []string
		stderr []string
	}{
		{args: []string{"status"}, stdout: []string{"no sweeps yet"}},
		{args: []string{"table", "ucr"}, code: exitNotFound, stderr: []string{"no completed trial"}},
		{args: []string{"expand", small}, stdout: []string{"small: 18 trials", "m1 does not exist at 6 of them", "flop"}},
		{args: []string{"expand", small, "--json"}, stdout: []string{`"points": 18`, `"first": {`, `"last": {`}},
		{args: []string{"expand", small, "--at", "17"}, stdout: []string{"m1: 8", "model: spectral-rnn", "seed: 3"}},
		{args: []string{"expand", small, "--at", "18"}, code: exitUsage, stderr: []string{"0 to 17"}},
		{args: []string{"expand", small, "--no-trainer", "--json"}, stdout: []string{`"points": 18`}},
		{args: []string{"run", misspelt}, code: exitUsage, stderr: []string{misspelt + ":3:3", `did you mean "model"?`}},
		{args: []string{"run", wrongType}, code: exitUsage, stderr: []string{wrongType + ":3:", "batch", "integer"}},
		{args: []string{"run", unknownSet}, code: exitUsage, stderr: []string{unknownSet + ":2:", "NoSuchSet"}},
		{args: []string{"run", refused}, code: exitUsage, stderr: []string{refused + ":3:", "must not exceed hidden = 32"}},
		{args: []string{"run", filepath.Join(dir, "none.yaml")}, code: exitNotFound, stderr: []string{"none.yaml"}},
		{args: []string{"status"}, stdout: []string{"no sweeps yet"}}, // bad input changed nothing
		{args: []string{"run", small}, stdout: []string{"generated-cbf", "Spectral-RNN", "(1476)", "0.702"}, stderr: []string{"18 trials", "18 completed (0 taken over"}},
		{args: []string{"run", small}, stdout: []string{"(1476)"}, stderr: []string{"18 completed (18 taken over"}},
		{args: []string{"run", small, "--reuse=false"}, stderr: []string{"18 completed (0 taken over"}},
		{args: []string{"status", "--json"}, stdout: []string{`"completed": 18`, `"reused": 18`, `"state": "finished"`}},
		{args: []string{"status", "nothing"}, code: exitNotFound, stderr: []string{"nothing"}},
		{args: []string{"trials", "--where", "model=rnn", "--where", "lr<0.005", "--sort", "validation_loss"}, stdout: []string{"INDEX", "VALIDATION_LOSS", "completed"}},
		{args: []string{"trials", "--where", "model"}, code: exitUsage, stderr: []string{"NAME=VALUE"}},
		{args: []string{"trials", "--limit", "1", "--json"}, stdout: []string{`"parameters":{`, `"fingerprint":"`}},
		{args: []string{"curves", "latest", "0"}, stdout: []string{"train_loss", "validation_accuracy", "gradient_norm", "seconds"}},
		{args: []string{"curves", "latest", "0", "--metric", "spectral_margin", "--format", "csv"}, stdout: []string{"metric,step,value", "spectral_margin,1,"}},
		{args: []string{"curves", "latest", "99"}, code: exitNotFound, stderr: []string{"99"}},
		{args: []string{"sql", "SELECT count(*) AS trials FROM results"}, stdout: []string{"TRIALS", "54"}},
		{args: []string{"sql", "SELECT count(*) AS n FROM curves WHERE trial_index = 0 AND metric = 'train_loss'", "--format", "json"}, stdout: []string{`{"n":12}`}},
		{args: []string{"sql", "DELETE FROM trials"}, code: exitFailure, stderr: []string{"read"}},
		{args: []string{"table", "ucr", "--format", "markdown"}, stdout: []string{"| data set |", "**"}},
		{args: []string{"table", "ucr", "--format", "latex", "--select", "single"}, stdout: []string{`\begin{tabular}`, `\textbf{`}},
		{args: []string{"table", "ucr", "--format", "csv"}, stdout: []string{"dataset,model,selection", "generated-cbf,rnn,mean"}},
		{args: []string{"table", "ucr", "--select", "best"}, code: exitUsage, stderr: []string{"mean or single"}},
		{args: []string{"table", "mnist"}, code: exitNotFound},
		{args: []string{"export"}, stdout: []string{"sweep,index,state", "parameter.lr", "metric.test_accuracy"}},
		{args: []string{"export", "--format", "jsonl", "--curves"}, stdout: []string{`"curves":[{"metric":"train_loss"`}},
		{args: []string{"run", failing}, code: exitTrials, stderr: []string{"1 failed", "trials"}},
		{args: []string{"trials"}, stdout: []string{"timed out after 300ms"}},
		{args: []string{"trainer", "describe"}, stdout: []string{"learning rate", "spectral-rnn", "METRIC"}},
		{args: []string{"trainer", "describe", "noop", "--json"}, stdout: []string{`"name": "noop"`}},
		{args: []string{"trainer", "describe", "nope"}, code: exitNotFound, stderr: []string{"nope"}},
		{args: []string{"schema"}, stdout: []string{"$schema", "spectral-rnn"}},
		{args: []string{"version"}, stdout: []string{"sweep ", "kernels "}},
		{args: []string{"nonsense"}, code: exitUsage, stderr: []string{"nonsense"}},
		{args: []string{"run"}, code: exitUsage},
		{args: []string{"run", small, "--slots", "0"}, code: exitUsage, stderr: []string{"--slots"}},
		{args: []string{"status", "--log-level", "loud"}, code: 0},
		{args: []string{"completion", "bash"}, stdout: []string{"bash completion"}},
	} {
		stdout, stderr, code := output(t, home, line.args...)
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

// Every command has a help text with an example, and says its exit codes.
func TestHelpTexts(t *testing.T) {
	var stdout, stderr bytes.Buffer
	root := newRoot()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" || cmd.Name() == "completion" || cmd.Hidden || cmd.Name() == "trainer" {
			continue
		}
		if cmd.Example == "" {
			t.Errorf("sweep %s has no example", cmd.Name())
		}
		if cmd.Name() != "version" && !strings.Contains(cmd.Long, "Exit codes:") {
			t.Errorf("sweep %s does not state its exit codes", cmd.Name())
		}
		stdout.Reset()
		if code := execute(context.Background(), []string{cmd.Name(), "--help"}, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Errorf("sweep %s --help: exit code %d", cmd.Name(), code)
		}
	}
}

// The view ucr_table and the table command select and average alike.
func TestViewAgreesWithTable(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	file := write(t, dir, "grid.yaml", `
replicates: 4
parameters:
  dataset: {value: generated-cbf}
  model: {values: [rnn, ornn, spectral-rnn]}
  lr: {values: [0.001, 0.01, 1e6]}
  clip: {value: 0}
  optimizer: {values: [adam, sgd]}
  epochs: {value: 5}
`)
	if _, stderr, code := output(t, home, "run", file); code != 0 {
		t.Fatal(stderr)
	}
	for _, selection := range []string{"mean", "single"} {
		var rows []report.Record
		stdout, stderr, code := output(t, home, "table", "ucr", "--select", selection, "--format", "json")
		if err := json.Unmarshal([]byte(stdout), &rows); err != nil || code != 0 || len(rows) != 3 {
			t.Fatalf("%v: %s%s", err, stdout, stderr)
		}
		for _, r := range rows {
			stdout, stderr, _ := output(t, home, "sql", "--format", "json", "SELECT test_accuracy, test_accuracy_sd, validation_loss, replicates FROM ucr_table WHERE model = '"+
				r.Model+"' AND selection = '"+selection+"'")
			var view struct {
				Accuracy   float64  `json:"test_accuracy"`
				Deviation  *float64 `json:"test_accuracy_sd"`
				Loss       float64  `json:"validation_loss"`
				Replicates int      `json:"replicates"`
			}
			if err := json.Unmarshal([]byte(stdout), &view); err != nil {
				t.Fatalf("%v: %s%s", err, stdout, stderr)
			}
			same := near(view.Accuracy, r.Accuracy) && near(view.Loss, r.Loss) && view.Replicates == r.Replicates &&
				(view.Deviation == nil) == (r.Deviation == nil) && (view.Deviation == nil || near(*view.Deviation, *r.Deviation))
			if !same {
				t.Errorf("%s %s: the view says %s, the table %+v", selection, r.Model, stdout, r.Figure)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
