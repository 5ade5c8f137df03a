package system

import (
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var lstm = System{
	Name:       "lstm",
	Doc:        "long short-term memory with forget gate, without peepholes",
	Source:     "Hochreiter and Schmidhuber 1997; Gers et al. 2000",
	Parameters: []*sweep.ParameterSchema{&forgetBias},
	Defaults:   map[string]any{"epochs": int64(500)},
	count: func(o *Options) int {
		count := 4 * (o.Inputs + o.Hidden + 1) * o.Hidden
		if !o.FixedStart {
			count += 2 * o.Hidden
		}
		return count
	},
	build32: buildLSTM[float32],
	build64: buildLSTM[float64],
}

var forgetBias = sweep.ParameterSchema{
	Name: "forget_bias", Type: sweep.NumberType, Default: int64(1),
	Doc: "start of the forget gate's bias",
}

func buildLSTM[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	cell, err := layer.NewLSTM(set, arena, layer.LSTMOptions{
		Inputs: o.Inputs, Size: o.Hidden, FixedStart: o.FixedStart, Every: o.Every, InputScale: o.InputScale, ForgetBias: o.number(&forgetBias),
	})
	return Network[F]{Layers: []layer.Layer[F]{cell}}, err
}
