package system

import (
	"sweep/model/kernel"
	"sweep/model/weight"
	"sweep/sweep"
)

var spectralMLP = System{
	Name:        "spectral-mlp",
	Doc:         "mlp whose matrices are U Σ Vᵀ, rectangular in the input layer, σ within r of σ*",
	Source:      "Zhang, Lei and Dhillon 2018, eq. 7 and 14 to 16, theorem 4",
	FeedForward: true,
	Parameters:  []*sweep.ParameterSchema{&leftReflectors, &rightReflectors, &radius, &center, &activation, &slope, &start},
	Defaults:    wholeSeries,
	Starts:      []string{"near-identity"},
	check:       checkSpectral,
	count:       spectralCount,
	build32:     buildSpectralMLP[float32],
	build64:     buildSpectralMLP[float64],
}

func buildSpectralMLP[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	return perceptron(set, arena, o, spectralOf(set, arena, o, o.number(&center), 0))
}
