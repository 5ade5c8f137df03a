package model

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/loss"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep"
)

// SGORNN solves the addition problem, where T is small: far below the loss of always
// saying 1.
func TestAdditionIsLearnt(t *testing.T) {
	t.Parallel()
	r := train(t, newTrainer(t), "", sweep.Parameters{
		"dataset": "addition", "length": int64(20), "model": "sgornn", "hidden": int64(64),
		"optimizer": "rmsprop", "lr": 0.01,
		"schedule": "linear", "steps": int64(1500), "held": int64(320),
	})
	t.Logf("test loss %.5f", r.Summary["test_loss"])
	if r.Diverged || !(r.Summary["test_loss"] < .25*r.Summary["baseline_loss"]) ||
		r.Summary[sweep.ParameterCountMetric] != 32*12+2*64+64+2+65 {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
	if _, has := r.Summary["test_accuracy"]; has {
		t.Error("a sum has an accuracy")
	}
	for _, c := range r.Curves {
		if len(c.Steps) != 15 || c.Steps[0] != 100 || c.Steps[14] != 1500 {
			t.Errorf("curve of %s at %v", c.Metric, c.Steps)
		}
	}
}

// The generated twin of HAR-2 is learnt, with the published number of weights.
func TestActivitiesAreLearnt(t *testing.T) {
	t.Parallel()
	for model, count := range map[string]int64{"sgornn": 2307, "vprnn": 2305, "fastrnn": 17795} {
		v, err := newTrainer(t).Validate(context.Background(),
			sweep.ValidateRequest{Parameters: resolve(t, sweep.Parameters{"dataset": "generated-har-2",
				"model": model})})
		if err != nil || v.ParameterCount != count {
			t.Errorf("%s: %+v, %v, want %d parameters", model, v, err, count)
		}
	}
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-har-2", "model": "lstm",
		"hidden": int64(24), "epochs": int64(40), "lr": 0.01, "batch": int64(24)})
	t.Logf("test accuracy %.3f", r.Summary["test_accuracy"])
	if r.Diverged || r.Summary["test_accuracy"] < .75 || r.Summary["depth"] != 128 || r.Summary["input_size"] != 9 {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
}

// The generated twin of the spoken words is learnt far beyond chance, 1 of 12.
func TestSpokenWordsAreLearnt(t *testing.T) {
	t.Parallel()
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-speech", "lr": 0.003,
		"hidden": int64(32), "epochs": int64(10)})
	t.Logf("test accuracy %.3f", r.Summary["test_accuracy"])
	if r.Diverged || r.Summary["test_accuracy"] < .8 || r.Summary["depth"] != 20 || r.Summary["input_size"] != 196 ||
		r.Summary["classes"] != 12 {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
}

// A language model gets far below the frequencies of single words.
func TestLanguageIsLearnt(t *testing.T) {
	t.Parallel()
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-text", "length": int64(25), "model": "rnn",
		"hidden": int64(48), "epochs": int64(6), "lr": 0.01})
	t.Logf("perplexity of train %.0f, validation %.0f, test %.0f", r.Summary["train_perplexity"],
		r.Summary["validation_perplexity"], r.Summary["test_perplexity"])
	// Single words have about 450; that of knowing all there is to know about 60.
	if p := r.Summary["test_perplexity"]; r.Diverged || !(p < 150) ||
		math.Abs(p-math.Exp(r.Summary["test_loss"])) > 1e-9*p {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
	names := map[string]int{}
	for _, c := range r.Curves {
		names[c.Metric] = len(c.Values)
	}
	for _, name := range []string{"train_perplexity", "validation_perplexity", "test_perplexity"} {
		if names[name] != 6 {
			t.Errorf("%d points of %s", names[name], name)
		}
	}
}

// Two layers of an LSTM leave the frequencies of words behind within an epoch or two,
// where with a small output matrix their states would have no gradients to speak of.
func TestDeepLanguageIsLearnt(t *testing.T) {
	t.Parallel()
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-text", "length": int64(25), "model": "lstm",
		"layers": int64(2), "hidden": int64(48), "epochs": int64(6), "lr": 0.01})
	t.Logf("perplexity of validation %.0f", r.Summary["validation_perplexity"])
	if r.Diverged || !(r.Summary["validation_perplexity"] < 100) {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
}

