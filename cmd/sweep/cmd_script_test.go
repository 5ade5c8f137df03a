package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// python returns Debian's Python, else the first in PATH; the test is left out
// where there is none.
func python(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("left out: there is no python3")
	}
	return path
}

// pythonFirst has the first python in PATH be Debian's.
func pythonFirst(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(python(t), filepath.Join(dir, "python")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, text)
	}
	return dir
}

// trialStates returns the states of the newest sweep's trials.
func trialStates(t *testing.T, home string) (states []string) {
	t.Helper()
	stdout, stderr, code := output(t, home, "trials", "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	for line := range strings.Lines(stdout) {
		var trial struct{ State string }
		if err := json.Unmarshal([]byte(line), &trial); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		states = append(states, trial.State)
	}
	return states
}

const wandbProgram = `
import argparse, wandb
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float); p.add_argument("--units", type=int)
a = p.parse_args()
run = wandb.init(project="demo", config=a, name="fox", tags=["baseline"])
for epoch in range(3):
    wandb.log({"epoch": epoch, "val_loss": a.lr * run.config.units + 1 / (epoch + 1)})
print("done", run.config.lr)
`

// A sweep file of W&B runs unchanged, grows, and takes over what it has; the
// program's bytes decide.
func TestSweepFileOfWandb(t *testing.T) {
	fullOnly(t)
	pythonFirst(t)
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"src/train.py": wandbProgram,
		"sweeps/random.yaml": `
program: src/train.py
method: random
metric: {name: val_loss, goal: minimize}
early_terminate: {type: hyperband, min_iter: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 1e-4, max: 1e-1}
  units: {values: [16, 32]}
`,
		"sweeps/grid.yaml": `
program: src/train.py
method: grid
metric: {name: val_los, goal: minimize}
command: [/home/somebody/env/bin/python, "${program}", "${args_no_equals}"]
parameters:
  lr: {values: [1e-3, 1.0]}
  units: {value: 16}
`,
		".git/HEAD": "",
	})
	random, grid := filepath.Join(dir, "sweeps/random.yaml"), filepath.Join(dir, "sweeps/grid.yaml")
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", random}, code: exitUsage, stderr: []string{random + ":3:1", "run_cap: 20"}},
		{args: []string{"expand", random, "--count", "3"},
			stdout: []string{"random: 3 trials", "drawn: log_uniform_values, min 0.0001, max 0.1", "3 points checked"},
			stderr: []string{"src/train.py runs in " + dir}},
		{args: []string{"expand", random, "--count", "3", "--no-trainer", "--json"}, stdout: []string{`"points": 3`}},
		{args: []string{"expand", random, "--count", "-1"}, code: exitUsage, stderr: []string{"--count"}},
		{args: []string{"expand", random, "--count", "3", "--directory", filepath.Join(dir, "none")}, code: exitUsage,
			stderr: []string{"--directory " + filepath.Join(dir, "none")}},
		{args: []string{"run", random, "--count", "2"}, stdout: []string{"best val_loss ", ", units "},
			stderr: []string{"2 completed (0 reused"}},
		{args: []string{"trials"}, stdout: []string{"LR", "UNITS", "VAL_LOSS", "completed"}},
		{args: []string{"trials", "--where", "tag=baseline"}, stdout: []string{"completed"}},
		{args: []string{"trials", "--group-by", "units"}, stdout: []string{"VAL_LOSS  BEST ", "  TRIAL"}},
		{args: []string{"trial", "show", "latest", "0"}, stdout: []string{"run: fox", "tags: baseline",
			"its program ended with exit status 0"}},
		{args: []string{"curves", "latest", "1", "--format", "csv"}, stdout: []string{"val_loss,0,", "val_loss,2,",
			"epoch,1,1"}},
		{args: []string{"export"}, stdout: []string{"parameter.lr,parameter.units,metric.epoch,metric.val_loss"}},
		{args: []string{"run", random, "--count", "3"}, stderr: []string{"3 completed (2 reused"}},
		{args: []string{"run", grid}, code: exitMetric, stderr: []string{"2 completed", "2 of the trials: the " +
			"sweep's metric val_los was never logged", "never logged by any", `did you mean "val_loss"?`}},
		{args: []string{"watch", "latest", "--progress", "plain"}, code: exitMetric,
			stderr: []string{"val_los was never logged by any"}},
		{args: []string{"trials"}, stdout: []string{"the sweep's metric val_los was never logged",
			`did you mean "val_loss"?`}},
		{args: []string{"run", grid, "--directory", filepath.Join(dir, "sweeps")}, code: exitUsage,
			stderr: []string{"train.py"}},
		{args: []string{"trainer", "describe", "script"}, stdout: []string{"trainer script"}},
	}...)
	write(t, filepath.Join(dir, "src"), "train.py", wandbProgram+"\n# changed\n")
	if _, stderr, code := output(t, home, "run", random, "--count", "3"); code != 0 ||
		!strings.Contains(stderr, "3 completed (0 reused") {
		t.Errorf("a changed program: exit code %d: %s", code, stderr)
	}
}

