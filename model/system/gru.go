package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var gru = System{
	Name:       "gru",
	Doc:        "gated recurrent unit whose reset gate acts on the state before its product",
	Source:     "Cho et al. 2014",
	Parameters: []*sweep.ParameterSchema{&start, &recurrentScale},
	Starts:     []string{"orthogonal", "keras"},
	Defaults:   map[string]any{"epochs": int64(500)},
	layers: func(o *Options) []layer.Spec {
		return o.recurrent(nil, layer.GRUOptions{
			CellOptions: o.cell(), Size: o.Hidden, Start: o.matrixStart(), Scale: o.Number(recurrentScale.Name),
		})
	},
}
