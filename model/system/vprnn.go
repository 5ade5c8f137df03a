package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var vprnn = System{
	Name:       "vprnn",
	Doc:        "simple recurrent network whose W is 2⌈log2 n⌉ rotations of pairs with fixed permutations between them",
	Source:     "Taylor-Melanson et al. 2021; SGORNN paper, eq. 2",
	Parameters: []*sweep.ParameterSchema{&activation, &slope, &start},
	Defaults:   map[string]any{"activation": "relu", "initial_state": "zero"},
	Starts:     []string{byUniformAngles},
	check:      checkEven,
	layers:     func(o *Options) []layer.Spec { return elman(o, weight.RotationsSpec{Seed: o.Seed}) },
}

// checkEven refuses what has no pairs.
func checkEven(o *Options) error {
	if o.Hidden%2 != 0 {
		return &sweep.ParameterError{
			Parameter: "hidden", Value: int64(o.Hidden), Problem: "must be even: rotations turn pairs of units",
		}
	}
	return nil
}
