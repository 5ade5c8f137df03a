package model

import (
	"sync"

	"sweep/model/dataset"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/protocol"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/model/weight"
	"sweep/sweep"
)

// settings are a trial's resolved parameters in Go types. The trainer's Description documents them.
type settings struct {
	network   network.Spec // but for its shape, which is the task's
	optimizer optim.Options
	rate      rate
	clip      float64
	classes   bool // F1 is recorded
	patience  int  // validations without a better one after which training ends; 0 for none
	batch     int
	protocol  protocol.Protocol
	testEvery int
	// gapCurves adds curves where tests are made; reportEvery is the steps between points within
	// epochs, 0 for none.
	gapCurves   bool
	reportEvery int
	openEnded   bool    // the trial can be trained longer
	fgsm        float64 // ε of adversarial examples; 0 for none
	// gradientNorms is the number of time steps of which ‖∂L/∂h(t)‖ is recorded.
	gradientNorms int
	// parameters are all of them, resolved: systems and tasks take their own from there.
	parameters sweep.Parameters
}

// schema is the description that every request is checked against.
var schema = sync.OnceValue(description)

// settingsOf reads a trial's parameters, and checks them against the schema once more since a
// request may come from a foreign program: what does not fit is a *sweep.ParameterError.
func settingsOf(p sweep.Parameters) (*settings, error) {
	resolved, err := schema().Resolve(p)
	if err != nil {
		return nil, err
	}
	for i := range schema().Parameters {
		// What does not apply has a value that does nothing.
		if s := &schema().Parameters[i]; resolved[s.Name] == nil {
			if resolved[s.Name] = s.Neutral; s.Neutral == nil {
				resolved[s.Name] = s.Default
			}
		}
	}
	r := sweep.ParameterReader{Parameters: resolved}
	s := &settings{
		parameters: resolved,
		network: network.Spec{
			System: system.Find(r.Text("model")),
			Options: system.Options{
				ParameterReader: sweep.ParameterReader{Parameters: resolved},
				Hidden:          r.Integer("hidden"), FixedStart: r.Text("initial_state") == "zero",
				InputScale: r.Number("input_scale"), Seed: uint64(r.Integer("seed")),
			},
			Layers: r.Integer("layers"), Embedding: r.Integer("embedding"),
			Dropout: r.Number("dropout"), EmbeddingDropout: r.Number("embedding_dropout"),
			OutputScale: r.Number("output_scale"),
		},
		optimizer: optim.Options{
			Rule: weight.Rule(r.Text("optimizer")),
			Adam: optim.AdamOptions{
				Beta1: r.Number("beta1"), Beta2: r.Number("beta2"), Epsilon: r.Number("epsilon"),
			},
			RMSprop: optim.RMSpropOptions{
				Decay: r.Number("rmsprop_decay"), Epsilon: r.Number("epsilon"),
				Uncorrected: !r.Boolean("rmsprop_correction"),
			},
			Momentum: r.Number("momentum"), Decay: r.Number("weight_decay"),
		},
		rate: rate{
			initial: r.Number("lr"), decay: r.Number("decay"), every: r.Integer("decay_every"),
			schedule: r.Text("schedule"), warmup: r.Integer("warmup"),
		},
		clip:      r.Number("clip"),
		patience:  r.Integer("patience"),
		classes:   r.Boolean("class_metrics"),
		batch:     r.Integer("batch"),
		testEvery: r.Integer("test_every"), gradientNorms: r.Integer("gradient_norms"),
		gapCurves: r.Boolean("gap_curves"), reportEvery: r.Integer("report_every"),
		openEnded: r.Boolean(protocol.OpenEnded),
		fgsm:      r.Number("fgsm"),
	}
	if s.protocol, err = protocol.Read(&r); err != nil {
		return nil, err
	}
	if above, options := s.network.Options.Top(); above != nil {
		s.network.Top, s.network.TopOptions = above, *options
	}
	return s, s.check()
}

// check refuses combinations that no single parameter's schema can.
func (s *settings) check() error {
	for name, value := range map[string]float64{
		"beta1": s.optimizer.Adam.Beta1, "beta2": s.optimizer.Adam.Beta2,
		"rmsprop_decay": s.optimizer.RMSprop.Decay, "momentum": s.optimizer.Momentum,
	} {
		if value >= 1 {
			return &sweep.ParameterError{Parameter: name, Value: value, Problem: "must be below 1"}
		}
	}
	if s.gapCurves && s.testEvery < 0 {
		return &sweep.ParameterError{Parameter: "gap_curves", Value: true,
			Problem: "has no effect here: test_every is -1, so there is no test before the end"}
	}
	if s.openEnded {
		if err := schema().Endless(s.parameters); err != nil {
			return err
		}
	}
	if err := s.network.System.Check(s.options(1)); err != nil {
		return err
	}
	return s.network.Options.CheckTop()
}

// spec is the specification of a network for a task of that shape.
func (s *settings) spec(shape task.Shape) network.Spec {
	spec := s.network
	spec.Shape = shape
	return spec
}

// options are the choices that the system takes, for so many inputs.
func (s *settings) options(inputs int) *system.Options {
	o := s.network.Options
	o.Inputs = inputs
	return &o
}

// task are the choices that the task takes, with data from a directory and a cache of data sets.
func (s *settings) task(dataDir string, cache *dataset.Cache) *task.Options {
	return &task.Options{
		ParameterReader: sweep.ParameterReader{Parameters: s.parameters}, Protocol: s.protocol,
		Seed: s.network.Options.Seed, Batch: s.batch, Model: s.network.System.Name,
		FeedForward: s.network.System.FeedForward, DataDir: dataDir, Cache: cache,
	}
}
