package script

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/trainer/trainertest"
)

// rig is a folder with a program, and the trainer that runs it.
type rig struct {
	t       *testing.T
	dir     string
	script  sweep.Script
	options Options
	log     bytes.Buffer
	sink    trainertest.Sink
}

// newRig has a program for a shell.
func newRig(t *testing.T, program string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	r.options = Options{Checkpoints: filepath.Join(t.TempDir(), "c"), Artifacts: filepath.Join(t.TempDir(), "a"),
		Log: &r.log}
	r.script = sweep.Script{Program: "program.sh", Command: []string{"sh", "${program}", "${args}"}, Directory: r.dir}
	r.write("program.sh", program)
	return r
}

// newPython has a program for Python.
func newPython(t *testing.T, program string) *rig {
	t.Helper()
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		if python, err = exec.LookPath("python3"); err != nil {
			t.Skip("left out: there is no python3")
		}
	}
	r := newRig(t, "")
	r.script.Program = "train.py"
	r.script.Command = []string{python, "${program}", "${args}"}
	r.write("train.py", program)
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) request(parameters sweep.Parameters) sweep.TrainRequest {
	return sweep.TrainRequest{
		Trial: sweep.Trial{TrialID: sweep.TrialID{Sweep: "s1", Index: 7}, Parameters: parameters,
			Fingerprint: "f00d"},
		DataDir: "/data", Points: 100, Script: &r.script,
	}
}

// train runs one trial, whose error it returns.
func (r *rig) train(parameters sweep.Parameters) (*sweep.Result, error) {
	r.t.Helper()
	return New(r.options).Train(r.t.Context(), r.request(parameters), &r.sink)
}

// complete runs one trial that must complete.
func (r *rig) complete(parameters sweep.Parameters) *sweep.Result {
	r.t.Helper()
	result, err := r.train(parameters)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &r.log)
	}
	if result.State != sweep.Completed {
		r.t.Fatalf("%s: %s\n%s", result.State, result.Error, &r.log)
	}
	return result
}

// curve returns the points of a metric, those sent and those of the result.
func (r *rig) curve(result *sweep.Result, metric string) (steps []int64, values []float32) {
	for _, c := range append(r.sink.Curves(), result.Curves...) {
		if c.Metric == metric {
			steps, values = append(steps, c.Steps...), append(values, c.Values...)
		}
	}
	return steps, values
}

func TestShellProgram(t *testing.T) {
	r := newRig(t, `
echo "arguments: $*"
echo "trial $SWEEP_TRIAL of $SWEEP_ID, data $SWEEP_DATA, run $WANDB_RUN_ID of $WANDB_SWEEP_ID in $WANDB_PROJECT"
cat "$SWEEP_PARAMETERS" >&2
echo '{"step": 1, "loss": 0.5, "ok": true}' >> "$SWEEP_EVENTS"
echo '{"step": 2, "loss": NaN, "ok": false}' > "$SWEEP_EVENTS"
echo '{"step": 5, "loss": -Infinity, "x": "NaN"}' >> "$SWEEP_EVENTS"
echo '{"loss": 0.25}' >> "$SWEEP_EVENTS"
`)
	r.script.Project = "demo"
	result := r.complete(sweep.Parameters{"lr": 0.1, "name": "a b"})
	if want := map[string]float64{"loss": 0.25, "ok": 0}; !reflect.DeepEqual(result.Summary, want) {
		t.Errorf("summary %v, want %v", result.Summary, want)
	}
	steps, values := r.curve(result, "loss")
	if !reflect.DeepEqual(steps, []int64{1, 2, 5, 6}) || values[0] != 0.5 || !math.IsNaN(float64(values[1])) ||
		!math.IsInf(float64(values[2]), -1) || values[3] != 0.25 {
		t.Errorf("curve %v %v", steps, values)
	}
	for _, want := range []string{
		"arguments: --lr=0.1 --name=a b\n", "trial 7 of s1, data /data, run s1-7 of s1 in demo\n",
		`{"lr": 0.1, "name": "a b"}`, `x is no number`,
	} {
		if !strings.Contains(result.Stderr, want) || !strings.Contains(r.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, result.Stderr)
		}
	}
	if result.Seconds <= 0 || result.Diverged || result.Error != "" {
		t.Errorf("%+v", result)
	}
	if entries, _ := os.ReadDir(r.options.Artifacts); len(entries) != 0 {
		t.Errorf("a trial without artifacts leaves %v", entries)
	}
}

