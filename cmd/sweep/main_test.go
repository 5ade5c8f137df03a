package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/coordinator/store/storetest"
	"sweep/sweep/report"
	"sweep/sweep/safetensors"
)

// asProgram makes the test binary behave as the program, so that tests start
// real processes without building anything.
const asProgram = "SWEEP_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	trainer := len(os.Args) > 2 && os.Args[1] == "trainer" && os.Args[2] == "serve" // started with a clean environment
	if path := os.Getenv(profileOf); path != "" && !trainer {
		os.Exit(profiled(path))
	}
	if trainer || os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// fullOnly leaves a test out under -short, with which the race detector looks at the
// program: one thing is done after the other, or other tests have the same parts of it work
// beside each other, in the same processes, so that it would see nothing new here.
func fullOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: the race detector would see nothing here that it does not see elsewhere")
	}
}

// program returns a command line of the program with its own home directory. An empty one gets a database with the
// schema, which each would make anew otherwise; one that is not there yet does not.
func program(t testing.TB, home string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(home); err == nil && home != "" && len(entries) == 0 {
		storetest.WithSchema(t, filepath.Join(home, "sweep.db"))
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "SWEEP_HOME="+home, "SWEEP_STORE=", "SWEEP_DATA=",
		"SWEEP_TRAINER_PATH=", "SWEEP_NATS=", "SWEEP_CONFIG=/dev/null")
	return cmd
}

