package script

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// read runs a trial and returns its inputs as "kind name", "!" behind those that are absent and "?" behind those that
// changed.
func (r *rig) read(parameters sweep.Parameters) (names []string, in *sweep.Inputs) {
	r.t.Helper()
	result, err := r.train(parameters)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &r.log)
	}
	if in = result.Inputs; in == nil {
		r.t.Fatal("the result has no list of inputs")
	}
	for _, row := range in.Rows {
		name := row.Kind + " " + row.Name
		switch row.Digest {
		case sweep.AbsentInput:
			name += "!"
		case sweep.ChangedInput:
			name += "?"
		}
		names = append(names, name)
	}
	return names, in
}

// What a Python program reads is recorded, whatever it does afterwards, and what it makes itself is not.
func TestInputs(t *testing.T) {
	t.Setenv("LR", "0.1")
	for name, test := range map[string]struct {
		program    string
		files      map[string]string
		parameters sweep.Parameters
		want       []string
		unrecorded string
	}{
		"modules": {program: "import model, pack.part\n", files: map[string]string{"model.py": "import deep", "deep.py": "",
			"pack/__init__.py": "", "pack/part.py": "", "other.py": ""},
			want: []string{"file deep.py", "file model.py", "file pack/__init__.py", "file pack/part.py"}},
		"files": {program: `
import os, pathlib
open("a.yaml").read(); pathlib.Path("data/b.csv").read_text(); os.read(os.open("c.bin", os.O_RDONLY), 1)
try: open("override.yaml")
except OSError: pass
`, files: map[string]string{"a.yaml": "1", "data/b.csv": "2", "c.bin": "3"},
			want: []string{"file a.yaml", "file c.bin", "file data/b.csv", "file override.yaml!"}},
		"variables": {program: `
import os, argparse, tempfile
os.environ["LR"]; os.getenv("MISSING"); "ASKED" in os.environ; os.path.expandvars("$EXPANDED/x"); os.environ.get("API_KEY")
dict(os.environ); {**os.environ}; os.environ.copy(); list(os.environ.items())
for name in os.environ:
    if name == "PATH": os.environ[name]
argparse.ArgumentParser().parse_known_args(); tempfile.gettempdir()
os.environ["SWEEP_ID"]; os.environ.get("TERM")
`, want: []string{"variable ASKED!", "variable EXPANDED!", "variable LR", "variable MISSING!"}},
		"own": {program: `
import os, json
open("made.json", "w").write("1"); open("made.json").read()
open("part.tmp", "w").write("1"); os.replace("part.tmp", "whole"); open("whole").read()
try: open("cache.json")
except OSError: open("cache.json", "w").write("1")
open("cache.json").read()
open("log.txt", "a").write("1"); open("log.txt", "w"); open("log.txt").read()
open("more.txt", "a").write("1"); open("more.txt", "a").write("2")
`, files: map[string]string{"log.txt": "old", "more.txt": "old"}, want: []string{"rewritten cache.json!"}},
		"appended": {program: `
import os
with open("state.txt", "a+") as f: f.seek(0); f.read()
open("log.txt", "a").write("1"); open("log.txt").read(); open("log.txt", "w")
open("new.txt", "a").write("1"); open("new.txt").read()
os.close(os.open("opened.txt", os.O_RDWR | os.O_APPEND))
`, files: map[string]string{"state.txt": "1", "log.txt": "old", "opened.txt": ""},
			want: []string{"rewritten log.txt", "rewritten new.txt!", "rewritten opened.txt", "rewritten state.txt"}},
		"rewritten": {program: `
text = open("count.txt").read()
open("count.txt", "w").write(text + "1")
`, files: map[string]string{"count.txt": "1"}, want: []string{"rewritten count.txt"}},
		"by what is not Python": {program: `
import subprocess
subprocess.run(["sh", "-c", "echo 1 > best.bin"]); open("best.bin").read()
`},
		"parameter": {program: "", files: map[string]string{"conf.h5": "1"}, parameters: sweep.Parameters{"c": "conf.h5"},
			want: []string{"file conf.h5"}},
		"parameter for output": {program: "import subprocess; subprocess.run(['cp', 'new', 'out.h5'])\n",
			files: map[string]string{"out.h5": "1", "new": "22"}, parameters: sweep.Parameters{"out": "out.h5"},
			want: []string{"file new"}},
		"os._exit": {program: "import model, os; os._exit(0)\n", files: map[string]string{"model.py": ""},
			want: []string{"file model.py"}},
		"subprocess": {program: `
import subprocess, sys
subprocess.run([sys.executable, "part.py", "x.txt"], check=True)
`, files: map[string]string{"part.py": "import model; open('y.txt').read()", "model.py": "", "x.txt": "", "y.txt": ""},
			want: []string{"file model.py", "file part.py", "file x.txt", "file y.txt"}},
		"fork and spawn": {program: `
import multiprocessing, os
def work(): import model; open("x.txt").read()
if __name__ == "__main__":
    for how in ("fork", "spawn"):
        p = multiprocessing.get_context(how).Process(target=work); p.start(); p.join()
`, files: map[string]string{"model.py": "", "x.txt": ""}, want: []string{"file model.py", "file x.txt"}},
		"isolated subprocess": {program: `
import subprocess, sys
subprocess.run([sys.executable, "-I", "part.py"], check=True)
`, files: map[string]string{"part.py": ""}, want: []string{"file part.py"},
			unrecorded: "what a process reads that the program starts"},
		"shell script": {program: "import subprocess; subprocess.run(['sh', './part.sh'])\n",
			files: map[string]string{"part.sh": "cat x.txt", "x.txt": ""}, want: []string{"file part.sh"},
			unrecorded: "what part.sh reads"},
		"tools": {program: "import subprocess; subprocess.run(['sh', '-c', 'uname'])\n"},
		"descriptors are closed": {program: `
import os
os.closerange(3, 64)
f = open("kept.txt", "w")
import model
f.write("1"); f.close()
assert open("kept.txt").read() == "1"
`, files: map[string]string{"model.py": ""}, want: []string{"file model.py"}},
		"other folders": {program: "import os; os.chdir('sub'); open('x.txt').read(); open('../y.txt').read()\n",
			files: map[string]string{"sub/x.txt": "", "y.txt": ""}, want: []string{"file sub/x.txt", "file y.txt"}},
		"odd names": {program: "open('a\\nb').read(); open('ü \\\\n.txt').read()\n",
			files: map[string]string{"a\nb": "", "ü \\n.txt": ""}, want: []string{`file ü \n.txt`},
			unrecorded: "1 further file"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPython(t, test.program)
			for name, text := range test.files {
				r.write(name, text)
			}
			names, in := r.read(test.parameters)
			names = slices.DeleteFunc(names, func(name string) bool { return name == "file train.py" })
			for i := range names { // whether it was digested before it was written, depends on the time
				if strings.HasPrefix(names[i], "rewritten ") {
					names[i] = strings.TrimSuffix(names[i], "?")
				}
			}
			if !slices.Equal(names, test.want) || in.Unrecorded != test.unrecorded {
				t.Errorf("inputs %q, %q; want %q, %q\n%s", names, in.Unrecorded, test.want, test.unrecorded, &r.log)
			}
		})
	}
}

