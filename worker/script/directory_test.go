package script

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/worker/trainer/trainertest"
)

// git runs git in the rig's folder.
func (r *rig) git(args ...string) {
	r.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		r.t.Skip("left out: there is no git")
	}
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// left are the directories that trials had of their own and that are still there.
func (r *rig) left() []string {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(r.options.Checkpoints), "directories", "*"))
	return found
}

// link makes a symbolic link in the rig's folder.
func (r *rig) link(target, name string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// look is a program that says what is in its directory, and changes it.
const look = `
ls -RA | grep -v '^total' | tr '\n' ' '; echo
for f in lib/a.txt untracked.txt big.bin old.pth data/x data/deep/y inner out abs empty; do
	if [ -L $f ]; then echo "$f is a link to $(cat $f)"; elif [ -d $f ]; then echo "$f is a folder"
	elif [ -e $f ]; then echo "$f is a file: $(cat $f)"; else echo "$f is missing"; fi
done
[ -x program.sh ] && echo executable
cat ../beside.txt
echo new > lib/a.txt; echo new > made.txt; echo new > data/made; echo new > empty/made
chmod 500 empty
`

// A trial's own directory has what the project's has, and the trial changes nothing there.
func TestOwnDirectory(t *testing.T) {
	r := newRig(t, look)
	top := r.dir
	r.write(".gitignore", "data/\n*.pth\nhome/\n")
	r.write("beside.txt", "beside the directory")
	r.dir = filepath.Join(top, "exp")
	r.script.Directory, r.script.Own = r.dir, true
	for name, text := range map[string]string{"program.sh": look, "lib/a.txt": "a", "untracked.txt": "u",
		"big.bin": strings.Repeat("b", 3000), "old.pth": "p", "data/x": "x", "data/deep/y": "y"} {
		r.write(name, text)
	}
	if err := os.Chmod(filepath.Join(r.dir, "program.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.link("lib/a.txt", "inner")
	r.link("../../"+filepath.Base(top)+"/beside.txt", "out")
	r.link(filepath.Join(r.dir, "lib", "a.txt"), "abs")
	exp := r.dir
	r.dir = top
	r.git("init", "-q")
	r.git("add", "exp/lib", "exp/program.sh")
	r.dir = exp
	r.options.maxCopied = 2500
	r.options.Checkpoints = filepath.Join(r.dir, "home", "script", "checkpoints") // it is left out
	result := r.complete(sweep.Parameters{"lr": int64(1)})
	for _, want := range []string{
		"lib/a.txt is a file: a\n", "untracked.txt is a file: u\n", "old.pth is a link to p\n", "data/x is a link to x\n",
		"data/deep/y is a file: y\n", "inner is a link to a\n", "out is a link to beside the directory\n",
		"abs is a link to a\n", "empty is a folder\n", "executable\n", "beside the directory\n", "is a link to bbb",
		"with links to the project's files for what git ignores or is over 50 MiB in all: big.bin, data/, old.pth\n",
	} {
		if !strings.Contains(result.Stderr, want) {
			t.Errorf("the log lacks %q:\n%s", want, result.Stderr)
		}
	}
	if strings.Contains(result.Stderr, "home") || result.Error != "" {
		t.Errorf("%s\n%s", result.Error, result.Stderr)
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "lib", "a.txt")); string(text) != "a" {
		t.Errorf("the project's file is %q, %v", text, err)
	}
	for _, name := range []string{"made.txt", "data/made", "empty/made"} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			t.Errorf("the project has %s", name)
		}
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	listing, err := Listing(t.Context(), &r.script, filepath.Join(r.dir, "home"))
	if want := "4 files (3.6 KiB) copied; links to the project's files for what git ignores or is over 50 MiB in all: " +
		"data/, old.pth"; !strings.HasSuffix(listing, "data/, old.pth") || err != nil {
		t.Errorf("%q, %v; want %q", listing, err, want)
	}
}

// Without a repository all files are copied, but for .git folders.
func TestOwnDirectoryWithoutRepository(t *testing.T) {
	r := newRig(t, "ls -A; ls -A sub; cat sub/a.pth\n")
	r.script.Own = true
	r.write("sub/a.pth", "weights")
	r.write("sub/.git/HEAD", "")
	result := r.complete(nil)
	if want := "program.sh\nsub\na.pth\nweights"; result.Stderr != want {
		t.Errorf("log %q, want %q", result.Stderr, want)
	}
	before, err := os.Stat(filepath.Join(r.dir, "sub", "a.pth"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(t.Context(), New(r.options).projectOf(r.dir, ""), nil, maxCopied)
	to := filepath.Join(t.TempDir(), "copy")
	if err == nil {
		err = l.make(t.Context(), to)
	}
	if err != nil {
		t.Fatal(err)
	}
	copied, err := os.Lstat(filepath.Join(to, "sub", "a.pth"))
	if err != nil || os.SameFile(before, copied) || !copied.ModTime().Equal(before.ModTime()) ||
		copied.Mode() != before.Mode() {
		t.Errorf("%v is copied to %v, %v", before, copied, err)
	}
}

// What a killed process left is removed by the next one, and nothing else.
func TestLeftDirectories(t *testing.T) {
	r := newRig(t, "ls ..; ls ../..\n")
	r.script.Own = true
	left := filepath.Join(filepath.Dir(r.options.Checkpoints), "directories", "s0-3-1")
	if err := os.MkdirAll(filepath.Join(left, "x"), 0o500); err != nil {
		t.Fatal(err)
	}
	running := left + "-running"
	if err := os.MkdirAll(running, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := lockFolder(running)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	r.complete(nil)
	if found := r.left(); !slices.Equal(found, []string{running}) {
		t.Errorf("left: %q", found)
	}
}

// A trial that is cancelled, or cannot start, leaves no directory.
func TestOwnDirectoryOfFailures(t *testing.T) {
	r := newRig(t, "exit 1\n")
	r.script.Own = true
	if result, err := r.train(nil); err != nil || result.State != sweep.Failed {
		t.Errorf("%v, %v", result, err)
	}
	r.script.Command = []string{"./none"}
	if _, err := r.train(nil); err == nil {
		t.Error("it has started")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := &execution{trainer: New(r.options), request: r.request(nil), directory: r.dir, scratch: t.TempDir()}
	if _, err := e.ownDirectory(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The error of a file that cannot be read names it and says what to do.
func TestOwnDirectoryUnreadable(t *testing.T) {
	const folder, name = "/proc/sys/vm", "drop_caches" // not even root may read it
	info, err := os.Stat(filepath.Join(folder, name))
	if err != nil {
		t.Skip("left out: ", err)
	}
	l := &layout{root: folder, directory: folder, folders: []string{"."}, files: []projectFile{{name, info}}}
	err = l.make(t.Context(), filepath.Join(t.TempDir(), "copy"))
	var data *sweep.DataError
	if !errors.As(err, &data) || !strings.Contains(err.Error(),
		"directory: own copies /proc/sys/vm, and drop_caches cannot be read: make it readable, or move it out of the project") {
		t.Errorf("%v", err)
	}
	if os.Geteuid() == 0 {
		return
	}
	r := newRig(t, "")
	r.script.Own = true
	r.write("secret.txt", "")
	if err := os.Chmod(filepath.Join(r.dir, "secret.txt"), 0); err != nil {
		t.Fatal(err)
	}
	_, trained := r.train(nil)
	_, listed := Listing(t.Context(), &r.script, "")
	for _, err := range []error{trained, listed} {
		if !errors.As(err, &data) || !strings.Contains(err.Error(), "secret.txt cannot be read") {
			t.Errorf("%v", err)
		}
	}
}

// The inputs of a trial are the same in a directory of its own.
func TestInputsOfOwnDirectory(t *testing.T) {
	r := newPython(t, `
import os, model, sys
open("conf.yaml").read(); open("data/x").read()
open("out.pth", "w").write("1"); open("out.pth").read()
try: open("missing.yaml")
except OSError: pass
`)
	for name, text := range map[string]string{"model.py": "", "conf.yaml": "1", "data/x": "x", "words.h5": "w",
		".gitignore": "data/\n"} {
		r.write(name, text)
	}
	r.git("init", "-q")
	parameters := sweep.Parameters{"words": "words.h5"}
	shared, _ := r.read(parameters)
	inputs := r.complete(parameters).Inputs
	r.script.Own = true
	own, list := r.read(parameters)
	if !slices.Equal(shared, own) || len(own) < 5 || !reflect.DeepEqual(inputs, list) {
		t.Errorf("inputs %q, in an own directory %q\n%s", shared, own, &r.log)
	}
	if changed := NewChecker(r.dir, nil).Changed(list); len(changed) > 0 {
		t.Errorf("changed: %v", changed)
	}
}

// together runs two trials of a program at the same time.
func (r *rig) together() (results []*sweep.Result) {
	r.t.Helper()
	type answer struct {
		*sweep.Result
		error
	}
	answers := make(chan answer, 2)
	for i := range 2 {
		request, options := r.request(sweep.Parameters{"i": int64(i)}), r.options
		request.Index, request.Fingerprint, options.Log = int64(i), "", nil
		go func() {
			result, err := New(options).Train(r.t.Context(), request, &trainertest.Sink{})
			answers <- answer{result, err}
		}()
	}
	for range 2 {
		a := <-answers
		if a.error != nil || a.State != sweep.Completed {
			r.t.Fatalf("%v, %+v", a.error, a.Result)
		}
		results = append(results, a.Result)
	}
	return results
}

// meet has two trials wait for each other in the folder of the data.
const meet = `
import os, time
me = int(os.environ["SWEEP_TRIAL"])
def meet(name):
    os.close(os.open(os.path.join(FOLDER, name + str(me)), os.O_CREAT | os.O_WRONLY))
    while not os.path.exists(os.path.join(FOLDER, name + str(1 - me))): time.sleep(0.01)
meet("begun")
`

// Trials that run at the same time and write the same file are noticed, and their results are not reused if they have
// read it.
func TestTrialsWriteSameFile(t *testing.T) {
	const advice = ": write to $SWEEP_ARTIFACTS or set directory: own"
	for name, test := range map[string]struct {
		program string
		own     bool
		want    string
		changed []string
	}{
		"read back": {program: `
open("best.pth", "w").write(str(me)); meet("written"); open("best.pth").read()
`, want: "trials 0 and 1 wrote best.pth in the same directory while both ran" + advice, changed: []string{"best.pth"}},
		"written only": {program: `
open("a.png", "w").write(str(me)); open("b.png", "w"); meet("written")
`, want: "trials 0 and 1 wrote a.png and 1 other file in the same directory while both ran" + advice},
		"renamed": {program: `
open("part%d" % me, "w").write("1"); os.replace("part%d" % me, "sub/best.pth"); meet("written")
`, want: "trials 0 and 1 wrote sub/best.pth in the same directory while both ran" + advice},
		"by what is not Python": {program: `
import subprocess
time.sleep(0.01); subprocess.run(["sh", "-c", "echo 1 > best.bin"]); meet("written"); open("best.bin").read()
`, want: "trials 0 and 1 used best.bin in the same directory while both ran" + advice, changed: []string{"best.bin"}},
		"their own": {program: `
open(os.path.join(os.environ["SWEEP_ARTIFACTS"], "best.pth"), "w"); open("best%d.pth" % me, "w").write("1")
meet("written"); open("best%d.pth" % me).read()
`},
		"appended": {program: `
import sqlite3
open("log.csv", "a").write("1"); sqlite3.connect("study.db"); open("log.csv").read(); meet("written")
`},
		"read": {program: `open("input.txt").read(); meet("written")`},
		"own directory": {own: true, program: `
open("best.pth", "w").write(str(me)); meet("written"); assert open("best.pth").read() == str(me)
`},
		"through a link": {own: true, program: `
open("data/best.pth", "w").write(str(me)); meet("written")
`, want: "trials 0 and 1 wrote data/best.pth while both ran, by a link to the project's file: move it out of the " +
			"project, or write to $SWEEP_ARTIFACTS"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPython(t, "FOLDER = '"+t.TempDir()+"'\n"+meet+test.program)
			r.script.Own = test.own
			r.write("input.txt", "1")
			r.write("sub/other", "")
			if test.own {
				r.write("data/best.pth", "")
				r.write(".gitignore", "data/\n")
				r.git("init", "-q")
			}
			var remarks, changed []string
			for _, result := range r.together() {
				if result.Error != "" {
					remarks = append(remarks, result.Error)
				}
				for _, row := range result.Inputs.Rows {
					if row.Digest == sweep.ChangedInput {
						changed = append(changed, row.Name)
					}
				}
			}
			if got := strings.Join(remarks, "\n"); got != test.want {
				t.Errorf("remarks %q, want %q", got, test.want)
			}
			if slices.Sort(changed); !slices.Equal(slices.Compact(changed), test.changed) {
				t.Errorf("changed %q, want %q", changed, test.changed)
			}
			entries, _ := os.ReadDir(filepath.Join(filepath.Dir(r.options.Checkpoints), "shared", "s1"))
			if len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "said" {
				t.Errorf("left: %v", entries)
			}
		})
	}
}

// Trials one after the other may write the same file. What is known of a sweep is removed with time.
func TestTrialsAfterEachOther(t *testing.T) {
	r := newPython(t, `open("best.pth", "w").write("1"); open("best.pth").read()`)
	for range 2 {
		if result := r.complete(nil); result.Error != "" {
			t.Error(result.Error)
		}
	}
	old := filepath.Join(filepath.Dir(r.options.Checkpoints), "shared", "s0")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	trainer := New(r.options)
	if _, err := os.Stat(old); err != nil {
		t.Error(err)
	}
	trainer.removeOldShares(time.Now().Add(folderAge + time.Hour))
	if _, err := os.Stat(old); err == nil {
		t.Error("it is still there")
	}
}
