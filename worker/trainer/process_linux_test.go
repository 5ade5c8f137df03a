package trainer_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/trainer"
	"sweep/worker/trainer/trainertest"
)

// parentOf returns the parent of a process; 0 if the process is gone, be it as a
// zombie that nobody has buried.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// pid (name) state parent …
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return parent
}

var childLine = regexp.MustCompile(`child (\d+)`)

// childIn returns the process id in a line "child PID", or 0.
func childIn(text string) int {
	m := childLine.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return pid
}

func gone(t *testing.T, what string, pid int) {
	t.Helper()
	eventually(t, what+" is gone", func() bool { return parentOf(pid) == 0 })
}

// helper starts the test binary as another process and returns it with the pid
// that it reports.
func helper(t *testing.T, args ...string) (*exec.Cmd, int) {
	t.Helper()
	cmd := exec.Command(self(), args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if pid := childIn(lines.Text()); pid > 0 {
			return cmd, pid
		}
	}
	t.Fatal("the helper ended without telling of its child")
	return nil, 0
}

// A trainer and what it has started are gone soon after their worker, whether
// or not they are able to do anything about it.
func TestWorkerKilled(t *testing.T) {
	for _, test := range []struct {
		name   string
		before syscall.Signal
	}{{"working", 0}, {"stopped", syscall.SIGSTOP}} {
		t.Run(test.name, func(t *testing.T) {
			worker, grandchild := helper(t, asWorker, examples, "child")
			child := parentOf(grandchild)
			if child == 0 || parentOf(child) != worker.Process.Pid {
				t.Fatalf("grandchild %d of %d of %d, want of %d", grandchild, child, parentOf(child),
					worker.Process.Pid)
			}
			if test.before != 0 {
				if err := syscall.Kill(child, test.before); err != nil {
					t.Fatal(err)
				}
			}
			if err := worker.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			gone(t, "the trainer", child)
			gone(t, "what the trainer has started", grandchild)
		})
	}
}

// Serve watches its parent by itself, for launchers that take no care.
func TestParentKilled(t *testing.T) {
	parent, child := helper(t, asParent)
	if parentOf(child) != parent.Process.Pid {
		t.Fatalf("the trainer's parent is %d, want %d", parentOf(child), parent.Process.Pid)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, "the trainer", child)
}

// What a trainer has started ends with it, though it holds the trainer's pipes.
func TestGrandchildren(t *testing.T) {
	for _, end := range []string{"close", "kill"} {
		t.Run(end, func(t *testing.T) {
			process := launch(t, launcher(), trainertest.ExampleName)
			if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "child"}),
				&trainertest.Sink{}); err != nil {
				t.Fatal(err)
			}
			var grandchild int
			eventually(t, "the child is reported", func() bool {
				grandchild = childIn(process.Stderr())
				return grandchild > 0
			})
			if parentOf(grandchild) == 0 {
				t.Fatal("there is no grandchild")
			}
			if end == "kill" {
				if err := syscall.Kill(parentOf(grandchild), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the death is noticed", func() bool { return !process.Alive() })
			} else if err := process.Close(); err != nil {
				t.Fatal(err)
			}
			gone(t, "what the trainer has started", grandchild)
		})
	}
}

// A daemon in a session of its own ends with its trainer, however that ends, and with its worker.
func TestDaemons(t *testing.T) {
	for _, end := range []string{"close", "kill", "close with secrets", "kill with secrets"} {
		t.Run(end, func(t *testing.T) {
			l := launcher()
			end, secrets := strings.CutSuffix(end, " with secrets")
			if secrets {
				l.Secrets = []string{t.TempDir()}
			}
			process := launch(t, l, trainertest.ExampleName)
			var daemon int
			if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "daemon"}),
				&trainertest.Sink{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the daemon is reported", func() bool {
				daemon = childIn(process.Stderr())
				return daemon > 0
			})
			if end == "close" {
				if err := process.Close(); err != nil {
					t.Fatal(err)
				}
			} else if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "kill"}),
				&trainertest.Sink{}); err == nil {
				t.Fatal("the trainer has survived")
			}
			gone(t, "the daemon", daemon)
		})
	}
	t.Run("worker killed", func(t *testing.T) {
		worker, daemon := helper(t, asWorker, examples, "daemon")
		if err := worker.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		gone(t, "the daemon", daemon)
	})
}

