package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var gatedSpectralRNN = System{
	Name: "gated-spectral-rnn",
	Doc: "spectral-rnn with a gate on each singular value at each step, " +
		"h(t) = φ(U (σ ∘ g(t) ∘ Vᵀ h(t-1)) + M x(t) + b)",
	Source: "slides of Zhang, Lei and Dhillon 2018, Singular Value Gating",
	Parameters: []*sweep.ParameterSchema{&leftReflectors, &rightReflectors, &sigma, &radius, &center, &sigmaPenalty,
		&gateBias, &activation, &slope, &start},
	Starts: []string{"near-identity"},
	check:  checkSpectral,
	layers: func(o *Options) []layer.Spec {
		activation, slope := o.phi()
		return o.recurrent(o.svd(o.Number(center.Name)), layer.GatedSpectralOptions{
			CellOptions: o.cell(), Activation: activation, Slope: slope, Start: o.matrixStart(),
			GateBias: o.Number(gateBias.Name),
		})
	},
}

// gateBias starts the gates near 1: at 0 they halve the state at every step.
var gateBias = sweep.ParameterSchema{
	Name: "gate_bias", Type: sweep.NumberType, Default: int64(3), Minimum: new(-20.0), Maximum: new(20.0),
	Doc: "start of b_g of the gates g(t) = sigmoid(W_g h(t-1) + U_g x(t) + b_g)",
}
