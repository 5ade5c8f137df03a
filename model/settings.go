package model

import (
	"fmt"

	"sweep/model/dataset"
	"sweep/model/layer"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/sweep"
)

// settings are a trial's resolved parameters in Go types. The field comments
// stand in the trainer's Description.
type settings struct {
	seed             uint64
	system           *system.System
	hidden           int
	initialState     string
	inputScale       float64
	outputScale      float64
	dropout          float64
	layers           int // recurrent
	embedding        int
	embeddingDropout float64
	optimizer        string
	lr               float64
	schedule         string
	decay            float64
	decayEvery       int
	beta1, beta2     float64
	epsilon          float64
	rmsDecay         float64
	rmsCorrection    bool
	momentum         float64
	clip             float64
	batch            int
	epochRule        string
	testEvery        int
	// parameters are all of them, resolved: systems take their own from there.
	parameters sweep.Parameters
	// path is how an Elman cell applies its matrix: no parameter, as the fastest
	// is chosen by shape; measurements force it.
	path layer.Path
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
		parameters:       resolved,
		seed:             uint64(r.Integer("seed")),
		system:           system.Find(r.Text("model")),
		hidden:           r.Integer("hidden"),
		initialState:     r.Text("initial_state"),
		inputScale:       r.Number("input_scale"),
		outputScale:      r.Number("output_scale"),
		dropout:          r.Number("dropout"),
		layers:           r.Integer("layers"),
		embedding:        r.Integer("embedding"),
		embeddingDropout: r.Number("embedding_dropout"),
		optimizer:        r.Text("optimizer"),
		lr:               r.Number("lr"),
		schedule:         r.Text("schedule"),
		decay:            r.Number("decay"),
		decayEvery:       r.Integer("decay_every"),
		beta1:            r.Number("beta1"),
		beta2:            r.Number("beta2"),
		epsilon:          r.Number("epsilon"),
		rmsDecay:         r.Number("rmsprop_decay"),
		rmsCorrection:    r.Boolean("rmsprop_correction"),
		momentum:         r.Number("momentum"),
		clip:             r.Number("clip"),
		batch:            r.Integer("batch"),
		epochRule:        r.Text("epoch_rule"),
		testEvery:        r.Integer("test_every"),
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check refuses combinations that no single parameter's schema can.
func (s *settings) check() error {
	refuse := func(name string, value any, format string, args ...any) error {
		return &sweep.ParameterError{Parameter: name, Value: value, Problem: fmt.Sprintf(format, args...)}
	}
	for name, value := range map[string]float64{"beta1": s.beta1, "beta2": s.beta2, "rmsprop_decay": s.rmsDecay, "momentum": s.momentum} {
		if value >= 1 {
			return refuse(name, value, "must be below 1")
		}
	}
	r := sweep.ParameterReader{Parameters: s.parameters}
	if average := r.Number("average"); average > 0 && r.Number("refit") == 0 {
		return refuse("average", average, "has no effect here: it applies only where refit is above 0")
	}
	return s.system.Check(s.options(1))
}

// checkRule refuses an epoch rule by errors for a task that has none.
func (s *settings) checkRule(shape task.Shape) error {
	if !shape.Classes && s.epochRule != "smallest-loss" && s.epochRule != "final" {
		return &sweep.ParameterError{Parameter: "epoch_rule", Value: s.epochRule, Problem: "goes by errors, which this task does not count: want smallest-loss or final"}
	}
	return nil
}

// options are the choices that the system takes, for so many inputs.
func (s *settings) options(inputs int) *system.Options {
	return &system.Options{
		Inputs: inputs, Hidden: s.hidden, FixedStart: s.initialState == "zero", InputScale: s.inputScale, Path: s.path, Seed: s.seed, Parameters: s.parameters,
	}
}

// task are the choices that the task takes, with data from a directory and a cache
// of data sets.
func (s *settings) task(dataDir string, cache *dataset.Cache) *task.Options {
	return &task.Options{
		Parameters: s.parameters, Seed: s.seed, Batch: s.batch, Model: s.system.Name, FeedForward: s.system.FeedForward,
		DataDir: dataDir, Cache: cache,
	}
}