// Rubbish on the pipe is named, is bounded, and harms nothing.
func TestRubbishOnThePipe(t *testing.T) {
	r := newRig(t, `
printf 'nonsense\n[1]\n{"a": 1} x\n{"a": {"b": 1}}\n{"a":1,"a":2}\n{"step": 1.5, "a": 1}\n{"step": "x"}\n{"b": [1]}\n{"_tags": ["a"]}\n' >> "$SWEEP_EVENTS"
printf '{"": 1}\n{"bad\\u0000name": 1}\n\377\376\n' >> "$SWEEP_EVENTS"
head -c 70000 /dev/zero | tr '\0' 'x' >> "$SWEEP_EVENTS"
printf '\n{"step": 3, "good": 1}\n{"step": 2, "good": 2}\n{"step": 4, "good": 3, "good2": 1e999}' >> "$SWEEP_EVENTS"
i=0; while [ $i -lt 50 ]; do echo garbage; i=$((i+1)); done >> "$SWEEP_EVENTS"
`)
	result := r.complete(nil)
	if want := map[string]float64{"good": 3, "a": 1}; !reflect.DeepEqual(result.Summary, want) {
		// The last line has no end, and the first garbage is on it.
		if want = map[string]float64{"good": 1, "a": 1}; !reflect.DeepEqual(result.Summary, want) {
			t.Errorf("summary %v", result.Summary)
		}
	}
	if steps, _ := r.curve(result, "good"); steps[0] != 3 || len(steps) > 2 {
		t.Errorf("steps %v", steps)
	}
	for _, want := range []string{"nonsense", "more than 65536 bytes",
		"2 steps ignored: a step must be a whole number", "_tags must be a text", "an empty name",
		"1 log call dropped"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &r.log)
		}
	}
	if n := strings.Count(r.log.String(), "garbage"); n > namedComplaints {
		t.Errorf("%d lines are named", n)
	}
	if !strings.Contains(result.Error, "lines on $SWEEP_EVENTS could not be read") {
		t.Errorf("the result says %q", result.Error)
	}
}

func TestEnds(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		failed  string // result
		problem string // error
	}{
		"status": {"echo working; echo 'ValueError: no' >&2; exit 3", "exit status 3: ValueError: no", ""},
		"retry":  {"exit 75", "", "asks for another execution"},
		"signal": {"echo last words; kill -SEGV $$", "", "segmentation fault"},
		"killed": {"kill -KILL $$", "", "killed"},
		"reported": {`echo '{"_exit": 2, "_error": "bad luck"}' >> $SWEEP_EVENTS`,
			"reported its failure (exit code 2)", ""},
		"no such":   {"exec ./no-such-program", "exit status 127", ""},
		"long line": {"head -c 200000 /dev/zero | tr '\\0' 'y'; exit 1", "exit status 1: yyy", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.program)
			result, err := r.train(nil)
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("%+v, %v", result, err)
				}
				return
			}
			if err != nil || result.State != sweep.Failed || !strings.HasPrefix(result.Error, test.failed) &&
				!strings.Contains(result.Error, test.failed) {
				t.Fatalf("%+v, %v", result, err)
			}
			if len(result.Stderr) > logLimit || len(result.Error) > 1000 {
				t.Errorf("a log of %d bytes, an error of %d", len(result.Stderr), len(result.Error))
			}
		})
	}
}

// lateReader is a sink and a log that take nothing until release is closed. Files named after
// them tell that they were called.
type lateReader struct {
	trainertest.Sink
	dir     string
	release chan struct{}
}

func (l *lateReader) wait(name string) {
	_ = os.WriteFile(filepath.Join(l.dir, name), nil, 0o644)
	<-l.release
}

func (l *lateReader) Points(batch []sweep.Curve) error {
	l.wait("points")
	return l.Sink.Points(batch)
}

func (l *lateReader) Write(p []byte) (int, error) {
	l.wait("log")
	return len(p), nil
}