// output runs the program to its end and returns what it wrote and its exit code.
func output(t testing.TB, home string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := program(t, home, args...)
	var out, errs bytes.Buffer
	stop := func() { _ = cmd.Process.Kill() } // its trainers end with it
	cmd.Stdout, cmd.Stderr = guarded(t, &out, stop), guarded(t, &errs, stop)
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
	fullOnly(t)
	t.Parallel()
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
	misspelt := write(t, dir, "misspelt.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  modell: {values: "+
		"[rnn]}\n")
	wrongType := write(t, dir, "type.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  batch: {values: [16, "+
		"many]}\n")
	unknownSet := write(t, dir, "set.yaml", "parameters:\n  dataset: {values: [NoSuchSet]}\n")
	refused := write(t, dir, "refused.yaml",
		"parameters:\n  dataset: {value: generated-cbf}\n  m1: {values: [16, 64]}\n")
	defaulted := write(t, dir, "defaulted.yaml",
		"parameters:\n  dataset: {value: generated-cbf}\n  model: {value: spectral-rnn}\n  hidden: {value: 8}\n")
	program := write(t, dir, "program.yaml", "parameters: {lr: {value: 1}}\nprogram: none.py\n")
	ties := write(t, dir, "ties.yaml",
		"parameters:\n  dataset: {value: generated-cbf}\n  average: {values: [0, 0.1, 0.5]}\n")
	shares := write(t, dir, "shares.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  refit: {values: [0.5, "+
		"0.2, 0]}\n")
	labelled := write(t, dir, "labelled.yaml", "trainer: noop\nrequires: {gpu: a100}\nparameters:\n  x: {value: 1}\n")
	failing := write(t, dir, "failing.yaml", "parameters:\n  dataset: {value: generated-cbf}\n  epochs: {value: "+
		"100000}\nlimits: {timeout: 300ms}\n")

	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"status"}, stdout: []string{"no sweeps yet"}},
		{args: []string{"trials"}, code: exitNotFound, stderr: []string{`sweep: no sweeps yet: "sweep run FILE"`}},
		{args: []string{"run", program}, code: exitUsage, stderr: []string{program + ":2:1: program: there is no " +
			"program none.py in the working directory"}},
		{args: []string{"run", defaulted}, code: exitUsage, stderr: []string{defaulted + ":1:1: parameters.m1: m1 " +
			"and m2 must not exceed hidden = 8", "not 16 (the default: the file does not set it)"}},
		{args: []string{"table", "ucr"}, code: exitNotFound, stderr: []string{"no completed trial"}},
		{args: []string{"expand", small}, stdout: []string{"small: 18 trials", "m1 does not exist at 6 of them",
			"flop", "time   "}},
		{args: []string{"expand", "../../examples/memory.yaml"},
			stdout: []string{"24 trials", "time   about", "by a second of training"}},
		{args: []string{"expand", small, "--json"}, stdout: []string{`"points": 18`, `"first": {`, `"last": {`}},
		{args: []string{"expand", small, "--at", "17"}, stdout: []string{"m1: 8", "model: spectral-rnn", "seed: 3"}},
		{args: []string{"expand", small, "--at", "18"}, code: exitUsage, stderr: []string{"0 to 17"}},
		{args: []string{"expand", small, "--no-trainer", "--json"}, stdout: []string{`"points": 18`}},
		{args: []string{"run", misspelt}, code: exitUsage,
			stderr: []string{misspelt + ":3:3", `did you mean "model"?`}},
		{args: []string{"run", wrongType}, code: exitUsage, stderr: []string{wrongType + ":3:", "batch", "integer"}},
		{args: []string{"run", unknownSet}, code: exitUsage, stderr: []string{unknownSet + ":2:", "NoSuchSet"}},
		{args: []string{"run", refused}, code: exitUsage,
			stderr: []string{refused + ":3:", "must not exceed hidden = 32"}},
		{args: []string{"run", ties}, code: exitUsage, stderr: []string{ties + ":3:25: parameters.average: average " +
			"is 0 and 0.1 in one group", "select: {group: [dataset, model, average]}"}},
		{args: []string{"run", shares}, code: exitUsage, stderr: []string{shares + ":3:25: parameters.refit: refit " +
			"is 0.5 and 0.2 in one group"}},
		{args: []string{"run", labelled}, code: exitUsage, stderr: []string{labelled, "label gpu", "sweep submit"}},
		{args: []string{"run", filepath.Join(dir, "none.yaml")}, code: exitNotFound, stderr: []string{"none.yaml"}},
		{args: []string{"status"}, stdout: []string{"no sweeps yet"}}, // bad input changed nothing
		{args: []string{"run", small}, stdout: []string{"generated-cbf", "Spectral-RNN", "(1476)", "0.702"},
			stderr: []string{"18 trials", "18 completed (0 reused"}},
		{args: []string{"run", small}, stdout: []string{"(1476)"}, stderr: []string{"18 completed (18 reused"}},
		{args: []string{"run", small, "--reuse=false"}, stderr: []string{"18 completed (0 reused"}},
		{args: []string{"status", "--json"}, stdout: []string{`"completed": 18`, `"reused": 18`,
			`"state": "finished"`}},
		{args: []string{"status", "nothing"}, code: exitNotFound, stderr: []string{"nothing"}},
		{args: []string{"trials", "--where", "model=rnn", "--where", "lr<0.005", "--sort", "validation_loss"},
			stdout: []string{"INDEX", "VALIDATION_LOSS", "completed"}},
		{args: []string{"trials", "--where", "model"}, code: exitUsage, stderr: []string{"NAME=VALUE"}},
		{args: []string{"trials", "--sort", "nothing"}, code: exitUsage, stderr: []string{"--sort nothing: no trial " +
			"of this sweep has this name; trials differ in model, lr", "validation_loss"}},
		{args: []string{"trials", "--where", "nothing=1"}, code: exitUsage, stderr: []string{"--where nothing: "}},
		{args: []string{"trials", "--columns", "model,nothing"}, code: exitUsage,
			stderr: []string{"--columns nothing: "}},
		{args: []string{"trials", "--group-by", "model", "--sort", "nothing"}, code: exitUsage,
			stderr: []string{"--sort nothing: "}},
		{args: []string{"trials", "--limit", "1", "--columns", "worker,kernel_level,flops,fingerprint,diverged"},
			stdout: []string{"KERNEL_LEVEL", "false"}},
		{args: []string{"trials", "--limit", "1", "--columns", "state,lr,index"}, stdout: []string{"INDEX  STATE      LR\n"}},
		{args: []string{"trials", "--limit", "1", "--json"}, stdout: []string{`"parameters":{`, `"fingerprint":"`}},
		{args: []string{"curves", "latest", "0"}, stdout: []string{"train_loss", "validation_accuracy",
			"gradient_norm", "seconds"}},
		{args: []string{"curves", "latest", "0", "--metric", "spectral_margin", "--format", "csv"},
			stdout: []string{"metric,step,value", "spectral_margin,1,"}},
		{args: []string{"logs", "latest", "0"}, stderr: []string{"wrote nothing to standard error"}},
		{args: []string{"curves", "latest", "0", "--metric", "nothing"}, code: exitNotFound,
			stderr: []string{"/0 has no curve of nothing; it has ", "train_loss"}},
		{args: []string{"curves", "latest", "99"}, code: exitNotFound, stderr: []string{"99"}},
		{args: []string{"sql", "SELECT count(*) AS trials FROM results"}, stdout: []string{"TRIALS", "54"}},
		{args: []string{"sql", "SELECT count(*) AS n FROM curves WHERE trial_index = 0 AND metric = 'train_loss'",
			"--format", "json"}, stdout: []string{`{"n":12}`}},
		{args: []string{"sql", "DELETE FROM trials"}, code: exitFailure, stderr: []string{"read"}},
		{args: []string{"sql", "SELECT model FROM results"}, code: exitFailure, stderr: []string{"no such column: model",
			"columns in t", "--sweep NAME", "parameters ->> 'NAME'"}},
		{args: []string{"sql", "SELECT * FROM t"}, code: exitFailure, stderr: []string{"no such table: t", "--sweep NAME"}},
		{args: []string{"sql", "--sweep", "latest", "SELECT modell FROM t"}, code: exitFailure,
			stderr: []string{"no such column: modell"}},
		{args: []string{"table", "ucr", "--format", "markdown"}, stdout: []string{"| data set |", "**"}},
		{args: []string{"table", "ucr", "--format", "latex", "--select", "single"},
			stdout: []string{`\begin{tabular}`, `\textbf{`}},
		{args: []string{"table", "ucr", "--format", "csv"}, stdout: []string{"dataset,model,selection",
			"generated-cbf,rnn,mean"}},
		{args: []string{"table", "ucr", "--select", "best"}, code: exitUsage,
			stderr: []string{"mean, single, ensemble"}},
		{args: []string{"table", "mnist-table2"}, code: exitNotFound},
		{args: []string{"table", "pie"}, code: exitUsage, stderr: []string{"expected one of ucr, tasks", "flops"}},
		{args: []string{"trainer", "step", "--slides", "--n", "3"}, code: exitUsage, stderr: []string{"do not give --n"}},
		{args: []string{"trainer", "step", "--slides", "--goals"}, code: exitUsage, stderr: []string{"either"}},
		{args: []string{"table", "flops"}, stdout: []string{"15360   ", "15424", "13824"}},
		{args: []string{"table", "flops", "--m2", "0"}, code: exitUsage, stderr: []string{"--m2 0"}},
		{args: []string{"table", "flops", "--n", "8"}, code: exitUsage, stderr: []string{"m1 = 16: expected 1 to n = 8"}},
		{args: []string{"table", "flops", "--format", "word"}, code: exitUsage, stderr: []string{"text, markdown"}},
		{args: []string{"figure", "curves", "latest", "-o", filepath.Join(dir, "curves.svg")},
			stderr: []string{"wrote", "curves.svg"}},
		{args: []string{"figure", "heatmap", "latest", "-o", filepath.Join(dir, "heat.png"), "--x", "lr", "--y",
			"model"}, stderr: []string{"wrote"}},
		{args: []string{"figure", "curves", "latest", "-o", filepath.Join(dir, "curves.gif")}, code: exitUsage,
			stderr: []string{".svg or .png"}},
		{args: []string{"figure", "pie", "latest", "-o", filepath.Join(dir, "pie.svg")}, code: exitUsage,
			stderr: []string{"expected one of curves, slice"}},
		{args: []string{"figure", "table", "latest", "-o", filepath.Join(dir, "table.svg"), "--metric", "nothing"},
			code: exitNotFound, stderr: []string{"test_accuracy"}},
		{args: []string{"figure", "heatmap", "latest", "--x", "nope", "-o", filepath.Join(dir, "none.svg")}, code: exitUsage,
			stderr: []string{`no parameter "nope"`}},
		{args: []string{"figure", "slice", "latest"}, code: exitUsage, stderr: []string{`--output "": expected a file`}},
		{args: []string{"figure", "table", "nothing", "-o", filepath.Join(dir, "table.svg")}, code: exitNotFound,
			stderr: []string{"nothing"}},
		{args: []string{"export"}, stdout: []string{"sweep,index,state", "parameter.lr", "metric.test_accuracy"}},
		{args: []string{"report"}, stdout: []string{"<!doctype html>", "validation_loss", "data:image/svg"}},
		{args: []string{"report", "nothing"}, code: exitNotFound},
		{args: []string{"export", "--format", "jsonl", "--curves"},
			stdout: []string{`"curves":[{"metric":"train_loss"`}},
		{args: []string{"run", failing}, code: exitTrials, stderr: []string{"1 failed", "trials"}},
		{args: []string{"trials"}, stdout: []string{"timed out after 300ms"}},
		{args: []string{"trainer", "describe"}, stdout: []string{"learning rate", "spectral-rnn", "METRIC"}},
		{args: []string{"trainer", "describe", "noop", "--json"}, stdout: []string{`"name": "noop"`}},
		{args: []string{"trainer", "describe", "nope"}, code: exitNotFound, stderr: []string{"nope"}},
		{args: []string{"schema"}, stdout: []string{"$schema", "spectral-rnn"}},
		{args: []string{"version"}, stdout: []string{"sweep ", "kernels "}},
		{args: []string{"nonsense"}, code: exitUsage, stderr: []string{`sweep: unknown command "nonsense"`}},
		{args: []string{"nonsense", "--help"}, code: exitUsage, stderr: []string{`sweep: unknown command "nonsense"`}},
		{args: []string{"help", "nonsense"}, code: exitUsage, stderr: []string{`sweep: unknown command "nonsense"`}},
		{args: []string{"trial", "nonsense", "-h"}, code: exitUsage, stderr: []string{`unknown command "nonsense" for "sweep trial"`}},
		{args: []string{"runn"}, code: exitUsage, stderr: []string{`did you mean "run"?`}},
		{args: []string{"trial", "shwo"}, code: exitUsage, stderr: []string{`did you mean "show"?`}},
		{args: []string{"run", small, "--slotz", "1"}, code: exitUsage, stderr: []string{`--slotz; did you mean ` +
			`"--slots"? (see "sweep run --help")`}},
		{args: []string{"run"}, code: exitUsage, stderr: []string{"Usage: sweep run FILE"}},
		{args: []string{"run", small, "--slots", "0"}, code: exitUsage, stderr: []string{"--slots"}},
		{args: []string{"status", "--log-level", "loud"}, code: exitUsage,
			stderr: []string{"--log-level", "expected debug, info, warn or error"}},
		{args: []string{"completion", "bash"}, stdout: []string{"bash completion"}},
	}...)
}

