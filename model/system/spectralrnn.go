package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var spectralRNN = System{
	Name:   "spectral-rnn",
	Doc:    "simple recurrent network whose W is U Σ Vᵀ of m1 and m2 reflectors, σ within r of σ*",
	Source: "Zhang, Lei and Dhillon 2018, eq. 4, 6 and 7, algorithm 1",
	Parameters: []*sweep.ParameterSchema{&leftReflectors, &rightReflectors, &sigma, &radius, &center, &sigmaPenalty,
		&activation, &slope, &start},
	Defaults: longRefit,
	Starts:   []string{"near-identity"},
	check:    checkSpectral,
	layers:   func(o *Options) []layer.Spec { return elman(o, o.svd(o.Number(center.Name))) },
}

var rightReflectors = sweep.ParameterSchema{
	Name: "m2", Type: sweep.IntegerType, Default: int64(16), Minimum: new(1.0),
	Doc: "reflectors of V",
}

// svd is an SVD with singular values within r of a centre.
func (o *Options) svd(center float64) weight.SVDOptions {
	return weight.SVDOptions{
		Left: o.Integer(leftReflectors.Name), Right: o.Integer(rightReflectors.Name),
		Radius: o.Number(radius.Name), Center: center, Clip: o.Text(sigma.Name) == byClipping,
		Penalty: o.Number(sigmaPenalty.Name),
	}
}

func checkSpectral(o *Options) error {
	if err := checkReflectors(o, &leftReflectors, &rightReflectors); err != nil {
		return err
	}
	return checkRadius(o)
}
