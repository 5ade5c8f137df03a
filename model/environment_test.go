package model

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Values that make no sense are refused before anything is trained with others.
func TestNewTrainerRefusesTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, value string
		refused     bool
	}{
		{ThreadsEnvironment, "0", true}, {ThreadsEnvironment, "many", true}, {ThreadsEnvironment, "2", false},
		{HistoryEnvironment, "512", true}, {HistoryEnvironment, "-1GiB", true}, {HistoryEnvironment, "1MiB", false},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			_, err := NewTrainer()
			if refused := err != nil && strings.Contains(err.Error(), c.name+"="+c.value); refused != c.refused ||
				(err != nil) != c.refused {
				t.Errorf("error %v, want one: %v", err, c.refused)
			}
		})
	}
}

// A level that is not known must not be measured as another one. The level is
// chosen when a process starts, so this one starts itself once more.
func TestStepTimerRefusesUnknownLevel(t *testing.T) {
	if os.Getenv("SWEEP_KERNEL") == "unknown" {
		_, err := NewStepTimer(t.Context(), StepShape{Model: "rnn", Hidden: 4, Inputs: 1, Steps: 2, Batch: 2,
			Classes: 2, Threads: 1})
		if err == nil || !strings.Contains(err.Error(), "SWEEP_KERNEL=unknown") {
			t.Fatalf("error %v, want one about SWEEP_KERNEL=unknown", err)
		}
		if _, err := NewTrainer(); err == nil || !strings.Contains(err.Error(), "SWEEP_KERNEL=unknown") {
			t.Fatalf("NewTrainer: %v, want an error about SWEEP_KERNEL=unknown", err)
		}
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), "SWEEP_KERNEL=unknown")
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}
