package model

import (
	"testing"
	"time"

	"sweep/model/kernel"
	"sweep/sweep"
	"sweep/worker/trainer/trainertest"
)

// The built-in trainer keeps the contract, direct and over the wire.
func TestTrainerContract(t *testing.T) {
	at := func(level kernel.Level) func(t *testing.T) sweep.Trainer {
		return func(t *testing.T) sweep.Trainer {
			trainer := newTrainer(t)
			var err error
			if trainer.kernels, err = kernel.Float32At(level); err != nil {
				t.Fatal(err)
			}
			trainer.checkpointInterval = 20 * time.Millisecond
			return trainer
		}
	}
	fixture := trainertest.Fixture{
		Parameters: sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(20)},
		Long:       sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(1_000_000), "hidden": int64(64)},
		Resumable:  sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(600), "test_every": int64(50)},
		Continued:  sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(40), "open_ended": true},
		Refused: []sweep.Parameters{
			{"dataset": "generated-cbf", "m1": int64(33)},
			{"dataset": "generated-cbf", "model": "ornn", "start": "identity"},
			{"dataset": "generated-cbf", "model": "sgornn", "m1": int64(8)},
		},
	}
	level := kernel.Float32().Level()
	if level != kernel.Plain && !testing.Short() { // one goroutine trains, without any level's assembly
		fixture.OtherLevel = at(kernel.Plain)
	}
	trainertest.Run(t, at(level), fixture)
}

// Trials that agree in the parameters that determine the data set have one digest,
// whatever the others are: a sweep knows one of them for all.
func TestDatasetDigest(t *testing.T) {
	trainer := newTrainer(t)
	digest := func(point sweep.Parameters) (string, bool) {
		resolved, err := description().Resolve(point)
		if err != nil {
			return "", false
		}
		v, err := trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: resolved})
		if err != nil {
			return "", false
		}
		return v.DatasetDigest, true
	}
	varied := map[string]bool{}
	for _, set := range []string{"generated-cbf", "generated-har-2", "generated-text", "addition", "copy"} {
		want, ok := digest(sweep.Parameters{"dataset": set})
		if !ok {
			t.Fatalf("%s is refused", set)
		}
		for _, p := range description().Parameters {
			if p.Dataset {
				continue
			}
			values := p.Enum
			switch p.Type {
			case sweep.IntegerType:
				values = []any{int64(2), int64(3), int64(7)}
			case sweep.NumberType:
				values = []any{0.25, 0.5}
			}
			for _, value := range values {
				got, taken := digest(sweep.Parameters{"dataset": set, p.Name: value})
				if !taken {
					continue
				}
				if varied[p.Name] = true; got != want {
					t.Errorf("%s with %s = %v has another digest, and %s does not determine the data set", set, p.Name,
						value, p.Name)
				}
			}
		}
	}
	for _, name := range []string{"length", "steps", "seed", "batch", "model", "lr", "input_size"} {
		if !varied[name] {
			t.Errorf("%s was not varied", name)
		}
	}
}
