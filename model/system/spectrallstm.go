package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var spectralLSTM = System{
	Name: "spectral-lstm",
	Doc: "lstm whose four transition matrices are each U Σ Vᵀ of m1 and m2 reflectors of its own, σ within r " +
		"of σ*",
	Source: "Zhang, Lei and Dhillon 2018, end of §5, which names it and describes no more",
	Parameters: []*sweep.ParameterSchema{&leftReflectors, &rightReflectors, &sigma, &radius, &center, &sigmaPenalty,
		&forgetBias, &start},
	Defaults: lstm.Defaults,
	Starts:   []string{"near-identity"},
	check:    checkSpectral,
	layers: func(o *Options) []layer.Spec {
		return o.recurrent(o.svd(o.Number(center.Name)), layer.LSTMOptions{
			CellOptions: o.cell(), Size: o.Hidden, Start: o.matrixStart(), ForgetBias: o.Number(forgetBias.Name),
		})
	},
}
