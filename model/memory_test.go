//go:build !race

// Under the race detector sync.Pool drops at random what it is given.

package model

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/system"
	"sweep/sweep"
)

// TestMemoryEstimate compares the memory that is estimated for a trial with the memory
// that it uses: what the trial refers to between two steps, and what a step or a
// checkpoint takes beside it, whichever is more. Nothing of a trial lies outside the
// heap. The data set is left out on both sides: beside it small networks would vanish.
func TestMemoryEstimate(t *testing.T) {
	for _, s := range system.All {
		for _, v := range append([]variant{{name: "default"}}, variants(s)...) {
			sizes := []int64{32, 128, 512}
			switch {
			case v.value == "exp", s.Name == "fc-urnn":
				sizes = []int64{16, 64, 128} // a step takes 200 n³ operations
			case s.FeedForward:
				sizes = []int64{32, 64, 128} // of some thirty layers
			}
			if testing.Short() { // at a lower level, where packed weights are padded to other widths
				sizes = sizes[:2]
			}
			for _, hidden := range sizes {
				point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": s.Name, "hidden": hidden}
				if !s.FeedForward {
					point["input_size"] = int64(16)
				}
				if v.parameter != "" {
					point[v.parameter] = v.value
				}
				t.Run(fmt.Sprintf("%s/%s/%d units", s.Name, v.name, hidden), func(t *testing.T) {
					checkMemory(t, point)
				})
			}
		}
		if s.FeedForward {
			continue
		}
		for _, hidden := range []int64{64, 160} {
			point := sweep.Parameters{"dataset": "addition", "model": s.Name, "hidden": hidden, "length": int64(8),
				"batch": int64(160), "held": int64(160), "layers": int64(2), "dropout": .1}
			t.Run(fmt.Sprintf("%s/slices of two layers/%d units", s.Name, hidden), func(t *testing.T) {
				checkMemory(t, point)
			})
			point = sweep.Parameters{"dataset": dataset.GeneratedText, "model": s.Name, "hidden": hidden,
				"length": int64(8), "batch": int64(80)}
			t.Run(fmt.Sprintf("%s/words/%d units", s.Name, hidden), func(t *testing.T) { checkMemory(t, point) })
		}
	}
	for name, point := range map[string]sweep.Parameters{
		"many reflectors":    {"model": "spectral-rnn", "hidden": int64(512), "m1": int64(128), "m2": int64(128)},
		"compact reflectors": {"model": "ornn", "hidden": int64(512), "m1": int64(16)},
		"parseval":           {"model": "rnn", "hidden": int64(512), "parseval": 0.1},
		"short history":      {"model": "lstm", "hidden": int64(64), "length": int64(1000)},
	} {
		point["dataset"], point["batch"], point["held"] = "addition", int64(20), int64(20)
		if testing.Short() && point["hidden"] == int64(512) {
			point["hidden"] = int64(256)
		}
		if _, long := point["length"]; !long {
			point["length"] = int64(20)
		}
		t.Run(name, func(t *testing.T) { checkMemory(t, point) })
	}
	for _, hidden := range []int64{16, 128} {
		point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "hidden": hidden, "input_size": int64(64), "fgsm": 0.1}
		t.Run(fmt.Sprintf("adversarial examples/%d units", hidden), func(t *testing.T) { checkMemory(t, point) })
	}
}

// checkMemory holds the estimate of a trial to 20 % of what it uses.
func checkMemory(t *testing.T, point sweep.Parameters) {
	t.Helper()
	trainer := newTrainer(t)
	trainer.history = 8 << 20
	s, work, err := trainer.open(resolve(t, point), "")
	if err != nil {
		t.Fatal(err)
	}
	estimate, err := s.costOf(work, trainer.history)
	if err != nil {
		t.Fatal(err)
	}
	estimated := estimate.bytes - work.Memory()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var reached reachable
	reached.add(reflect.ValueOf(work))
	reached.add(reflect.ValueOf(s))
	before := reached.bytes()
	run, err := newTraining(t.Context(), kernel.Float32(), s, work, 1, trainer.history, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer run.close()
	step := func() {
		run.step()
		run.net.Form()
	}
	step()
	if err := run.endInterval(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.fgsm > 0 {
		if _, err := run.attack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reached.add(reflect.ValueOf(run))
	live := reached.bytes() - before
	runtime.GC()
	runtime.GC() // what gonum keeps for its next matrices goes by the second
	sent := 0    // a checkpoint is copied to be sent
	beside := max(allocated(step), allocated(func() {
		state, err := run.checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		sent = len(state)
	})+int64(sent))
	used := live + beside
	if difference := math.Abs(float64(estimated - used)); difference > .2*float64(used) {
		t.Errorf("uses %d KiB, %d of them between steps; the estimate is %d KiB: want it within 20 %%", used>>10,
			live>>10, estimated>>10)
	}
}

// allocated is the bytes that f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