// A trial whose program is killed has no result; what it has read until then is recorded all the same.
func TestInputsOfKilledProgram(t *testing.T) {
	r := newPython(t, `
import subprocess, sys
subprocess.run([sys.executable, "-c", "import os, signal, model; os.kill(os.getpid(), signal.SIGKILL)"])
`)
	r.write("model.py", "")
	if names, in := r.read(nil); !slices.Contains(names, "file model.py") || in.Unrecorded != "" {
		t.Errorf("%q, %q", names, in.Unrecorded)
	}
}

// Programs whose start-up modules do not load, or that are not Python, say that they are not recorded.
func TestInputsNotRecorded(t *testing.T) {
	for _, flag := range []string{"-S", "-I", "-E"} {
		r := newPython(t, "open('x.txt')\n")
		r.script.Command = slices.Insert(r.script.Command, 1, flag)
		r.write("x.txt", "")
		if names, in := r.read(nil); len(names) > 0 || in.Unrecorded != "what the program reads" {
			t.Errorf("%s: %q, %q", flag, names, in.Unrecorded)
		}
	}
	r := newRig(t, "cat x.txt; python3 part.py; python3 -c 'import model'")
	r.write("x.txt", "")
	r.write("model.py", "")
	r.write("part.py", "")
	names, in := r.read(sweep.Parameters{"config": "x.txt"})
	if want := []string{"file model.py", "file part.py", "file x.txt"}; !slices.Equal(names, want) ||
		in.Unrecorded != "what the program reads" {
		t.Errorf("%q, %q", names, in.Unrecorded)
	}
}

