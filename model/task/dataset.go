package task

import (
	"sweep/model/dataset"
	"sweep/model/protocol"
	"sweep/sweep"
)

// Data sets with defaults of their own.
var (
	pixel      = []any{dataset.MNIST, dataset.PermutedMNIST, dataset.GeneratedMNIST}
	activities = []any{dataset.HAR2, dataset.GeneratedHAR2}
	speech     = []any{dataset.Speech, dataset.GeneratedSpeech}
)

var datasetDefaults = []sweep.Defaults{
	// Nothing is held out that a refit could train on.
	{When: sweep.Match{"validation": {int64(0)}}, Values: map[string]any{"refit": int64(0)}},
	{When: sweep.Match{"dataset": pixel}, Values: map[string]any{
		"input_size": int64(1), "validation": 0.1, "epochs": int64(10), "hidden": int64(128), "batch": int64(128),
		"epoch_rule": string(protocol.LastSmallestError), "refit": 0.2,
	}},
	{When: sweep.Match{"dataset": activities}, Values: map[string]any{
		"loss": "sigmoid", "epochs": int64(300), "hidden": int64(128), "batch": int64(100),
		"epoch_rule": string(protocol.LastSmallestError), "refit": 0.2,
	}},
	// The coefficients differ by orders of magnitude.
	{When: sweep.Match{"dataset": speech}, Values: map[string]any{
		"normalize": string(dataset.NormalizeChannel), "split": "listed", "epochs": int64(50), "hidden": int64(128),
		"batch": int64(100), "epoch_rule": string(protocol.LastSmallestError), "refit": int64(0),
	}},
	// What networks without reflectors learn digits pixel by pixel with, by validation.
	{When: sweep.Match{"dataset": pixel, "model": {"irnn"}}, Values: map[string]any{"lr": 0.0003, "start": "identity"}},
	{When: sweep.Match{"dataset": pixel, "model": {"rnn"}},
		Values: map[string]any{"lr": 0.0001, "start": "orthogonal", "activation": "tanh"}},
	{When: sweep.Match{"dataset": pixel, "model": {"lstm"}},
		Values: map[string]any{"lr": 0.01, "forget_bias": int64(5)}},
	languageDefaults,
}

// Defaults returns the defaults of a parameter for some data sets, or for some systems at a task.
func Defaults(parameter string) (list []sweep.ConditionalDefault) {
	for _, d := range datasetDefaults {
		if value, ok := d.Values[parameter]; ok {
			list = append(list, sweep.ConditionalDefault{When: d.When, Value: value})
		}
	}
	return list
}