// A program of a sweep run here has what it has from a shell; a trial that takes
// too long is ended, and one that asks for another execution gets it.
func TestProgramAsFromShell(t *testing.T) {
	fullOnly(t)
	home := t.TempDir()
	t.Setenv("MY_VARIABLE", "its value")
	dir := folder(t, map[string]string{
		"p.sh": `
[ "$HOME" = "$MY_HOME" ] || exit 9
[ "$1" = "its value" ] || exit 8
[ -z "$SWEEP_TRAINER$PLUGIN_CLIENT_CERT" ] || exit 7
case $2 in
kind=slow) sleep 100;;
kind=again) [ -e "$SWEEP_CHECKPOINT_DIR/x" ] || { touch "$SWEEP_CHECKPOINT_DIR/x"; exit 75; };;
kind=wrong) echo "went wrong" >&2; exit 4;;
esac
echo '{"y": 1}' >> "$SWEEP_EVENTS"
`,
		"t.yaml": `
program: p.sh
command: [sh, "${program}", "${envvar:MY_VARIABLE}", "${args_no_hyphens}"]
parameters: {kind: {values: [quick, again, wrong]}}
`,
		"slow.yaml": `
program: p.sh
command: [sh, "${program}", "${envvar:MY_VARIABLE}", "${args_no_hyphens}"]
parameters: {kind: {value: slow}}
limits: {timeout: 2s}
`,
		"unset.yaml": "command: [sh, p.sh, '${envvar:NOT_SET_ANYWHERE}']\nparameters: {kind: {value: 1}}\n",
	})
	user, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MY_HOME", user)
	t.Setenv("HOME", user)
	if _, stderr, code := output(t, home, "run", filepath.Join(dir, "unset.yaml")); code == 0 ||
		!strings.Contains(stderr, "NOT_SET_ANYWHERE is not set") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, name := range []string{"slow.yaml", "t.yaml"} {
		_, stderr, code := output(t, home, "run", filepath.Join(dir, name), "--directory", dir)
		if code != exitTrials {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
	stdout, stderr, code := output(t, home, "sql", "--format", "csv", "SELECT state, executions, error FROM results "+
		"WHERE sweep_name IN ('slow', 't') ORDER BY sweep_name, trial_index")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	want := []string{"state,executions,error", "failed,1,timed out after 2s", "completed,1,", "completed,2,",
		"failed,1,exit status 4: went wrong"}
	if code != 0 || len(lines) != len(want) {
		t.Fatalf("exit code %d: %s%s", code, stderr, stdout)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %s, want %s", i, line, want[i])
		}
	}
}

// An interrupted run goes on where its program was, in the folder that survives; a
// program that changes while it runs makes the sweep wait, and say so.
func TestProgramGoesOn(t *testing.T) {
	fullOnly(t)
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"p.sh": `
n=$(cat "$SWEEP_CHECKPOINT_DIR/n" 2>/dev/null || echo 0)
trap 'exit 1' TERM
echo $((n + 1)) > "$SWEEP_CHECKPOINT_DIR/n"
echo "{\"executions\": $((n + 1))}" >> "$SWEEP_EVENTS"
if [ $n = 0 ]; then touch "$MARK"; while :; do sleep 0.05; done; fi
`,
		"s.yaml":      "command: [sh, p.sh]\nparameters: {x: {value: 1}}\n",
		"change.sh":   "echo '# changed' >> change.sh\n",
		"change.yaml": "command: [sh, change.sh]\nparameters: {x: {values: [1, 2, 3]}}\n",
	})
	mark := filepath.Join(dir, "mark")
	t.Setenv("MARK", mark)
	first := program(t, home, "run", filepath.Join(dir, "s.yaml"))
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the program", func() bool { _, err := os.Stat(mark); return err == nil })
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // how it ended is seen below
	if code := first.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if _, stderr, code := output(t, home, "run", filepath.Join(dir, "s.yaml")); code != 0 ||
		!strings.Contains(stderr, "resuming sweep") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if stdout, _, _ := output(t, home, "sql", "SELECT summary FROM results"); !strings.Contains(stdout,
		`"executions":2`) {
		t.Errorf("results: %s", stdout)
	}

	changing := program(t, home, "run", filepath.Join(dir, "change.yaml"), "--slots", "1")
	var said syncBuffer
	changing.Stderr = &said
	if err := changing.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the reason", func() bool {
		_, reason, waits := strings.Cut(said.String(), "waits: ")
		return waits && strings.Contains(reason, "as it was submitted")
	})
	_ = changing.Process.Signal(os.Interrupt)
	_ = changing.Wait()
}

