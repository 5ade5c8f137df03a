package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var lstm = System{
	Name:       "lstm",
	Doc:        "long short-term memory with forget gate, without peepholes",
	Source:     "Hochreiter and Schmidhuber 1997; Gers et al. 2000",
	Parameters: []*sweep.ParameterSchema{&forgetBias, &start, &recurrentScale},
	Starts:     []string{"orthogonal", "keras"},
	Defaults:   map[string]any{"epochs": int64(500)},
	layers: func(o *Options) []layer.Spec {
		return o.recurrent(nil, layer.LSTMOptions{
			CellOptions: o.cell(), Size: o.Hidden, ForgetBias: o.Number(forgetBias.Name),
			Start: o.matrixStart(), Scale: o.Number(recurrentScale.Name),
		})
	},
}

var forgetBias = sweep.ParameterSchema{
	Name: "forget_bias", Type: sweep.NumberType, Default: int64(1),
	Doc: "start of the forget gate's bias",
}