// trainerOf returns the process of a trainer that runs the fault "child".
func trainerOf(t *testing.T, process sweep.Process) int {
	t.Helper()
	var pid int
	eventually(t, "the child is reported", func() bool {
		pid = childIn(process.Stderr())
		return pid > 0
	})
	return parentOf(pid)
}

// stopped reports whether all threads of a process are.
func stopped(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is right
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		// The state follows the name, which is in parentheses.
		if _, after, _ := bytes.Cut(stat, []byte(") ")); err != nil || !bytes.HasPrefix(after, []byte("T")) {
			return false
		}
	}
	return len(stats) > 0
}

// A process that is killed from outside in the middle of a trial has died; one
// that is stopped is killed when the trial is cancelled.
func TestKilledFromOutside(t *testing.T) {
	running := sweep.Parameters{"fault": "child", "epochs": 100_000, "pause": 10}
	t.Run("killed", func(t *testing.T) {
		process := launch(t, launcher(), trainertest.ExampleName)
		done := make(chan error, 1)
		go func() {
			_, err := process.Train(t.Context(), trial(running), &trainertest.Sink{})
			done <- err
		}()
		if err := syscall.Kill(trainerOf(t, process), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		err := sweeptest.Receive(t, "the end of Train, whose process was killed", done)
		var died *trainer.DiedError
		if !errors.As(err, &died) || died.Exit != "signal: killed" {
			t.Errorf("Train: %v, want a *trainer.DiedError", err)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		l := launcher()
		l.CancelGrace = 0 // the usual one, after which it is killed
		process := launch(t, l, trainertest.ExampleName)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := process.Train(ctx, trial(running), &trainertest.Sink{})
			done <- err
		}()
		pid := trainerOf(t, process)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all threads of the trainer are stopped", func() bool { return stopped(pid) })
		cancel()
		if err := sweeptest.Receive(t, "the end of Train, which was cancelled", done); !errors.Is(err,
			context.Canceled) {
			t.Errorf("Train: %v, want %v", err, context.Canceled)
		}
		if process.Alive() {
			t.Error("alive")
		}
		gone(t, "the trainer", pid)
	})
	t.Run("stopped and closed", func(t *testing.T) {
		process := launch(t, launcher(), trainertest.ExampleName)
		if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "child"}),
			&trainertest.Sink{}); err != nil {
			t.Fatal(err)
		}
		pid := trainerOf(t, process)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- process.Close() }()
		if err := sweeptest.Receive(t, "the end of Close", closed); err != nil {
			t.Fatal(err)
		}
		gone(t, "the trainer", pid)
	})
}

// SIGTERM and SIGINT, which a service manager sends to all of a service, leave
// the decision to the worker.
func TestSignals(t *testing.T) {
	process := launch(t, launcher(), trainertest.ExampleName)
	done := make(chan error, 1)
	p := sweep.Parameters{"fault": "child", "epochs": 100, "pause": 5}
	go func() {
		_, err := process.Train(t.Context(), trial(p), &trainertest.Sink{})
		done <- err
	}()
	pid := trainerOf(t, process)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Errorf("Train: %v", err)
	}
}

// A trainer runs in a group of its own and is not reachable through the network.
func TestIsolation(t *testing.T) {
	process := launch(t, launcher(), trainertest.ExampleName)
	if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "child"}),
		&trainertest.Sink{}); err != nil {
		t.Fatal(err)
	}
	pid := trainerOf(t, process)
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("group %d, %v, want %d", group, err, pid)
	}
	inodes := map[string]bool{}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, entry.Name())); err == nil {
			if inode, ok := strings.CutPrefix(target, "socket:["); ok {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	if len(inodes) == 0 {
		t.Fatal("the trainer has no socket at all")
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // no such protocol here
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) > 9 && inodes[fields[9]] {
				t.Errorf("the trainer has a %s socket: %s", table, line)
			}
		}
	}
}
