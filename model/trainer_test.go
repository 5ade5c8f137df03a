package model

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep"
)

// dataDir returns the directory of the real data sets, or skips the test.
func dataDir(t testing.TB) string {
	dir := os.Getenv("SWEEP_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "ucr")); err != nil {
		t.Skipf("left out: the real data are not there (%v); set SWEEP_TEST_DATA", err)
	}
	return dir
}

func newTrainer(t testing.TB) *Trainer {
	t.Helper()
	trainer, err := NewTrainer()
	if err != nil {
		t.Fatal(err)
	}
	return trainer
}

// resolve fills in the trainer's defaults.
func resolve(t testing.TB, point sweep.Parameters) sweep.Parameters {
	t.Helper()
	resolved, err := description().Resolve(point)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// collector is a sink that keeps everything.
type collector struct {
	recorder    *sweep.Recorder
	checkpoints [][]byte
	artifact    []byte // the last
	stopAfter   int    // checkpoints before cancel
	cancel      context.CancelFunc
}

func newCollector() *collector { return &collector{recorder: sweep.NewRecorder(1 << 20)} }

func (c *collector) Points(batch []sweep.Curve) error {
	c.recorder.Add(batch)
	return nil
}

func (c *collector) Checkpoint(_ int64, state []byte) error {
	c.checkpoints = append(c.checkpoints, append([]byte(nil), state...))
	if c.cancel != nil && len(c.checkpoints) >= c.stopAfter {
		c.cancel()
	}
	return nil
}

func (c *collector) Artifact(_ sweep.Artifact, content io.Reader) error {
	var err error
	c.artifact, err = io.ReadAll(content)
	return err
}

// train runs one trial to its end.
func train(t testing.TB, trainer *Trainer, dir string, point sweep.Parameters) *sweep.Result {
	t.Helper()
	sink := newCollector()
	result, err := trainer.Train(context.Background(), sweep.TrainRequest{
		Trial: sweep.Trial{Parameters: resolve(t, point)}, DataDir: dir,
	}, sink)
	if err != nil {
		t.Fatal(err)
	}
	result.Curves = sink.recorder.Curves()
	return result
}

func TestDescriptionIsConsistent(t *testing.T) {
	d := description()
	if _, err := settingsOf(resolve(t, sweep.Parameters{"dataset": "CBF"})); err != nil {
		t.Fatalf("the defaults are refused: %v", err)
	}
	seen := map[string]bool{}
	for _, p := range d.Parameters {
		if seen[p.Name] || p.Doc == "" {
			t.Errorf("parameter %s: twice, or without a description", p.Name)
		}
		seen[p.Name] = true
	}
}

// The counts of Table 4 (Zhang, Lei, Dhillon 2018, appendix C), rnn, lstm, ornn,
// spectral-rnn.
var publishedCounts = map[string][4]int64{
	"FiftyWords": {3058, 7218, 2426, 2850}, "Adiac": {2694, 6950, 2062, 2486}, "ArrowHead": {1219, 4515, 587, 1011},
	"Beef": {1606, 5766, 974, 1398}, "BeetleFly": {1699, 6435, 1067, 1491}, "CBF": {1476, 5444, 844, 1268},
	"Coffee": {1570, 6018, 938, 1362}, "CricketX": {1997, 6637, 1365, 1789},
	"DistalPhalanxOutlineCorrect": {1410, 5378, 778, 1202},
	"DistalPhalanxTW":             {1641, 5609, 1009, 1433}, "ECG200": {1410, 5378, 778, 1202},
	"ECG5000":     {1606, 5766, 974, 1398},
	"ECGFiveDays": {1443, 5411, 811, 1235}, "FaceAll": {1615, 4911, 983, 1407}, "FaceFour": {1701, 6245, 1069, 1493},
	"FacesUCR": {1615, 4911, 983, 1407}, "GunPoint": {1507, 5667, 875, 1299},
	"ItalyPowerDemand": {1315, 4899, 683, 1107},
	"Lightning2":       {1570, 6018, 938, 1362}, "MiddlePhalanxOutlineCorrect": {1410, 5378, 778, 1202},
}

func TestParameterCountsArePublished(t *testing.T) {
	dir := dataDir(t)
	trainer := newTrainer(t)
	for set, counts := range publishedCounts {
		for i, model := range []string{"rnn", "lstm", "ornn", "spectral-rnn"} {
			v, err := trainer.Validate(context.Background(), sweep.ValidateRequest{
				Parameters: resolve(t, sweep.Parameters{"dataset": set, "model": model}), DataDir: dir,
			})
			if err != nil {
				t.Fatal(err)
			}
			if v.ParameterCount != counts[i] {
				t.Errorf("%s %s: %d parameters, published are %d", set, model, v.ParameterCount, counts[i])
			}
		}
	}
}

// Every model learns: five seeds together do much better than chance, 1/3, and
// each brings its training loss down.
func TestTrainLearnsGeneratedCBF(t *testing.T) {
	const seeds, epochs = 5, 100
	for _, model := range []string{"rnn", "irnn", "lstm", "gru", "ornn", "spectral-rnn"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			var accuracy float64
			for seed := range int64(seeds) {
				r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-cbf", "model": model,
					"epochs": int64(epochs), "lr": 0.003, "seed": seed})
				if r.State != sweep.Completed || r.Diverged {
					t.Errorf("seed %d: state %s, diverged %v", seed, r.State, r.Diverged)
				}
				accuracy += r.Summary["test_accuracy"] / seeds
				for _, c := range r.Curves {
					if c.Metric == "train_loss" && (len(c.Values) != epochs || c.Values[epochs-1] > c.Values[0]/2) {
						t.Errorf("seed %d: train loss %v … %v over %d epochs", seed, c.Values[0],
							c.Values[len(c.Values)-1], len(c.Values))
					}
				}
			}
			if accuracy < 0.6 {
				t.Errorf("mean test accuracy %.3f", accuracy)
			}
			t.Logf("mean test accuracy %.3f", accuracy)
		})
	}
}

