package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var ornn = System{
	Name:       "ornn",
	Doc:        "simple recurrent network whose W is a product of m1 Householder reflectors",
	Source:     "Mhammedi et al. 2017; Zhang, Lei and Dhillon 2018, eq. 1 and 2",
	Parameters: []*sweep.ParameterSchema{&leftReflectors, &activation, &slope, &start},
	Defaults:   longRefit,
	Starts:     []string{"near-identity"},
	check:      func(o *Options) error { return checkReflectors(o, &leftReflectors) },
	layers: func(o *Options) []layer.Spec {
		return elman(o, weight.HouseholderSpec{Reflectors: o.Integer(leftReflectors.Name)})
	},
}

// longRefit lets half of the epochs train on all series: docs/measurements.md has what it gains.
var longRefit = map[string]any{"refit": 0.5}