// What a program wrote before its end is read, however late its readers are, and however long
// another process keeps its pipes open.
func TestLateReader(t *testing.T) {
	for name, program := range map[string]string{
		"alone": "", "with another process": "setsid sleep 1000 & echo $! > left",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, program+`
echo $$ > pid; echo first; printf '{"n": -1}\n{"n": 0}\n' >> $SWEEP_EVENTS
until [ -e points ] && [ -e log ]; do sleep 0.02; done
i=1; while [ $i -le 2000 ]; do echo "{\"n\": $i}" >> $SWEEP_EVENTS; i=$((i+1)); done
echo '{"_exit": 2, "_error": "bad luck"}' >> $SWEEP_EVENTS
i=1; while [ $i -le 2000 ]; do echo "line $i"; i=$((i+1)); done
echo last
`)
			t.Cleanup(func() {
				left, _ := os.ReadFile(filepath.Join(r.dir, "left"))
				if id, err := strconv.Atoi(strings.TrimSpace(string(left))); err == nil {
					_ = syscall.Kill(id, syscall.SIGKILL)
				}
			})
			late := &lateReader{dir: r.dir, release: make(chan struct{})}
			r.options.Log = late
			result := make(chan *sweep.Result, 1)
			go func() {
				got, err := New(r.options).Train(t.Context(), r.request(nil), late)
				if err != nil {
					t.Error(err)
				}
				result <- got
			}()
			pid := filepath.Join(r.dir, "pid")
			for _, name := range []string{"points", "log"} {
				waitFor(t, name, func() bool { return isFile(filepath.Join(r.dir, name)) })
			}
			waitFor(t, "the program's end", func() bool { return !running(t, pid) })
			time.Sleep(2 * pipeGrace) // no other process is waited for so long
			close(late.release)
			got := sweeptest.Receive(t, "the result", result)
			if got.State != sweep.Failed || !strings.HasSuffix(got.Error, "bad luck") {
				t.Errorf("%s: %q", got.State, got.Error)
			}
			if got.Summary["n"] != 2000 || !strings.HasSuffix(got.Stderr, "line 2000\nlast\n") {
				t.Errorf("summary %v, a log that ends in %q", got.Summary, got.Stderr[max(0, len(got.Stderr)-20):])
			}
		})
	}
}

// waitFor polls a condition with a deadline.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	sweeptest.Until(t, what, done)
}

// running reports whether a process whose number is in a file is there.
func running(t *testing.T, path string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(status), ") Z ")
}

// A trial that is to stop gets SIGTERM, with all it has started, in which it may
// leave a checkpoint; what does not listen is killed. What a program leaves behind
// is killed too.
func TestCancelledProgram(t *testing.T) {
	for name, test := range map[string]struct {
		program, checkpoint string
		grace               time.Duration
	}{
		"polite": {"trap 'echo saved > $SWEEP_CHECKPOINT_DIR/state; exit 1' TERM; sleep 1000 & echo $! > child; echo " +
			"$$ > pid; wait", "saved", sweeptest.Patience},
		"deaf": {"trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' & echo $$ > " +
			"pid; while :; do sleep 0.1; done", "", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.program)
			r.options.Grace = test.grace
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := New(r.options).Train(ctx, r.request(nil), &r.sink)
				done <- err
			}()
			child, pid := filepath.Join(r.dir, "child"), filepath.Join(r.dir, "pid")
			waitFor(t, "the program", func() bool { return running(t, child) && running(t, pid) })
			cancel()
			if err := sweeptest.Receive(t, "the end of the program", done); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			waitFor(t, "the end of all", func() bool { return !running(t, child) && !running(t, pid) })
			state, _ := os.ReadFile(filepath.Join(r.options.Checkpoints, "f00d", "state"))
			if strings.TrimSpace(string(state)) != test.checkpoint {
				t.Errorf("checkpoint %q", state)
			}
		})
	}
	t.Run("left behind", func(t *testing.T) {
		r := newRig(t, "sleep 1000 & echo $! > child; setsid sleep 1 & exit 0")
		r.complete(nil)
		waitFor(t, "its end", func() bool { return !running(t, filepath.Join(r.dir, "child")) })
	})
}

// What a program starts in a session of its own has ended when its trial has, also what that starts,
// holds the pipes of the trial, or has another environment.
func TestDaemons(t *testing.T) {
	for name, program := range map[string]string{
		"daemon":            "setsid -f sh -c 'echo $$ > left; exec sleep 1000' </dev/null >/dev/null 2>&1",
		"pipes":             "setsid -f sh -c 'exec 7>$SWEEP_EVENTS; echo $$ > left; exec sleep 1000'",
		"other environment": "setsid -f env -i sh -c 'echo $$ > left; exec sleep 1000'",
		"descendant":        "setsid -f sh -c 'setsid -f sh -c \"echo \\$\\$ > left; exec sleep 1000\"; sleep 1000'",
		"failed":            "setsid -f sh -c 'echo $$ > left; exec sleep 1000'; trap 'exit 3' EXIT",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, program+"\nuntil [ -s left ]; do sleep 0.01; done\necho '{\"loss\": 1}' >> $SWEEP_EVENTS")
			result, err := r.train(nil)
			if err != nil || result.Summary["loss"] != 1 && name != "failed" {
				t.Errorf("%v %v\n%s", result, err, &r.log)
			}
			if runtime.GOOS == "linux" && running(t, filepath.Join(r.dir, "left")) {
				t.Error("the daemon is left")
			}
		})
	}
}

