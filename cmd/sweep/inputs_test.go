package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A result is reused while what its program has read is unchanged, whoever named it in the sweep file.
func TestResultsBelongToTheirInputs(t *testing.T) {
	t.Parallel()
	const report = "open(os.environ['SWEEP_EVENTS'], 'a').write('{\"loss\": %s}\\n' % loss)\n"
	for name, test := range map[string]struct {
		files map[string]string
		// changed is the file that is edited to text, and named in the note.
		changed, text, named string
		parameters           string
	}{
		"module": {files: map[string]string{"train.py": "import os\nfrom lib.model import loss\n" + report,
			"lib/__init__.py": "", "lib/model.py": "loss = 1\n"}, changed: "lib/model.py", text: "loss = 100\n"},
		"YAML that a parameter names": {files: map[string]string{
			"train.py": "import os, sys\nloss = open(sys.argv[1].partition('=')[2]).read()\n" + report, "conf.yaml": "1"},
			changed: "conf.yaml", text: "2", parameters: "config: {value: conf.yaml}"},
		"data": {files: map[string]string{"train.py": "import os\nloss = os.read(os.open('data/x.csv', 0), 9).decode()\n" +
			report, "data/x.csv": "1"}, changed: "data/x.csv", text: "3"},
		"opened to append": {files: map[string]string{"train.py": "import os\nwith open('state.txt', 'a+') as f:\n" +
			"    f.seek(0); loss = f.read()\n" + report, "state.txt": "1"}, changed: "state.txt", text: "2"},
		"absent": {files: map[string]string{"train.py": "import os\ntry: loss = open('local.txt').read()\n" +
			"except OSError: loss = 1\n" + report}, changed: "local.txt", text: "3"},
		"subprocess": {files: map[string]string{
			"train.py": "import subprocess, sys\nsubprocess.run([sys.executable, 'part.py'], check=True)\n",
			"part.py":  "import os\nfrom model import loss\n" + report, "model.py": "loss = 1\n"},
			changed: "model.py", text: "loss = 22\n"},
		"os._exit": {files: map[string]string{"train.py": "import os\nfrom model import loss\n" + report + "os._exit(0)\n",
			"model.py": "loss = 1\n"}, changed: "model.py", text: "loss = 22\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			dir := folder(t, test.files)
			if test.parameters == "" {
				test.parameters = "x: {value: 1}"
			}
			write(t, dir, "s.yaml", "program: train.py\ncommand: ["+python(t)+", '${program}', '${args}']\n"+
				"metric: {name: loss, goal: minimize}\nparameters: {"+test.parameters+"}\n")
			run := func(wanted, unwanted string) {
				t.Helper()
				_, stderr, code := output(t, home, "run", filepath.Join(dir, "s.yaml"))
				if code != 0 || !strings.Contains(stderr, wanted) || strings.Contains(stderr, unwanted) {
					t.Errorf("exit code %d, want %q and not %q: %s", code, wanted, unwanted, stderr)
				}
			}
			run("(0 reused", "not reused")
			run("(1 reused", "not reused")
			before, err := os.ReadFile(filepath.Join(dir, test.changed))
			write(t, dir, test.changed, test.text)
			if stdout, stderr, code := output(t, home, "expand", filepath.Join(dir, "s.yaml")); code != 0 ||
				!strings.Contains(stdout, test.changed) || !strings.Contains(stdout, "  changed") {
				t.Errorf("expand: exit code %d: %s%s", code, stdout, stderr)
			}
			run("1 earlier result of this program is not reused: made with another "+test.changed, "(1 reused")
			run("(1 reused", "not reused")
			if err == nil {
				write(t, dir, test.changed, string(before))
			} else if err := os.Remove(filepath.Join(dir, test.changed)); err != nil {
				t.Fatal(err)
			}
			run("(1 reused", "changed since they were made")
			if stdout, _, _ := output(t, home, "trial", "show", "latest", "0"); !strings.Contains(stdout, test.changed) {
				t.Errorf("trial show: %s", stdout)
			}
			if stdout, _, _ := output(t, home, "trial", "show", "latest", "0", "--json"); !strings.Contains(stdout,
				`"name": "`+test.changed+`"`) {
				t.Errorf("trial show: %s", stdout)
			}
		})
	}
}

// A variable that the program looks up is an input; a file that it writes itself is none; what is not recorded is
// reused with a warning.
func TestInputsOfTheEnvironment(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{"train.py": `
import os
open("out.txt", "w").write(str(os.getpid())); open("out.txt").read()
open(os.environ["SWEEP_EVENTS"], "a").write('{"loss": %s}\n' % os.environ.get("LOSS", "1"))
`, "isolated.py": "import os\nopen(os.environ['SWEEP_EVENTS'], 'a').write('{\"loss\": 1}\\n')\n"})
	file := func(name, flag string) string {
		write(t, dir, name+".yaml", "program: "+name+".py\ncommand: ["+python(t)+", "+flag+"'${program}']\n"+
			"parameters: {x: {value: 1}}\n")
		return filepath.Join(dir, name+".yaml")
	}
	run := func(file, wanted string) {
		t.Helper()
		if _, stderr, code := output(t, home, "run", file); code != 0 || !strings.Contains(stderr, wanted) {
			t.Errorf("exit code %d, want %q: %s", code, wanted, stderr)
		}
	}
	train := file("train", "")
	run(train, "(0 reused")
	run(train, "(1 reused")
	t.Setenv("LOSS", "3")
	run(train, "made with another variable LOSS")
	run(train, "(1 reused")
	isolated := file("isolated", "-I, ")
	run(isolated, "(0 reused")
	write(t, dir, "helper.py", "")
	run(isolated, "results are reused, and helper.py changed since they were made")
	if stdout, _, _ := output(t, home, "trial", "show", "latest", "0"); !strings.Contains(stdout,
		"not recorded: what the program reads") {
		t.Errorf("trial show: %s", stdout)
	}
}

