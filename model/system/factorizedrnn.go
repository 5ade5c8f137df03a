package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var factorizedRNN = System{
	Name: "factorized-rnn",
	Doc: "simple recurrent network whose W is U Σ Vᵀ of dense U and V, which move by Cayley steps, σ within r " +
		"of σ*",
	Source: "Vorontsov et al. 2017; Zhang, Lei and Dhillon 2018, §2 and eq. 4, 7",
	Parameters: []*sweep.ParameterSchema{
		&sigma, &radius, &center, &sigmaPenalty, &factorRate, &activation, &slope, &start,
	},
	Starts: []string{"identity"},
	check:  checkRadius,
	layers: func(o *Options) []layer.Spec {
		return elman(o, weight.FactorizedOptions{
			Radius: o.Number(radius.Name), Center: o.Number(center.Name), Clip: o.Text(sigma.Name) == byClipping,
			Penalty: o.Number(sigmaPenalty.Name), Rate: o.Number(factorRate.Name),
		})
	},
}

var factorRate = sweep.ParameterSchema{
	Name: "factor_rate", Type: sweep.NumberType, Default: int64(1), Minimum: new(0.0), Maximum: new(1e6),
	Doc: "learning rate of the matrices that move by Cayley steps (U and V, or a unitary W) as a factor of lr: their " +
		"steps are plain gradient descent's, which wants larger ones than adam; 0 leaves them at their start",
}
