package model

import (
	"testing"
	"time"

	"sweep/sweep"
	"sweep/worker/trainer/trainertest"
)

// The built-in trainer keeps the contract, direct and over the wire.
func TestTrainerContract(t *testing.T) {
	trainertest.Run(t, func(*testing.T) sweep.Trainer {
		trainer := NewTrainer()
		trainer.checkpointInterval = 20 * time.Millisecond
		return trainer
	}, trainertest.Fixture{
		Parameters: sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(20)},
		Long:       sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(1_000_000), "hidden": int64(64)},
		Resumable:  sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(600), "test_every": int64(50)},
		Refused: []sweep.Parameters{
			{"dataset": "generated-cbf", "m1": int64(33)},
			{"dataset": "generated-cbf", "model": "lstm", "start": "identity"},
		},
	})
}