// Sets of labels are learnt far beyond the most frequent ones.
func TestLabelsAreLearnt(t *testing.T) {
	t.Parallel()
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-multilabel", "lr": 0.003})
	s := r.Summary
	t.Logf("precision at 1, 3 and 5: %.3f, %.3f, %.3f", s["test_precision_at_1"], s["test_precision_at_3"],
		s["test_precision_at_5"])
	set := dataset.GenerateMultiLabel(0)
	often := make([]int, len(set.Names))
	for row := range set.Test.Count() {
		for _, label := range set.Test.Labels(row) {
			often[label]++
		}
	}
	guess := float64(slices.Max(often)) / float64(set.Test.Count())
	if r.Diverged || !(s["test_precision_at_1"] > 3*guess) || !(s["validation_precision_at_1"] > 3*guess) ||
		!(s["test_precision_at_1"] >= s["test_precision_at_3"] && s["test_precision_at_3"] >= s["test_precision_at_5"]) {
		t.Errorf("diverged %v, %v, the most frequent label has %.3f", r.Diverged, s, guess)
	}
	if _, has := s["test_accuracy"]; has || s["labels"] != float64(len(set.Names)) {
		t.Errorf("summary %v", s)
	}
}

// A model of characters gets close to what the grammar leaves open: the entropy of its queries.
func TestQueriesAreLearnt(t *testing.T) {
	t.Parallel()
	entropy, characters := 0.0, 0.0
	for query, p := range dataset.GeneratedQueryProbabilities() {
		entropy -= p * math.Log(p)
		characters += p * float64(len(query)+1)
	}
	entropy /= characters
	r := train(t, newTrainer(t), "", sweep.Parameters{"dataset": "generated-queries", "alphabet": int64(32),
		"hidden": int64(48), "epochs": int64(4), "lr": 0.01})
	test := r.Summary["test_loss"]
	t.Logf("test loss %.3f, accuracy %.3f; the grammar leaves %.3f", test, r.Summary["test_accuracy"], entropy)
	if r.Diverged || !(test < 1.3*entropy && test > .8*entropy) || !(r.Summary["test_accuracy"] > .85) ||
		math.Abs(r.Summary["test_perplexity"]-math.Exp(test)) > 1e-9 {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
}

// What pads queries to one length counts nowhere: together they have the loss, the accuracy and the
// gradient that they have one by one.
func TestPaddingCountsNowhere(t *testing.T) {
	trainer, set := newTrainer(t), kernel.Float32()
	s, work, err := trainer.open(resolve(t, sweep.Parameters{"dataset": "generated-queries", "model": "lstm",
		"alphabet": int64(24), "hidden": int64(12), "output_scale": 1.0}), "")
	if err != nil {
		t.Fatal(err)
	}
	const size = 50
	net, err := network.New(t.Context(), set, s.spec(work.Shape()), network.Room{Batch: size, History: 1 << 30,
		Threads: 1, Rows: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close()
	run := func(size, minibatches int) (evaluated, trained loss.Score, gradient []float64) {
		stream, err := work.Open(task.Train, size)
		if err != nil {
			t.Fatal(err)
		}
		b := task.NewBatch[float32](work.Shape(), size, net.Rows())
		gradient = make([]float64, len(net.Arena.Gradients()))
		for range minibatches {
			stream.Next(b)
			evaluated.Add(net.Evaluate(b))
			score, _ := net.Differentiate(b, 0)
			trained.Add(score)
			for i, g := range net.Arena.Gradients() {
				gradient[i] += float64(g) * float64(score.Rows)
			}
		}
		return evaluated, trained, gradient
	}
	evaluated, trained, gradient := run(size, 1)
	one, oneTrained, oneGradient := run(1, size)
	for _, score := range []loss.Score{trained, one, oneTrained} {
		if score.Rows != evaluated.Rows || score.Correct != evaluated.Correct ||
			math.Abs(score.Loss-evaluated.Loss) > 1e-4*evaluated.Loss {
			t.Errorf("score %+v, want %+v", score, evaluated)
		}
	}
	if evaluated.Rows >= size*work.Shape().Steps {
		t.Error("nothing was padded")
	}
	for i, want := range oneGradient {
		if math.Abs(gradient[i]-want) > 1e-4+1e-3*math.Abs(want) {
			t.Fatalf("gradient %d is %v, one by one %v", i, gradient[i], want)
		}
	}
}

// With a short lag a network copies better than one without memory can.
func TestCopyIsLearnt(t *testing.T) {
	t.Parallel()
	r := train(t, newTrainer(t), "", sweep.Parameters{
		"dataset": "copy", "length": int64(5), "model": "spectral-rnn", "activation": "tanh", "hidden": int64(64),
		"optimizer": "rmsprop", "lr": 0.003, "steps": int64(600), "held": int64(128), "batch": int64(32),
	})
	t.Logf("test loss %.4f, accuracy %.3f", r.Summary["test_loss"], r.Summary["test_accuracy"])
	if r.Diverged || !(r.Summary["test_loss"] < .8*r.Summary["baseline_loss"]) {
		t.Errorf("diverged %v, %v", r.Diverged, r.Summary)
	}
}

// Trials of every kind of task go on from a checkpoint between two validations to the
// same bits, and do not depend on threads.
func TestTasksResumedSameBits(t *testing.T) {
	volatile := description().Volatile()
	for name, point := range taskTrials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}}
			trainer := newTrainer(t)
			trainer.threads, trainer.checkpointInterval = 2, time.Nanosecond
			whole := newCollector()
			want, err := trainer.Train(context.Background(), request, whole)
			if err != nil {
				t.Fatal(err)
			}
			want.Curves = whole.recorder.Curves()
			if want.Diverged || len(whole.checkpoints) < 4 {
				t.Fatalf("diverged %v, %d checkpoints", want.Diverged, len(whole.checkpoints))
			}
			for _, at := range []int{0, 2, len(whole.checkpoints) - 1} {
				request.Checkpoint = whole.checkpoints[at]
				sink := newCollector()
				got, err := newTrainer(t).Train(context.Background(), request, sink)
				if err != nil {
					t.Fatal(err)
				}
				got.Curves = sink.recorder.Curves()
				if got.ComputeDigest(volatile) != want.ComputeDigest(volatile) {
					t.Errorf("resumed after step %d it ends with %v, uninterrupted with %v", at+1, got.Summary,
						want.Summary)
				}
			}
		})
	}
}

