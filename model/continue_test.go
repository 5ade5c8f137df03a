package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/model/system"
	"sweep/sweep"
)

// budget is how long a trial trains.
type budget struct {
	parameter string
	value     int64
}

// trainLonger trains a trial from the checkpoint of a shorter one, if there is one, and returns the result with
// its curves, the checkpoint at its end, and how many steps it took.
func trainLonger(t *testing.T, point sweep.Parameters, b budget, points int, from []byte) (*sweep.Result, []byte, int) {
	t.Helper()
	point = point.Clone()
	point["open_ended"], point[b.parameter] = true, b.value
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}, Points: points, Thinned: true,
		Artifacts: []string{sweep.CheckpointArtifact}, Checkpoint: from}
	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond // after each step but the last
	sink := newCollector()
	sink.recorder = sweep.NewRecorder(points)
	result, err := trainer.Train(t.Context(), request, sink)
	if err != nil {
		t.Fatal(err)
	}
	result.Curves = sink.recorder.Curves()
	return result, sink.artifact, len(sink.checkpoints) + 1
}

// checkContinued compares a trial that is continued twice with one that trains so long at once.
func checkContinued(t *testing.T, point sweep.Parameters, parameter string, points int, budgets ...int64) {
	t.Helper()
	digest := func(r *sweep.Result) string { return r.ComputeDigest(description().Volatile()) }
	var from []byte
	taken := 0
	for _, b := range budgets {
		want, _, all := trainLonger(t, point, budget{parameter, b}, points, nil)
		got, state, steps := trainLonger(t, point, budget{parameter, b}, points, from)
		if digest(got) != digest(want) {
			for i, c := range want.Curves {
				if g := got.Curves[i]; c.Metric != "seconds" && (!slices.Equal(g.Steps, c.Steps) ||
					!slices.Equal(g.Values, c.Values)) {
					t.Logf("%s: %v %v, want %s %v %v", g.Metric, g.Steps, g.Values, c.Metric, c.Steps, c.Values)
				}
			}
			t.Fatalf("%s %d: other bits: weights equal %v, summary %v, want %v", parameter, b,
				got.WeightsDigest == want.WeightsDigest, got.Summary, want.Summary)
		}
		if f := sweep.FlopsMetric; got.Summary[f] != want.Summary[f] {
			t.Errorf("%s %d: flops %v, want %v", parameter, b, got.Summary[f], want.Summary[f])
		}
		if steps != all-taken {
			t.Errorf("%s %d: %d steps of %d after %d", parameter, b, steps, all, taken)
		}
		if taken = all; len(state) == 0 {
			t.Fatalf("%s %d: no checkpoint", parameter, b)
		}
		from = state
	}
}

// Every system gives the same bits when it is continued, for the difference in steps.
func TestContinueSystems(t *testing.T) {
	for _, s := range system.All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			checkContinued(t, sweep.Parameters{"dataset": "generated-cbf", "model": s.Name, "hidden": int64(16),
				"lr": 0.01, "decay": 0.9, "decay_every": int64(2), "dropout": 0.2, "gap_curves": true,
				"report_every": int64(3)}, "epochs", 1000, 2, 5)
		})
	}
}