// Every command has a help text with an example, and says its exit codes.
func TestHelpTexts(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	var stdout, stderr bytes.Buffer
	root := newRoot()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" || cmd.Name() == "completion" || cmd.Hidden ||
			cmd.IsAdditionalHelpTopicCommand() {
			continue
		}
		if cmd.Example == "" {
			t.Errorf("sweep %s has no example", cmd.Name())
		}
		if cmd.Name() != "version" && !strings.Contains(cmd.Long, "Exit codes:") {
			t.Errorf("sweep %s does not state its exit codes", cmd.Name())
		}
		stdout.Reset()
		if code := execute(context.Background(), []string{cmd.Name(), "--help"}, strings.NewReader(""), &stdout,
			&stderr); code != 0 {
			t.Errorf("sweep %s --help: exit code %d", cmd.Name(), code)
		}
	}
}

// The view ucr_table and the table command select and average alike.
func TestViewAgreesWithTable(t *testing.T) {
	fullOnly(t)
	t.Parallel()
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
			stdout, stderr, _ := output(t, home, "sql", "--format", "json", "SELECT test_accuracy, test_accuracy_sd, "+
				"validation_loss, replicates FROM ucr_table WHERE model = '"+
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
			same := r.Accuracy != nil && near(view.Accuracy, *r.Accuracy) && r.Loss != nil &&
				near(view.Loss, *r.Loss) && view.Replicates == r.Replicates &&
				(view.Deviation == nil) == (r.Deviation == nil) &&
				(view.Deviation == nil || near(*view.Deviation, *r.Deviation))
			if !same {
				t.Errorf("%s %s: the view says %s, the table %+v", selection, r.Model, stdout, r.Figure)
			}
		}
	}
}