func TestSameSeedSameBits(t *testing.T) {
	volatile := description().Volatile()
	point := sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(5), "dropout": 0.2}
	one, two := train(t, newTrainer(t), "", point), train(t, newTrainer(t), "", point)
	if one.ComputeDigest(volatile) != two.ComputeDigest(volatile) {
		t.Error("two runs of one trial differ")
	}
	point["seed"] = int64(2)
	if other := train(t, newTrainer(t), "", point); other.WeightsDigest == one.WeightsDigest {
		t.Error("another seed gives the same weights")
	}
}

// A checkpoint at any step, within an epoch and between two, goes on to the same
// bits.
func TestInterruptedAndResumedSameBits(t *testing.T) {
	volatile := description().Volatile()
	for _, optimizer := range []string{"adam", "rmsprop", "sgd"} {
		// Three steps an epoch.
		point := resolve(t, sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(6), "batch": int64(10),
			"dropout": 0.3, "optimizer": optimizer, "momentum": 0.5, "gradient_norms": int64(3)})
		request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: point}}
		whole := newCollector()
		trainer := newTrainer(t)
		trainer.checkpointInterval = time.Nanosecond
		want, err := trainer.Train(context.Background(), request, whole)
		if err != nil {
			t.Fatal(err)
		}
		want.Curves = whole.recorder.Curves()
		for _, metric := range []string{"gradient_norm_0", "gradient_norm_7", "gradient_norm_15"} {
			if !slices.ContainsFunc(want.Curves, func(c sweep.Curve) bool { return c.Metric == metric && len(c.Values) == 6 }) {
				t.Errorf("there is no curve %s of six epochs", metric)
			}
		}
		for _, steps := range []int{1, 4, 5, 6, 17} {
			ctx, cancel := context.WithCancel(context.Background())
			first := newCollector()
			first.stopAfter, first.cancel = steps, cancel
			if _, err := trainer.Train(ctx, request, first); err == nil {
				t.Fatal("a cancelled training returned a result")
			}
			request.Checkpoint = first.checkpoints[steps-1]
			second := newCollector()
			got, err := newTrainer(t).Train(context.Background(), request, second)
			if err != nil {
				t.Fatal(err)
			}
			request.Checkpoint = nil
			got.Curves = second.recorder.Curves()
			if got.ComputeDigest(volatile) != want.ComputeDigest(volatile) {
				t.Errorf("%s: a trial resumed after step %d differs: %v %v", optimizer, steps, got.Summary,
					want.Summary)
			}
		}
	}
}