// Every task does, with every rule that keeps weights, without held-out rows, with dropout, and with curves of so
// many points that they are thinned.
func TestContinueTasks(t *testing.T) {
	cases := map[string]struct {
		parameter string
		points    int
		budgets   []int64
		point     sweep.Parameters
	}{
		"curves with spaces": {"epochs", 1000, []int64{9, 27, 81, 100}, sweep.Parameters{"gap_curves": true}},
		"thinned":            {"epochs", 8, []int64{7, 45, 61}, sweep.Parameters{"gap_curves": true}},
		"loss":               {"epochs", 1000, []int64{3, 7}, sweep.Parameters{"epoch_rule": "smallest-loss", "lr": 0.1}},
		"error":              {"epochs", 1000, []int64{3, 7}, sweep.Parameters{"epoch_rule": "last-smallest-error"}},
		"no validation":      {"epochs", 1000, []int64{3, 7}, sweep.Parameters{"validation": int64(0)}},
		"tests":              {"epochs", 1000, []int64{3, 7}, sweep.Parameters{"test_every": int64(2)}},
		"no tests":           {"epochs", 1000, []int64{3, 7}, sweep.Parameters{"test_every": int64(-1)}},
		"ragged batches":     {"epochs", 1000, []int64{1, 3}, sweep.Parameters{"batch": int64(7)}},
		"rmsprop":            {"epochs", 1000, []int64{2, 3}, sweep.Parameters{"optimizer": "rmsprop"}},
		"sgd":                {"epochs", 1000, []int64{2, 3}, sweep.Parameters{"optimizer": "sgd", "momentum": 0.9}},
		"addition": {"steps", 1000, []int64{3, 10, 25, 29, 400}, sweep.Parameters{"dataset": "addition",
			"length": int64(10), "validate_every": int64(10), "held": int64(10), "decay": 0.9}},
		"copy": {"steps", 1000, []int64{5, 11}, sweep.Parameters{"dataset": "copy", "length": int64(10),
			"validate_every": int64(4), "held": int64(10)}},
		"words":      {"epochs", 1000, []int64{1, 2}, sweep.Parameters{"dataset": "generated-text"}},
		"queries":    {"epochs", 1000, []int64{1, 2}, sweep.Parameters{"dataset": "generated-queries", "limit": int64(50)}},
		"multilabel": {"epochs", 1000, []int64{1, 3}, sweep.Parameters{"dataset": "generated-multilabel"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			point := sweep.Parameters{"dataset": "generated-cbf", "model": "rnn", "hidden": int64(4)}
			if c.point["dataset"] == "generated-multilabel" {
				point["model"] = "mlp"
			}
			for name, value := range c.point {
				point[name] = value
			}
			checkContinued(t, point, c.parameter, c.points, c.budgets...)
		})
	}
}

// A trial with an end says why it cannot be trained longer, and an open-ended one refuses what has an end.
func TestOpenEndedRefuses(t *testing.T) {
	d := description()
	for parameter, value := range map[string]any{"schedule": "linear", "refit": 0.2} {
		point := sweep.Parameters{"dataset": "generated-cbf", "refit": int64(0), parameter: value}
		var refused *sweep.ParameterError
		if err := d.Endless(resolve(t, point)); !errors.As(err, &refused) || refused.Parameter != parameter ||
			!strings.Contains(err.Error(), "trained longer") {
			t.Errorf("%s: %v", parameter, err)
		}
		point["open_ended"] = true
		if _, err := settingsOf(resolve(t, point)); !errors.As(err, &refused) || refused.Parameter != parameter {
			t.Errorf("open_ended with %s: %v", parameter, err)
		}
		if lineage, _ := d.Lineage(resolve(t, point), ""); lineage != "" {
			t.Errorf("%s: the trial has a lineage", parameter)
		}
	}
	open := resolve(t, sweep.Parameters{"dataset": "generated-cbf", "model": "ornn", "open_ended": true})
	if open["refit"] != int64(0) && open["refit"] != 0.0 {
		t.Errorf("an open-ended trial has refit %v", open["refit"])
	}
	if err := d.Endless(open); err != nil {
		t.Error(err)
	}
}

// The lineage is that of all parameters but the budget.
func TestLineage(t *testing.T) {
	d := description()
	of := func(more sweep.Parameters) string {
		point := sweep.Parameters{"dataset": "generated-cbf", "open_ended": true}
		for name, value := range more {
			point[name] = value
		}
		lineage, budget := d.Lineage(resolve(t, point), "digest")
		return fmt.Sprint(lineage, " ", budget)
	}
	short := of(sweep.Parameters{"epochs": int64(10)})
	lineage, _, _ := strings.Cut(short, " ")
	if want := lineage + " 20"; lineage == "" || of(sweep.Parameters{"epochs": int64(20)}) != want {
		t.Errorf("%s and %s", short, of(sweep.Parameters{"epochs": int64(20)}))
	}
	if other := of(sweep.Parameters{"epochs": int64(20), "seed": int64(2)}); strings.HasPrefix(other, lineage) {
		t.Error("another seed has the same lineage")
	}
	if has := of(sweep.Parameters{"open_ended": false}); has != " 0" {
		t.Errorf("a trial with an end has lineage %s", has)
	}
}

