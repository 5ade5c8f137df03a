package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var fastRNN = System{
	Name:   "fastrnn",
	Doc:    "simple recurrent network with two scalar gates, h(t) = α φ(U h(t-1) + M x(t) + b) + β h(t-1)",
	Source: "Kusupati et al. 2019; SGORNN paper, eq. 1",
	Parameters: []*sweep.ParameterSchema{&activation, &slope, &start, &parseval, &alphaStart, &betaStart,
		&gateBound},
	Defaults: map[string]any{"activation": "relu", "initial_state": "zero"},
	Starts:   []string{"identity", "orthogonal", "keras"},
	check: func(o *Options) error {
		if o.Boolean(gateBound.Name) {
			return checkBound(o)
		}
		return nil
	},
	layers: func(o *Options) []layer.Spec {
		return scalarGated(o, o.denseTransition(), o.Boolean(gateBound.Name))
	},
}

var (
	alphaStart = sweep.ParameterSchema{
		Name: "alpha_start", Type: sweep.NumberType, Default: int64(-3), Minimum: new(-20.0), Maximum: new(20.0),
		Doc: "start of the logit of α, the share of the new state; with -3 and beta_start 3 sgornn starts on its " +
			"bound (β .953 above 1 - 2α = .905), so that β̂ has no gradient until α is smaller; with -3.75, as in " +
			"its authors' code, just below it (.954)",
	}
	betaStart = sweep.ParameterSchema{
		Name: "beta_start", Type: sweep.NumberType, Default: int64(3), Minimum: new(-20.0), Maximum: new(20.0),
		Doc: "start of the logit of β, the share of the state before",
	}
	gateBound = sweep.ParameterSchema{
		Name: "gate_bound", Type: sweep.BooleanType, Default: false, Neutral: false,
		Doc: "whether β is at most 1 - 2α and at least 0, as in sgornn: the SGORNN paper has fastrnn without, and its " +
			"authors' script bounds it unless told not to",
	}
)

// checkBound refuses a start of α that leaves no β.
func checkBound(o *Options) error {
	if o.Number(alphaStart.Name) >= 0 {
		return o.Refuse(alphaStart.Name,
			"starts α at ½ or above, where no β is left in (0, 1 - 2α]: want a number below 0")
	}
	return nil
}

// scalarGated is a scalar-gated cell over a matrix.
func scalarGated(o *Options, matrix weight.Spec, bounded bool) []layer.Spec {
	activation, slope := o.phi()
	return o.recurrent(matrix, layer.ScalarGatedOptions{
		CellOptions: o.cell(), Activation: activation, Slope: slope, Bound: bounded,
		Start: o.matrixStart(), Alpha: o.Number(alphaStart.Name), Beta: o.Number(betaStart.Name),
	})
}
