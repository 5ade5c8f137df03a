package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var mlp = System{
	Name:        "mlp",
	Doc:         "feed-forward network that reads a series at once, h ← φ(W h + b)",
	Source:      "Zhang, Lei and Dhillon 2018, eq. 16, §7 and §7.2",
	FeedForward: true,
	Parameters:  []*sweep.ParameterSchema{&activation, &slope, &start},
	Defaults:    wholeSeries,
	Starts:      []string{"identity", "orthogonal"},
	layers:      func(o *Options) []layer.Spec { return perceptron(o, dense) },
}
