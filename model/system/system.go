// Package system has what the papers call a model: one file for each, with a [System] that says
// its source, the parameters that it has of its own, and the layers that it is built of, as data.
// The registry lists them; schema, checks and documentation come from there.
//
//	s := system.Find("spectral-rnn")
//	reader := sweep.ParameterReader{Parameters: resolved}
//	layers, err := s.Layers(&system.Options{ParameterReader: reader, Inputs: 1, Hidden: 128})
package system

import (
	"slices"

	"sweep/model/layer"
	"sweep/sweep"
)

// A System is one kind of network.
type System struct {
	// Name is the value of the parameter model.
	Name string
	// Doc says in a few words what it is, Source where it comes from, with the
	// numbers of the equations.
	Doc, Source string

	// FeedForward says that it has no recurrence: it reads sequences of one step.
	FeedForward bool
	// Parameters are those that not every system has. Several systems may have one
	// in common.
	Parameters []*sweep.ParameterSchema
	// Defaults are the system's own defaults of parameters that others have, too.
	Defaults map[string]any
	// Starts are the values of the parameter start that it knows; none if it has no
	// such choice.
	Starts []string

	// width is the numbers of a step's output, nil for as many as there are hidden units.
	width func(hidden int) int
	// check refuses what no single parameter's schema can; nil for nothing.
	check func(o *Options) error
	// layers are what it is built of, the one that reads the input first; the output layer is
	// not the system's.
	layers func(o *Options) []layer.Spec
}

// Options are the choices of a trial.
type Options struct {
	sweep.ParameterReader // of the trial's resolved parameters

	Inputs, Hidden int
	FixedStart     bool               // the state before the first step is 0 instead of trained
	Every          bool               // there is an output for every step, not for the last alone
	InputScale     float64            // of the start of matrices that meet inputs
	Operator       layer.OperatorKind // how a matrix is applied; "" for the faster
	Seed           uint64             // of the trial
}

// Width returns how many numbers a step's output has with so many hidden units.
func (s *System) Width(hidden int) int {
	if s.width == nil {
		return hidden
	}
	return s.width(hidden)
}

// Check refuses combinations that no single parameter's schema can.
func (s *System) Check(o *Options) error {
	if err := o.Check(s.Parameters); err != nil {
		return err
	}
	if s.check != nil {
		if err := s.check(o); err != nil {
			return err
		}
	}
	if !slices.Contains(s.Parameters, &start) {
		return nil
	}
	if asked := o.Text(start.Name); asked != defaultStart && !slices.Contains(s.Starts, asked) {
		return o.Refuse(start.Name, "model %s starts from one of %v", s.Name,
			append([]string{defaultStart}, s.Starts...))
	}
	return nil
}

// Layers returns what the system is built of, the one that reads the input first; the output
// layer is not the system's. A parameter of the wrong type is an error.
func (s *System) Layers(o *Options) ([]layer.Spec, error) {
	if err := o.Check(s.Parameters); err != nil {
		return nil, err
	}
	layers := s.layers(o)
	return layers, o.Err()
}
