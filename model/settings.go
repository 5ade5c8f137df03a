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
	r := reader{parameters: resolved}
	s := &settings{
		parameters:       resolved,
		seed:             uint64(r.integer("seed")),
		system:           system.Find(r.text("model")),
		hidden:           r.integer("hidden"),
		initialState:     r.text("initial_state"),
		inputScale:       r.number("input_scale"),
		outputScale:      r.number("output_scale"),
		dropout:          r.number("dropout"),
		layers:           r.integer("layers"),
		embedding:        r.integer("embedding"),
		embeddingDropout: r.number("embedding_dropout"),
		optimizer:        r.text("optimizer"),
		lr:               r.number("lr"),
		schedule:         r.text("schedule"),
		decay:            r.number("decay"),
		decayEvery:       r.integer("decay_every"),
		beta1:            r.number("beta1"),
		beta2:            r.number("beta2"),
		epsilon:          r.number("epsilon"),
		rmsDecay:         r.number("rmsprop_decay"),
		momentum:         r.number("momentum"),
		clip:             r.number("clip"),
		batch:            r.integer("batch"),
		epochRule:        r.text("epoch_rule"),
		testEvery:        r.integer("test_every"),
	}
	if r.err != nil {
		return nil, r.err
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
	r := reader{parameters: s.parameters}
	if average := r.number("average"); average > 0 && r.number("refit") == 0 {
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

// reader takes typed values out of parameters and keeps the first error.
type reader struct {
	parameters sweep.Parameters
	err        error
}

func (r *reader) fail(name string, problem string) {
	if r.err == nil {
		r.err = &sweep.ParameterError{Parameter: name, Value: r.parameters[name], Problem: problem}
	}
}

func (r *reader) text(name string) string {
	v, ok := r.parameters[name].(string)
	if !ok {
		r.fail(name, "must be a string")
	}
	return v
}

func (r *reader) integer(name string) int {
	switch v := r.parameters[name].(type) {
	case int64:
		return int(v)
	case float64:
		if v == float64(int64(v)) {
			return int(v)
		}
	}
	r.fail(name, "must be an integer")
	return 0
}

func (r *reader) number(name string) float64 {
	switch v := r.parameters[name].(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	r.fail(name, "must be a number")
	return 0
}
