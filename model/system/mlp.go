package system

import (
	"sweep/model/kernel"
	"sweep/model/weight"
	"sweep/sweep"
)

var mlp = System{
	Name:        "mlp",
	Doc:         "feed-forward network that reads a series at once, h ← φ(W h + b)",
	Source:      "Zhang, Lei and Dhillon 2018, eq. 16 and §7.1",
	FeedForward: true,
	Parameters:  []*sweep.ParameterSchema{&activation, &slope, &start},
	Defaults:    wholeSeries,
	Starts:      []string{"identity", "orthogonal"},
	count:       denseCount,
	build32:     buildMLP[float32],
	build64:     buildMLP[float64],
}

func buildMLP[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	return perceptron(set, arena, o, denseOf(set, arena))
}
