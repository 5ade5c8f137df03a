package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var sgornn = System{
	Name:       "sgornn",
	Doc:        "fastrnn with an orthogonal U, and β at most 1 - 2α and at least 0",
	Source:     "SGORNN paper, eq. 1 to 3",
	Parameters: []*sweep.ParameterSchema{&orthogonalMap, &leftReflectors, &activation, &slope, &alphaStart, &betaStart},
	Defaults:   map[string]any{"activation": "relu", "initial_state": "zero"},
	check: func(o *Options) error {
		if o.number(&alphaStart) >= 0 {
			return o.refuse(&alphaStart,
				"starts α at ½ or above, where no β is left in (0, 1 - 2α]: want a number below 0")
		}
		if o.text(&orthogonalMap) == byReflectors {
			return checkReflectors(o, &leftReflectors)
		}
		if m := o.integer(&leftReflectors); int64(m) != leftReflectors.Default {
			return o.refuse(&leftReflectors, "has no effect here: it applies only where map is %s", byReflectors)
		}
		switch o.text(&orthogonalMap) {
		case byExponential:
			if o.Hidden < 2 {
				return o.refuse(&orthogonalMap, "wants hidden = 2 or more")
			}
			return nil
		default:
			return checkEven(o)
		}
	},
	count: func(o *Options) int {
		switch o.text(&orthogonalMap) {
		case byReflectors:
			return elmanCount(o, reflectorCount(o.Hidden, o.integer(&leftReflectors))) + 2
		case byExponential:
			return elmanCount(o, o.Hidden*(o.Hidden-1)/2) + 2
		default:
			return elmanCount(o, rotationCount(o)) + 2
		}
	},
	layers: func(o *Options) []layer.Spec {
		switch o.text(&orthogonalMap) {
		case byReflectors:
			return scalarGated(o, weight.HouseholderSpec{Reflectors: o.integer(&leftReflectors)}, true)
		case byExponential:
			return scalarGated(o, weight.ExponentialSpec{}, true)
		default:
			return scalarGated(o, weight.RotationsSpec{Seed: o.Seed}, true)
		}
	},
}

var orthogonalMap = sweep.ParameterSchema{
	Name: "map", Type: sweep.StringType, Default: "rotations", Enum: []any{"rotations", byReflectors, byExponential},
	Doc: "what makes U orthogonal: rotations with fixed permutations, as vprnn's; householder, m1 reflectors; exp, " +
		"the exponential of a skew matrix",
}

// The maps besides rotations.
const (
	byReflectors  = "householder"
	byExponential = "exp"
)
