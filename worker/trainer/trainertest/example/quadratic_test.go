package main

import (
	"math"
	"testing"

	"sweep/sweep"
	"sweep/worker/trainer/trainertest"
)

func TestTrainer(t *testing.T) {
	trainertest.Run(t, func(*testing.T) sweep.Trainer { return quadratic{} }, trainertest.Fixture{
		Parameters: sweep.Parameters{"epochs": 50, "momentum": 0.5},
		Long:       sweep.Parameters{"epochs": 100_000, "pause": 5, "checkpoint_every": 10},
		Resumable:  sweep.Parameters{"epochs": 50, "momentum": 0.9, "checkpoint_every": 7},
		Refused:    []sweep.Parameters{{"learning_rte": 0.1}, {"fault": "sulk"}},
	})
}

// Gradient descent shrinks each error by 1 − ρ·dᵢ an epoch: with equal curvatures
// of 1 the loss falls by (1 − ρ)² exactly.
func TestConvergence(t *testing.T) {
	sink := &trainertest.Sink{}
	p, err := description.Resolve(sweep.Parameters{"condition": 1, "learning_rate": 0.1, "epochs": 20})
	if err != nil {
		t.Fatal(err)
	}
	result, err := quadratic{}.Train(t.Context(), sweep.TrainRequest{Trial: sweep.Trial{Parameters: p}}, sink)
	if err != nil {
		t.Fatal(err)
	}
	losses := sink.Curves()[0].Values
	for i := 1; i < len(losses); i++ {
		if ratio := float64(losses[i]) / float64(losses[i-1]); math.Abs(ratio-0.81) > 1e-6 {
			t.Fatalf("loss falls by %v at epoch %d, want 0.81", ratio, i+1)
		}
	}
	if epoch := result.Summary[sweep.BestEpochMetric]; epoch != 20 {
		t.Errorf("best epoch %v, want 20", epoch)
	}
}

func TestDivergence(t *testing.T) {
	p, err := description.Resolve(sweep.Parameters{"learning_rate": 1000, "epochs": 10_000, "checkpoint_every": 1})
	if err != nil {
		t.Fatal(err)
	}
	result, err := quadratic{}.Train(t.Context(), sweep.TrainRequest{Trial: sweep.Trial{Parameters: p}},
		&trainertest.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Diverged || result.State != sweep.Completed {
		t.Errorf("state %q, diverged %v: want a completed trial that diverged", result.State, result.Diverged)
	}
}
