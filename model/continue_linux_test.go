package model

import (
	"syscall"
	"testing"

	"sweep/sweep"
)

// BenchmarkContinue measures what 1,000 epochs after 1,000 cost of 2,000 at once, in processor time: cost/half is
// the ratio to half of it.
func BenchmarkContinue(b *testing.B) {
	point := sweep.Parameters{"dataset": "generated-cbf", "open_ended": true}
	trainer := newTrainer(b) // it keeps the data, as in a worker
	train := func(epochs int64, from []byte) (state []byte, seconds float64) {
		point["epochs"] = epochs
		request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(b, point)}, Points: 1000, Thinned: true,
			Artifacts: []string{sweep.CheckpointArtifact}, Checkpoint: from}
		sink, began := newCollector(), processorSeconds(b)
		if _, err := trainer.Train(b.Context(), request, sink); err != nil {
			b.Fatal(err)
		}
		return sink.artifact, processorSeconds(b) - began
	}
	half, _ := train(1000, nil)
	var whole, rest float64
	for b.Loop() {
		_, at := train(2000, nil)
		_, more := train(2000, half)
		whole, rest = whole+at, rest+more
	}
	b.ReportMetric(rest/(whole/2), "cost/half")
}

// processorSeconds is the processor time that this process has used.
func processorSeconds(b *testing.B) float64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