// changedCheckpoint returns a checkpoint whose snapshot is changed.
func changedCheckpoint(t *testing.T, checkpoint []byte, change func(*snapshot)) []byte {
	t.Helper()
	var s snapshot
	rest := bytes.NewReader(checkpoint)
	if err := gob.NewDecoder(rest).Decode(&s); err != nil {
		t.Fatal(err)
	}
	change(&s)
	var changed bytes.Buffer
	if err := gob.NewEncoder(&changed).Encode(s); err != nil {
		t.Fatal(err)
	}
	return append(changed.Bytes(), checkpoint[len(checkpoint)-rest.Len():]...)
}

// The time that a trial takes is counted over all its executions.
func TestSecondsGoOnAfterResume(t *testing.T) {
	point := resolve(t, sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(6)})
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: point}}
	ctx, cancel := context.WithCancel(context.Background())
	first := newCollector()
	first.stopAfter, first.cancel = 3, cancel
	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond
	if _, err := trainer.Train(ctx, request, first); err == nil {
		t.Fatal("a cancelled training returned a result")
	}
	request.Checkpoint = changedCheckpoint(t, first.checkpoints[2], func(s *snapshot) {
		if s.Seconds <= 0 {
			t.Errorf("a checkpoint after %g s", s.Seconds)
		}
		s.Seconds = 3600 // as if it had taken an hour
	})
	second := newCollector()
	got, err := newTrainer(t).Train(context.Background(), request, second)
	if err != nil {
		t.Fatal(err)
	}
	if got.Seconds < 3600 || got.Seconds > 7200 {
		t.Errorf("the result says %g s", got.Seconds)
	}
	for _, c := range second.recorder.Curves() {
		if last := len(c.Values) - 1; c.Metric == "seconds" && c.Values[last] < 3600 {
			t.Errorf("the curve says %v", c.Values)
		}
	}
}

func TestDivergedTrialIsAResult(t *testing.T) {
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-cbf", "model": "rnn", "lr": 1e30,
		"optimizer": "sgd", "clip": int64(0), "epochs": int64(5)})
	if !r.Diverged || r.State != sweep.Completed {
		t.Errorf("state %s, diverged %v", r.State, r.Diverged)
	}
}

func TestBrokenCheckpointIsAnError(t *testing.T) {
	for _, state := range [][]byte{[]byte("rubbish"), {0}} {
		_, err := newTrainer(t).Train(context.Background(), sweep.TrainRequest{
			Trial: sweep.Trial{Parameters: resolve(t, sweep.Parameters{"dataset": "generated-cbf",
				"epochs": int64(2)})},
			Checkpoint: state,
		}, newCollector())
		if err == nil {
			t.Error("a broken checkpoint was taken")
		}
	}
}

func TestSpectralMarginStaysInItsBounds(t *testing.T) {
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-cbf", "r": 0.05, "lr": 0.1,
		"epochs": int64(20)})
	for _, c := range r.Curves {
		if c.Metric != "spectral_margin" {
			continue
		}
		if len(c.Values) != 20 {
			t.Errorf("%d margins", len(c.Values))
		}
		for _, v := range c.Values {
			if v > 0.05+1e-6 {
				t.Errorf("margin %v is above r", v)
			}
		}
		return
	}
	t.Error("no spectral margin")
}

func TestValidationRefuses(t *testing.T) {
	for name, point := range map[string]sweep.Parameters{
		"m1":         {"dataset": "generated-cbf", "m1": int64(33)},
		"m2":         {"dataset": "generated-cbf", "m2": int64(33)},
		"r":          {"dataset": "generated-cbf", "r": 1.5},
		"start":      {"dataset": "generated-cbf", "model": "ornn", "start": "identity"},
		"input_size": {"dataset": "generated-cbf", "input_size": int64(7)},
	} {
		_, err := newTrainer(t).Validate(context.Background(), sweep.ValidateRequest{Parameters: resolve(t, point)})
		var refused *sweep.ParameterError
		if !errors.As(err, &refused) || refused.Parameter != name {
			t.Errorf("%v: %v", point, err)
		}
	}
}