// An ensemble's accuracy is that of the mean of the probabilities that its trials left.
func TestEnsembles(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	text := "replicates: 3\nparameters:\n  dataset: {value: generated-cbf}\n  lr: {values: [0.001, 0.01]}\n  epochs: " +
		"{value: 10}\n"
	plain := write(t, dir, "plain.yaml", "name: plain\n"+text)
	voting := write(t, dir, "voting.yaml", "name: voting\n"+text+"artifacts: [probabilities]\n")
	check(t, run,
		line{args: []string{"run", plain, "--quiet"}},
		line{args: []string{"table", "ucr", "--select", "ensemble"}, code: exitNotFound,
			stderr: []string{"artifacts: [probabilities]"}},
		line{args: []string{"run", voting, "--quiet"}},
		line{args: []string{"table", "ucr", "--select", "ensemble:2"},
			stdout: []string{"all replicates of the 2 grid points", "generated-cbf"}},
		line{args: []string{"table", "tasks", "--select", "ensemble"}, code: exitNotFound,
			stderr: []string{"no completed trial"}},
		line{args: []string{"table", "ucr", "--select", "ensemble:auto"},
			stdout: []string{"cross entropy on the validation rows", "Grid points that vote: generated-cbf " +
				"Spectral-RNN ", "before the refit"}},
	)
	stdout, stderr, code := run("table", "ucr", "voting", "--select", "ensemble", "--format", "json")
	var rows []report.Record
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || code != 0 || len(rows) != 1 ||
		rows[0].Replicates != 3 {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	first := 0 // of the point's trials: the grid's last value varies fastest, replicates after it
	if rows[0].Parameters["lr"] == 0.01 {
		first = 3
	}
	var sums []float64
	var labels []int
	width := 0
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprint(i))
		check(t, run, line{args: []string{"artifacts", "get", "voting", fmt.Sprint(first + i), "probabilities",
			"-o", path}})
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if f.Metadata["parameters"] == "" ||
			!strings.Contains(f.Metadata["parameters"], fmt.Sprintf(`"lr":%v`, rows[0].Parameters["lr"])) {
			t.Fatalf("trial %d has %s", first+i, f.Metadata["parameters"])
		}
		values, err := f.Tensor("test", safetensors.F16)
		if err != nil {
			t.Fatal(err)
		}
		classes, err := f.Tensor("test_labels", safetensors.I32)
		if err != nil {
			t.Fatal(err)
		}
		if labels = classes.Integers(); sums == nil {
			sums, width = make([]float64, len(values.Halves())), values.Cols
		}
		for j, v := range values.Halves() {
			sums[j] += float64(v)
		}
	}
	correct := 0
	for i, label := range labels {
		row := sums[i*width : (i+1)*width]
		if row[label] == slices.Max(row) {
			correct++
		}
	}
	if want := float64(correct) / float64(len(labels)); rows[0].Accuracy == nil || !near(*rows[0].Accuracy, want) {
		t.Errorf("the table says %v, the probabilities %v", *rows[0].Accuracy, want)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
