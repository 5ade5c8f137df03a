package system

import "sweep/model/layer"

var spectralMLP = System{
	Name:        "spectral-mlp",
	Doc:         "mlp whose matrices are U Σ Vᵀ, rectangular in the input layer, σ within r of σ*",
	Source:      "Zhang, Lei and Dhillon 2018, eq. 7 and 14 to 16, theorem 4",
	FeedForward: true,
	Parameters:  spectralRNN.Parameters,
	Defaults:    wholeSeries,
	Starts:      []string{"near-identity"},
	check:       checkSpectral,
	layers:      func(o *Options) []layer.Spec { return perceptron(o, spectralMatrix(o, o.Number(center.Name), 0)) },
}
