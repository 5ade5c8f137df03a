package model

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/network"
	"sweep/model/system"
	"sweep/sweep"
)

// To estimate what a trial costs makes no matrix of it, however large it is.
func TestEstimatesAllocateNothing(t *testing.T) {
	trainer := newTrainer(t)
	for _, s := range system.All {
		p, work, err := trainer.open(resolve(t, sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": s.Name,
			"hidden": 4096}), "")
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		estimate, err := p.costOf(work, trainer.history)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		// A matrix of a layer has 64 MiB; reflectors, permutations and angles some.
		if most := uint64(8 << 20); after.TotalAlloc-before.TotalAlloc > most*uint64(max(p.network.Layers, 1)) {
			t.Errorf("%s: the estimate of %d MiB allocates %d MiB", s.Name, estimate.bytes>>20,
				(after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
}

// A start ends with its context.
func TestStartIsCancelled(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	trainer := newTrainer(t)
	point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": "irnn", "hidden": 600}
	p, work, err := trainer.open(resolve(t, point), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := network.New(ended, kernel.Float32(), p.spec(work.Shape()),
		network.Room{Batch: 8, History: trainer.history, Threads: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("network.New: %v, want %v", err, context.Canceled)
	}
}
