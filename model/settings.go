package model

import (
	"fmt"

	"sweep/model/cell"
	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/sweep"
)

// settings are a trial's resolved parameters in Go types. The field comments
// stand in the trainer's Description.
type settings struct {
	dataset      string
	exchange     string
	inputSize    int
	order        string
	permutation  int
	limit        int
	validation   float64
	seed         uint64
	model        string
	hidden       int
	m1, m2       int
	radius       float64
	center       float64
	activation   kernel.Activation
	slope        float64
	start        string
	initialState string
	inputScale   float64
	outputScale  float64
	forgetBias   float64
	dropout      float64
	loss         string
	optimizer    string
	lr           float64
	decay        float64
	beta1, beta2 float64
	epsilon      float64
	momentum     float64
	clip         float64
	batch        int
	epochs       int
	epochRule    string
	testEvery    int
	// path is how an Elman cell applies its matrix: no parameter, as the fastest
	// is chosen by shape; measurements force it.
	path cell.Path
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
	r := reader{parameters: resolved}
	s := &settings{
		dataset:      r.text("dataset"),
		exchange:     r.text("exchange"),
		inputSize:    r.integer("input_size"),
		order:        r.text("order"),
		permutation:  r.integer("permutation"),
		limit:        r.integer("limit"),
		validation:   r.number("validation"),
		seed:         uint64(r.integer("seed")),
		model:        r.text("model"),
		hidden:       r.integer("hidden"),
		m1:           r.integer("m1"),
		m2:           r.integer("m2"),
		radius:       r.number("r"),
		center:       r.number("sigma_center"),
		slope:        r.number("slope"),
		start:        r.text("start"),
		initialState: r.text("initial_state"),
		inputScale:   r.number("input_scale"),
		outputScale:  r.number("output_scale"),
		forgetBias:   r.number("forget_bias"),
		dropout:      r.number("dropout"),
		loss:         r.text("loss"),
		optimizer:    r.text("optimizer"),
		lr:           r.number("lr"),
		decay:        r.number("decay"),
		beta1:        r.number("beta1"),
		beta2:        r.number("beta2"),
		epsilon:      r.number("epsilon"),
		momentum:     r.number("momentum"),
		clip:         r.number("clip"),
		batch:        r.integer("batch"),
		epochs:       r.integer("epochs"),
		epochRule:    r.text("epoch_rule"),
		testEvery:    r.integer("test_every"),
	}
	activation := r.text("activation")
	if r.err != nil {
		return nil, r.err
	}
	if s.activation, err = kernel.ParseActivation(activation); err != nil {
		return nil, &sweep.ParameterError{Parameter: "activation", Value: activation, Problem: err.Error()}
	}
	return s, s.check()
}

// check refuses combinations that no single parameter's schema can.
func (s *settings) check() error {
	refuse := func(name string, value any, format string, args ...any) error {
		return &sweep.ParameterError{Parameter: name, Value: value, Problem: fmt.Sprintf(format, args...)}
	}
	if s.usesReflectors() && s.m1 > s.hidden {
		return refuse("m1", int64(s.m1), "must not exceed hidden = %d: there are only n reflectors of different length", s.hidden)
	}
	if s.model == "spectral-rnn" && s.m2 > s.hidden {
		return refuse("m2", int64(s.m2), "must not exceed hidden = %d: there are only n reflectors of different length", s.hidden)
	}
	if s.model == "spectral-rnn" && s.radius > s.center {
		return refuse("r", s.radius, "must not exceed sigma_center = %v: singular values would become negative", s.center)
	}
	for name, value := range map[string]float64{"beta1": s.beta1, "beta2": s.beta2, "momentum": s.momentum} {
		if value >= 1 {
			return refuse(name, value, "must be below 1")
		}
	}
	for _, start := range startsOf(s.model) {
		if s.start == start {
			return nil
		}
	}
	return refuse("start", s.start, "model %s starts from one of %v", s.model, startsOf(s.model))
}

func (s *settings) usesReflectors() bool { return s.model == "ornn" || s.model == "spectral-rnn" }

// startsOf lists the starts of the transition matrix that a model knows.
func startsOf(model string) []string {
	switch model {
	case "rnn", "irnn":
		return []string{"random", "identity", "orthogonal"}
	case "ornn", "spectral-rnn":
		return []string{"random", "near-identity"}
	default:
		return []string{"random"}
	}
}

// reference names the data set that the settings ask for.
func (s *settings) reference() dataset.Reference {
	return dataset.Reference{
		Name: s.dataset, Exchange: dataset.Exchange(s.exchange), Limit: s.limit, Permutation: uint64(s.permutation),
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