// What a sweep asks for of what its programs leave is kept, fetched, and kept again
// of those that are trained again.
func TestArtifactsOfPrograms(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"p.sh": `
x=${1#--x=}
echo "{\"y\": $x}" >> "$SWEEP_EVENTS"
mkdir -p "$SWEEP_ARTIFACTS/logs"
echo "model $x" > "$SWEEP_ARTIFACTS/model.bin"; echo log > "$SWEEP_ARTIFACTS/logs/a.txt"
[ $x = 1 ] || [ -e ok ] || exit 3
`,
		"s.yaml": "name: kept\ncommand: [sh, p.sh, '${args}']\nartifacts: [model.bin, logs, nothing]\nparameters: " +
			"{x: {values: [1, 2]}}\n",
	})
	out := filepath.Join(dir, "out")
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", filepath.Join(dir, "s.yaml")}, code: exitTrials,
			stderr: []string{"1 completed", "1 failed"}},
		{args: []string{"artifacts", "list", "kept"}, code: exitArtifacts,
			stdout: []string{"0      logs       stored", "0      model.bin  stored", "0      nothing    missing"}},
		{args: []string{"artifacts", "get", "kept", "0", "model.bin", "-o", "-"}, stdout: []string{"model 1\n"}},
		{args: []string{"artifacts", "get", "kept", "0", "logs", "--output", out}},
		{args: []string{"artifacts", "get", "kept", "0", "nothing"}, code: exitArtifacts,
			stderr: []string{"did not hand it over"}},
		{args: []string{"retry", "kept"}},
	}...)
	if info, err := os.Stat(out); err != nil || info.Size() == 0 {
		t.Errorf("the archive: %v, %v", info, err)
	}
	write(t, dir, "ok", "")
	if _, stderr, code := output(t, home, "run", filepath.Join(dir, "s.yaml")); code != 0 ||
		!strings.Contains(stderr, "2 completed") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if stdout, stderr, code := output(t, home, "artifacts", "get", "kept", "1", "model.bin", "-o", "-"); code != 0 ||
		stdout != "model 2\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// Whatever kills a run, its programs and what they have started end with it.
