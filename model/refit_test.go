package model

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// points returns the steps and values of a curve.
func points(r *sweep.Result, metric string) (steps []int64, values []float32) {
	for _, c := range r.Curves {
		if c.Metric == metric {
			return c.Steps, c.Values
		}
	}
	return nil, nil
}

// A refit is what was trained without it, and then goes on without validating.
func TestRefit(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(10), "refit": 0.3,
		"average": int64(0), "lr": 0.01}
	with := train(t, newTrainer(t), "", point)
	point["refit"] = int64(0)
	without := train(t, newTrainer(t), "", point)

	for _, metric := range []string{"train_loss", "validation_loss", "validation_accuracy", "gradient_norm"} {
		steps, values := points(with, metric)
		_, want := points(without, metric)
		if len(values) < 7 || !slices.Equal(values[:7], want[:7]) {
			t.Errorf("%s begins with %v, without a refit with %v", metric, values, want)
		}
		last := int64(10)
		if metric == "validation_loss" || metric == "validation_accuracy" {
			last = 7
		}
		if steps[len(steps)-1] != last || len(steps) != int(last) {
			t.Errorf("%s has points at %v, want 1 to %d", metric, steps, last)
		}
	}
	if bestEpoch(with) != 10 || with.WeightsDigest == without.WeightsDigest {
		t.Errorf("epoch %d kept, weights %s and %s", bestEpoch(with), with.WeightsDigest, without.WeightsDigest)
	}
	_, losses := points(with, "validation_loss")
	_, accuracies := points(with, "validation_accuracy")
	if got, want := float32(with.Summary["validation_loss"]), slices.Min(losses); got != want {
		t.Errorf("validation loss %v, want the smallest of the curve, %v", got, want)
	}
	if got, want := float32(with.Summary["validation_accuracy"]), accuracies[6]; got != want {
		t.Errorf("validation accuracy %v, want that of the last validation, %v", got, want)
	}
}

// Where the refit begins is a whole number of epochs before the end, whatever the share of
// the epochs and the steps of an epoch come to: a last minibatch that is not full, and
// shares that are no whole number of epochs.
func TestRefitBoundaryUnaligned(t *testing.T) {
	for _, c := range []struct {
		epochs, batch int64
		refit         float64
	}{{7, 10, .3}, {7, 7, .5}, {9, 16, .33}, {5, 11, .49}, {3, 9, .2}, {11, 13, .95 * .9}} {
		run := newRun(t, resolve(t, sweep.Parameters{
			"dataset": "generated-cbf", "model": "rnn", "hidden": int64(4), "epochs": c.epochs, "batch": c.batch,
			"refit": c.refit, "average": int64(0),
		}))
		refitted := min(int(math.Round(c.refit*float64(c.epochs))), int(c.epochs)-1)
		// Before the boundary no validation row is trained on, from it on all rows are: the
		// rows of an epoch tell.
		epoch := 0
		plain := run.task.Count(task.Train)
		var validated int
		for run.position() < run.plan.Steps {
			run.step()
			rows := run.sum.Rows
			if run.position()%run.plan.Interval != 0 {
				continue
			}
			epoch++
			late := epoch > int(c.epochs)-refitted
			if late == run.validates() {
				t.Errorf("%+v: epoch %d refits: %v, want %v", c, epoch, !run.validates(), late)
			}
			if late == (rows == plain) {
				t.Errorf("%+v: epoch %d trains on %d rows; %d are not held out", c, epoch, rows, plain)
			}
			if err := run.endInterval(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !late {
				validated++
			}
		}
		if want := int(c.epochs) - refitted; validated != want {
			t.Errorf("%+v: %d epochs validate, want %d", c, validated, want)
		}
	}
}

// One epoch at least validates, however small the share that is left.
func TestRefitLeavesAnEpoch(t *testing.T) {
	for epochs, want := range map[int64]int{1: 1, 2: 1, 3: 1, 10: 1, 20: 2} {
		r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-cbf", "epochs": epochs, "refit": 0.9})
		if steps, _ := points(r, "validation_loss"); len(steps) != want || bestEpoch(r) != epochs {
			t.Errorf("of %d epochs %d validate, want %d; epoch %d kept", epochs, len(steps), want, bestEpoch(r))
		}
	}
}

// Fewer series than a minibatch holds: those of the refit are more, and have room.
func TestRefitOfOneMinibatch(t *testing.T) {
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(6), "refit": 0.5,
		"batch": int64(1000)})
	if steps, _ := points(r, "train_loss"); r.Diverged || len(steps) != 6 {
		t.Errorf("diverged %v, trained %v", r.Diverged, steps)
	}
}

