package model

import (
	"testing"

	"sweep/model/cell"
)

func TestHistoryEnvironment(t *testing.T) {
	for value, want := range map[string]int64{"": 1 << 30, "1MiB": 1 << 20, "512MiB": 512 << 20, "3GiB": 3 << 30} {
		if got, err := historyOf(value); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", value, got, err, want)
		}
	}
	for _, value := range []string{"0MiB", "-1GiB", "1", "MiB", "1.5GiB", "1gib", "9999999999999GiB", "1 GiB"} {
		if got, err := historyOf(value); err == nil {
			t.Errorf("%q: %d, want an error", value, got)
		}
	}
}

// What is kept fits, and is as much as fits; if nothing does it is about √T.
func TestKeep(t *testing.T) {
	limits := cell.Limits{Steps: 784, Batch: 128}
	for _, model := range []string{"rnn", "lstm", "gru"} {
		s := &settings{model: model, hidden: 128}
		all := s.historyBytes(limits, limits.Steps)
		for _, bytes := range []int64{all, all - 1, all / 2, all / 5} {
			kept := s.keep(limits, bytes).History
			if need := s.historyBytes(limits, kept); need > bytes {
				t.Errorf("%s: %d bytes for %d steps where %d are to be had", model, need, kept, bytes)
			}
			if kept < limits.Steps && s.historyBytes(limits, kept+1) <= bytes {
				t.Errorf("%s: %d steps kept where %d fit", model, kept, kept+1)
			}
			if (bytes == all) != (kept == limits.Steps) {
				t.Errorf("%s: %d of %d bytes: %d steps kept", model, bytes, all, kept)
			}
		}
		kept := s.keep(limits, 1).History
		if kept < 7 || kept > 28 {
			t.Errorf("%s: %d steps kept without memory, want the fewest bytes", model, kept)
		}
	}
	if kept := (&settings{model: "rnn", hidden: 8}).keep(cell.Limits{Steps: 1, Batch: 4}, 1).History; kept != 1 {
		t.Errorf("of one step %d are kept", kept)
	}
}