// RMSprop as the SGORNN paper's code has it: the first step of a parameter whose gradient
// is far above ε is of lr / √(1 - .9), where with the correction it is of lr.
func TestRMSpropWithoutCorrection(t *testing.T) {
	for corrected, want := range map[bool]float64{true: .001, false: .001 / math.Sqrt(.1)} {
		run := newRun(t, resolve(t, sweep.Parameters{
			"dataset": "generated-cbf", "model": "rnn", "optimizer": "rmsprop", "lr": .001, "epsilon": 1e-7,
			"rmsprop_correction": corrected,
		}))
		before := slices.Clone(run.net.Arena.View("c").Value)
		run.step()
		for i, x := range run.net.Arena.View("c").Value {
			if moved := math.Abs(float64(x - before[i])); math.Abs(moved-want) > 1e-3*want {
				t.Errorf("corrected %v: a first step of %v, want %v", corrected, moved, want)
			}
		}
	}
	// Trials of before have the correction and keep their fingerprint.
	resolved := resolve(t, sweep.Parameters{"dataset": "generated-cbf", "optimizer": "rmsprop"})
	with, err := description().Fingerprint(resolved, "")
	if err != nil {
		t.Fatal(err)
	}
	delete(resolved, "rmsprop_correction")
	if without, err := description().Fingerprint(resolved, ""); err != nil || with != without {
		t.Errorf("the default of rmsprop_correction changes the fingerprint (%v)", err)
	}
}

// Parameters of the wrong type that have got past the schema are errors of systems and
// tasks, too, and never count as 0.
func TestParametersOfTheWrongType(t *testing.T) {
	for _, test := range []struct {
		model, dataset, name string
		value                any
	}{
		{"spectral-rnn", "generated-cbf", "m1", "8"}, {"spectral-rnn", "generated-cbf", "r", nil},
		{"spectral-rnn", "generated-cbf", "activation", int64(1)},
		{"sgornn", "generated-cbf", "map", int64(1)}, {"lstm", "generated-cbf", "forget_bias", "5"},
		{"factorized-rnn", "generated-cbf", "sigma_penalty", true},
		{"rnn", "generated-cbf", "epochs", 2.5}, {"rnn", "generated-cbf", "validation", "a fifth"},
		{"rnn", "generated-cbf", "order", int64(1)},
		{"rnn", "addition", "steps", "many"}, {"rnn", "copy", "length", nil}, {"rnn", "generated-text", "epochs", true},
	} {
		s, err := settingsOf(resolve(t, sweep.Parameters{"dataset": test.dataset, "model": test.model}))
		if err != nil {
			t.Fatal(err)
		}
		s.parameters[test.name] = test.value
		_, err = task.Open(s.task("", dataset.NewCache(1<<20)))
		if err == nil {
			_, err = network.Declare(kernel.Float32(),
				s.spec(task.Shape{Steps: 10, Inputs: 3, Outputs: 2, Loss: "mse"}))
		}
		var wrong *sweep.ParameterError
		if !errors.As(err, &wrong) || wrong.Parameter != test.name {
			t.Errorf("%s with %s = %v: %v", test.model, test.name, test.value, err)
		}
	}
}

func TestStepTimer(t *testing.T) {
	shape := StepShape{Model: "spectral-rnn", Hidden: 20, M1: 4, M2: 4, Inputs: 2, Steps: 5, Batch: 3,
		Classes: 4, Threads: 1}
	for _, operator := range []string{"", "dense", "compact-wy"} {
		shape.Operator = operator
		timer, err := NewStepTimer(t.Context(), shape)
		if err != nil {
			t.Fatal(err)
		}
		defer timer.Close()
		got, err := timer.Measure(context.Background(), time.Millisecond, 100)
		if err != nil {
			t.Fatal(err)
		}
		// 8 vectors of at most 20 numbers, σ̂, M, b, h(0), Y and c.
		if want := 2*(20+19+18+17) + 20 + 2*20 + 20 + 20 + 4*20 + 4; got.Parameters != want {
			t.Errorf("%d parameters, want %d", got.Parameters, want)
		}
		if got.Count < minimumSteps || got.Best <= 0 || got.Median < got.Best || got.Flops <= 0 {
			t.Errorf("operator %q: %+v", operator, got)
		}
	}
	shape.Operator = "sideways"
	if _, err := NewStepTimer(t.Context(), shape); err == nil {
		t.Error("an unknown operator was accepted")
	}
	shape.Model, shape.Operator = "mlp", ""
	if _, err := NewStepTimer(t.Context(), shape); err == nil {
		t.Error("several steps of a feed-forward network were accepted")
	}
}

// One row cannot be parted: a trial without validation must not win with a loss
// of 0.
func TestNoValidationRowIsRefused(t *testing.T) {
	dir := dataDir(t)
	request := sweep.ValidateRequest{DataDir: dir,
		Parameters: resolve(t, sweep.Parameters{"dataset": "mnist", "limit": int64(1)})}
	_, validated := newTrainer(t).Validate(context.Background(), request)
	_, trained := newTrainer(t).Train(context.Background(),
		sweep.TrainRequest{Trial: sweep.Trial{Parameters: request.Parameters}, DataDir: dir}, newCollector())
	for _, err := range []error{validated, trained} {
		var refused *sweep.ParameterError
		if !errors.As(err, &refused) || refused.Parameter != "limit" {
			t.Errorf("error %v, want one of limit", err)
		}
	}
}

