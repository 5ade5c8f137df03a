package model

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sweep/sweep"
)

// BenchmarkTrial trains whole trials of 50 epochs: what a sweep's trial costs
// besides its way there and back.
func BenchmarkTrial(b *testing.B) {
	dir := dataDir(b)
	trainer := newTrainer(b)
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

// BenchmarkLanguage trains on minibatches of the Penn Treebank: 20 rows of 300 words,
// a softmax over 10,000 words, the update included.
func BenchmarkLanguage(b *testing.B) {
	dir := dataDir(b)
	for _, c := range []struct {
		model          string
		hidden, layers int64
	}{{"lstm", 128, 1}, {"lstm", 128, 2}, {"rnn", 128, 1}, {"spectral-rnn", 512, 1}, {"spectral-rnn", 512, 2}} {
		b.Run(fmt.Sprintf("%s(%d,%d)", c.model, c.layers, c.hidden), func(b *testing.B) {
			point := sweep.Parameters{"dataset": "ptb", "model": c.model, "hidden": c.hidden, "layers": c.layers}
			if c.hidden == 512 {
				point["m1"], point["m2"] = int64(32), int64(32)
			}
			benchSteps(b, dir, point)
		})
	}
}

// BenchmarkDeep trains on minibatches of 128 images of MNIST with networks of an input
// layer and 30 more of 128 units, the update included.
func BenchmarkDeep(b *testing.B) {
	dir := dataDir(b)
	for _, model := range []string{"mlp", "resnet", "spectral-mlp", "spectral-resnet"} {
		b.Run(model, func(b *testing.B) {
			benchSteps(b, dir, sweep.Parameters{
				"dataset": "mnist", "model": model, "hidden": int64(128), "layers": int64(31),
				"batch": int64(128), "clip": 0.0,
			})
		})
	}
}

// benchSteps trains on one minibatch after the other.
func benchSteps(b *testing.B, dir string, point sweep.Parameters) {
	trainer := newTrainer(b)
	s, work, err := trainer.open(resolve(b, point), dir)
	if err != nil {
		b.Fatal(err)
	}
	run, err := newTraining(b.Context(), trainer.kernels, s, work, trainer.threads, trainer.history, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	defer run.close()
	run.step()
	for b.Loop() {
		run.step()
	}
}

// BenchmarkAddition trains on minibatches of 64 sequences of 500 steps of the addition
// task with 128 units, the update included.
func BenchmarkAddition(b *testing.B) {
	for _, model := range []string{"sgornn", "vprnn", "fastrnn"} {
		b.Run(model, func(b *testing.B) {
			benchSteps(b, "", sweep.Parameters{"dataset": "addition", "length": int64(500), "model": model,
				"hidden": int64(128), "batch": int64(64)})
		})
	}
}