// The functions of an agent in Python have read what their process has.
func TestInputsOfAnAgent(t *testing.T) {
	pythonFirst(t)
	home := t.TempDir()
	dir := folder(t, map[string]string{"model.py": "loss = 1\n", "tune.py": `
import wandb
from model import loss
def train():
    wandb.init(); wandb.log({"loss": loss + float(open("late.txt").read())})
wandb.agent(wandb.sweep({"method": "grid", "parameters": {"x": {"values": [1, 2]}}}), function=train)
`, "late.txt": "1"})
	t.Chdir(dir)
	run := func(wanted string) {
		t.Helper()
		if _, stderr, code := output(t, home, "exec", "python", "tune.py"); code != 0 || !strings.Contains(stderr, wanted) {
			t.Errorf("exit code %d, want %q: %s", code, wanted, stderr)
		}
	}
	run("(0 reused")
	run("(2 reused")
	write(t, dir, "model.py", "loss = 22\n")
	run("made with another model.py")
	write(t, dir, "late.txt", "33")
	run("late.txt")
	run("(2 reused")
}

// An unfinished sweep is not resumed with another program: its results would be of two.
func TestUnfinishedSweepOfAChangedProgram(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{"model.py": "loss = 1\n", "train.py": `
import os, sys, time
from model import loss
if sys.argv[1] == "--x=2":
    open("begun", "w").close()
    while not os.path.exists("go"): time.sleep(0.02)
open(os.environ["SWEEP_EVENTS"], "a").write('{"loss": %s}\n' % loss)
`})
	write(t, dir, "s.yaml", "program: train.py\ncommand: ["+python(t)+", '${program}', '${args}']\n"+
		"parameters: {x: {values: [1, 2, 3]}}\n")
	run := []string{"run", filepath.Join(dir, "s.yaml"), "--slots", "1"}
	interrupted := func() string {
		t.Helper()
		cmd := program(t, home, run...)
		var errs bytes.Buffer
		cmd.Stderr = guarded(t, &errs, func() { _ = cmd.Process.Kill() })
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the second trial", func() bool {
			_, err := os.Stat(filepath.Join(dir, "begun"))
			return err == nil
		})
		_ = cmd.Process.Signal(os.Interrupt)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
			t.Fatalf("exit code %d: %s", cmd.ProcessState.ExitCode(), &errs)
		}
		if err := os.Remove(filepath.Join(dir, "begun")); err != nil {
			t.Fatal(err)
		}
		return errs.String()
	}
	interrupted()
	if said := interrupted(); !strings.Contains(said, "resuming sweep") {
		t.Errorf("the same program: %s", said)
	}
	write(t, dir, "model.py", "loss = 22\n")
	write(t, dir, "go", "")
	_, stderr, code := output(t, home, run...)
	if code != 0 || !strings.Contains(stderr, "is not resumed: its inputs changed since its trials ran (model.py)") ||
		!strings.Contains(stderr, "3 completed (0 reused") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A retry names what has changed since, and running the file again trains with it.
func TestRetryOfAChangedModule(t *testing.T) {
	home := t.TempDir()
	dir := folder(t, map[string]string{"model.py": "raise ValueError('bug')\n", "train.py": "import model\n"})
	write(t, dir, "s.yaml", "program: train.py\ncommand: ["+python(t)+", '${program}', '${args}']\n"+
		"parameters: {x: {value: 1}}\n")
	if _, stderr, code := output(t, home, "run", filepath.Join(dir, "s.yaml")); code != 3 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	write(t, dir, "model.py", "")
	if _, stderr, code := output(t, home, "retry", "latest"); code != 0 || !strings.Contains(stderr,
		"note: model.py changed since: run the file of sweep ") {
		t.Errorf("retry: exit code %d: %s", code, stderr)
	}
	if _, stderr, code := output(t, home, "run", filepath.Join(dir, "s.yaml")); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// On a cluster the submitter's files decide, and a worker's copy of them is the same.
func TestInputsOnACluster(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	files := map[string]string{"model.py": "loss = 1\n",
		"train.py": "import os\nfrom model import loss\nos.environ.get('LOSS')\n" +
			"open(os.environ['SWEEP_EVENTS'], 'a').write('{\"loss\": %s}\\n' % loss)\n",
		"sweep.yaml": "name: inputs\nprogram: train.py\ncommand: [" + python(t) + ", '${program}']\n" +
			"parameters: {x: {values: [1, 2]}}\n"}
	own, theirs := folder(t, files), folder(t, files)
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("worker", "worker", "--name", "worker", "--slots", "1", "--script-dir", theirs)
	submit := func(key string, reused int64, note bool) {
		t.Helper()
		if c.results == nil {
			c.submit(filepath.Join(own, "sweep.yaml"), "--key", "first")
		}
		stdout, stderr, code := c.output("submit", filepath.Join(own, "sweep.yaml"), "--key", key)
		if code != 0 || strings.Contains(stderr, "not reused: made with another model.py") != note {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		id := strings.TrimSpace(stdout)
		await(t, "the trials", func() bool { p := c.progress(id); return p.Completed == 2 })
		if p := c.progress(id); p.Reused != reused {
			t.Errorf("%d results are reused, want %d", p.Reused, reused)
		}
	}
	submit("first", 0, false)
	submit("second", 2, false)
	write(t, own, "model.py", "loss = 2\n")
	write(t, theirs, "model.py", "loss = 2\n")
	submit("third", 0, true)
	submit("fourth", 2, false)
}
