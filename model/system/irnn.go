package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var irnn = System{
	Name:       "irnn",
	Doc:        "simple recurrent network that starts from the identity or an orthogonal matrix",
	Source:     "Le, Jaitly and Hinton 2015",
	Parameters: []*sweep.ParameterSchema{&activation, &slope, &start, &parseval},
	Defaults:   map[string]any{"start": "orthogonal"},
	Starts:     []string{"identity", "orthogonal"},
	layers:     func(o *Options) []layer.Spec { return elman(o, o.denseTransition()) },
}
