package model

import (
	"context"
	"errors"
	"testing"
	"time"

	"sweep/sweep"
)

// Speed knows a trial's time from a few minibatches, long before the first validation,
// and grows with what is to be done.
func TestSpeed(t *testing.T) {
	t.Parallel()
	trainer := newTrainer(t)
	took := func(point sweep.Parameters) time.Duration {
		t.Helper()
		d, err := trainer.Speed(t.Context(), sweep.ValidateRequest{Parameters: resolve(t, point)}, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, point := range []sweep.Parameters{
		{"dataset": "generated-cbf", "model": "rnn"},
		{"dataset": "addition", "model": "sgornn", "steps": int64(1)},
		{"dataset": "copy", "model": "lstm"},
		{"dataset": "generated-text", "model": "spectral-rnn"},
	} {
		if d := took(point); d <= 0 || d > 1000*time.Hour {
			t.Errorf("%v would take %v", point, d)
		}
	}
	// A thousand times the steps: no other load makes up for that.
	point := sweep.Parameters{"dataset": "addition", "length": int64(20), "hidden": int64(16), "steps": int64(1000)}
	few := took(point)
	point["steps"] = int64(1_000_000)
	if many := took(point); many < 10*few {
		t.Errorf("1000 steps would take %v, a million %v", few, many)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	request := sweep.ValidateRequest{Parameters: resolve(t, point)}
	if _, err := trainer.Speed(cancelled, request, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	request.Parameters["dataset"] = "nonesuch"
	if _, err := trainer.Speed(t.Context(), request, time.Second); err == nil {
		t.Error("of a data set that is not there a speed is known")
	}
}