// A checkpoint folder outlives an execution and goes with the trial's end.
func TestCheckpointFolder(t *testing.T) {
	r := newRig(t, `
n=$(cat "$SWEEP_CHECKPOINT_DIR/n" 2>/dev/null || echo 0)
n=$((n+1)); echo $n > "$SWEEP_CHECKPOINT_DIR/n"
echo "{\"step\": $n, \"n\": $n}" >> "$SWEEP_EVENTS"
[ $n -ge 3 ] || exit 75
`)
	for range 2 {
		if _, err := r.train(nil); err == nil {
			t.Fatal("no other execution is asked for")
		}
	}
	if result := r.complete(nil); result.Summary["n"] != 3 {
		t.Errorf("summary %v", result.Summary)
	}
	if entries, _ := os.ReadDir(r.options.Checkpoints); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
	// Two trials of one fingerprint have folders of their own.
	trainer := New(r.options)
	first, err := trainer.openFolder("f", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	second, err := trainer.openFolder("f", t.TempDir())
	if err != nil || first.path == second.path {
		t.Errorf("%v and %v: %v", first, second, err)
	}
	second.close(true)
	if err := os.WriteFile(filepath.Join(first.path, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	first.close(false)
	old := time.Now().Add(-2 * folderAge)
	if err := os.Chtimes(first.path, old, old); err != nil {
		t.Fatal(err)
	}
	New(r.options)
	if _, err := os.Stat(first.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old checkpoint is kept: %v", err)
	}
}

// The digest covers the program, the command and the files that are named.
func TestProgramDigest(t *testing.T) {
	r := newRig(t, "true")
	r.write("requirements.txt", "numpy==1")
	r.write("lib/a.py", "1")
	r.script.Files = []string{"requirements.txt", "lib/*.py"}
	digest := func() string {
		t.Helper()
		v, err := New(r.options).Validate(t.Context(), sweep.ValidateRequest{Script: &r.script})
		if err != nil {
			t.Fatal(err)
		}
		return v.DatasetDigest
	}
	first := digest()
	if digest() != first || len(first) != 64 {
		t.Fatalf("digest %s", first)
	}
	seen := map[string]string{first: "nothing"}
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"program", func() { r.write("program.sh", "false") }},
		{"requirements", func() { r.write("requirements.txt", "numpy==2") }},
		{"pattern", func() { r.write("lib/b.py", "2") }},
		{"command", func() { r.script.Command = append(r.script.Command, "-v") }},
		{"file in the command", func() {
			r.script.Command = append(r.script.Command, "lib/c.txt")
			r.write("lib/c.txt", "3")
		}},
		{"its bytes", func() { r.write("lib/c.txt", "4") }},
	} {
		change.do()
		if d := digest(); seen[d] != "" {
			t.Errorf("%s changes nothing since %s", change.name, seen[d])
		} else {
			seen[d] = change.name
		}
	}
	request := r.request(nil)
	request.DatasetDigest = first
	if _, err := New(r.options).Train(t.Context(), request, &r.sink); !errors.Is(err, sweep.ErrDatasetChanged) ||
		!strings.Contains(err.Error(), "program.sh") {
		t.Errorf("a changed program: %v", err)
	}
	var data *sweep.DataError
	r.script.Files = []string{"none.txt"}
	if _, err := r.train(nil); !errors.As(err, &data) || !strings.Contains(err.Error(), "none.txt") {
		t.Errorf("a missing file: %v", err)
	}
	r.script.Files, r.script.Program = nil, "none.sh"
	if _, err := r.train(nil); !errors.As(err, &data) {
		t.Errorf("a missing program: %v", err)
	}
	var refused *sweep.ParameterError
	if _, err := New(r.options).Train(t.Context(), sweep.TrainRequest{}, &r.sink); !errors.As(err, &refused) {
		t.Errorf("no program: %v", err)
	}
}

// A worker runs programs beneath its roots only: there the digest decides.
func TestRoots(t *testing.T) {
	r := newRig(t, "pwd; echo '{\"x\": 1}' >> $SWEEP_EVENTS")
	v, err := New(r.options).Validate(t.Context(), sweep.ValidateRequest{Script: &r.script})
	if err != nil {
		t.Fatal(err)
	}
	other, stale, empty := t.TempDir(), t.TempDir(), t.TempDir()
	text, err := os.ReadFile(filepath.Join(r.dir, "program.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(other, "program.sh"), text, 0o644),
		os.WriteFile(filepath.Join(stale, "program.sh"), []byte("false"), 0o644)); err != nil {
		t.Fatal(err)
	}
	request := r.request(nil)
	request.DatasetDigest = v.DatasetDigest
	for name, test := range map[string]struct {
		roots []string
		where string
		err   error
	}{
		"own":       {[]string{filepath.Dir(r.dir)}, r.dir, nil},
		"elsewhere": {[]string{empty, stale, other}, other, nil},
		"stale":     {[]string{empty, stale}, "", sweep.ErrDatasetChanged},
		"nowhere":   {[]string{empty}, "", os.ErrNotExist},
	} {
		r.options.Roots = test.roots
		result, err := New(r.options).Train(t.Context(), request, &r.sink)
		var data *sweep.DataError
		switch {
		case errors.Is(test.err, os.ErrNotExist):
			if !errors.As(err, &data) {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, test.err):
			t.Errorf("%s: %v", name, err)
		case err == nil && !strings.Contains(result.Stderr, test.where):
			t.Errorf("%s runs in %s, not in %s", name, result.Stderr, test.where)
		}
	}
}

func TestSinkFailure(t *testing.T) {
	r := newRig(t, "while :; do echo '{\"x\": 1}' >> $SWEEP_EVENTS; done")
	broken := errors.New("broken")
	r.sink.Fail = broken
	if _, err := r.train(nil); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// What the sweep asks for and the program has left is handed over, a folder as an
// archive of the same bytes each time.
// Trials of a sweep that end remove its empty folder; others make theirs in it at the same time.
func TestArtifactFoldersOfOneSweep(t *testing.T) {
	r := newRig(t, "")
	trainer := New(r.options)
	var trials sync.WaitGroup
	for index := range int64(4) {
		trials.Go(func() {
			e := &execution{trainer: trainer, scratch: r.options.Artifacts}
			e.request.TrialID = sweep.TrialID{Sweep: "s", Index: index}
			for range 500 {
				if err := e.makeArtifacts(); err != nil {
					t.Error(err)
					return
				}
				e.dropEmptyArtifacts()
			}
		})
	}
	trials.Wait()
}

func TestArtifactsAreHandedOver(t *testing.T) {
	r := newRig(t, `
echo latest > "$SWEEP_CHECKPOINT_DIR/state"
cd "$SWEEP_ARTIFACTS"
echo weights > model.bin; echo other > not-asked-for
mkdir -p logs/deep; echo a > logs/a.txt; echo b > logs/deep/b.txt
ln -sf "$SWEEP_CHECKPOINT_DIR/state" linked
[ -e pipe ] || mkfifo pipe
`)
	var archives [2]string
	for i := range archives {
		request := r.request(nil)
		request.Artifacts = []string{"model.bin", "logs", "missing", "pipe", "linked"}
		result, err := New(r.options).Train(t.Context(), request, &r.sink)
		if err != nil || result.State != sweep.Completed {
			t.Fatalf("%v: %+v", err, result)
		}
		if !strings.Contains(r.log.String(), "artifact pipe is left out: it is neither a file nor a folder") {
			t.Errorf("log: %s", &r.log)
		}
		handed := r.sink.Artifacts()
		if len(handed) != 3 || string(handed["model.bin"].Content) != "weights\n" ||
			string(handed["linked"].Content) != "latest\n" || handed["logs"].MediaType != archiveType {
			t.Fatalf("handed over: %v", handed)
		}
		archives[i] = string(handed["logs"].Content)
	}
	if archives[0] != archives[1] {
		t.Error("the same folder gives two archives")
	}
	var names []string
	for in := tar.NewReader(strings.NewReader(archives[0])); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if !slices.Equal(names, []string{"logs/a.txt", "logs/deep/b.txt"}) {
		t.Errorf("the archive has %v", names)
	}
}
