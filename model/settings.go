package model

import (
	"sweep/model/dataset"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/protocol"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/model/weight"
	"sweep/sweep"
)

// settings are a trial's resolved parameters in Go types. The field comments
// stand in the trainer's Description.
type settings struct {
	network       network.Spec // but for its shape, which is the task's
	optimizer     string
	lr            float64
	schedule      string
	decay         float64
	decayEvery    int
	beta1, beta2  float64
	epsilon       float64
	rmsDecay      float64
	rmsCorrection bool
	momentum      float64
	clip          float64
	batch         int
	protocol      protocol.Protocol
	testEvery     int
	// parameters are all of them, resolved: systems and tasks take their own from there.
	parameters sweep.Parameters
}

// schema is the description that every request is held to.
var schema = description()

// settingsOf reads a trial's parameters, held to the schema once more since a
// request may come from a foreign program: what does not fit is a
// *sweep.ParameterError.
func settingsOf(p sweep.Parameters) (*settings, error) {
	resolved, err := schema.Resolve(p)
	if err != nil {
		return nil, err
	}
	for i := range schema.Parameters {
		// What does not apply has a value that does nothing.
		if s := &schema.Parameters[i]; resolved[s.Name] == nil {
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
				Hidden: r.Integer("hidden"), FixedStart: r.Text("initial_state") == "zero",
				InputScale: r.Number("input_scale"),
				Seed:       uint64(r.Integer("seed")), Parameters: resolved,
			},
			Layers: r.Integer("layers"), Embedding: r.Integer("embedding"),
			Dropout: r.Number("dropout"), EmbeddingDropout: r.Number("embedding_dropout"),
			OutputScale: r.Number("output_scale"),
		},
		optimizer:     r.Text("optimizer"),
		lr:            r.Number("lr"),
		schedule:      r.Text("schedule"),
		decay:         r.Number("decay"),
		decayEvery:    r.Integer("decay_every"),
		beta1:         r.Number("beta1"),
		beta2:         r.Number("beta2"),
		epsilon:       r.Number("epsilon"),
		rmsDecay:      r.Number("rmsprop_decay"),
		rmsCorrection: r.Boolean("rmsprop_correction"),
		momentum:      r.Number("momentum"),
		clip:          r.Number("clip"),
		batch:         r.Integer("batch"),
		testEvery:     r.Integer("test_every"),
	}
	if s.protocol, err = protocol.Read(&r); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check refuses combinations that no single parameter's schema can.
func (s *settings) check() error {
	for name, value := range map[string]float64{
		"beta1": s.beta1, "beta2": s.beta2, "rmsprop_decay": s.rmsDecay, "momentum": s.momentum,
	} {
		if value >= 1 {
			return &sweep.ParameterError{Parameter: name, Value: value, Problem: "must be below 1"}
		}
	}
	return s.network.System.Check(s.options(1))
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

// optimizerOptions are the choices that the optimiser takes.
func (s *settings) optimizerOptions() optim.Options {
	return optim.Options{
		Rule:     weight.Rule(s.optimizer),
		Adam:     optim.AdamOptions{Beta1: s.beta1, Beta2: s.beta2, Epsilon: s.epsilon},
		RMSprop:  optim.RMSpropOptions{Decay: s.rmsDecay, Epsilon: s.epsilon, Uncorrected: !s.rmsCorrection},
		Momentum: s.momentum,
	}
}

// task are the choices that the task takes, with data from a directory and a cache of data sets.
func (s *settings) task(dataDir string, cache *dataset.Cache) *task.Options {
	return &task.Options{
		Parameters: s.parameters, Protocol: s.protocol, Seed: s.network.Options.Seed, Batch: s.batch,
		Model: s.network.System.Name, FeedForward: s.network.System.FeedForward, DataDir: dataDir, Cache: cache,
	}
}
