package model

import (
	"testing"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep"
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
	shape, batch := task.Shape{Steps: 784, Inputs: 1, Outputs: 10, Classes: true, Loss: "cross_entropy"}, 128
	for _, model := range []string{"rnn", "lstm", "gru"} {
		s, err := settingsOf(resolve(t, sweep.Parameters{"dataset": "mnist", "model": model, "dropout": 0.5}))
		if err != nil {
			t.Fatal(err)
		}
		net, err := network.Declare(kernel.Float32(), s.spec(shape))
		if err != nil {
			t.Fatal(err)
		}
		need := func(kept int) int64 {
			return 4 * net.Stack.Cost(layer.Limits{Steps: shape.Steps, Batch: batch, History: kept}).Values
		}
		all := need(shape.Steps)
		for _, bytes := range []int64{all, all - 1, all / 2, all / 5} {
			kept := net.Limits(batch, bytes).History
			if need(kept) > bytes {
				t.Errorf("%s: %d bytes for %d steps where %d are to be had", model, need(kept), kept, bytes)
			}
			if kept < shape.Steps && need(kept+1) <= bytes {
				t.Errorf("%s: %d steps kept where %d fit", model, kept, kept+1)
			}
			if (bytes == all) != (kept == shape.Steps) {
				t.Errorf("%s: %d of %d bytes: %d steps kept", model, bytes, all, kept)
			}
		}
		if kept := net.Limits(batch, 1).History; kept < 7 || kept > 28 {
			t.Errorf("%s: %d steps kept without memory, want the fewest bytes", model, kept)
		}
		single := shape
		single.Steps = 1
		if net, err = network.Declare(kernel.Float32(), s.spec(single)); err != nil {
			t.Fatal(err)
		}
		if kept := net.Limits(4, 1).History; kept != 1 {
			t.Errorf("%s: of one step %d are kept", model, kept)
		}
	}
}