// newRun prepares a trial of resolved parameters.
func newRun(t *testing.T, resolved sweep.Parameters) *training {
	t.Helper()
	s, err := settingsOf(resolved)
	if err != nil {
		t.Fatal(err)
	}
	work, err := task.Open(s.task("", dataset.NewCache(1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := newTraining(t.Context(), kernel.Float32(), s, work, 1, defaultHistory, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.close)
	return run
}

// stepByStep takes all steps of a trial, and calls each after every epoch, before its end
// is seen.
func stepByStep(t *testing.T, point sweep.Parameters, each func(run *training)) *training {
	t.Helper()
	run := newRun(t, resolve(t, point))
	for run.position() < run.plan.Steps {
		run.step()
		if run.position()%run.plan.Interval == 0 {
			each(run)
			if err := run.endInterval(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return run
}

// Weights that the last step of a refit spoilt are not kept: nothing is left that
// would tell.
func TestRefitDiverges(t *testing.T) {
	run := stepByStep(t, sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(4), "refit": 0.5},
		func(run *training) {
			if run.position() == run.plan.Steps {
				run.net.Arena.Values()[0] = float32(math.NaN())
			}
		})
	result, err := run.result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !result.Diverged || bestEpoch(result) != 3 || result.Summary["test_accuracy"] == 0 {
		t.Errorf("diverged %v, epoch %d, %v", result.Diverged, bestEpoch(result), result.Summary)
	}
}

// What is kept are the mean weights of the last epochs.
func TestAverage(t *testing.T) {
	for average, epochs := range map[float64]int{0: 1, 0.1: 1, 0.3: 3, 0.5: 5, 0.7: 5} {
		var mean []float64
		point := sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(10), "refit": 0.5,
			"average": average, "lr": 0.01}
		run := stepByStep(t, point, func(run *training) {
			if run.mark() <= 10-epochs {
				return
			}
			values := run.net.Arena.Values()
			if mean == nil {
				mean = make([]float64, len(values))
			}
			for i, v := range values {
				mean[i] += float64(v) / float64(epochs)
			}
		})
		for i, v := range run.best.Values {
			if math.Abs(float64(v)-mean[i]) > 1e-6 {
				t.Fatalf("average %v: weight %d is %v, want %v", average, i, v, mean[i])
			}
		}
		if run.best.Epoch != 10 {
			t.Errorf("average %v: epoch %d", average, run.best.Epoch)
		}
	}
	var refused *sweep.ParameterError
	point := sweep.Parameters{"dataset": "generated-cbf", "refit": int64(0), "average": 0.1}
	if _, err := settingsOf(resolve(t, point)); !errors.As(err, &refused) || refused.Parameter != "average" {
		t.Errorf("%v: %v", point, err)
	}
}

// A refit that is interrupted among the epochs that are averaged goes on to the same bits.
func TestAverageResumes(t *testing.T) {
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, sweep.Parameters{
		"dataset": "generated-cbf", "epochs": int64(10), "refit": 0.5, "average": 0.4, "lr": 0.01,
	})}, Artifacts: []string{WeightsArtifact}}
	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond
	whole := newCollector()
	if _, err := trainer.Train(t.Context(), request, whole); err != nil {
		t.Fatal(err)
	}
	for _, back := range []int{1, 2, 3, 4} {
		request.Checkpoint = whole.checkpoints[len(whole.checkpoints)-back]
		again := newCollector()
		if _, err := newTrainer(t).Train(t.Context(), request, again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.artifact, whole.artifact) {
			t.Errorf("resumed at checkpoint %d from the end it has other weights", back)
		}
	}
}

// After a refit the validation rows are those of the weights before it began, which had
// not trained on them. A trial that resumes within the refit hands over the same.
func TestRefitProbabilities(t *testing.T) {
	request := sweep.TrainRequest{
		Trial: sweep.Trial{Parameters: resolve(t, sweep.Parameters{
			"dataset": "generated-cbf", "model": "rnn", "epochs": int64(10), "refit": 0.3, "lr": 0.01,
		})},
		Artifacts: []string{ProbabilitiesArtifact},
	}
	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond
	whole := newCollector()
	result, err := trainer.Train(t.Context(), request, whole)
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Decode(whole.artifact)
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]float64{"validation": result.Summary["validation_accuracy"],
		"test": result.Summary["test_accuracy"]} {
		values, err := file.Tensor(part, safetensors.F16)
		if err != nil {
			t.Fatal(err)
		}
		labels, err := file.Tensor(part+"_labels", safetensors.I32)
		if err != nil || labels.Rows == 0 || labels.Rows != values.Rows {
			t.Fatalf("%s: %d labels of %d rows, %v", part, labels.Rows, values.Rows, err)
		}
		correct, undecided, all := 0, 0, values.Halves() // undecided: where half precision does not tell
		for i, label := range labels.Integers() {
			row := all[i*values.Cols : (i+1)*values.Cols]
			largest := slices.Index(row, slices.Max(row))
			if largest == label {
				correct++
			}
			if slices.Contains(row[largest+1:], row[largest]) {
				undecided++
			}
		}
		if got := float64(correct) / float64(labels.Rows); math.Abs(got-want) > (float64(undecided)+1e-3)/float64(labels.Rows) || undecided > labels.Rows/50 {
			t.Errorf("%s: accuracy %v, the summary says %v", part, got, want)
		}
	}
	request.Checkpoint = whole.checkpoints[len(whole.checkpoints)-1]
	again := newCollector()
	if _, err := newTrainer(t).Train(t.Context(), request, again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.artifact, whole.artifact) {
		t.Error("resumed within the refit it has other probabilities")
	}
}