// taskTrials are short trials of all tasks, with several slices.
var taskTrials = map[string]sweep.Parameters{
	"addition": {"dataset": "addition", "length": int64(10), "model": "sgornn", "hidden": int64(16), "steps": int64(7),
		"validate_every": int64(3), "held": int64(130), "batch": int64(100)},
	"examples": {"dataset": "addition", "length": int64(10), "model": "lstm", "hidden": int64(16), "steps": int64(9),
		"validate_every": int64(4), "held": int64(30), "batch": int64(40), "examples": int64(100)},
	"language": {"dataset": "generated-text", "length": int64(30), "model": "lstm", "hidden": int64(16),
		"layers": int64(2), "dropout": 0.1, "embedding": int64(9), "embedding_dropout": 0.1, "batch": int64(130),
		"epochs": int64(3)},
	"words": {"dataset": "generated-text", "length": int64(50), "model": "spectral-rnn", "hidden": int64(20),
		"batch": int64(30), "epochs": int64(2)},
	"stack": {"dataset": "generated-text", "length": int64(30), "model": "gated-spectral-rnn", "hidden": int64(16),
		"top": "lstm", "top_hidden": int64(12), "batch": int64(130), "epochs": int64(3)},
	"sentences": {"dataset": "generated-text", "length": int64(50), "model": "sgornn", "hidden": int64(20),
		"batch": int64(30), "epochs": int64(2), "carry": false},
	"copy": {"dataset": "copy", "length": int64(5), "model": "spectral-rnn", "hidden": int64(20), "steps": int64(7),
		"validate_every": int64(3), "held": int64(130), "batch": int64(100), "dropout": 0.1},
	"state tracking": {"dataset": "s3-words", "length": int64(5), "test_length": int64(11), "model": "ornn",
		"hidden": int64(20), "steps": int64(7), "validate_every": int64(3), "held": int64(130), "batch": int64(100)},
	"multilabel": {"dataset": "generated-multilabel", "model": "spectral-mlp", "hidden": int64(20), "batch": int64(200),
		"epochs": int64(3), "dropout": 0.1},
	"queries": {"dataset": "generated-queries", "model": "spectral-rnn", "hidden": int64(20), "alphabet": int64(24),
		"batch": int64(700), "epochs": int64(2), "dropout": 0.1},
}

