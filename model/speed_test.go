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
	point := sweep.Parameters{"dataset": "addition", "length": int64(20), "hidden": int64(16), "steps": int64(1000)}
	after := func() time.Duration { // 10 steps that take a second
		t.Helper()
		s, task, err := trainer.open(resolve(t, point), "")
		if err != nil {
			t.Fatal(err)
		}
		cost, err := s.costOf(task, trainer.history)
		if err != nil {
			t.Fatal(err)
		}
		return cost.after(10, time.Second)
	}
	few := after()
	point["steps"] = int64(1_000_000)
	many := after()
	// Validations and the test come on top.
	if few < 100*time.Second || few > 300*time.Second || many < 900*few || many > 1000*few {
		t.Errorf("when 10 steps take a second, 1000 would take %v, a million %v", few, many)
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