// A refit belongs to the final weights of a classification, and to nothing else.
func TestRefitApplies(t *testing.T) {
	for _, test := range []struct {
		point sweep.Parameters
		want  any
	}{
		{sweep.Parameters{"dataset": "CBF", "model": "lstm"}, 0.2},
		{sweep.Parameters{"dataset": "CBF", "model": "spectral-rnn"}, 0.5},
		{sweep.Parameters{"dataset": "CBF", "model": "lstm", "refit": 0.5}, 0.5},
		{sweep.Parameters{"dataset": "CBF", "epoch_rule": "smallest-loss", "refit": 0.5}, nil},
		{sweep.Parameters{"dataset": "mnist"}, nil},
		{sweep.Parameters{"dataset": "mnist", "epoch_rule": "final"}, 0.2},
		{sweep.Parameters{"dataset": "har-2"}, nil},
		{sweep.Parameters{"dataset": "ptb", "epoch_rule": "final"}, nil},
		{sweep.Parameters{"dataset": "copy", "epoch_rule": "final"}, nil},
	} {
		if got := resolve(t, test.point)["refit"]; !sweep.Equal(got, test.want) {
			t.Errorf("%v: refit %v, want %v", test.point, got, test.want)
		}
		s, err := settingsOf(test.point)
		if err != nil {
			t.Fatal(err)
		}
		if share := s.parameters["refit"]; test.want == nil && !sweep.Equal(share, int64(0)) {
			t.Errorf("%v: refits %v where it does not apply", test.point, share)
		}
	}
}

// bestEpoch is the epoch whose weights a trial kept, 0 if none.
func bestEpoch(r *sweep.Result) int64 { return int64(r.Summary[sweep.BestEpochMetric]) }
