package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

// An interruption ends sweep expand while it tries a network whose start and first step
// take minutes.
func TestExpandIsInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	text := "name: large\nparameters: {dataset: {value: generated-cbf}, model: {value: irnn}, hidden: {value: 8192}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	time.AfterFunc(time.Second, interrupt)
	var stdout, stderr bytes.Buffer
	began := time.Now()
	code := execute(ctx, []string{"expand", path, "--home", t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
	t.Logf("it ended %v after its start", time.Since(began).Round(time.Millisecond))
	if code != exitInterrupted || stdout.Len() > 0 {
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
