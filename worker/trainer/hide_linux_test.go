package trainer_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sweep/sweep"
	"sweep/worker/trainer"
	"sweep/worker/trainer/trainertest"
)

// thief has the example trainer try to read a file and returns the ways in which
// it could.
func thief(t *testing.T, l *trainer.Launcher, path string) []string {
	t.Helper()
	process := launch(t, l, trainertest.ExampleName)
	if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "steal", "fault_file": path}),
		&trainertest.Sink{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the trainer has tried", func() bool { return strings.Contains(process.Stderr(), "steal: done") })
	var ways []string
	for _, m := range regexp.MustCompile(`(?m)^stolen by (.*?): `).FindAllStringSubmatch(process.Stderr(), -1) {
		ways = append(ways, m[1])
	}
	return ways
}

// TestSecretsAreHidden: what a launcher is told to hide no trainer reads, in
// whichever way; what lies beside it can be read and written as ever.
func TestSecretsAreHidden(t *testing.T) {
	if err := trainer.CanHide(); err != nil {
		t.Fatalf("this test needs Landlock: %v", err)
	}
	home := t.TempDir()
	write := func(parts ...string) string {
		t.Helper()
		path := filepath.Join(append([]string{home}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("a secret"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pass, creds, inFolder := write(".pgpass"), write("etc", "sweep", "worker.creds"),
		write("keys", "deep", "worker.key")
	settings, public := write("etc", "sweep", "sweep.conf"), write("data", "ucr", "Tiny_TRAIN.tsv")
	linked := filepath.Join(home, "etc", "linked.creds")
	real := write("mount", "..2026", "linked.creds")
	if err := os.Symlink(real, linked); err != nil {
		t.Fatal(err)
	}
	open := launcher()
	everything := []string{"reading", "the worker's root", "its own root", "a process", "a link", "a second name",
		"another name",
		"another directory", "writing", "the worker's environment", "the worker's memory map"}
	ways := thief(t, open, pass)
	for _, way := range everything {
		if !slices.Contains(ways, way) {
			t.Errorf("without hiding anything the file cannot be had by %s: %q", way, ways)
		}
	}
	l := launcher()
	l.Secrets = []string{pass, creds, filepath.Join(home, "keys"), linked, filepath.Join(home, "later.creds")}
	later := func() string { return write("later.creds") }
	for name, path := range map[string]func() string{
		"a file": func() string { return pass }, "in a folder": func() string {
			return creds
		}, "a hidden folder": func() string { return inFolder },
		"a link": func() string { return linked }, "a link's target": func() string {
			return real
		}, "a file that comes later": later,
	} {
		if ways := thief(t, l, path()); len(ways) > 0 {
			t.Errorf("%s is read by %q", name, ways)
		}
	}
	// Nor is any other process of the user.
	other := exec.Command("sleep", "3600")
	other.Env = []string{"PGPASSWORD=a secret"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	environment := fmt.Sprintf("/proc/%d/environ", other.Process.Pid)
	if ways := thief(t, open, environment); !slices.Contains(ways, "reading") {
		t.Errorf("without hiding anything another process is read by %q", ways)
	}
	if ways := thief(t, l, environment); len(ways) > 0 {
		t.Errorf("another process is read by %q", ways)
	}
	// The controls: what is beside is as open as before, but for the worker itself.
	for _, path := range []string{settings, public} {
		ways := thief(t, l, path)
		for _, way := range []string{"reading", "its own root", "a process", "a link", "writing"} {
			if !slices.Contains(ways, way) {
				t.Errorf("%s cannot be had by %s any more: %q", path, way, ways)
			}
		}
		for _, way := range ways {
			if strings.Contains(way, "the worker's") {
				t.Errorf("%s: %s", path, way)
			}
		}
	}
	if text, err := os.ReadFile(pass); err != nil || string(text) != "a secret" {
		t.Errorf("%q %v", text, err)
	}
	// The worker itself goes on reading them, on whichever thread.
	for range 100 {
		done := make(chan error)
		go func() {
			_, err := os.ReadFile(creds)
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestFileThatComesLater: a secret that is made while a trainer runs is hidden
// from it.
func TestFileThatComesLater(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "later.creds")
	l := launcher()
	l.Secrets = []string{path}
	process := launch(t, l, trainertest.ExampleName)
	if err := os.WriteFile(path, []byte("a secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "steal", "fault_file": path}),
		&trainertest.Sink{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the trainer has tried", func() bool { return strings.Contains(process.Stderr(), "steal: done") })
	if strings.Contains(process.Stderr(), "stolen") {
		t.Error(process.Stderr())
	}
}

// leftovers are the directories of trainers in a directory.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "sweep-trainer-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWorkerKilledLeavesNothing: the directory of a trainer whose worker was
// killed goes with it; one that was left all the same goes at the next start, and
// one that another worker uses does not.
func TestWorkerKilledLeavesNothing(t *testing.T) {
	dir := shortTemp(t)
	t.Setenv("TMPDIR", dir)
	worker, grandchild := helper(t, asWorker, examples, "child")
	used := leftovers(t, dir)
	if len(used) != 1 {
		t.Fatalf("directories of a worker that runs: %q", used)
	}
	left := filepath.Join(dir, "sweep-trainer-left")
	closed := filepath.Join(left, "home", "closed")
	if err := os.MkdirAll(filepath.Join(closed, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	process := launch(t, launcher(), trainertest.ExampleName)
	now := leftovers(t, dir)
	if slices.Contains(now, left) || !slices.Contains(now, used[0]) || len(now) != 2 {
		t.Errorf("after another start: %q", now)
	}
	if err := process.Close(); err != nil {
		t.Fatal(err)
	}
	if now := leftovers(t, dir); !slices.Equal(now, used) {
		t.Errorf("after its end: %q", now)
	}
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, "what the trainer has started", grandchild)
	eventually(t, "the directory is gone", func() bool { return len(leftovers(t, dir)) == 0 })
}

// shortTemp is a temporary directory whose path leaves room for a socket's.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestThreadsAreNotKept: a thread from which something was hidden ends with its
// trainer.
func TestThreadsAreNotKept(t *testing.T) {
	l := launcher()
	l.Secrets = []string{filepath.Join(t.TempDir(), "secret")}
	for range 5 {
		if err := launch(t, l, trainertest.ExampleName).Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no thread is confined", func() bool {
		tasks, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil || len(tasks) == 0 {
			t.Fatal(err)
		}
		confined := 0
		for _, task := range tasks {
			text, _ := os.ReadFile(task) // it may have ended
			if strings.Contains(string(text), "NoNewPrivs:\t1") {
				confined++
			}
		}
		// The first thread of a program cannot end: it is kept, and used for nothing.
		return confined <= 1
	})
}

// TestSocketsOfOthers: a trainer cannot connect to abstract sockets of other
// processes, nor, where the kernel can keep it from them, to those in the file system.
// The worker reaches the trainer by a socket all the same.
func TestSocketsOfOthers(t *testing.T) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		t.Fatalf("this test needs Landlock: %v", errno)
	}
	dir, err := os.MkdirTemp("", "") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := launcher()
	l.Secrets = []string{filepath.Join(dir, "secret")}
	for name, socket := range map[string]struct {
		path  string
		since uintptr
	}{
		"an abstract socket":          {fmt.Sprintf("@sweep-test-%d", os.Getpid()), 6},
		"a socket in the file system": {filepath.Join(dir, "socket"), 9},
	} {
		listener, err := net.Listen("unix", socket.path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		if ways := thief(t, launcher(), socket.path); !slices.Contains(ways, "connecting") {
			t.Errorf("%s: a trainer from which nothing is hidden cannot connect: %q", name, ways)
		}
		// Below that version it is open, as deploy/README.md says.
		open := slices.Contains(thief(t, l, socket.path), "connecting")
		if want := version < socket.since; open != want {
			t.Errorf("%s, Landlock version %d: connected %t, want %t", name, version, open, want)
		}
	}
}
