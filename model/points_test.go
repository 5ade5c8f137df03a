package model

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"sweep/model/layer"
	"sweep/model/task"
	"sweep/sweep"
)

// The gaps are those of the epoch's own minibatches and the test's, and nothing else changes.
func TestGapCurves(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-cbf", "model": "rnn", "epochs": int64(4), "batch": int64(7),
		"refit": int64(0), "test_every": int64(2), "lr": 0.01}
	plain := train(t, newTrainer(t), "", point)
	point["gap_curves"] = true
	r := train(t, newTrainer(t), "", point)
	if r.WeightsDigest != plain.WeightsDigest || len(r.Curves) != len(plain.Curves)+4 {
		t.Errorf("%d curves, without %d; other weights: %v", len(r.Curves), len(plain.Curves),
			r.WeightsDigest != plain.WeightsDigest)
	}
	curve := func(metric string) []float32 {
		steps, values := points(r, metric)
		if metric != "train_loss" && !slices.Equal(steps, []int64{2, 4}) {
			t.Fatalf("%s at %v", metric, steps)
		}
		return values
	}
	trainLoss, losses, lossGaps := curve("train_loss"), curve("test_loss"), curve("loss_gap")
	accuracies, tested, gaps := curve("train_accuracy"), curve("test_accuracy"), curve("accuracy_gap")
	for i, epoch := range []int{1, 3} {
		if math.Abs(float64(lossGaps[i]-(losses[i]-trainLoss[epoch]))) > 1e-6 ||
			math.Abs(float64(gaps[i]-(accuracies[i]-tested[i]))) > 1e-6 {
			t.Errorf("epoch %d: gaps %v and %v", epoch+1, lossGaps[i], gaps[i])
		}
	}
	if losses[1] != float32(r.Summary["test_loss"]) || tested[1] != float32(r.Summary["test_accuracy"]) {
		t.Errorf("the last test is not that of the final weights")
	}
	// The accuracy in training, counted before each step.
	run := newRun(t, resolve(t, point))
	correct, rows := 0, 0
	for run.position() < 2*run.plan.Interval {
		if run.position() == run.plan.Interval {
			correct, rows = 0, 0
		}
		stream, err := run.task.Open(task.Train, run.s.batch)
		if err != nil {
			t.Fatal(err)
		}
		stream.Seek(run.position())
		stream.Next(run.batch)
		score := run.net.Evaluate(run.batch)
		correct, rows = correct+score.Correct, rows+score.Rows
		run.step()
	}
	if want := float32(float64(correct) / float64(rows)); accuracies[0] != want {
		t.Errorf("accuracy in training %v, want %v", accuracies[0], want)
	}
	var refused *sweep.ParameterError
	point["test_every"] = int64(-1)
	if _, err := settingsOf(resolve(t, point)); !errors.As(err, &refused) || refused.Parameter != "gap_curves" {
		t.Errorf("gaps without tests: %v", err)
	}
}

// Points within an epoch are of the first minibatch and of every third: what the epoch's curves sum
// up, and the weights as they are then. An interrupted trial has the same, and no bit changes.
func TestReportEvery(t *testing.T) {
	point := sweep.Parameters{"dataset": "addition", "length": int64(10), "model": "sgornn", "hidden": int64(8),
		"steps": int64(7), "validate_every": int64(7), "held": int64(10), "batch": int64(20)}
	plain := train(t, newTrainer(t), "", point)
	point["report_every"] = int64(3)
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}}
	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond
	sink := newCollector()
	result, err := trainer.Train(t.Context(), request, sink)
	if err != nil {
		t.Fatal(err)
	}
	result.Curves = sink.recorder.Curves()
	if result.WeightsDigest != plain.WeightsDigest {
		t.Error("it comes to other weights")
	}
	run := newRun(t, resolve(t, point))
	cell := run.net.Stack.Layers()[0].(*layer.ScalarGated[float32])
	want := map[string][]float32{}
	for run.position() < run.plan.Steps {
		loss, gradient := run.step()
		if step := run.position(); step != 1 && step != 3 && step != 6 {
			continue
		}
		alpha, beta, _ := cell.Gates()
		margin, _, err := run.net.SpectralMargin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]float64{"train_loss": loss, "gradient_norm": gradient, "alpha": alpha,
			"beta": beta, "alpha_t": 10 * alpha, "spectral_margin": margin} {
			want["step_"+name] = append(want["step_"+name], float32(value))
		}
	}
	for name, values := range want {
		if steps, got := points(result, name); !slices.Equal(steps, []int64{1, 3, 6}) || !slices.Equal(got, values) {
			t.Errorf("%s: %v at %v, want %v", name, got, steps, values)
		}
	}
	request.Checkpoint = sink.checkpoints[3]
	again := newCollector()
	resumed, err := newTrainer(t).Train(t.Context(), request, again)
	if err != nil {
		t.Fatal(err)
	}
	resumed.Curves = again.recorder.Curves()
	volatile := description().Volatile()
	if result.ComputeDigest(volatile) != resumed.ComputeDigest(volatile) {
		t.Error("an interrupted trial has other curves")
	}
}