// The user's own start-up module runs, once and as the module of its name, with its errors.
func TestOwnStartUpModule(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, "sitecustomize.py")
	write := func(text string) {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PYTHONPATH", folder)
	write("import sys\nsys.mine = getattr(sys, 'mine', 0) + 1\nhere = __name__\n")
	r := newPython(t, `
import sys, sitecustomize, model
assert sys.mine == 1, sys.mine
assert sitecustomize.here == "sitecustomize" and sitecustomize.__file__ == sys.argv[1], sitecustomize.__file__
`)
	r.script.Command[2] = own
	r.write("model.py", "")
	if names, in := r.read(nil); !slices.Contains(names, "file model.py") || in.Unrecorded != "" {
		t.Errorf("%q, %q\n%s", names, in.Unrecorded, &r.log)
	}
	write("raise ValueError('mine')\n")
	r = newPython(t, "import model\n")
	r.write("model.py", "")
	if names, _ := r.read(nil); !slices.Contains(names, "file model.py") || !strings.Contains(r.log.String(), "mine") {
		t.Errorf("%q\n%s", names, &r.log)
	}
}

// In a trial of an agent there are two of the program's start-up modules, the trial's and the agent's: each runs once,
// and so does the user's own.
func TestStartUpModuleInAgent(t *testing.T) {
	agent, own := t.TempDir(), t.TempDir()
	for _, name := range []string{"sitecustomize.py", "_sweep_inputs.py"} {
		text, err := os.ReadFile(filepath.Join("python", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(agent, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := "import sys\nsys.mine = getattr(sys, 'mine', 0) + 1\n"
	if err := os.WriteFile(filepath.Join(own, "sitecustomize.py"), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", agent+":"+own)
	r := newPython(t, `
import sys, model, _sweep_inputs
assert sys.mine == 1, sys.mine
assert len(_sweep_inputs._State.folders) == 2, _sweep_inputs._State.folders
`)
	r.write("model.py", "")
	if in := r.complete(nil).Inputs; in == nil || in.Unrecorded != "" || !slices.ContainsFunc(in.Rows,
		func(row sweep.Input) bool { return row.Name == "model.py" }) {
		t.Errorf("%+v\n%s", in, &r.log)
	}
}

// A file that changes after it was read has no digest that holds; links, and other ways to a file, are one.
func TestInputsThatChange(t *testing.T) {
	r := newPython(t, `
import os
open("x.txt").read()
os.system("echo changed > x.txt")
open(os.path.join(os.path.dirname(os.path.realpath("linked.txt")), "far.txt")).read()
open("linked.txt").read()
`)
	far := t.TempDir()
	r.write("x.txt", "1")
	for _, name := range []string{"far.txt", "linked.txt"} {
		if err := os.WriteFile(filepath.Join(far, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(far, "linked.txt"), filepath.Join(r.dir, "linked.txt")); err != nil {
		t.Fatal(err)
	}
	names, in := r.read(nil)
	if !slices.Equal(names, []string{"file linked.txt", "file train.py", "file x.txt?"}) {
		t.Errorf("%q, %q", names, in.Unrecorded)
	}
	c := NewChecker(r.dir, nil)
	if changed := c.Changed(in); len(changed) != 1 || changed[0].Name != "x.txt" {
		t.Errorf("%+v", changed)
	}
}

// A checker finds what has changed since.
func TestChecker(t *testing.T) {
	t.Setenv("LR", "1")
	r := newPython(t, `
import os, model
os.environ["LR"]; os.environ.get("MISSING")
try: open("absent.txt")
except OSError: pass
`)
	r.write("model.py", "x = 1")
	_, in := r.read(nil)
	check := func(want ...string) {
		t.Helper()
		var names []string
		for _, row := range NewChecker(r.dir, os.LookupEnv).Changed(in) {
			names = append(names, row.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("changed %q, want %q", names, want)
		}
	}
	check()
	r.write("model.py", "x = 2")
	check("model.py")
	r.write("model.py", "x = 1")
	check()
	r.write("absent.txt", "")
	check("absent.txt")
	t.Setenv("LR", "2")
	t.Setenv("MISSING", "")
	check("absent.txt", "LR", "MISSING")
	if changed := NewChecker(r.dir, nil).Changed(in); len(changed) != 1 {
		t.Errorf("without variables %+v", changed)
	}
	if err := os.Remove(filepath.Join(r.dir, "model.py")); err != nil {
		t.Fatal(err)
	}
	check("absent.txt", "model.py", "LR", "MISSING")
}

// A checkpoint belongs to the sources that its program had read; with others the trial starts over.
func TestCheckpointOfAnotherProgram(t *testing.T) {
	r := newPython(t, `
import os, sys, model
path = os.environ["SWEEP_CHECKPOINT_DIR"] + "/state"
step = int(open(path).read()) if os.path.exists(path) else 0
open("data.txt").read()
open(os.environ["SWEEP_EVENTS"], "a").write('{"step": %d, "begun": %d}\n' % (step + 1, step))
open(path, "w").write(str(step + 1))
if step < 1 or os.path.exists("again"): os._exit(75)
`)
	r.write("model.py", "x = 1")
	r.write("data.txt", "1")
	if _, err := r.train(nil); err == nil {
		t.Fatal("the program did not ask for another execution")
	}
	r.write("data.txt", "2") // no source
	r.write("again", "")
	if _, err := r.train(nil); err == nil || strings.Contains(r.log.String(), "starts over") {
		t.Fatalf("%v\n%s", err, &r.log)
	}
	if err := os.Remove(filepath.Join(r.dir, "again")); err != nil {
		t.Fatal(err)
	}
	r.write("model.py", "x = 22")
	if _, err := r.train(nil); err == nil {
		t.Error("the trial did not start over")
	}
	if !strings.Contains(r.log.String(), "the trial starts over: its checkpoint is of another model.py") {
		t.Errorf("%s", &r.log)
	}
	result := r.complete(nil)
	if result.Summary["begun"] != 1 {
		t.Errorf("%v", result.Summary)
	}
	left, err := filepath.Glob(r.options.Checkpoints + "/*")
	if err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// What an execution has read belongs to the result of the one that resumes from its checkpoint, and what has changed
// in between is not known.
func TestInputsOfAResumedTrial(t *testing.T) {
	r := newPython(t, `
import os
path = os.environ["SWEEP_CHECKPOINT_DIR"] + "/state"
open("data.csv").read()
if not os.path.exists(path):
    open("init.yaml").read()
    open(path, "w").write("1")
    os._exit(75)
`)
	r.write("init.yaml", "x: 1")
	r.write("data.csv", "1")
	if _, err := r.train(nil); err == nil {
		t.Fatal("the program did not ask for another execution")
	}
	r.write("data.csv", "2")
	digests := map[string]string{}
	for _, row := range r.complete(nil).Inputs.Rows {
		digests[row.Name] = row.Digest
	}
	if digests["data.csv"] != sweep.ChangedInput || digests["init.yaml"] == "" || len(digests) != 3 { // and the program
		t.Errorf("inputs %v", digests)
	}
}
