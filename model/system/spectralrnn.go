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
	Parameters: []*sweep.ParameterSchema{&leftReflectors, &rightReflectors, &radius, &center, &activation,
		&slope, &start},
	Defaults: longRefit,
	Starts:   []string{"near-identity"},
	check:    checkSpectral,
	count: func(o *Options) int {
		u, v := reflectorCount(o.Hidden, o.integer(&leftReflectors)),
			reflectorCount(o.Hidden, o.integer(&rightReflectors))
		return elmanCount(o, u+v+o.Hidden)
	},
	layers: func(o *Options) []layer.Spec { return elman(o, o.svd(o.number(&center))) },
}

var (
	rightReflectors = sweep.ParameterSchema{
		Name: "m2", Type: sweep.IntegerType, Default: int64(16), Minimum: new(1.0),
		Doc: "reflectors of V",
	}
	radius = sweep.ParameterSchema{
		Name: "r", Type: sweep.NumberType, Default: 0.1, Minimum: new(0.0),
		Doc: "largest deviation of a singular value from sigma_center",
	}
	center = sweep.ParameterSchema{
		Name: "sigma_center", Type: sweep.NumberType, Default: int64(1),
		Minimum: new(0.0), ExclusiveMinimum: true, Maximum: new(1000.0),
		Doc: "centre σ* of the singular values",
	}
)

// svd is an SVD with singular values within r of a centre.
func (o *Options) svd(center float64) weight.SVDOptions {
	return weight.SVDOptions{
		Left: o.integer(&leftReflectors), Right: o.integer(&rightReflectors), Radius: o.number(&radius), Center: center,
	}
}

func checkSpectral(o *Options) error {
	for _, p := range []*sweep.ParameterSchema{&leftReflectors, &rightReflectors} {
		if err := checkReflectors(o, p); err != nil {
			return err
		}
	}
	return checkRadius(o)
}

// checkRadius refuses singular values below zero.
func checkRadius(o *Options) error {
	if o.number(&radius) > o.number(&center) {
		return o.refuse(&radius, "must not exceed sigma_center = %v: singular values would become negative",
			o.number(&center))
	}
	return nil
}
