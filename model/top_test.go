package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/network"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/sweep"
)

// TestTop holds a stack of two systems of different widths to what [TestConformance] holds each
// to, where the layers meet.
func TestTop(t *testing.T) {
	for _, point := range []sweep.Parameters{
		{"model": "lstm", "top": "gated-spectral-rnn", "top_hidden": int64(7), "top_m1": int64(5), "top_m2": int64(3),
			"top_activation": "tanh", "top_gate_bias": int64(1)},
		{"model": "spectral-rnn", "m1": int64(4), "m2": int64(4), "activation": "tanh", "layers": int64(2),
			"top": "lstm", "top_hidden": int64(13)},
	} {
		t.Run(fmt.Sprintf("%v under %v", point["model"], point["top"]), func(t *testing.T) {
			t.Parallel()
			point["dataset"], point["hidden"], point["dropout"] = dataset.GeneratedCBF, int64(10), 0.2
			point["input_scale"], point["output_scale"] = 1.0, 1.0
			settings, err := settingsOf(resolve(t, point))
			if err != nil {
				t.Fatal(err)
			}
			c := &candidate{system: settings.network.System, settings: settings, steps: 6, batch: 5}
			t.Run("count", func(t *testing.T) { checkCount(t, c) })
			t.Run("gradients", c.gradients)
			t.Run("start", c.start)
			t.Run("slices", c.slices)
			t.Run("segments", c.segments)
			t.Run("carried state", c.with(t, "dropout", int64(0)).carried)
			t.Run("evaluation", c.evaluation)
			t.Run("levels", c.levels)
			t.Run("averaged weights", c.averaged)
			words := c.reading(t)
			t.Run("words/gradients", words.gradients)
		})
	}
}

// checkCount holds the number of weights of a stack to the sum of its systems' formulas.
func checkCount(t *testing.T, c *candidate) {
	t.Helper()
	n, err := network.Declare(kernel.Float32(), c.settings.spec(c.shape()))
	if err != nil {
		t.Fatal(err)
	}
	spec, above := c.settings.network, c.settings.network.TopOptions
	above.Inputs = spec.Options.Hidden
	want := countOf(t, c.system, c.settings.options(candidateInputs)) + countOf(t, spec.Top, &above) +
		(above.Hidden+1)*candidateOutputs
	for range spec.Layers - 1 {
		want += countOf(t, c.system, c.settings.options(spec.Options.Hidden))
	}
	if got := n.Arena.Count(); got != want {
		t.Errorf("%d parameters, by formula %d", got, want)
	}
}

// TestStackCounts: the networks of the slides, which give both 13.9 M parameters, with 200
// characters as inputs and classes; the reflectors are an eighth of the units on each side.
func TestStackCounts(t *testing.T) {
	for _, c := range []struct {
		point sweep.Parameters
		want  int
	}{
		{sweep.Parameters{"model": "lstm", "hidden": int64(1024), "layers": int64(2)}, 13_615_304},
		{sweep.Parameters{"model": "spectral-rnn", "hidden": int64(2048), "m1": int64(256), "m2": int64(256),
			"top": "lstm", "top_hidden": int64(1024)}, 14_189_000},
	} {
		c.point["dataset"], c.point["initial_state"] = dataset.GeneratedCBF, "zero"
		s, err := settingsOf(resolve(t, c.point))
		if err != nil {
			t.Fatal(err)
		}
		n, err := network.Declare(kernel.Float32(),
			s.spec(task.Shape{Steps: 10, Inputs: 200, Outputs: 200, Loss: "cross_entropy", Classes: true}))
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Arena.Count(); got != c.want {
			t.Errorf("%v: %d parameters, want %d", c.point, got, c.want)
		}
	}
}

// TestTopRefuses: what is wrong of the layer on top is refused by the name of its parameter.
func TestTopRefuses(t *testing.T) {
	for name, point := range map[string]sweep.Parameters{
		"top_m1":          {"top": "ornn", "top_hidden": int64(8), "top_m1": int64(9)},
		"top_hidden":      {"top": "vprnn", "top_hidden": int64(9)},
		"top_start":       {"top": "rnn", "top_start": "near-identity"},
		"top_alpha_start": {"top": "sgornn", "top_alpha_start": int64(1)},
	} {
		point["dataset"], point["model"] = dataset.GeneratedCBF, "lstm"
		_, err := newTrainer(t).Validate(context.Background(), sweep.ValidateRequest{Parameters: resolve(t, point)})
		var refused *sweep.ParameterError
		if !errors.As(err, &refused) || refused.Parameter != name {
			t.Errorf("%v: %v, want an error of %s", point, err, name)
		}
	}
}

// TestTopParameters: the layer on top has every parameter that its system has below, where it
// applies, with the same default, and no other trial has any of them.
func TestTopParameters(t *testing.T) {
	for _, s := range system.All {
		point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": s.Name}
		own := resolve(t, point)
		for name := range own {
			if strings.HasPrefix(name, "top_") {
				t.Errorf("%s without a layer on top has %s", s.Name, name)
			}
		}
		if s.FeedForward {
			continue
		}
		stacked := resolve(t, sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": "gru", "top": s.Name})
		for _, p := range s.Parameters {
			if got, want := stacked["top_"+p.Name], own[p.Name]; !sweep.Equal(got, want) {
				t.Errorf("%s on top has %s of %v, below of %v", s.Name, p.Name, got, want)
			}
		}
	}
	with := resolve(t, sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": "rnn"})
	if d := description(); !neutralIn(t, d, with, "top") {
		t.Error("the default of top changes fingerprints")
	}
}
