package model

import (
	"slices"

	"sweep/model/protocol"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// Versions of the built-in trainer. resultVersion changes whenever the same
// parameters give other bits.
const (
	Name          = sweep.DefaultTrainer
	Version       = "0.1.0"
	resultVersion = "13"
)

// description is the built-in trainer's schema. The defaults are the settings
// that reach the UCR table of Zhang, Lei, Dhillon (2018): Adam, batch 16, 1000
// epochs (LSTM and GRU 500), gradient norm clipped at 1, small starts.
func description() *sweep.Description {
	const losses = 2 // after which the tasks' measures are listed
	all := slices.Clone(metrics[:losses])
	for _, m := range task.Measures() {
		all = append(all, m.Metrics(heldOutNone)...)
	}
	return &sweep.Description{
		Name: Name, Version: Version, ResultVersion: resultVersion, Parameters: parameters(), Artifacts: artifacts,
		Metrics: append(all, metrics[losses:]...), Continues: continued,
	}
}

// continued are the trials that can be trained longer.
var continued = sweep.Match{protocol.OpenEnded: {true}}

// artifacts and metrics are what a trial leaves.
var artifacts = []sweep.ArtifactSchema{
	{Name: WeightsArtifact, MediaType: safetensors.MediaType, Doc: "the kept weights, as a safetensors file"},
	{Name: ProbabilitiesArtifact, MediaType: safetensors.MediaType, Doc: "of a classification: what the kept " +
		"weights give each class of the test rows and of the validation rows (after a refit: what the " +
		"weights before it give those), in half precision, with the labels; for table --select ensemble"},
	{Name: ConfusionArtifact, MediaType: "application/json", Doc: "of a classification: how many test series of each " +
		"class (row) the kept weights give each class (column), and precision, recall and F1 of each class"},
	{Name: sweep.CheckpointArtifact, Doc: "the state of an open_ended trial at its end, from which one with more " +
		"epochs or steps continues"},
}

// lossOfDiverged is what a diverged trial counts as in the mean loss of a grid point.
const lossOfDiverged = 20.0

// heldOutNone are trials without validation rows.
var heldOutNone = sweep.Match{"validation": {int64(0)}}

var metrics = []sweep.MetricSchema{
	{Name: "train_loss", Doc: "mean training loss of the epoch", Goal: "minimize", Unit: "nats", Curve: true,
		Summary: true, Part: sweep.TrainPart},
	{Name: "validation_loss", Doc: "validation loss; in the summary the smallest of the trial",
		Goal: "minimize", Unit: "nats", Curve: true, Summary: true, Part: sweep.ValidationPart,
		Diverged: new(lossOfDiverged), AbsentWhen: heldOutNone},
	{Name: "test_loss", Doc: "test loss; in the summary that of the kept weights; a curve with gap_curves",
		Goal: "minimize", Unit: "nats", Curve: true, Summary: true, Part: sweep.TestPart,
		Diverged: new(lossOfDiverged)},
	{Name: "fgsm_accuracy", Doc: "test accuracy of the kept weights on adversarial examples; with fgsm",
		Goal: "maximize", Summary: true, Part: sweep.TestPart, Diverged: new(0.0)},
	{Name: "test_f1_macro", Doc: "mean of F1 over the classes, of the kept weights on the test part; with " +
		"class_metrics", Goal: "maximize", Summary: true, Part: sweep.TestPart, Diverged: new(0.0)},
	{Name: "train_accuracy", Doc: "accuracy of the epoch's minibatches in training; with gap_curves",
		Goal: "maximize", Curve: true, Part: sweep.TrainPart},
	{Name: "accuracy_gap", Doc: "train_accuracy - test_accuracy; with gap_curves", Curve: true, Part: sweep.TestPart},
	{Name: "loss_gap", Doc: "test_loss - train_loss; with gap_curves", Unit: "nats", Curve: true,
		Part: sweep.TestPart},
	{Name: "gradient_norm", Doc: "norm of the loss's gradient at h(0), mean over the epoch's minibatches",
		Curve: true, Part: sweep.TrainPart},
	{Name: "spectral_margin", Doc: "max |σ_i − 1| over the singular values of the transition matrices of all " +
		"layers, at most 20 points a trial", Curve: true, Summary: true},
	{Name: "step_train_loss", Doc: "training loss of a minibatch; with report_every", Unit: "nats", Curve: true,
		Part: sweep.TrainPart},
	{Name: "step_gradient_norm", Doc: "norm of the loss's gradient at h(0), of a minibatch; with report_every",
		Curve: true, Part: sweep.TrainPart},
	{Name: "step_spectral_margin", Doc: "spectral_margin after a minibatch; with report_every", Curve: true},
	{Name: "step_alpha", Doc: "α of the lowest layer of fastrnn or sgornn after a minibatch; with report_every",
		Curve: true},
	{Name: "step_beta", Doc: "β likewise, at most 1 - 2α for sgornn", Curve: true},
	{Name: "step_alpha_t", Doc: "αT likewise, for T time steps, by which the bounds of the SGORNN paper grow",
		Curve: true},
	{Name: "learning_rate", Doc: "learning rate of the epoch", Curve: true},
	{Name: "seconds", Doc: "seconds since the trial started", Unit: "s", Volatile: true, Curve: true},
	{Name: "train_size", Doc: "training series, validation included", Summary: true},
	{Name: "test_size", Doc: "test series", Summary: true},
	{Name: "length", Doc: "values a series; of a generated task its parameter", Summary: true},
	{Name: "baseline_loss", Doc: "loss of the best answer that needs no memory, by the definition of a " +
		"generated task", Unit: "nats", Summary: true},
	{Name: "classes", Doc: "classes", Summary: true},
	{Name: "labels", Doc: "different labels, of multilabel", Summary: true},
	{Name: "vocabulary", Doc: "different words, or characters that have a code of their own", Summary: true},
	{Name: "cut_lines", Doc: "queries that are longer than length: what follows is neither read nor asked",
		Summary: true},
	{Name: "missing_files", Doc: "of a set with lists of its own: series that they name and that are not there",
		Summary: true},
	{Name: "depth", Doc: "time steps T", Summary: true},
	{Name: "input_size", Doc: "inputs a step n_i", Summary: true},
	{Name: sweep.BestEpochMetric, Doc: "epoch whose weights were kept, from 1 on", Summary: true},
	{Name: sweep.ParameterCountMetric, Doc: "trained weights", Summary: true},
	{Name: sweep.FlopsMetric, Doc: "floating-point operations, estimated", Volatile: true, Summary: true},
}