func TestKilledRunLeavesNoProgram(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir := folder(t, map[string]string{
		"p.sh":   "trap '' TERM HUP INT; sleep 1000 & echo $! > child; echo $$ > pid; while :; do sleep 0.1; done\n",
		"s.yaml": "command: [sh, p.sh]\nparameters: {x: {value: 1}}\n",
	})
	alive := func(name string) bool {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(text) == 0 {
			return false
		}
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "stat"))
		return err == nil && !strings.Contains(string(state), ") Z ")
	}
	run := program(t, t.TempDir(), "run", filepath.Join(dir, "s.yaml"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the program", func() bool { return alive("pid") && alive("child") })
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	await(t, "the end of all", func() bool { return !alive("pid") && !alive("child") })
}

// syncBuffer is written by a process and read by a test.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

func (s *syncBuffer) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Len()
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// 8. Sweeps made in Python run with the local database: in one process or in two,
// with a function or the sweep's program, for a count that may be text.
func TestSweepsMadeInPython(t *testing.T) {
	fullOnly(t)
	pythonFirst(t)
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"tune.py": `
import sys, wandb
calls = []
def main():
    with wandb.init() as run:
        calls.append(run.config.x)
        if run.config.x == 3: raise ValueError("three is too many")
        run.log({"y": run.config.x ** 2, "lr": run.config.opt["lr"], "page": wandb.Html("x is %d" % run.config.x)})
sweep = {"method": "grid", "metric": {"name": "y", "goal": "minimize"}, "parameters": {"x": {"values": (1, 2, 3)}, "opt": {"parameters": {"lr": {"value": 0.5}}}}}
id = wandb.sweep(sweep, project="p", entity="e")
print("ID", id)
wandb.agent(id, function=main, count="2")
assert calls == [1, 2], calls
wandb.agent("e/p/" + id, function=main)
assert calls == [1, 2, 3], calls
`,
		"again.py": `
import sys, wandb
wandb.agent(sys.argv[1], function=lambda: wandb.init() and wandb.log({"y": wandb.config.x}), count=1)
`,
		"program.py": `
import wandb
id = wandb.sweep({"program": "train.py", "method": "bayes", "parameters": {"lr": {"min": 0.0, "max": 1.0}, "units": {"value": 3}}}, settings=wandb.Settings(project="p"), prior_runs=["x"])
wandb.agent(id, count=5)
try: wandb.agent("nonsense1")
except wandb.Error as e: print(e)
`,
		"train.py": wandbProgram,
	})
	t.Chdir(dir)
	stdout, stderr, code := output(t, home, "exec", "python", "tune.py")
	if code != 0 || !strings.Contains(stderr, "three is too many") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if states := trialStates(t, home); !slices.Equal(states, []string{"completed", "completed", "failed"}) {
		t.Errorf("trials %v", states)
	}
	_, id, _ := strings.Cut(stdout, "ID ")
	id, _, _ = strings.Cut(id, "\n")
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"status", id}, stdout: []string{"python-" + id}},
		{args: []string{"artifacts", "get", id, "1", "media.page.html", "-o", "-"}, stdout: []string{"x is 2"}},
		{args: []string{"exec", "--method", "best", "python", "program.py"}, code: exitUsage,
			stderr: []string{"--method best"}},
		{args: []string{"exec", "--count", "1", "sh", "-c", ":"}, stderr: []string{"the program ran no wandb.agent"}},
	}...)
	if _, stderr, code := output(t, home, "exec", "python", "again.py", id); code != 0 {
		t.Errorf("a second process: exit code %d: %s", code, stderr)
	}
	stdout, stderr, code = output(t, home, "exec", "--method", "random", "--count", "2", "python", "program.py")
	if code != 0 || !strings.Contains(stderr, "count=5 is overridden by --count 2") || !strings.Contains(stdout, "there is no sweep nonsense1 here") ||
		!strings.Contains(stderr, "2 completed") {
		t.Errorf("a program: exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := output(t, home, "exec", "sh", "-c", "exit 7"); code != 7 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A program that does nothing for longer than the sweep file allows is ended, with its children.
func TestStalledPrograms(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := folder(t, map[string]string{"stall.yaml": "command: [sh, -c, 'echo begins; sleep 3000 & wait', '${args}']\n" +
		"parameters: {x: {values: [1]}}\nlimits: {silence: 1s}\n"})
	stdout, stderr, code := output(t, home, "run", filepath.Join(dir, "stall.yaml"), "--quiet")
	if code != exitTrials || !strings.Contains(stdout+stderr, "stalled: no metric, no output and no processor time for 1s (limits.silence)") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// Several agents of one sweep, in processes and threads, and the command wandb, share its points.
func TestAgentsOfWandb(t *testing.T) {
	fullOnly(t)
	pythonFirst(t)
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"processes.py": `
import multiprocessing, wandb
def train():
    with wandb.init() as run: wandb.log({"loss": run.config.x})
if __name__ == "__main__":
    id = wandb.sweep({"method": "grid", "metric": {"name": "loss", "goal": "minimize"}, "parameters": {"x": {"values": [1, 2, 3, 4]}}})
    multiprocessing.set_start_method("spawn")
    agents = [multiprocessing.Process(target=wandb.agent, kwargs={"sweep_id": id, "function": train, "count": 4 / 2}) for _ in range(2)]
    for a in agents: a.start()
    for a in agents: a.join()
    assert [a.exitcode for a in agents] == [0, 0], agents
`,
		"threads.py": `
import threading, wandb
ran = []
def train():
    with wandb.init() as run: ran.append(run.config.x)
id = wandb.sweep({"method": "grid", "parameters": {"x": {"values": [5, 6]}}})
agents = [threading.Thread(target=wandb.agent, args=(id,), kwargs={"function": train, "count": 1}) for _ in range(2)]
for a in agents: a.start()
for a in agents: a.join()
assert sorted(ran) == [5, 6], ran
`,
		"launch.py": `
import subprocess, sys, wandb
id = wandb.sweep({"program": "train.py", "parameters": {"x": {"values": [7, 8]}}})
subprocess.run(["wandb", "agent", "--count", "1", f"{wandb.Api().default_entity}/test/{id}"], check=True)
subprocess.run([sys.executable, "-m", "wandb", "agent", id], check=True)
`,
		"train.py":   "import wandb\nwandb.init(); wandb.log({'loss': wandb.config.x})\n",
		"sweep.yaml": "program: train.py\nparameters:\n  x: {values: [9, 10]}  # a comment, which JSON has not\n",
	})
	line := func(want string, args ...string) (stdout string) {
		stdout, stderr, code := output(t, home, append([]string{"exec"}, args...)...)
		if code != 0 || strings.Contains(stderr, "Traceback") || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%q: exit code %d: %s%s", args, code, stdout, stderr)
		}
		return stdout + stderr
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	line("2 completed", "python", in("processes.py"))
	line("1 completed", "python", in("threads.py"))
	line("2 completed", "sh", "-c", "cd "+dir+" && exec python launch.py")
	_, path, _ := strings.Cut(line("sweep with ID: ", "wandb", "sweep", "--project", "p", in("sweep.yaml")), "wandb agent ")
	line("2 completed", "sh", "-c", "cd "+dir+" && exec wandb agent "+path)
	if _, stderr, code := output(t, home, "exec", "wandb", "sweep", in("none.yaml")); code != 1 || !strings.Contains(stderr, "there is no file") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	stdout, _, _ := output(t, home, "sql", "SELECT group_concat(DISTINCT x) AS x FROM (SELECT parameters->>'x' AS x FROM results "+
		"WHERE state = 'completed' ORDER BY CAST(parameters->>'x' AS integer))")
	if !strings.Contains(stdout, "1,2,3,4,5,6,7,8,9,10") {
		t.Errorf("points %s", stdout)
	}
}

// On a cluster programs run where a worker sees them as they were submitted.
func TestProgramsOnACluster(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	files := map[string]string{
		"train.sh": "echo \"{\\\"y\\\": 1}\" >> $SWEEP_EVENTS\n",
		"sweep.yaml": "name: programs\nprogram: train.sh\ncommand: [sh, \"${program}\", \"${args}\"]\nfiles: " +
			"requirements.txt\nparameters: {x: {min: 1, max: 6}}\n",
		"requirements.txt": "a\n",
	}
	own := folder(t, files)
	files["requirements.txt"] = "b\n"
	stale := folder(t, files)
	files["requirements.txt"] = "a\n"
	same := folder(t, files)
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("plain", "worker", "--name", "plain", "--slots", "1")
	file := filepath.Join(own, "sweep.yaml")
	id := c.submit(file)
	await(t, "waiting", func() bool {
		stdout, _, _ := c.output("status", id)
		return strings.Contains(stdout, "no worker offers trainer script")
	})
	c.start("stale", "worker", "--name", "stale", "--slots", "1", "--script-dir", stale)
	await(t, "refused", func() bool {
		stdout, _, _ := c.output("status", id)
		return strings.Contains(stdout, "no worker has the program train.sh as it was submitted")
	})
	c.start("good", "worker", "--name", "good", "--slots", "1", "--script-dir", stale+","+same)
	await(t, "the trials", func() bool { p := c.progress(id); return p.Completed == 6 })
	stdout, stderr, code := c.output("sql", "SELECT DISTINCT worker FROM results", "--format", "csv")
	if code != 0 || !strings.Contains(stdout, "good") || strings.Contains(stdout, "stale") {
		t.Errorf("workers: %s%s", stdout, stderr)
	}
}

// Trials with directories of their own read what they have written; in a shared one the sweep says that they may not
// have, and such results are not reused.
func TestOwnDirectories(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"train.py": `
import json, os, time
p = json.load(open(os.environ["SWEEP_PARAMETERS"]))
open("best.pth", "w").write(str(p["lr"]))
open(os.path.join(os.environ["MEETING"], str(p["lr"])), "w").close()
while len(os.listdir(os.environ["MEETING"])) < 2: time.sleep(0.01)
open(os.environ["SWEEP_EVENTS"], "a").write(json.dumps({"loss": abs(int(open("best.pth").read()) - p["lr"])}) + "\n")
`,
		"sweep.yaml": `
program: train.py
directory: own
command: [` + python(t) + `, "${program}"]
metric: {name: loss, goal: minimize}
parameters: {lr: {values: [1, 2]}}
`,
		"data.bin": "x",
	})
	path := filepath.Join(dir, "sweep.yaml")
	t.Setenv("MEETING", t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := output(t, home, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d: %s%s", args, code, stdout, stderr)
		}
		return stdout + stderr
	}
	const listing = "each trial in a directory of its own: 3 files ("
	if got := run("expand", path); !strings.Contains(got, listing) {
		t.Errorf("expand lacks %q: %s", listing, got)
	}
	if got := run("run", path, "--slots", "2"); !strings.Contains(got, listing) || strings.Contains(got, "while both ran") ||
		!strings.Contains(got, "best loss 0: trial 0, lr 1 (ties: 1)") && !strings.Contains(got, "trial 1, lr 2 (ties: 1)") {
		t.Errorf("with own directories: %s", got)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "script", "directories")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Lstat(filepath.Join(dir, "best.pth")); err == nil {
		t.Error("a trial has written into the project's directory")
	}
	write(t, dir, "sweep.yaml", strings.Replace(readText(t, path), "directory: own", "directory: shared", 1))
	if got := run("run", path, "--slots", "2"); !strings.Contains(got, "2 reused") {
		t.Errorf("results of own directories: %s", got)
	}
	t.Setenv("MEETING", t.TempDir())
	const noticed = "1 of the trials: trials 0 and 1 wrote best.pth in the same directory while both ran: write to " +
		"$SWEEP_ARTIFACTS or set directory: own"
	if got := run("run", path, "--slots", "2", "--reuse=false"); !strings.Contains(got, noticed) {
		t.Errorf("the shared directory: %q is missing: %s", noticed, got)
	}
	if got := run("trial", "show", "latest", "1"); !strings.Contains(got, "best.pth") || !strings.Contains(got, "changed") {
		t.Errorf("the inputs: %s", got)
	}
	for name, want := range map[string]string{"none": "must be own or shared, not \"none\"", "[own]": "must be text"} {
		write(t, dir, "bad.yaml", strings.Replace(readText(t, path), "directory: shared", "directory: "+name, 1))
		if _, stderr, code := output(t, home, "expand", filepath.Join(dir, "bad.yaml")); code != exitUsage ||
			!strings.Contains(stderr, "bad.yaml:3:12: directory: "+want) {
			t.Errorf("directory: %s: exit code %d: %s", name, code, stderr)
		}
	}
	write(t, dir, "bad.yaml", "trainer: noop\ndirectory: own\nparameters: {x: {values: [1]}}\n")
	if _, stderr, code := output(t, home, "expand", filepath.Join(dir, "bad.yaml")); code != exitUsage ||
		!strings.Contains(stderr, "goes with program") {
		t.Errorf("without a program: exit code %d: %s", code, stderr)
	}
	write(t, dir, "tune.py", `
import wandb
try: wandb.agent(wandb.sweep({"directory": "own", "parameters": {"x": {"values": [1]}}}), function=print)
except wandb.UsageError as e: print("REFUSED", e)
`)
	if got := run("exec", python(t), filepath.Join(dir, "tune.py")); !strings.Contains(got, "REFUSED directory: own needs") {
		t.Errorf("a function: %s", got)
	}
}

// readText reads a file.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
