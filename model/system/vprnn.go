package system

import (
	"sweep/model/kernel"
	"sweep/model/weight"
	"sweep/sweep"
)

var vprnn = System{
	Name:       "vprnn",
	Doc:        "simple recurrent network whose W is 2⌈log2 n⌉ rotations of pairs with fixed permutations between them",
	Source:     "Taylor-Melanson et al. 2021; SGORNN paper, eq. 2",
	Parameters: []*sweep.ParameterSchema{&activation, &slope},
	Defaults:   map[string]any{"activation": "relu", "initial_state": "zero"},
	check:      checkEven,
	count:      func(o *Options) int { return elmanCount(o, rotationCount(o)) },
	build32:    buildVPRNN[float32],
	build64:    buildVPRNN[float64],
}

// checkEven refuses what has no pairs.
func checkEven(o *Options) error {
	if o.Hidden%2 != 0 {
		return &sweep.ParameterError{Parameter: "hidden", Value: int64(o.Hidden), Problem: "must be even: rotations turn pairs of units"}
	}
	return nil
}

// rotationCount is the number of angles.
func rotationCount(o *Options) int { return o.Hidden / 2 * weight.RotationSteps(o.Hidden) }

func buildVPRNN[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	w, err := weight.NewRotations(set, arena, o.Hidden, nil, o.Seed)
	return elman(set, arena, o, w, err)
}