// A checkpoint of another level, size or kind of curves is refused, and so is one of a trial with an end.
func TestContinueRefuses(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-cbf", "model": "rnn", "hidden": int64(4), "epochs": int64(2),
		"open_ended": true}
	_, state, _ := trainLonger(t, point, budget{"epochs", 2}, 1000, nil)
	point["epochs"] = int64(4)
	refuses := func(what string, change func(request *sweep.TrainRequest)) {
		t.Helper()
		request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}, Points: 1000, Thinned: true,
			Checkpoint: state}
		change(&request)
		if _, err := newTrainer(t).Train(t.Context(), request, newCollector()); err == nil ||
			!strings.Contains(err.Error(), "checkpoint: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refuses("other limit of points", func(r *sweep.TrainRequest) { r.Points = 10 })
	refuses("end", func(r *sweep.TrainRequest) { delete(r.Parameters, "open_ended") })
	refuses("width", func(r *sweep.TrainRequest) { r.Parameters["hidden"] = int64(5) })
	refuses("damage", func(r *sweep.TrainRequest) { r.Checkpoint = state[:len(state)/2] })
	refuses("shorter", func(r *sweep.TrainRequest) { r.Parameters["epochs"] = int64(1) })
}

// A trial that could be stopped early retains all points of its curves. One that cannot be stopped, and thins them,
// continues from its checkpoints with the same bits. The other way round points may be missing.
func TestContinueStoppable(t *testing.T) {
	const points = 8
	point := sweep.Parameters{"dataset": "generated-cbf", "model": "rnn", "hidden": int64(4), "open_ended": true,
		"epochs": int64(60)}
	trainOnce := func(thinned bool, from []byte) (*sweep.Result, *collector, error) {
		request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}, Points: points, Thinned: thinned,
			Checkpoint: from}
		trainer, sink := newTrainer(t), newCollector()
		trainer.checkpointInterval = time.Nanosecond
		if thinned {
			sink.recorder = sweep.NewRecorder(points)
		}
		result, err := trainer.Train(t.Context(), request, sink)
		if err == nil {
			result.Curves = sink.recorder.Curves()
		}
		return result, sink, err
	}
	check := func(thinned bool, want *sweep.Result, from []byte) {
		t.Helper()
		got, _, err := trainOnce(thinned, from)
		if err != nil {
			t.Fatal(err)
		}
		if volatile := description().Volatile(); got.ComputeDigest(volatile) != want.ComputeDigest(volatile) {
			t.Errorf("thinned %v: other bits", thinned)
		}
	}
	whole, all, err := trainOnce(false, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, thin, err := trainOnce(true, nil)
	if err != nil {
		t.Fatal(err)
	}
	late := len(all.checkpoints) * 2 / 3
	for _, at := range []int{3, late} {
		check(true, want, all.checkpoints[at])
		check(false, whole, all.checkpoints[at])
	}
	check(false, whole, thin.checkpoints[3])
	if _, _, err := trainOnce(false, thin.checkpoints[late]); err == nil || !strings.Contains(err.Error(), "lack points") {
		t.Errorf("from a checkpoint that lacks points: %v", err)
	}
}

// Large checkpoints are saved less often, small ones are not.
func TestCheckpointPause(t *testing.T) {
	for size, want := range map[int]time.Duration{
		0: 30 * time.Second, largeCheckpoint: 30 * time.Second,
		2 * largeCheckpoint: time.Minute, 120 * largeCheckpoint: time.Hour,
	} {
		if pause := checkpointPause(30*time.Second, size); pause != want {
			t.Errorf("%v after %d bytes, want %v", pause, size, want)
		}
	}
}
