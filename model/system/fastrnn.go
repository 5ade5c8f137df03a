package system

import (
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var fastRNN = System{
	Name:       "fastrnn",
	Doc:        "simple recurrent network with two scalar gates, h(t) = α φ(U h(t-1) + M x(t) + b) + β h(t-1)",
	Source:     "Kusupati et al. 2019; SGORNN paper, eq. 1",
	Parameters: []*sweep.ParameterSchema{&activation, &slope, &start, &alphaStart, &betaStart},
	Defaults:   map[string]any{"activation": "relu", "initial_state": "zero"},
	Starts:     []string{"identity", "orthogonal"},
	count:      func(o *Options) int { return elmanCount(o, o.Hidden*o.Hidden) + 2 },
	build32:    buildFastRNN[float32],
	build64:    buildFastRNN[float64],
}

var (
	alphaStart = sweep.ParameterSchema{
		Name: "alpha_start", Type: sweep.NumberType, Default: int64(-3), Minimum: new(-20.0), Maximum: new(20.0),
		Doc: "start of the logit of α, the share of the new state",
	}
	betaStart = sweep.ParameterSchema{
		Name: "beta_start", Type: sweep.NumberType, Default: int64(3), Minimum: new(-20.0), Maximum: new(20.0),
		Doc: "start of the logit of β, the share of the state before",
	}
)

func buildFastRNN[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	u, err := weight.NewDense(set, arena, "W", o.Hidden, o.Hidden)
	return scalarGated(set, arena, o, u, false, err)
}

// scalarGated builds a scalar-gated cell over a matrix that has been declared.
func scalarGated[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options, matrix weight.Matrix[F], bounded bool, err error) (Network[F], error) {
	if err != nil {
		return Network[F]{}, err
	}
	activation, slope, err := phi(o)
	if err != nil {
		return Network[F]{}, err
	}
	cell, err := layer.NewScalarGated(set, arena, matrix, layer.ScalarGatedOptions{
		Inputs: o.Inputs, Activation: activation, Slope: slope, FixedStart: o.FixedStart, Every: o.Every, Bound: bounded,
		Start: matrixStart(o), InputScale: o.InputScale, Alpha: o.number(&alphaStart), Beta: o.number(&betaStart),
	})
	return Network[F]{Layers: []layer.Layer[F]{cell}, Matrices: []weight.Matrix[F]{matrix}}, err
}
