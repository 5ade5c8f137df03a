package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var sgornn = System{
	Name:   "sgornn",
	Doc:    "fastrnn with an orthogonal U, and β at most 1 - 2α and at least 0",
	Source: "SGORNN paper, eq. 1 to 3",
	Parameters: []*sweep.ParameterSchema{&orthogonalMap, &leftReflectors, &activation, &slope, &start, &alphaStart,
		&betaStart},
	Defaults: map[string]any{"activation": "relu", "initial_state": "zero"},
	Starts:   []string{byUniformAngles},
	check: func(o *Options) error {
		if err := checkBound(o); err != nil {
			return err
		}
		kind := o.Text(orthogonalMap.Name)
		if kind != byRotations && o.Text(start.Name) == byUniformAngles {
			return o.Refuse(start.Name, "is of the angles of rotations, where map is %s: want %s", kind, defaultStart)
		}
		if kind == byReflectors {
			return checkReflectors(o, &leftReflectors)
		}
		if m := o.Integer(leftReflectors.Name); int64(m) != leftReflectors.Default {
			return o.Refuse(leftReflectors.Name, "has no effect here: it applies only where map is %s", byReflectors)
		}
		if kind == byExponential && o.Hidden < 2 {
			return o.Refuse(orthogonalMap.Name, "wants hidden = 2 or more")
		}
		if kind == byExponential {
			return nil
		}
		return checkEven(o)
	},
	layers: func(o *Options) []layer.Spec {
		switch o.Text(orthogonalMap.Name) {
		case byReflectors:
			return scalarGated(o, weight.HouseholderSpec{Reflectors: o.Integer(leftReflectors.Name)}, true)
		case byExponential:
			return scalarGated(o, weight.ExponentialSpec{}, true)
		default:
			return scalarGated(o, weight.RotationsSpec{Seed: o.Seed}, true)
		}
	},
}

var orthogonalMap = sweep.ParameterSchema{
	Name: "map", Type: sweep.StringType, Default: byRotations, Enum: []any{byRotations, byReflectors, byExponential},
	Doc: "what makes U orthogonal: rotations with fixed permutations, as vprnn's; householder, m1 reflectors; exp, " +
		"the exponential of a skew matrix",
}

// The maps.
const (
	byRotations   = "rotations"
	byReflectors  = "householder"
	byExponential = "exp"
)
