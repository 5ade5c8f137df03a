package model

import (
	"context"
	"testing"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/task"
	"sweep/sweep"
)

func TestThreadsOf(t *testing.T) {
	for value, want := range map[string]int{"": 1, "1": 1, "16": 16} {
		if got, err := threadsOf(value); got != want || err != nil {
			t.Errorf("%q: %d, %v", value, got, err)
		}
	}
	for _, value := range []string{"0", "-1", "two", "1.5", "9999999"} {
		if _, err := threadsOf(value); err == nil {
			t.Errorf("%q was taken", value)
		}
	}
}

// TestThreadsDoNotChangeBits trains minibatches of several slices, the last one
// smaller and of fewer, on several threads.
func TestThreadsDoNotChangeBits(t *testing.T) {
	volatile := description().Volatile()
	set := dataset.GenerateCBF(1, 300, 170)
	for _, model := range []string{"rnn", "lstm", "gru", "ornn", "spectral-rnn"} {
		s, err := settingsOf(resolve(t, sweep.Parameters{
			"dataset": "generated-cbf", "model": model, "epochs": int64(2), "batch": int64(150), "dropout": 0.1,
			"input_size": int64(1),
		}))
		if err != nil {
			t.Fatal(err)
		}
		work, err := task.Classify(set, s.task("", nil))
		if err != nil {
			t.Fatal(err)
		}
		var digests [4]string
		for i, c := range []struct {
			threads int
			history int64
		}{{1, defaultHistory}, {2, defaultHistory}, {5, defaultHistory}, {2, 1}} {
			run, err := newTraining(t.Context(), kernel.Float32(), s, work, c.threads, c.history, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if count, _ := task.Cut(150, run.net.Rows()); count != 3 {
				t.Fatalf("%d slices", count)
			}
			r, err := run.run(context.Background(), newCollector(), time.Hour)
			run.close()
			if err != nil {
				t.Fatal(err)
			}
			digests[i] = r.ComputeDigest(volatile)
		}
		for _, digest := range digests[1:] {
			if digest != digests[0] {
				t.Errorf("%s: results of 1, 2 and 5 threads, and with little memory, differ: %v", model, digests)
				break
			}
		}
	}
}
