package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a program was called with belongs to the identity of its results.
func TestArgumentsOfExec(t *testing.T) {
	pythonFirst(t)
	home := t.TempDir()
	t.Chdir(folder(t, map[string]string{"tune.py": `
import sys, wandb
def train():
    wandb.init(); wandb.log({"loss": {"${wine}": 1, "iris": 2}[sys.argv[2]]})
wandb.agent(wandb.sweep({"method": "grid", "parameters": {"x": {"values": [1]}}}), function=train)
`}))
	for _, step := range []struct{ data, loss, said string }{
		{"${wine}", `"loss":1`, "1 completed"}, {"iris", `"loss":2`, "1 completed"}, {"${wine}", `"loss":1`, "1 reused"},
	} {
		_, stderr, code := output(t, home, "exec", "python", "tune.py", "--data", step.data)
		if code != 0 || !strings.Contains(stderr, step.said) {
			t.Errorf("%s: exit code %d, want %s: %s", step.data, code, step.said, stderr)
		}
		if stdout, _, _ := output(t, home, "trials", "--json"); !strings.Contains(stdout, step.loss) {
			t.Errorf("%s: %s, want %s", step.data, stdout, step.loss)
		}
	}
}

// A program that has changed is not retried as it was, and the error says what to do.
func TestRetryOfAChangedProgram(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{"p.sh": "exit 3\n", "s.yaml": "command: [sh, p.sh]\nparameters: {x: {value: 1}}\n"})
	file := filepath.Join(dir, "s.yaml")
	if _, stderr, code := output(t, home, "run", file); code == 0 {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "p.sh"), []byte("exit 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"retry", "latest"}, {"trial", "retry", "latest", "0"}} {
		_, stderr, code := output(t, home, command...)
		if code != 1 || !strings.Contains(stderr, "has changed since sweep") || !strings.Contains(stderr, "sweep run FILE") {
			t.Errorf("%v: exit code %d: %s", command, code, stderr)
		}
	}
	if _, stderr, code := output(t, home, "run", file); code != 0 || !strings.Contains(stderr, "1 completed") {
		t.Errorf("run again: exit code %d: %s", code, stderr)
	}
}

// What cannot start is refused before the first trial; what is not for Python runs by itself.
func TestProgramsWithoutPython(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"train.sh": "#!/bin/sh\necho '{\"loss\": 1}' >> \"$SWEEP_EVENTS\"\n", "text.sh": "#!/bin/sh\n",
		"direct.yaml":  "program: train.sh\nparameters: {x: {values: [1, 2]}}\n",
		"text.yaml":    "program: text.sh\nparameters: {x: {value: 1}}\n",
		"missing.yaml": "program: train.sh\ncommand: [no-such-shell, '${program}']\nparameters: {x: {value: 1}}\n",
		"nothing.yaml": "program: train.sh\ncommand: ['${args}']\nparameters: {x: {value: 1}}\n",
	})
	if err := os.Chmod(filepath.Join(dir, "train.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", filepath.Join(dir, "direct.yaml")}, stderr: []string{"train.sh runs as it is", "2 completed"}},
		{args: []string{"run", filepath.Join(dir, "text.yaml")}, code: exitUsage, stderr: []string{"chmod +x text.sh"}},
		{args: []string{"run", filepath.Join(dir, "missing.yaml")}, code: exitUsage,
			stderr: []string{"no-such-shell: there is no such program in PATH"}},
		{args: []string{"run", filepath.Join(dir, "nothing.yaml")}, code: exitUsage, stderr: []string{"has no program"}},
	}...)
}

// What a program has in its config is shown with its trial.
func TestConfigOfTheProgram(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"t.py":   "import wandb\nwandb.init(config={'model': 'resnet-50', 'lr': 9})\nwandb.log({'loss': 1})\n",
		"s.yaml": "program: t.py\ncommand: [" + python(t) + ", '${program}']\nparameters: {lr: {value: 1}}\n",
	})
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", filepath.Join(dir, "s.yaml")}, stderr: []string{"1 completed"}},
		{args: []string{"trial", "show", "latest", "0"}, stdout: []string{"CONFIG OF THE PROGRAM", `model  "resnet-50"`}},
		{args: []string{"trial", "show", "latest", "0", "--json"}, stdout: []string{`"config"`, `"resnet-50"`}},
	}...)
}

// Results that are reused although a file of the project has changed are not reused silently.
func TestReuseNamesChangedFiles(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"p.sh": "echo '{\"loss\": 1}' >> \"$SWEEP_EVENTS\"\n", "lib/helper.py": "", "conf.yaml": "lr: 1\n", "out.txt": "",
		"s.yaml": "program: p.sh\ncommand: [sh, '${program}']\nparameters: {x: {value: 1}}\n",
	})
	run := []string{"run", filepath.Join(dir, "s.yaml")}
	old, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, name := range []string{"lib/helper.py", "conf.yaml"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, stderr, code := output(t, home, run...); code != 0 || strings.Contains(stderr, "changed since they were made") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
	for _, name := range []string{"lib/helper.py", "conf.yaml", "s.yaml", "p.sh", "out.txt"} {
		if err := os.Chtimes(filepath.Join(dir, name), later, later); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, code := output(t, home, run...); code != 0 ||
		!strings.Contains(stderr, "reused, and conf.yaml, lib/helper.py changed since they were made") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
