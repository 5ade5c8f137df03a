package system

import (
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/weight"
)

var gru = System{
	Name:     "gru",
	Doc:      "gated recurrent unit whose reset gate acts on the state before its product",
	Source:   "Cho et al. 2014",
	Defaults: map[string]any{"epochs": int64(500)},
	count: func(o *Options) int {
		count := 3 * (o.Inputs + o.Hidden + 1) * o.Hidden
		if !o.FixedStart {
			count += o.Hidden
		}
		return count
	},
	build32: buildGRU[float32],
	build64: buildGRU[float64],
}

func buildGRU[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	cell, err := layer.NewGRU(set, arena, layer.GRUOptions{
		Inputs: o.Inputs, Size: o.Hidden, FixedStart: o.FixedStart, Every: o.Every, InputScale: o.InputScale,
	})
	return Network[F]{Layers: []layer.Layer[F]{cell}}, err
}
