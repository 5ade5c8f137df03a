package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var rnn = System{
	Name:       "rnn",
	Doc:        "simple recurrent network, h(t) = φ(W h(t-1) + M x(t) + b)",
	Source:     "Elman 1990; Zhang, Lei and Dhillon 2018, eq. 4",
	Parameters: []*sweep.ParameterSchema{&activation, &slope, &start, &parseval},
	Starts:     []string{"identity", "orthogonal", "keras"},
	layers:     func(o *Options) []layer.Spec { return elman(o, o.denseTransition()) },
}
