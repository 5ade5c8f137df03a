package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/local"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// shortTrials is a sweep of shortCount trials that train for some milliseconds each.
const shortTrials = `
name: short
replicates: 15
parameters:
  dataset: {value: generated-cbf}
  model: {values: [rnn, lstm, ornn, spectral-rnn]}
  lr: {values: [0.003, 0.01]}
  epochs: {value: 50}
`

// shortCount is how many trials the short sweep has.
const shortCount = 15 * 4 * 2

// nearlyAll is how many of them may be done when something still happens in the middle of the sweep.
const nearlyAll = shortCount * 9 / 10

// digests returns the digest of every trial of the only sweep in a home.
func digests(t *testing.T, home string) string {
	t.Helper()
	stdout, stderr, code := output(t, home, "sql", "SELECT trial_index, state, digest, weights_digest FROM results "+
		"ORDER BY trial_index", "--format", "csv")
	if code != 0 {
		t.Fatal(stderr)
	}
	return stdout
}

// peaceful is what undisturbed found, for all tests.
var peaceful struct {
	sync.Mutex
	digests string
}

// undisturbed runs the short sweep on two slots in peace and returns its digests.
func undisturbed(t *testing.T, file string) string {
	t.Helper()
	peaceful.Lock()
	defer peaceful.Unlock()
	if peaceful.digests != "" {
		return peaceful.digests
	}
	home := t.TempDir()
	if _, stderr, code := output(t, home, "run", file, "--slots", "2"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	want := digests(t, home)
	if n := strings.Count(want, ",completed,"); n != shortCount {
		t.Fatalf("%d completed trials", n)
	}
	peaceful.digests = want
	return want
}

// watched are the databases that newest has opened, by home.
var watched sync.Map // of sweep.Store

// newest returns a home's database and its newest sweep, nil while there is none. It
// leaves the schema to the run, which it would keep from its work.
func newest(t *testing.T, home string) (sweep.Store, *sweep.SweepRecord) {
	t.Helper()
	opened, found := watched.Load(home)
	s, _ := opened.(sweep.Store)
	if !found {
		path := filepath.Join(home, "sweep.db")
		if _, err := os.Stat(path); err != nil {
			return nil, nil
		}
		var err error
		if s, err = store.Connect(context.Background(), path); err != nil {
			return nil, nil // it is just being made
		}
	}
	record, err := s.Sweep(context.Background(), "")
	switch {
	case err != nil && !found: // likewise
		_ = s.Close()
		return nil, nil
	case err != nil:
		return nil, nil
	case !found:
		watched.Store(home, s)
		t.Cleanup(func() {
			watched.Delete(home)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, record
}

// done counts the terminal trials of a home's newest sweep, 0 while there is none.
func done(t *testing.T, home string) int64 {
	t.Helper()
	s, record := newest(t, home)
	if record == nil {
		return 0
	}
	counts, err := s.Progress(context.Background(), record.ID)
	if err != nil {
		return 0
	}
	return counts.Done()
}

// halted stops a run's process by SIGSTOP when ready holds: what a test does before it
// resumes the run happens in the middle of it, however slow the test is. It returns
// false if the test was too slow to stop it before nearly all of the trials were done.
func halted(t *testing.T, cmd *exec.Cmd, home string, ready func() bool) bool {
	t.Helper()
	for {
		waitFor(t, cmd, "the middle of the run", func() bool { return ready() || done(t, home) > nearlyAll })
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		await(t, "the run to stop", func() bool { return inState(cmd.Process.Pid, "TZ") })
		if done(t, home) > nearlyAll {
			_ = cmd.Process.Kill() // unless it has ended
			_ = cmd.Wait()
			return false
		}
		if ready() {
			return true
		}
		resume(t, cmd)
	}
}

// resume continues a run that is halted.
func resume(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// inTheMiddle repeats what a test does until it did it in the middle of a run.
func inTheMiddle(t *testing.T, do func() bool) {
	t.Helper()
	for range 5 {
		if do() {
			return
		}
	}
	t.Fatal("five runs were nearly over before this test looked at them")
}

// waitFor polls until ok holds. If the program ends it shows what it said, if it takes
// too long what it is doing.
func waitFor(t *testing.T, cmd *exec.Cmd, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for began := time.Now(); !ok(); began = time.Now() {
		if hasEnded(cmd.Process.Pid) && !ok() {
			_ = cmd.Wait()
			t.Fatalf("it ended (%v) before %s\n%s", cmd.ProcessState, what, cmd.Stderr)
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Signal(syscall.SIGQUIT) // a Go program prints its goroutines
			_ = cmd.Wait()
			t.Fatalf("after %v still waiting for %s\n%s", patience, what, cmd.Stderr)
		}
		time.Sleep(sweeptest.Pause(time.Since(began), 5*time.Millisecond))
	}
}

// hasEnded says whether a process that nobody has waited for has ended.
func hasEnded(pid int) bool { return inState(pid, "Z") }

// inState says whether a process is in one of some states, which are letters.
func inState(pid int, states string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	return len(rest) > 1 && strings.IndexByte(states, rest[1]) >= 0
}

// trainersOf returns the trainer processes that a process started.
func trainersOf(pid int) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) && bytes.Contains(command, []byte("serve")) {
			pids = append(pids, child)
		}
	}
	return pids
}

func start(t *testing.T, home string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd = program(t, home, args...)
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

// finish runs the command again until it is through and compares every digest
// with the undisturbed run's.
func finish(t *testing.T, home, file, want string) {
	t.Helper()
	if _, stderr, code := output(t, home, "run", file); code != 0 {
		t.Fatalf("started again: exit code %d: %s", code, stderr)
	}
	if got := digests(t, home); got != want {
		t.Errorf("the results differ from those of an undisturbed run:\n%s\nwant\n%s", got, want)
	}
}

func TestKilledTrainersCostNothing(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	inTheMiddle(t, func() bool {
		home := t.TempDir()
		cmd, stderr := start(t, home, "run", file)
		for range 3 {
			before := done(t, home)
			if !halted(t, cmd, home, func() bool {
				return done(t, home) >= before+12 && len(trainersOf(cmd.Process.Pid)) > 0
			}) {
				return false
			}
			// One at a time: several failures in a row would make the worker stop.
			if err := syscall.Kill(trainersOf(cmd.Process.Pid)[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			resume(t, cmd)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		if got := digests(t, home); got != want {
			t.Errorf("the results differ from those of an undisturbed run:\n%s\nwant\n%s", got, want)
		}
		return true
	})
}

func TestKilledRunGoesOn(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	inTheMiddle(t, func() bool {
		home := t.TempDir()
		for range 3 {
			before := done(t, home)
			cmd, _ := start(t, home, "run", file)
			if !halted(t, cmd, home, func() bool { return done(t, home) >= before+12 }) {
				return false
			}
			trainers := trainersOf(cmd.Process.Pid)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			await(t, "the end of the trainers", func() bool {
				for _, pid := range trainers {
					if syscall.Kill(pid, 0) == nil {
						return false
					}
				}
				return true
			})
		}
		finish(t, home, file, want)
		return true
	})
}

// Status tells a sweep that runs from one whose run was killed. Its trial waits for an
// hour, so that it cannot be over before it is killed.
func TestStatusOfKilledRun(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "long.yaml", `
name: long
trainer: noop
parameters:
  milliseconds: {value: 3600000}
`)
	home := t.TempDir()
	cmd, _ := start(t, home, "run", file)
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test ends before it does that
	const rests = "no process is running it"
	// Before that, status would bring the database up to date in the run's place.
	waitFor(t, cmd, "a sweep", func() bool { _, record := newest(t, home); return record != nil })
	waitFor(t, cmd, "an active sweep", func() bool {
		said, _, _ := output(t, home, "status", "--json")
		if strings.Contains(said, rests) {
			t.Errorf("of a sweep that runs status says %s", said)
		}
		return strings.Contains(said, `"active"`)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if said, _, _ := output(t, home, "status"); !strings.Contains(said, rests) {
		t.Errorf("of a run that was killed status says %s", said)
	}
}

// Who asks whether a run is at work never keeps one from starting.
func TestAskingWhoRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "sweep.db")
	ctx, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	for range 3 {
		asking.Go(func() {
			for ctx.Err() == nil {
				results, err := store.Open(ctx, path)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				if _, _, err := results.(*store.Store).Leader(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				_ = results.Close() // it was read
			}
		})
	}
	for range 20 {
		release, err := lockHome(home)
		if err != nil {
			t.Fatal(err)
		}
		results, err := store.Connect(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		lead, err := local.Lead(ctx, results, holder("sweep run"), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if leader, _, err := results.(*store.Store).Leader(ctx); err != nil || leader != holder("sweep run") {
			t.Errorf("%q leads: %v", leader, err)
		}
		if err := errors.Join(lead.Resign(ctx), results.Close()); err != nil {
			t.Fatal(err)
		}
		release()
	}
}

// A run that starts while somebody asks, who has the lock for a moment, waits for that moment.
func TestStartWhileSomebodyAsks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	asking, err := os.Create(filepath.Join(home, "lock"))
	if err == nil {
		err = syscall.Flock(int(asking.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		t.Fatal(err)
	}
	answered := time.AfterFunc(100*time.Millisecond, func() { _ = unlock(asking) })
	defer answered.Stop()
	release, err := lockHome(home)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestInterruptedRunGoesOn(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	inTheMiddle(t, func() bool {
		home := t.TempDir()
		cmd, stderr := start(t, home, "run", file)
		if !halted(t, cmd, home, func() bool { return done(t, home) >= 12 }) {
			return false
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		resume(t, cmd)
		_ = cmd.Wait() // its exit code is looked at below
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted ||
			!strings.Contains(stderr.String(), "run the same command again") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		finish(t, home, file, want)
		return true
	})
}

// A disk that fills up in the middle ends the run with a clear error; with room
// again it goes on.
func TestFullDiskLosesNothing(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	inTheMiddle(t, func() bool {
		home := smallDisk(t)
		cmd, stderr := start(t, home, "run", file)
		if !halted(t, cmd, home, func() bool { return done(t, home) >= 12 }) {
			return false
		}
		makeRoom := fill(t, home)
		resume(t, cmd)
		_ = cmd.Wait() // its exit code is looked at below
		if code := cmd.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(stderr.String(), "full") {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		makeRoom()
		if before := done(t, home); before < 12 || before >= shortCount {
			t.Fatalf("%d trials were done when the disk was full", before)
		}
		finish(t, home, file, want)
		return true
	})
}

// With its dashboard open a run outlasts a full disk, whether the broker or only the
// database has no room: whoever looks is told, what is done is shown, and the run goes
// on by itself when there is room.
func TestFullDiskUnderDashboard(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprintf("whole=%t", whole), func(t *testing.T) {
			t.Parallel()
			inTheMiddle(t, func() bool { return fullDiskUnderDashboard(t, file, want, whole) })
		})
	}
}

func fullDiskUnderDashboard(t *testing.T, file, want string, whole bool) bool {
	t.Helper()
	disk, address := smallDisk(t), freeAddress(t)
	home := disk
	if !whole {
		home = t.TempDir()
	}
	cmd, stderr := start(t, home, "run", file, "--ui="+address, "--store", filepath.Join(disk, "sweep.db"))
	waitFor(t, cmd, "the dashboard", func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	})
	changes, err := http.Get("http://" + address + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Body.Close()
	told := listen(t, cmd, changes.Body)
	if !halted(t, cmd, disk, func() bool { return done(t, disk) >= 12 }) {
		return false
	}
	makeRoom := fill(t, disk)
	resume(t, cmd)
	told("Free some space and the run resumes")
	get := func(path string) (int, string) {
		return ask(http.DefaultClient, "GET", "http://"+address+"/api/"+path, "", "")
	}
	waitFor(t, cmd, "the run to wait", func() bool {
		_, answer := get("workers")
		return strings.Contains(answer, errAtRest.Error())
	})
	for _, path := range []string{"sweeps", "sweeps/latest/trials?state=completed",
		"sweeps/latest/groups?metric=validation_loss", "sweeps/latest/trials/0"} {
		if status, answer := get(path); status != 200 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	makeRoom()
	told(`"problem":""`)
	_ = cmd.Wait() // its exit code is looked at below
	if code := cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(stderr.String(), "the run resumes") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := digests(t, disk); got != want {
		t.Error("the results have other bits")
	}
	return true
}

// listen hears what a dashboard tells of changes; told waits until it has said words.
func listen(t *testing.T, cmd *exec.Cmd, from io.Reader) (told func(words string)) {
	t.Helper()
	changes := bufio.NewScanner(from)
	return func(words string) {
		t.Helper()
		// it prints its goroutines
		impatient := time.AfterFunc(patience, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
		defer impatient.Stop()
		var heard []string
		for changes.Scan() {
			if strings.Contains(changes.Text(), words) {
				return
			}
			heard = append(heard, changes.Text())
		}
		_ = cmd.Wait() // it has ended
		t.Fatalf("nobody told %q (%v) but %q; the run said %s", words, changes.Err(), heard, cmd.Stderr)
	}
}

// smallDisk mounts a disk of 32 MiB until the test's end.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=32m", "sweep-test",
		dir).CombinedOutput(); err != nil {
		t.Fatalf("this test mounts a small disk and must run as root: %v: %s", err, text)
	}
	t.Cleanup(func() {
		if text, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	})
	return dir
}

// fill leaves no room on a small disk until makeRoom is called.
func fill(t *testing.T, disk string) (makeRoom func()) {
	t.Helper()
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk took 64 MiB: %v", err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
}

// Slots and repetitions do not change a bit: with one slot as with two, and with three
// workers in TestKilledClusterGoesOn.
func TestSlotsDoNotChangeBits(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	home := t.TempDir()
	if _, stderr, code := output(t, home, "run", file, "--slots", "1"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := digests(t, home); got != want {
		t.Error("one slot gives other bits")
	}
}

// TestTrialKillsWorker runs a trial that kills its worker, by SIGKILL, whenever it is
// started, beside others. It ends as failed and names the workers, and is shown before.
func TestTrialKillsWorker(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	notes := t.TempDir()
	sources := folder(t, map[string]string{
		// The first execution is mostly over before it is announced, and is then no loss: the
		// second one kills another worker, if "second" is written, before one waits for
		// "go". The last one waits to be stopped. The worker is the process above that has
		// its name.
		"train.sh": `case "$*" in *--x=2*)
	cd ` + notes + `
	case $(ls | grep -c killed) in
		0) ;;
		1) while [ ! -e second ] && [ ! -e go ]; do sleep 0.1; done ;;
		2) [ -e second ] || exec sleep 1000; while [ ! -e go ]; do sleep 0.1; done ;;
		*) exec sleep 1000 ;;
	esac
	p=$$
	while [ "$p" -gt 1 ]; do
		tr '\0' ' ' </proc/$p/cmdline | grep -q -- '--name victim' && { : >killed-$p; kill -9 $p; sleep 60; }
		p=$(awk '/^PPid/ {print $2}' /proc/$p/status)
	done ;;
esac
sleep 0.5
echo '{"y": 1}' >>"$SWEEP_EVENTS"
`,
		"killer.yaml": "name: killer\nprogram: train.sh\ncommand: [sh, \"${program}\", \"${args}\"]\nlimits: " +
			"{losses: 2}\nparameters: {x: {value: 2}}\n",
		// On a slow machine they run at each death of the worker.
		"others.yaml": "name: others\nprogram: train.sh\ncommand: [sh, \"${program}\", \"${args}\"]\nlimits: " +
			"{losses: 100}\nparameters: {x: {values: [1, 3, 4]}}\n",
	})
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("victim", "worker", "--name", "victim", "--slots", "2", "--script-dir", sources)
	others := c.submit(filepath.Join(sources, "others.yaml"))
	id := c.submit(filepath.Join(sources, "killer.yaml"))
	revived := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // as a service manager does
		defer close(revived)
		for ctx.Err() == nil {
			select {
			case <-c.parts["victim"].exited:
				c.again("victim")
			case <-ctx.Done():
			}
		}
	}()
	defer func() { cancel(); <-revived }()
	var death time.Time
	await(t, "the first death", func() bool {
		names, err := filepath.Glob(filepath.Join(notes, "killed-*"))
		if err != nil || len(names) == 0 {
			return false
		}
		info, err := os.Stat(names[0])
		if err == nil {
			death = info.ModTime()
		}
		return err == nil
	})
	count := c.counter()
	executions := func(condition string) int64 {
		return count(`SELECT count(*) FROM executions JOIN trials USING (trial_no) JOIN sweeps USING (sweep_no)
			WHERE sweep_id = $1 AND executions.started_at `+condition+` $2`, id, death)
	}
	await(t, "the second execution to be recorded", func() bool { return executions(">") > 0 })
	if executions("<=") == 0 { // the first was not announced
		write(t, notes, "second", "")
	}
	await(t, "a loss in the status", func() bool {
		stdout, _, _ := c.output("status", id)
		return strings.Contains(stdout, "trial 0 is running, 1 of 2 losses: victim")
	})
	shown, _, _ := c.output("trial", "show", id, "0")
	if !strings.Contains(shown, "on worker victim; 1 of 2 losses: victim") {
		t.Errorf("trial show says\n%s", shown)
	}
	write(t, notes, "go", "")
	await(t, "the end of the trial", func() bool { return c.progress(id).Failed == 1 })
	await(t, "the end of the others", func() bool { return c.progress(others).Completed == 3 })
	shown, _, _ = c.output("trial", "show", id, "0")
	if !strings.Contains(shown, "2 executions took their workers with them: victim, victim") {
		t.Errorf("trial show says\n%s", shown)
	}
	await(t, "the execution that runs to be stopped", func() bool {
		stdout, _, code := c.output("workers")
		return code == 0 && strings.Contains(stdout, "victim") && !strings.Contains(stdout, id)
	})
}
