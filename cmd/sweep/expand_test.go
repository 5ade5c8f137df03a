package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