// What a task cannot do is refused, before training.
func TestTasksRefuse(t *testing.T) {
	for name, point := range map[string]sweep.Parameters{
		"model":      {"dataset": "addition", "model": "mlp"},
		"epoch_rule": {"dataset": "addition", "epoch_rule": "last-smallest-error"},
		"task":       {"dataset": "generated-cbf", "task": "copy"},
		"loss":       {"dataset": "generated-har-2", "loss": "cross_entropy"},
	} {
		_, err := newTrainer(t).Validate(context.Background(), sweep.ValidateRequest{Parameters: resolve(t, point)})
		var refused *sweep.ParameterError
		if !errors.As(err, &refused) || refused.Parameter != name {
			t.Errorf("%v: %v", point, err)
		}
	}
}

// What was added for tasks changes no fingerprint of a classification, and what
// belongs to recurrent networks is not part of a feed-forward one's.
func TestFingerprintsStay(t *testing.T) {
	d := description()
	resolved := resolve(t, sweep.Parameters{"dataset": "CBF"})
	for _, name := range []string{"task", "schedule", "decay_every", "normalize", "gradient_norms",
		"gap_curves", "report_every", "fgsm"} {
		if p := d.Parameter(name); p.Neutral == nil || !sweep.Equal(p.Neutral, resolved[name]) {
			t.Errorf("%s: the default %v is not neutral", name, resolved[name])
		}
	}
	for model, neutral := range map[string]bool{"spectral-rnn": true, "spectral-mlp": true, "spectral-resnet": true,
		"factorized-rnn": false} {
		if neutralIn(t, d, sweep.Parameters{"dataset": "CBF", "model": model}, "sigma", "sigma_penalty") != neutral {
			t.Errorf("%s: the forms of σ are neutral: %v, want %v", model, !neutral, neutral)
		}
	}
	for _, name := range []string{"length", "steps", "validate_every", "examples", "held"} {
		if _, ok := resolved[name]; ok {
			t.Errorf("a classification has %s", name)
		}
	}
	if text := resolve(t, sweep.Parameters{"dataset": "ptb"}); text["carry"] != true || d.Parameter("carry").Neutral != true {
		t.Error("carry: the default is not neutral")
	}
	feedForward := resolve(t, sweep.Parameters{"dataset": "CBF", "model": "mlp"})
	for _, name := range []string{"initial_state", "input_scale"} {
		if _, ok := feedForward[name]; ok {
			t.Errorf("an mlp has %s", name)
		}
	}
	generated := resolve(t, sweep.Parameters{"dataset": "addition"})
	for _, name := range []string{"epochs", "loss", "split", "validation", "input_size", "order", "limit", "exchange",
		"normalize",
		"test_every"} {
		if _, ok := generated[name]; ok {
			t.Errorf("addition has %s", name)
		}
	}
}

// neutralIn reports whether the fingerprint of a point is that without parameters, which it has.
func neutralIn(t *testing.T, d *sweep.Description, point sweep.Parameters, names ...string) bool {
	t.Helper()
	with := resolve(t, point)
	without := with.Clone()
	for _, name := range names {
		if _, ok := without[name]; !ok {
			t.Errorf("%v has no %s", point, name)
		}
		delete(without, name)
	}
	var of [2]sweep.Fingerprint
	for i, parameters := range []sweep.Parameters{with, without} {
		f, err := d.Fingerprint(parameters, "")
		if err != nil {
			t.Fatal(err)
		}
		of[i] = f
	}
	return of[0] == of[1]
}

// What a data set notes of itself is in the result of a trial.
func TestResultNotesItsData(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ptb"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"train", "valid", "test"} {
		text := strings.Repeat(" the cat sat on the mat \n", 20)
		if err := os.WriteFile(filepath.Join(dir, "ptb", "ptb."+part+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := train(t, newTrainer(t), dir, sweep.Parameters{"dataset": "ptb", "model": "rnn", "hidden": int64(4),
		"length": int64(5), "batch": int64(2), "epochs": int64(1)})
	const want = "140 words in ptb.train.txt where the published text has 929589; 140 words in ptb.valid.txt where the " +
		"published text has 73760; 140 words in ptb.test.txt where the published text has 82430"
	if r.Error != want {
		t.Errorf("it notes %q, want %q", r.Error, want)
	}
}
