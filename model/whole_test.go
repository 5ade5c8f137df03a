package model

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// whole is a trial that holds no rows out.
func whole(more sweep.Parameters) sweep.Parameters {
	point := sweep.Parameters{"dataset": "generated-har-2", "model": "sgornn", "hidden": int64(8), "batch": int64(50),
		"epochs": int64(4), "validation": int64(0), "epoch_rule": "final", "optimizer": "rmsprop"}
	for name, value := range more {
		point[name] = value
	}
	return point
}

// Every epoch trains on every row of the training set once, in minibatches of the whole of it.
func TestWholeTrainingSet(t *testing.T) {
	run := newRun(t, resolve(t, whole(nil)))
	if all := run.task.Count(task.Train); all != 240 || run.plan.Interval != 5 || run.plan.Steps != 20 ||
		run.task.Count(task.Validation) != 0 {
		t.Fatalf("%d rows, %+v", all, run.plan)
	}
	for range 2 {
		seen := map[[2]float32]bool{}
		for range run.plan.Interval {
			run.streams[task.Train].Next(run.batch)
			_, size := task.Cut(run.batch.Size, run.net.Rows())
			for i := range run.batch.Size {
				first := i/size*size*run.batch.Steps + i%size
				x := run.batch.X.Row(first)
				seen[[2]float32{x[0], x[1]}] = true
			}
		}
		if len(seen) != 240 {
			t.Errorf("an epoch has %d different rows, want 240", len(seen))
		}
	}
}

// Nothing is reported of rows that are not there, in no curve, summary and artifact; the final
// weights are tested, and an interrupted trial comes to the same.
func TestWholeReports(t *testing.T) {
	for _, dataset := range []string{"generated-har-2", "generated-cbf"} {
		request := sweep.TrainRequest{
			Trial:     sweep.Trial{Parameters: resolve(t, whole(sweep.Parameters{"dataset": dataset}))},
			Artifacts: []string{ProbabilitiesArtifact},
		}
		trainer := newTrainer(t)
		trainer.checkpointInterval = time.Nanosecond
		sink := newCollector()
		result, err := trainer.Train(t.Context(), request, sink)
		if err != nil {
			t.Fatal(err)
		}
		names := slices.Collect(func(yield func(string) bool) {
			for name := range result.Summary {
				yield(name)
			}
			for _, c := range sink.recorder.Curves() {
				yield(c.Metric)
			}
		})
		if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "validation") }); i >= 0 {
			t.Errorf("%s: it has a %s", dataset, names[i])
		}
		if _, tested := result.Summary["test_accuracy"]; !tested || bestEpoch(result) != 4 || result.Diverged ||
			!slices.Contains(names, "train_loss") {
			t.Errorf("%s: epoch %d, diverged %v, %v", dataset, bestEpoch(result), result.Diverged, result.Summary)
		}
		file, err := safetensors.Decode(sink.artifact)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, tensor := range file.Tensors {
			parts = append(parts, tensor.Name)
		}
		if slices.Sort(parts); !slices.Equal(parts, []string{"test", "test_labels"}) {
			t.Errorf("%s: probabilities of %v", dataset, parts)
		}
		request.Checkpoint = sink.checkpoints[len(sink.checkpoints)/2]
		again, err := newTrainer(t).Train(t.Context(), request, newCollector())
		if err != nil || again.WeightsDigest != result.WeightsDigest {
			t.Errorf("%s: resumed it comes to other weights (%v)", dataset, err)
		}
	}
}

// What would go by the rows that are not there is refused, and the default refit is none.
func TestWholeRefuses(t *testing.T) {
	for name, value := range map[string]any{"epoch_rule": "smallest-loss", "refit": 0.2, "split": "stratified"} {
		var refused *sweep.ParameterError
		if _, err := settingsOf(whole(sweep.Parameters{name: value})); !errors.As(err, &refused) ||
			refused.Parameter != name {
			t.Errorf("%s %v: %v", name, value, err)
		}
	}
	for _, dataset := range []string{"CBF", "mnist", "har-2"} {
		if _, err := settingsOf(whole(sweep.Parameters{"dataset": dataset, "hidden": int64(32), "model": "spectral-rnn"})); err != nil {
			t.Errorf("%s: %v", dataset, err)
		}
	}
}

// Weights that the last step spoilt are not kept: the last minibatch tells.
func TestWholeDiverges(t *testing.T) {
	run := stepByStep(t, whole(nil), func(run *training) {
		if run.position() == run.plan.Steps {
			run.net.Arena.Values()[0] = float32(math.NaN())
		}
	})
	result, err := run.result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !result.Diverged || bestEpoch(result) != 3 {
		t.Errorf("diverged %v, epoch %d, %v", result.Diverged, bestEpoch(result), result.Summary)
	}
}
