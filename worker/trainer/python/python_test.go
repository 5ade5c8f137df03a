// Package python_test proves the Python package sweep_trainer against the contract:
// its example passes the suite that every trainer passes.
package python_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/trainer"
	"sweep/worker/trainer/trainertest"
)

// newLauncher starts trainers with Debian's Python, or the first in PATH, and the
// package here; the test is left out where grpcio is missing.
func newLauncher(t *testing.T) *trainer.Launcher {
	t.Helper()
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		if python, err = exec.LookPath("python3"); err != nil {
			t.Skip("LEFT OUT: there is no python3")
		}
	}
	if out, err := exec.Command(python, "-c", "import grpc, google.protobuf").CombinedOutput(); err != nil {
		t.Skipf("LEFT OUT: %s has no grpcio (Debian: python3-grpcio): %s", python, out)
	}
	dir := t.TempDir()
	if err := os.Symlink(python, filepath.Join(dir, "python3")); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("PYTHONPATH", here)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	return &trainer.Launcher{Path: []string{filepath.Join(here, "example")},
		StartTimeout: sweeptest.Patience, CancelGrace: sweeptest.Patience,
		Environment: []string{"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}}
}

func launch(t *testing.T, l *trainer.Launcher) sweep.Process {
	t.Helper()
	process, err := l.Launch(t.Context(), "descent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Close() })
	return process
}

func TestPythonTrainer(t *testing.T) {
	l := newLauncher(t)
	trainertest.Run(t, func(t *testing.T) sweep.Trainer { return launch(t, l) }, trainertest.Fixture{
		Parameters: sweep.Parameters{"epochs": 10},
		Long:       sweep.Parameters{"epochs": 100000, "pause": 1, "checkpoint_every": 50},
		Resumable:  sweep.Parameters{"epochs": 300, "pause": 5, "checkpoint_every": 20},
		Refused:    []sweep.Parameters{{"method": "momentum", "lr": 0.9}},
	})
}

// A large checkpoint passes, and a closed process is gone.
func TestPythonProcess(t *testing.T) {
	l := newLauncher(t)
	process := launch(t, l)
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: sweep.Parameters{
		"lr": 0.1, "noise": 0, "method": "plain", "epochs": 1, "pause": 0, "checkpoint_every": 0, "seed": 1,
	}}, Checkpoint: make([]byte, 8<<20)}
	_, err := process.Train(t.Context(), request, &trainertest.Sink{})
	if err == nil || !strings.Contains(err.Error(), "UnpicklingError") {
		t.Errorf("a checkpoint of zeros: %v", err)
	}
	if !strings.Contains(process.Stderr(), "Traceback") {
		t.Errorf("standard error has no traceback: %s", process.Stderr())
	}
	request.Checkpoint = nil
	if result, err := process.Train(t.Context(), request, &trainertest.Sink{}); err != nil ||
		result.State != sweep.Completed {
		t.Errorf("after a failure: %+v, %v", result, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_ = process.Close()
	if process.Alive() || ctx.Err() != nil {
		t.Error("a closed process is alive")
	}
	if _, err := process.Describe(ctx); !errors.Is(err, trainer.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
