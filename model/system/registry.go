package system

import "sweep/sweep"

// All are the systems, in the order in which they are listed.
var All = []*System{
	&rnn,
	&irnn,
	&lstm,
	&gru,
	&ornn,
	&spectralRNN,
	&gatedSpectralRNN,
	&spectralLSTM,
	&factorizedRNN,
	&urnn,
	&fcURNN,
	&vprnn,
	&fastRNN,
	&sgornn,
	&mlp,
	&resnet,
	&spectralMLP,
	&spectralResNet,
}

// Find returns the system of that name, nil if there is none.
func Find(name string) *System {
	for _, s := range All {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Variants are the systems as values of the parameter model.
func Variants() sweep.Variants {
	v := sweep.Variants{Parameter: "model"}
	for _, s := range All {
		v.List = append(v.List, sweep.Variant{
			Name: s.Name, Doc: s.Doc, Source: s.Source, Parameters: s.Parameters, Defaults: s.Defaults,
		})
	}
	return v
}

// Recurrent returns the names of the systems that carry a state from step to step.
func Recurrent() []any {
	var names []any
	for _, s := range All {
		if !s.FeedForward {
			names = append(names, s.Name)
		}
	}
	return names
}
