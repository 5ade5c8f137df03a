package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

// Its default of r is measured in docs/measurements.md.
var spectralResNet = System{
	Name:        "spectral-resnet",
	Doc:         "resnet whose blocks' matrices are U Σ Vᵀ with singular values within r of 0",
	Source:      "Zhang, Lei and Dhillon 2018, eq. 6, 7 and 14 to 16, theorem 4",
	FeedForward: true,
	Parameters: []*sweep.ParameterSchema{
		&leftReflectors, &rightReflectors, &sigma, &radius, &sigmaScale, &sigmaPenalty, &activation, &slope, &start,
	},
	Defaults: map[string]any{"input_size": int64(-1), "layers": int64(31), "r": 0.5},
	Starts:   []string{"near-identity"},
	check: func(o *Options) error {
		if err := checkReflectors(o, &leftReflectors, &rightReflectors); err != nil {
			return err
		}
		return checkBlocks(o)
	},
	layers: func(o *Options) []layer.Spec { return residual(o, spectralMatrix(o, 0, o.Number(sigmaScale.Name))) },
}

// sigmaScale lets the blocks start apart from 0. At σ̂ = 0, where the other spectral
// systems start, both matrices of a block are 0: then neither has a gradient, and
// the blocks stay what they are, identities with a bias.
var sigmaScale = sweep.ParameterSchema{
	Name: "sigma_scale", Type: sweep.NumberType, Default: int64(1),
	Minimum: new(0.0), ExclusiveMinimum: true, Maximum: new(100.0),
	Doc: "standard deviation of σ̂ at the start; at 0 no gradient would ever reach a block's matrices",
}
