package model

import (
	"context"
	"testing"

	"sweep/sweep"
)

// BenchmarkTrial trains whole trials of 50 epochs: what a sweep's trial costs
// besides its way there and back.
func BenchmarkTrial(b *testing.B) {
	dir := dataDir(b)
	trainer := NewTrainer()
	for _, set := range []string{"ItalyPowerDemand", "CBF", "Coffee", "FiftyWords", "FaceAll"} {
		for _, model := range []string{"rnn", "ornn", "spectral-rnn", "lstm", "gru"} {
			b.Run(set+"/"+model, func(b *testing.B) {
				request := sweep.TrainRequest{DataDir: dir, Trial: sweep.Trial{Parameters: resolve(b, sweep.Parameters{
					"dataset": set, "model": model, "epochs": int64(50), "test_every": int64(-1),
				})}}
				for b.Loop() {
					if _, err := trainer.Train(context.Background(), request, newCollector()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