// A step that diverges ends the trial there, with the parameters before it.
func TestDivergenceEndsAtItsStep(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-cbf", "model": "rnn", "batch": int64(4), "optimizer": "sgd",
		"clip": int64(0), "epochs": int64(5), "lr": 1e30}
	r := train(t, newTrainer(t), "", point)
	point["lr"], point["epochs"] = 1e-3, int64(5)
	whole := train(t, newTrainer(t), "", point)
	// One step and then a second, of 6 an epoch and 30 in all.
	f := sweep.FlopsMetric
	if share := r.Summary[f] / whole.Summary[f]; !r.Diverged || share < 1.9/30 || share > 4.1/30 {
		t.Errorf("diverged %v after a share of %.3f of the work, want some 2 of 30 steps", r.Diverged, share)
	}
}

// On real sets with small classes a stratified split leaves every class of two rows
// a row to validate on, where a random one of some seeds does not.
func TestStratifiedSplitOfSmallClasses(t *testing.T) {
	dir := dataDir(t)
	for _, name := range []string{"FaceFour", "FiftyWords"} {
		set, err := dataset.Open(dir, dataset.Reference{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int, set.Classes)
		for _, class := range set.Train.Labels {
			counts[class]++
		}
		missing := map[dataset.Strategy]int{} // splits that leave a class of two rows out
		for seed := range uint64(40) {
			for _, strategy := range []dataset.Strategy{dataset.SplitRandom, dataset.SplitStratified} {
				_, validation := dataset.Split(set.Train.Labels, strategy, .2, seed)
				held := make([]int, set.Classes)
				for _, row := range validation {
					held[set.Train.Labels[row]]++
				}
				for class, count := range counts {
					if count > 1 && held[class] == 0 {
						missing[strategy]++
						break
					}
				}
			}
		}
		t.Logf("%s: %d random splits of 40 leave a class out", name, missing[dataset.SplitRandom])
		if missing[dataset.SplitRandom] == 0 || missing[dataset.SplitStratified] > 0 {
			t.Errorf("%s: %d random and %d stratified splits of 40 leave a class out, want some and none",
				name, missing[dataset.SplitRandom], missing[dataset.SplitStratified])
		}
	}
}

// A trainer keeps as many points of a curve as the sweep does, in memory and in
// checkpoints, and the curves are those that a worker makes of all points; interrupted or
// not.
func TestCurvesAreThinned(t *testing.T) {
	const limit = 20
	point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": "rnn", "hidden": 1, "epochs": 300, "batch": 30,
		"input_size": 16}
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}}
	all := newCollector()
	if _, err := newTrainer(t).Train(t.Context(), request, all); err != nil {
		t.Fatal(err)
	}
	want := sweep.NewRecorder(limit)
	want.Add(all.recorder.Curves())

	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond
	request.Points, request.Thinned = limit, true
	sizes := map[int]int{} // of checkpoints, by their number
	for taken := 0; ; {
		sink := newCollector()
		sink.recorder = sweep.NewRecorder(limit)
		sink.stopAfter = 100
		ctx, cancel := context.WithCancel(t.Context())
		sink.cancel = cancel
		_, err := trainer.Train(ctx, request, sink)
		cancel()
		for _, state := range sink.checkpoints {
			taken++
			sizes[taken] = len(state)
			request.Checkpoint = state
		}
		if err == nil {
			if got := volatileLess(sink.recorder.Curves()); !reflect.DeepEqual(got, volatileLess(want.Curves())) {
				t.Errorf("curves %v, want %v", got, want.Curves())
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	// Steps and values of more figures take a few bytes more, 180 further points of six
	// curves would take thousands.
	if sizes[230] > sizes[50]+500 { // before the refit, which keeps more
		t.Errorf("the 50th checkpoint has %d bytes, the 230th %d", sizes[50], sizes[230])
	}
}

// volatileLess leaves the curve of seconds out.
func volatileLess(curves []sweep.Curve) []sweep.Curve {
	return slices.DeleteFunc(curves, func(c sweep.Curve) bool { return c.Metric == "seconds" })
}
