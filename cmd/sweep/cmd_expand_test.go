package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep"
)

// An interruption ends sweep expand while it tries a network whose start and first step
// take minutes.
func TestExpandIsInterrupted(t *testing.T) {
	fullOnly(t)
	path := filepath.Join(t.TempDir(), "large.yaml")
	text := "name: large\nparameters: {dataset: {value: generated-cbf}, model: {value: irnn}, hidden: {value: 8192}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, t.TempDir(), "expand", path) // a process, because what it computes is not over before it ends
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const room = 200 << 20 // more than the program has before it makes the network
	await(t, "the network", func() bool {
		var size, resident int
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", cmd.Process.Pid))
		if err == nil {
			_, err = fmt.Sscan(string(text), &size, &resident)
		}
		return err == nil && resident*os.Getpagesize() > room || hasEnded(cmd.Process.Pid)
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is looked at below
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stdout.Len() > 0 {
		t.Errorf("exit code %d, want %d; it printed %s%s", code, exitInterrupted, &stdout, &stderr)
	}
}

func TestSomeValues(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{
		1: "1", 6: "1, 2, 3, 4, 5, 6", 7: "1, 2, 3, 4, 5, 6, 7", 8: "1, 2, 3, 4, 5, 6, … 8",
	} {
		var list []any
		for i := range count {
			list = append(list, int64(i+1))
		}
		if got := someValues(sweep.Values{List: list}); got != want {
			t.Errorf("%d values: %q, want %q", count, got, want)
		}
	}
}

// A wrong flag leaves the file that would be written as it is.
func TestExportLeavesFile(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "trials.csv", "earlier")
	for _, flags := range [][]string{{"--format", "xml"}, {"--curves"}} {
		args := append([]string{"export", "--output", file}, flags...)
		if _, _, code := output(t, t.TempDir(), args...); code != exitUsage {
			t.Errorf("%v: exit code %d", flags, code)
		}
		if text, err := os.ReadFile(file); string(text) != "earlier" || err != nil {
			t.Errorf("%v: the file has %q: %v", flags, text, err)
		}
	}
}

// A search may have as many points as there are numbers: some of them are checked.
func TestExpandMany(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "many.yaml", "trainer: noop\nmethod: random\nrun_cap: 9223372036854775807\n"+
		"parameters:\n  x: {values: [0, 1, 2]}\n")
	if stdout, stderr, code := output(t, t.TempDir(), "expand", file); code != 0 ||
		!strings.Contains(stdout, "9223372036854775807 trials") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
